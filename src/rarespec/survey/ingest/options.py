"""What the user may choose about an ingest."""

from __future__ import annotations

from dataclasses import dataclass, field

from rarespec.formats.contained import USUAL_LIMITS, ReadLimits
from rarespec.formats.reader import ReadOptions
from rarespec.spectrum import WavelengthGrid


@dataclass(frozen=True)
class IngestOptions:
    grid: WavelengthGrid | None = None
    """By default that of the survey, and the paper's for a new one."""
    rest_frame: bool = False
    format: str | None = None
    """Name of a reader; by default each file is recognised by its structure."""
    join: str | None = None
    """An Arrow file made by `join.prepare`, with a row of catalogue values per id."""
    reading: ReadOptions = field(default_factory=ReadOptions)
    limits: ReadLimits = USUAL_LIMITS
    """A file that takes more time or memory than this is a defect."""
