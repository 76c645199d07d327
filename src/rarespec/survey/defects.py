"""The table of defects kept with a survey: a plain CSV file that anyone can open."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from rarespec.spectrum import Defect, Reason
from rarespec.spectrum.printable import printable
from rarespec.survey.layout import DEFECTS as NAME
from rarespec.survey.location import MOST_TEXT, content_of
from rarespec.survey.manifest import SurveyError

_HEADER = ("path", "id", "reason", "detail")
LONGEST = 30_000
"""Characters of a cell: the longest path, written out. Beyond some 130 000 the file could not be read again."""


def to_csv(defects: Iterable[Defect]) -> bytes:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_HEADER)
    table.writerows((_cell(d.source), _cell(d.id), d.reason.value, _cell(d.detail)) for d in defects)
    return text.getvalue().encode()


def _cell(text: str) -> str:
    written = printable(text[: LONGEST + 1])
    return written if len(written) <= LONGEST else f"{written[:LONGEST]}..."


def load_defects(survey: Path) -> list[Defect]:
    """The defects of the survey in this directory; none when nothing was ever wrong."""
    try:
        text = content_of(survey / NAME, MOST_TEXT).decode()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise SurveyError(f"{survey / NAME}: damaged (not UTF-8); run `rarespec verify`") from None
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        if tuple(next(rows)) != _HEADER:
            raise ValueError("unexpected columns")
        return [Defect(path, Reason(reason), detail, id) for path, id, reason, detail in rows]
    except (ValueError, csv.Error, StopIteration) as error:
        raise SurveyError(f"{survey / NAME}: damaged ({printable(str(error))}); run `rarespec verify`") from None
