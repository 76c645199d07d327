"""Where DESI observed a target: its survey, program and healpix, looked up in the redshift catalogue by IVOA TAP."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rarespec.fetching.addresses import Archive
from rarespec.fetching.fault import FaultError
from rarespec.fetching.web import QUERY_SECONDS, Web
from rarespec.spectrum.printable import printable
from rarespec.survey.manifest import SurveyError

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
    """None when these are no words of DESI; they become parts of addresses and of file names."""
    is_one = WORD.fullmatch(survey) and WORD.fullmatch(program) and number.isascii() and number.isdigit()
    return Healpix(survey, program, int(number)) if is_one else None


def healpix_of(targets: Sequence[str], archive: Archive, web: Web) -> dict[str, list[Healpix]]:
    """TARGETID -> all pixels in which it was coadded; targets that the catalogue does not know are left out."""
    found: dict[str, list[Healpix]] = {}
    for first in range(0, len(targets), TARGETS_AT_A_TIME):
        some = targets[first : first + TARGETS_AT_A_TIME]
        written = {str(int(id)): id for id in some}
        for row in _answer(list(written), archive, web):
            pixel = healpix_in(row["survey"], row["program"], row["healpix"])
            if pixel and row["targetid"] in written:
                found.setdefault(written[row["targetid"]], []).append(pixel)
    return found


def _answer(targets: list[str], archive: Archive, web: Web) -> list[dict[str, str]]:
    query = QUERY.format(table=archive.text("lookup_table"), ids=", ".join(targets))
    form = {"REQUEST": "doQuery", "LANG": "ADQL", "FORMAT": "csv", "QUERY": query}
    address = archive.filled(archive.text("lookup"))
    try:
        text = web.text("POST", address, fields=form, encode_multipart=False, seconds=QUERY_SECONDS)
    except FaultError as fault:
        raise SurveyError(f"cannot look up the healpix of the TARGETIDs: {fault.reason}; {INSTEAD}") from None
    rows = [
        {key.lower(): value.strip() for key, value in row.items() if key} for row in csv.DictReader(text.splitlines())
    ]
    if not text.lower().lstrip().startswith(tuple(COLUMNS)) or not all(row.keys() >= COLUMNS for row in rows):
        said = printable(" ".join(text.split())[:200])
        raise SurveyError(f"cannot look up the healpix of the TARGETIDs: the answer is {said!r}; {INSTEAD}")
    return rows
