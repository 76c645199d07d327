"""Archives on this machine in the layout of the real ones, filled with files that the mock sky writes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from urllib.parse import parse_qs

from fetching.archive_server import Answer, ArchiveServer, Request
from rarespec.fetching.addresses import load_addresses
from rarespec.formats import read_here
from rarespec.spectrum import Spectra


def archives_file(server: ArchiveServer, path: Path) -> Path:
    """The built-in table with all hosts replaced by the server; paths stay as they are."""
    path.write_text("\n".join(_lines(load_addresses(), server.base)))
    return path


def _lines(table: object, base: str, heading: str = "") -> list[str]:
    assert isinstance(table, dict)
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"[{heading}]"] if heading else []
    lines += [f"{key} = {json.dumps(_local(value, base))}" for key, value in plain.items()]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _lines(value, base, f"{heading}.{key}" if heading else key)
    return lines


def _local(value: object, base: str) -> object:
    if isinstance(value, list):
        return [_local(one, base) for one in value]
    is_address = isinstance(value, str) and value.startswith("https://")
    return base + "/" + value.split("/", 3)[3] if is_address else value


def serve_sdss(server: ArchiveServer, files: list[Path], run2d: str = "26") -> dict[str, str]:
    """Id -> path on the server. Every plate has its list of checksums."""
    place = f"/sas/dr17/sdss/spectro/redux/{run2d}/spectra/lite"
    paths = {}
    for file in files:
        plate = file.name.split("-")[1]
        id = file.stem.removeprefix("spec-")
        paths[id] = f"{place}/{plate}/{file.name}"
        server.files[paths[id]] = file.read_bytes()
        sums = f"{place}/{plate}/spectra_{plate}.sha1sum"
        line = f"{hashlib.sha1(file.read_bytes()).hexdigest()}  {file.name}\n".encode()
        server.files[sums] = server.files.get(sums, b"") + line
    return paths


SDSS_V_PLACES = {
    "18": "/sas/dr18/spectro/boss/redux/v6_0_4/spectra/lite/{field}p/{mjd}",
    "19": "/sas/dr19/spectro/boss/redux/v6_1_3/spectra/lite/{field}/{mjd}",
    "20": "/sas/dr20/spectro/boss/redux/v6_2_1/spectra/daily/lite/{thousands}XXX/{field}/{mjd}",
}
"""Fields of six digits; those of fewer are padded with zeros from release 19 on."""


def serve_sdss_v(server: ArchiveServer, files: list[Path], release: str = "20") -> dict[str, str]:
    """Id -> path on the server. Every field has its list of checksums for each night."""
    paths = {}
    for file in files:
        id = file.stem.removeprefix("spec-")
        field, mjd, _ = id.split("-")
        place = SDSS_V_PLACES[release].format(field=field, mjd=mjd, thousands=field[:3])
        paths[id] = f"{place}/{file.name}"
        server.files[paths[id]] = file.read_bytes()
        sums = f"{place}/spectra_{field}_{mjd}.sha1sum"
        line = f"{hashlib.sha1(file.read_bytes()).hexdigest()}  {file.name}\n".encode()
        server.files[sums] = server.files.get(sums, b"") + line
    return paths


def serve_lamost(server: ArchiveServer, files: list[Path], token: str = "") -> dict[str, str]:
    """Obsid -> path on the server; without the token there is only a page."""
    paths = {}
    for file in files:
        (spectra,) = read_here(file)
        assert isinstance(spectra, Spectra)
        obsid = spectra.catalogue["id"][0]
        paths[obsid] = f"/dr10/v2.0/spectrum/fits/{obsid}"
        server.replies[paths[obsid]] = _guarded(file.read_bytes(), token)
    return paths


def _guarded(content: bytes, token: str):
    def reply(request: Request) -> Answer:
        if parse_qs(request.query).get("token", [""]) != [token]:
            return Answer(b"<html><title>Please log in</title></html>")
        return Answer(content, length=-1)

    return reply


FIRST_PIXEL = 23040


def serve_desi(
    server: ArchiveServer, folder: Path, release: str = "dr1", specprod: str = "iron"
) -> dict[str, list[str]]:
    """Healpix in words -> TARGETIDs of the coadds in this folder, all of them looked up by TAP."""
    targets: dict[str, list[str]] = {}
    for number, coadd in enumerate(sorted(folder.glob("coadd-*.fits"))):
        pixel = FIRST_PIXEL + number
        words = ("main", "dark", str(pixel // 100), str(pixel))
        place = f"/public/{release}/spectro/redux/{specprod}/healpix/{'/'.join(words)}"
        sums = ""
        for kind, file in (("coadd", coadd), ("redrock", coadd.with_name(coadd.name.replace("coadd", "redrock")))):
            name = f"{kind}-main-dark-{pixel}.fits"
            server.files[f"{place}/{name}"] = file.read_bytes()
            sums += f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}\n"
        server.files[f"{place}/redux_{specprod}_healpix_{'_'.join(words)}.sha256sum"] = sums.encode()
        found = [one for one in read_here(coadd) if isinstance(one, Spectra)]
        targets[f"main-dark-{pixel}"] = [id for one in found for id in one.catalogue["id"]]
    server.replies["/tap/sync"] = _catalogue(targets, f"desi_{release}.zpix")
    return targets


def _catalogue(targets: dict[str, list[str]], table: str):
    pixel_of = {id: words.split("-") for words, ids in targets.items() for id in ids}

    def reply(request: Request) -> Answer:
        form = {key: values[0] for key, values in parse_qs(request.body.decode()).items()}
        assert (form["REQUEST"], form["LANG"], form["FORMAT"]) == ("doQuery", "ADQL", "csv")
        assert f"FROM {table} WHERE targetid IN (" in form["QUERY"]
        asked = form["QUERY"].split("(")[1].rstrip(")").split(", ")
        rows = [",".join((id, *pixel_of[id])) for id in asked if id in pixel_of]
        return Answer("\n".join(["targetid,survey,program,healpix", *rows, ""]).encode())

    return reply


def serve_sparcl(server: ArchiveServer, spectra: Spectra, release: str = "DESI-DR1") -> dict[str, str]:
    """sparcl_id -> specid of these spectra."""
    records = {}
    for row, id in enumerate(spectra.catalogue["id"]):
        uuid = f"{row:08x}-b1ff-48ed-b162-46d9d65f829c"
        assert spectra.ivar is not None
        records[uuid] = {
            "sparcl_id": uuid, "specid": 39627652591521181 + row, "targetid": 39627652591521181 + row,
            "data_release": release, "ra": 10.0 + row, "dec": -3.5, "redshift": 0.25, "redshift_warning": 0,
            "spectype": "STAR", "wavelength": spectra.wavelength.tolist(), "flux": spectra.flux[row].tolist(),
            "ivar": spectra.ivar[row].tolist(), "mask": [0] * len(spectra.wavelength), "id": id,
        }  # fmt: skip
    server.replies["/sparc/spectras/"] = _retrieved(records)
    server.replies["/sparc/find/"] = _found(records)
    return {uuid: str(record["specid"]) for uuid, record in records.items()}


HEADER = {"status": {"success": True, "warnings": []}}


def _retrieved(records: dict[str, dict]):
    def reply(request: Request) -> Answer:
        query = parse_qs(request.query)
        assert query["format"] == ["json"]
        fields = query["include"][0].split(",")
        wanted = [records[id] for id in json.loads(request.body) if id in records]
        return Answer(json.dumps([HEADER, *({name: one[name] for name in fields} for one in wanted)]).encode())

    return reply


def _found(records: dict[str, dict]):
    def reply(request: Request) -> Answer:
        question = json.loads(request.body)
        ((field, *values),) = question["search"]
        found = [one for one in records.values() if one[field] in values]
        return Answer(json.dumps([HEADER, *({n: one[n] for n in question["outfields"]} for one in found)]).encode())

    return reply
