"""DESI: from a healpix, or from TARGETIDs, to the coadd with the spectra and the redrock with their classes."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rarespec.errors import SurveyError
from rarespec.fetching.addresses import Archive
from rarespec.fetching.fault import FaultError
from rarespec.fetching.record import Cause, Result, record_failure
from rarespec.fetching.targets import MANY_SPECTRA_BYTES, RemoteFile, Target, once
from rarespec.fetching.web import QUERY_SECONDS, Web
from rarespec.storage.text import printable

# ---- Where DESI observed a target: its survey, program and healpix, looked up in the redshift catalogue by IVOA TAP.
#
# One synchronous POST, not pyvo: pyvo reads the answer without a limit of size or time and follows redirects by itself,
# and `Web` guards all that. Its asynchronous jobs and uploads are not needed for 500 numbers.


TARGETS_AT_A_TIME = 500
QUERY = "SELECT targetid, survey, program, healpix FROM {table} WHERE targetid IN ({ids})"
COLUMNS = {"targetid", "survey", "program", "healpix"}
INSTEAD = "give a table with the columns TARGETID, SURVEY, PROGRAM and HEALPIX instead"


@dataclass(frozen=True, slots=True)
class Healpix:
    """A pixel of the sky (nested, nside 64) in one program of one survey; spectra are coadded within it."""

    survey: str
    program: str
    number: int

    def __str__(self) -> str:
        return f"{self.survey}-{self.program}-{self.number}"


WORD = re.compile(r"[a-z0-9]+")


def healpix_in(survey: str, program: str, number: str) -> Healpix | None:
    """Check the words that name a pixel; they become parts of addresses and of file names.

    Parameters
    ----------
    survey : str
        Survey of DESI, such as "main".
    program : str
        Program of the survey, such as "dark".
    number : str
        Number of the pixel in decimal digits (nested, nside 64).

    Returns
    -------
    Healpix or None
        None if these are not words that DESI uses.
    """
    is_one = WORD.fullmatch(survey) and WORD.fullmatch(program) and number.isascii() and number.isdigit()
    return Healpix(survey, program, int(number)) if is_one else None


def healpix_of(targets: Sequence[str], archive: Archive, web: Web) -> dict[str, list[Healpix]]:
    """Look up the pixels in which each target was coadded.

    Parameters
    ----------
    targets : sequence of str
        TARGETIDs in decimal digits.
    archive : Archive
        DESI, with the address of its TAP service.
    web : Web
        Asks the service, 500 targets at a time.

    Returns
    -------
    dict
        TARGETID, as it was given -> list of Healpix. Targets that the catalogue does not know are left out.

    Raises
    ------
    SurveyError
        If the service cannot be asked, or does not answer with a table.
    """
    found: dict[str, list[Healpix]] = {}
    for first in range(0, len(targets), TARGETS_AT_A_TIME):
        some = targets[first : first + TARGETS_AT_A_TIME]
        # The catalogue answers with plain numbers: an id with leading zeros would not be found again.
        written = {str(int(id)): id for id in some}
        for row in _answer(list(written), archive, web):
            pixel = healpix_in(row["survey"], row["program"], row["healpix"])
            if pixel and row["targetid"] in written:
                found.setdefault(written[row["targetid"]], []).append(pixel)
    return found


def _answer(targets: list[str], archive: Archive, web: Web) -> list[dict[str, str]]:
    query = QUERY.format(table=archive.text("lookup_table"), ids=", ".join(targets))
    form = {"REQUEST": "doQuery", "LANG": "ADQL", "FORMAT": "csv", "QUERY": query}
    address = archive.fill(archive.text("lookup"))
    try:
        text = web.text("POST", address, fields=form, encode_multipart=False, seconds=QUERY_SECONDS)
    except FaultError as fault:
        raise SurveyError(f"cannot look up the healpix of the TARGETIDs: {fault.reason}; {INSTEAD}") from None
    rows = [
        {key.lower(): value.strip() for key, value in row.items() if key} for row in csv.DictReader(text.splitlines())
    ]
    # Services also answer errors with status 200: a table begins with the name of one of its columns.
    if not text.lower().lstrip().startswith(tuple(COLUMNS)) or not all(row.keys() >= COLUMNS for row in rows):
        said = printable(" ".join(text.split())[:200])
        raise SurveyError(f"cannot look up the healpix of the TARGETIDs: the answer is {said!r}; {INSTEAD}")
    return rows


# ---- The files of a healpix.


HEALPIX = re.compile(r"(?:coadd-)?([a-z0-9]+)-([a-z0-9]+)-(\d+)(?:\.fits)?")
NO_ID = "not a DESI id: write survey-program-healpix (main-dark-23040) or a TARGETID (39627652591521181)"
KINDS = ("coadd", "redrock")


def desi_files(targets: Sequence[Target], archive: Archive, web: Web) -> list[RemoteFile | Result]:
    """Name two files, coadd and redrock, for each healpix that is asked for or holds a TARGETID that is.

    The row of a TARGETID may name its healpix (columns HEALPIX or HPXPIXEL, SURVEY and PROGRAM); otherwise the archive
    is asked for it.

    Parameters
    ----------
    targets : sequence of Target
        Healpix (main-dark-23040) or TARGETIDs.
    archive : Archive
        DESI, with its addresses.
    web : Web
        Asks for the pixels of TARGETIDs.

    Returns
    -------
    list of RemoteFile or Result
        The files, each once; then a failure, with the reason, for each target without a file.

    Raises
    ------
    SurveyError
        If pixels have to be looked up and cannot be.
    """
    places = {one.id: _in_words(one) for one in targets}
    targetids = [id for id, place in places.items() if not place and _is_targetid(id)]
    looked_up = healpix_of(targetids, archive, web)
    files: list[RemoteFile] = []
    failures: list[Result] = []
    for id, place in places.items():
        pixels = [place] if place else looked_up.get(id, [])
        files += [_file(id, pixel, kind, archive) for pixel in pixels for kind in KINDS]
        if not pixels:
            failures.append(_why_none(id, archive))
    return [*once(files), *failures]


def without_classes(failures: Sequence[Result]) -> set[str]:
    """Name the coadds whose redrock could not be fetched: if stored now, they would never get their classes."""
    return {one.name.replace("redrock-", "coadd-") for one in failures if "redrock-" in one.name}


def _why_none(id: str, archive: Archive) -> Result:
    if not _is_targetid(id):
        return record_failure([id], NO_ID, cause=Cause.NO_ID)
    unknown = f"not in the archive: {archive.text('lookup_table')} has no such TARGETID"
    return record_failure([id], unknown, cause=Cause.ABSENT)


def _is_targetid(id: str) -> bool:
    return id.isascii() and id.isdigit()


def _in_words(target: Target) -> Healpix | None:
    match = HEALPIX.fullmatch(target.id)
    if match:
        return healpix_in(match[1], match[2], match[3])
    return healpix_in(target.word("survey"), target.word("program"), target.word("healpix", "hpxpixel"))


def _file(id: str, pixel: Healpix, kind: str, archive: Archive) -> RemoteFile:
    values = {"survey": pixel.survey, "program": pixel.program, "healpix": pixel.number,
              "group": pixel.number // 100, "specprod": archive.text("specprod")}  # fmt: skip
    addresses = tuple(archive.fill(template, kind=kind, **values) for template in archive.texts("file"))
    name = f"{pixel}/{kind}-{pixel}.fits"
    checksums = archive.fill(archive.values.get("checksums", ""), **values)
    return RemoteFile((id,), name, addresses, checksums, MANY_SPECTRA_BYTES)
