"""The account of an ingest: the counts, and the table of defects kept with the survey."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rarespec.errors import SurveyError
from rarespec.spectrum import Defect, Reason
from rarespec.storage.text import printable
from rarespec.survey.store.location import MOST_TEXT, content_of
from rarespec.survey.store.manifest import DEFECTS as NAME


@dataclass
class IngestReport:
    """Counts of one ingest, append or fetch.

    A file with several spectra counts as stored when at least one of them was.

    Parameters
    ----------
    files : Counter
        Files "stored", "repeated" and "defective"; and "set aside": catalogues and files with nothing but sky fibres.
    spectra : Counter
        Spectra "stored", "repeated" and "defective".
    reasons : Counter
        Why something is defective -> how often.
    skipped : Counter
        Spectra left out on purpose, such as sky fibres -> how many.
    noted : Counter
        What readers decided where files do not say enough, such as a unit -> for how many spectra.
    unmatched : int
        Spectra that the joined catalogue does not have.
    not_joined : int
        Files that were stored before, to which the catalogue was therefore not joined.
    columns_left_out : int
        Catalogue columns that the survey did not take, because a file or the survey has too many.

    Examples
    --------
    >>> from collections import Counter
    >>> from rarespec.survey import IngestReport
    >>> report = IngestReport(files=Counter(stored=9, defective=1), reasons=Counter(truncated=1))
    >>> report.files_seen
    10
    """

    files: Counter[str] = field(default_factory=Counter)
    spectra: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)
    unmatched: int = 0
    not_joined: int = 0
    columns_left_out: int = 0

    @property
    def files_seen(self) -> int:
        """Files that were stored, repeated, defective or set aside."""
        return sum(self.files.values())

    def to_json(self) -> dict[str, Any]:
        """Give the counts in values that JSON has.

        Returns
        -------
        dict
            Counts by name, in a fixed order.
        """
        return {
            "files": {"seen": self.files_seen} | _counts(self.files, "stored", "repeated", "defective", "set aside"),
            "spectra": _counts(self.spectra, "stored", "repeated", "defective"),
            "reasons": dict(self.reasons),
            "skipped": dict(self.skipped),
            "noted": dict(self.noted),
            "unmatched": self.unmatched,
            "not joined": self.not_joined,
            "columns left out": self.columns_left_out,
        }


def _counts(counter: Counter[str], *names: str) -> dict[str, int]:
    return {name: counter[name] for name in names}


# ---- The table of defects kept with a survey: a plain CSV file that anyone can open.


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
    """Read the defects of the survey in this directory; empty if nothing was ever wrong."""
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
