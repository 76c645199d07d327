"""What is wrong with a file or a spectrum: a value that is kept and counted, never an exception that stops a batch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rarespec.errors import RarespecError


class Reason(StrEnum):
    """Kinds of defect, in the words printed to the user."""

    EMPTY = "empty file"
    HTML_PAGE = "web page instead of data"
    TRUNCATED = "truncated"
    CHECKSUM = "checksum mismatch"
    CORRUPT = "corrupt"
    TOO_LARGE = "inflates beyond the limit"
    TOO_MUCH_MEMORY = "needs too much memory"
    TOO_SLOW = "takes too long to read"
    UNREADABLE = "unreadable"
    UNRECOGNISED = "unrecognised format"
    LAYOUT = "unexpected layout"
    MISSING_COLUMN = "missing column"
    NO_GOOD_PIXELS = "no good pixels"
    NO_OVERLAP = "no overlap with the grid"
    NO_REDSHIFT = "no redshift for the rest frame"
    DIRECTORY_LOOP = "directory loop"
    NO_FEATURES = "no features"
    READER_CRASHED = "reader crashed"


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that could not be stored: where it is, why, and the detail a person needs to act on it."""

    source: str
    reason: Reason
    detail: str
    id: str = ""


class DefectError(RarespecError):
    """Raised while one file is being read; the edge of the formats room turns it into a `Defect`."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[DefectError], tuple[Reason, str]]:
        return type(self), (self.reason, self.detail)

    def at(self, source: str) -> Defect:
        return Defect(source, self.reason, self.detail)


# ---- Rows that a reader leaves out on purpose, such as sky fibres. Not a defect: nothing is wrong with them.


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many rows of a file hold no target spectrum, and why; counted and reported, never dropped in silence."""

    source: str
    reason: str
    count: int
