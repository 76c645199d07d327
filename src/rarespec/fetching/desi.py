"""DESI: from a healpix, or from TARGETIDs, to the coadd with the spectra and the redrock with their classes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rarespec.fetching.addresses import Archive
from rarespec.fetching.asked import Asked
from rarespec.fetching.healpix import Healpix, healpix_in, healpix_of
from rarespec.fetching.outcome import Cause, Result, failed
from rarespec.fetching.wanted import MANY_SPECTRA_BYTES, Wanted, once
from rarespec.fetching.web import Web

HEALPIX = re.compile(r"(?:coadd-)?([a-z0-9]+)-([a-z0-9]+)-(\d+)(?:\.fits)?")
NO_ID = "not a DESI id: write survey-program-healpix (main-dark-23040) or a TARGETID (39627652591521181)"
KINDS = ("coadd", "redrock")


def desi_files(asked: Sequence[Asked], archive: Archive, web: Web) -> list[Wanted | Result]:
    """Two files for each healpix that is asked for or holds a TARGETID that is; or failures that say why not.

    The healpix of a TARGETID is in its row (columns HEALPIX or HPXPIXEL, SURVEY and PROGRAM); those of the others are
    looked up.
    """
    places = {one.id: _in_words(one) for one in asked}
    targets = [id for id, place in places.items() if not place and _is_targetid(id)]
    looked_up = healpix_of(targets, archive, web)
    files: list[Wanted] = []
    failures: list[Result] = []
    for id, place in places.items():
        pixels = [place] if place else looked_up.get(id, [])
        files += [_file(id, pixel, kind, archive) for pixel in pixels for kind in KINDS]
        if not pixels:
            failures.append(_why_none(id, archive))
    return [*once(files), *failures]


def without_classes(failures: Sequence[Result]) -> set[str]:
    """Names of the coadds whose redrock could not be fetched: stored now, they would never get their classes."""
    return {one.name.replace("redrock-", "coadd-") for one in failures if "redrock-" in one.name}


def _why_none(id: str, archive: Archive) -> Result:
    if not _is_targetid(id):
        return failed([id], NO_ID, cause=Cause.NO_ID)
    unknown = f"not in the archive: {archive.text('lookup_table')} has no such TARGETID"
    return failed([id], unknown, cause=Cause.ABSENT)


def _is_targetid(id: str) -> bool:
    return id.isascii() and id.isdigit()


def _in_words(asked: Asked) -> Healpix | None:
    match = HEALPIX.fullmatch(asked.id)
    if match:
        return healpix_in(match[1], match[2], match[3])
    return healpix_in(asked.word("survey"), asked.word("program"), asked.word("healpix", "hpxpixel"))


def _file(id: str, pixel: Healpix, kind: str, archive: Archive) -> Wanted:
    values = {"survey": pixel.survey, "program": pixel.program, "healpix": pixel.number,
              "group": pixel.number // 100, "specprod": archive.text("specprod")}  # fmt: skip
    addresses = tuple(archive.filled(template, kind=kind, **values) for template in archive.texts("file"))
    name = f"{pixel}/{kind}-{pixel}.fits"
    checksums = archive.filled(archive.values.get("checksums", ""), **values)
    return Wanted((id,), name, addresses, checksums, MANY_SPECTRA_BYTES)
