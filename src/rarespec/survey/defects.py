"""The table of defects kept with a survey: a plain CSV file that anyone can open."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from rarespec.spectrum import Defect, Reason
from rarespec.spectrum.printable import printable
from rarespec.survey.location import content_of

NAME = "defects.csv"
_HEADER = ("path", "id", "reason", "detail")


def to_csv(defects: Iterable[Defect]) -> bytes:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_HEADER)
    table.writerows((printable(d.source), printable(d.id), d.reason.value, printable(d.detail)) for d in defects)
    return text.getvalue().encode()


def load_defects(survey: Path) -> list[Defect]:
    """The defects of the survey in this directory; none when nothing was ever wrong."""
    try:
        text = content_of(survey / NAME).decode()
    except FileNotFoundError:
        return []
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return [Defect(row["path"], Reason(row["reason"]), row["detail"], row["id"]) for row in rows]
