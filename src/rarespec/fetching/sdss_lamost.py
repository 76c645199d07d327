"""SDSS and LAMOST: from ids to the addresses of spectra."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rarespec.fetching.addresses import Archive, Table, archive
from rarespec.fetching.record import Cause, Result, record_failure
from rarespec.fetching.secret import Secret, secret_from_environment
from rarespec.fetching.targets import RemoteFile, Target
from rarespec.formats.surveys.sdss import BOSS_FIRST_MJD, field_mjd_catalogid, plate_mjd_fiber
from rarespec.storage.text import printable

ID = re.compile(r"(?:spec-)?(\d{1,6})-(\d{5})-(\d{1,20})(?:\.fits)?")
RUN2D = re.compile(r"\w+")
MOST_FIBERS = 1000
"""Fibres of the largest plate. What is larger is the catalogid of an SDSS-V object."""
NO_ID = "not an SDSS id: write plate-mjd-fiber (0355-51788-0579) or field-mjd-catalogid (015004-59191-4402835442)"


def sdss_files(
    targets: Sequence[Target], table: Table, release: str | None = None, run2d: str | None = None
) -> list[RemoteFile | Result]:
    """Name a file for each object of SDSS.

    Parameters
    ----------
    targets : sequence of Target
        Objects by plate-mjd-fiber or field-mjd-catalogid.
    table : mapping
        The table of archives, as `load_addresses` gives it.
    release : str, optional
        Release of SDSS. By default the table has one for plates and one for fields.
    run2d : str, optional
        The reduction. By default that of the object's row. Without one, the reductions in the table are tried in turn:
        26, 104 and 103 for the first spectrographs, that of the release for BOSS and SDSS-V.

    Returns
    -------
    list of RemoteFile or Result
        In the order of the targets; a Result is a failure that says why there is no file.

    Raises
    ------
    UsageError
        If the table has no such release.
    """
    plates = archive(table, "sdss", release, "plate_release")
    fields = archive(table, "sdss", release, "field_release")
    return [_file(one, plates, fields, run2d or one.word("run2d")) for one in targets]


def _file(target: Target, plates: Archive, fields: Archive, run2d: str) -> RemoteFile | Result:
    match = ID.fullmatch(target.id)
    if not match:
        return record_failure([target.id], NO_ID, cause=Cause.NO_ID)
    if run2d and not RUN2D.fullmatch(run2d):
        return record_failure([target.id], f"there is no SDSS reduction {printable(run2d)!r}", cause=Cause.NO_ID)
    first, mjd, last = int(match[1]), int(match[2]), int(match[3])
    if last > MOST_FIBERS:
        return _of_field(target.id, fields, first, mjd, last, run2d)
    return _of_plate(target.id, plates, first, mjd, last, run2d)


def _of_plate(id: str, archive: Archive, plate: int, mjd: int, fiber: int, run2d: str) -> RemoteFile:
    era = "legacy" if mjd < BOSS_FIRST_MJD else "boss"
    runs = [run2d] if run2d else archive.texts(f"{era}_run2d")
    # A number is a reduction of the first spectrographs, a version one of BOSS.
    redux = archive.text("boss_redux" if runs[0].startswith("v") else "legacy_redux")
    values: dict[str, Any] = {"plate": plate, "mjd": mjd, "fiber": fiber, "redux": redux}
    name = f"{plate:04d}/spec-{plate_mjd_fiber(plate, mjd, fiber)}.fits"
    return RemoteFile((id,), name, _addresses(archive, "plate", runs, values), archive.values.get("checksums", ""))


def _of_field(id: str, archive: Archive, field: int, mjd: int, catalogid: int, run2d: str) -> RemoteFile:
    runs = [run2d] if run2d else archive.texts("field_run2d")
    values: dict[str, Any] = {"field": field, "mjd": mjd, "catalogid": catalogid, "group": f"{field // 1000:03d}XXX"}
    name = f"{field:06d}/spec-{field_mjd_catalogid(field, mjd, catalogid)}.fits"
    return RemoteFile((id,), name, _addresses(archive, "field", runs, values), archive.values.get("checksums", ""))


def _addresses(archive: Archive, kind: str, runs: Sequence[str], values: dict[str, Any]) -> tuple[str, ...]:
    templates = archive.texts(kind)
    return tuple(archive.fill(template, run2d=run, **values) for run in runs for template in templates)


# ---- LAMOST: from obsid to the address of a spectrum.


NO_OBSID = "not a LAMOST obsid: write a whole number, such as 437513049"


def lamost_files(targets: Sequence[Target], archive: Archive) -> list[RemoteFile | Result]:
    """Name a file for each object, or say in a failure why there is none."""
    return [_lamost_file(one.id, archive) for one in targets]


def _lamost_file(id: str, archive: Archive) -> RemoteFile | Result:
    if not (id.isascii() and id.isdigit()):
        return record_failure([id], NO_OBSID, cause=Cause.NO_ID)
    obsid = int(id)
    addresses = tuple(archive.fill(template, obsid=obsid) for template in archive.texts("spectrum"))
    return RemoteFile((id,), f"{obsid // 100_000}/lamost-{obsid}.fits", addresses)


def lamost_secret(archive: Archive) -> Secret | None:
    """Take the token for releases that are not public yet from the environment, and from nowhere else."""
    address = archive.fill(archive.texts("spectrum")[0], obsid=0)
    return secret_from_environment(archive.text("token_variable"), address)
