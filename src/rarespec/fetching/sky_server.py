"""Queries to SDSS's SkyServer, in SQL."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from urllib.parse import quote

from rarespec.fetching.addresses import Archive
from rarespec.fetching.asked import Asked
from rarespec.fetching.fault import FaultError
from rarespec.fetching.web import QUERY_SECONDS, Web, page_title
from rarespec.formats.sdss_id import field_mjd_catalogid, plate_mjd_fiber
from rarespec.spectrum.printable import printable
from rarespec.survey.manifest import SurveyError, WrongUseError

WANTED = "the query must return plate, mjd and fiberid (and best run2d), or field, mjd and catalogid"


def rows_of(sql: str, archive: Archive, web: Web) -> list[Asked]:
    """The objects that a query gives, every one once, in its order."""
    address = archive.filled(archive.text("sql"), sql=quote(" ".join(sql.split()), safe=""))
    try:
        text = web.text("GET", address, seconds=QUERY_SECONDS)
    except FaultError as fault:
        raise SurveyError(f"SkyServer, release {archive.release}: {fault.reason}") from None
    rows = _parsed(text, archive.release)
    if len(rows) >= archive.number("sql_rows"):
        raise SurveyError(f"SkyServer truncated the result at {len(rows)} rows; request fewer at a time")
    return list({one.id: one for one in map(_asked, rows)}.values())


def _parsed(text: str, release: str) -> list[dict[str, str]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    title = page_title(text.encode())
    if title is not None or not lines or _is_message(lines[0]):
        said = title if title is not None else " ".join(lines)
        raise WrongUseError(
            f"SkyServer, release {release}, returned no table but the message: {printable(said or '')[:300]!r}"
        )
    reader = csv.DictReader(lines)
    return [{(key or "").strip().lower(): (value or "").strip() for key, value in row.items()} for row in reader]


def _is_message(line: str) -> bool:
    return line.lstrip().startswith(("{", "<")) or line.lower().startswith(("error", "sql", "no objects", "no entries"))


def _asked(row: dict[str, str]) -> Asked:
    try:
        if "catalogid" in row:
            return Asked(field_mjd_catalogid(int(row["field"]), int(row["mjd"]), row["catalogid"]), row)
        fiber = row["fiberid"] if "fiberid" in row else row["fiber"]
        return Asked(plate_mjd_fiber(int(row["plate"]), int(row["mjd"]), int(fiber)), row)
    except (KeyError, ValueError):
        raise WrongUseError(f"{WANTED}; there is {_listed(row)}") from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
