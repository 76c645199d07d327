"""What happens to one input file inside the process that reads it: read, joined, placed on the grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rarespec.formats import read_here
from rarespec.formats.contained import contained
from rarespec.spectrum import Defect, Skipped, Spectra
from rarespec.survey.ingest.join import joined
from rarespec.survey.ingest.options import IngestOptions
from rarespec.survey.placement import place


@dataclass(frozen=True, slots=True)
class Unmatched:
    """How many spectra of a file the joined catalogue does not know."""

    count: int


Outcome = Spectra | Defect | Skipped | Unmatched


def read_outcomes(path: str, options: IngestOptions) -> Iterator[Outcome]:
    """All that comes out of one file, in its order, read in a process of its own."""
    return contained(outcomes_of, options, path, options.limits)


def outcomes_of(options: IngestOptions, path: str) -> Iterator[Outcome]:
    """The same, read right here."""
    for item in read_here(path, options.format, options.reading):
        if not isinstance(item, Spectra):
            yield item
            continue
        if options.join:
            item, n_matched = joined(item, options.join)
            if n_matched < len(item):
                yield Unmatched(len(item) - n_matched)
        assert options.grid
        yield from place(item, options.grid, options.rest_frame)
