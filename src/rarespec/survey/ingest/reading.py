"""What happens to one input file inside the process that reads it, and what the user may choose about it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field

from rarespec.formats import read_here
from rarespec.formats.contained import USUAL_LIMITS, ReadLimits, read_contained
from rarespec.formats.reader import Found, ReadOptions
from rarespec.formats.readers import read_plain
from rarespec.spectrum import Defect, Noted, Resolution, Skipped, Spectra, WavelengthGrid
from rarespec.survey.grid_choice import Call, calls_of
from rarespec.survey.ingest.join import join_catalogue
from rarespec.survey.placement import at_rest, place
from rarespec.survey.store.precision import Precision

# ---- What the user may choose about an ingest.


@dataclass(frozen=True)
class IngestOptions:
    """How input files become spectra of a survey.

    Parameters
    ----------
    grid : WavelengthGrid, optional
        By default that of the survey; for a new one, what its first spectra call for.
    rest_frame : bool
        Shift each spectrum to its rest frame by its redshift.
    format : str, optional
        Name of a reader; by default each file is recognised by its structure.
    join : str, optional
        An Arrow file made by `join.prepare`, with a row of catalogue values per id.
    reading : ReadOptions
        How files are read.
    limits : ReadLimits
        A file that takes more time or memory than this is a defect.
    resolution : Resolution, optional
        Of all spectra, where their files do not say it.
    precision : Precision, optional
        By default that of the survey; for a new one, steps of the noise.
    """

    grid: WavelengthGrid | None = None
    rest_frame: bool = False
    format: str | None = None
    join: str | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    limits: ReadLimits = USUAL_LIMITS
    resolution: Resolution | None = None
    precision: Precision | None = None


# ---- What happens to one input file inside the process that reads it: read, joined, placed on the grid.


@dataclass(frozen=True, slots=True)
class Unmatched:
    """How many spectra of a file the joined catalogue does not know."""

    count: int


Outcome = Spectra | Defect | Skipped | Noted | Unmatched


def read_outcomes(path: str, options: IngestOptions) -> Iterator[Outcome]:
    """Read all outcomes of one file, in its order, in a process of its own."""
    return read_contained(outcomes_of, options, path, options.limits)


def outcomes_of(options: IngestOptions, path: str) -> Iterator[Outcome]:
    """Read all outcomes of one file, in its order, in this process."""
    return _prepare(read_here(path, options.format, options.reading), options)


def plain_outcomes(options: IngestOptions, path: str) -> list[Outcome] | None:
    """Read a sound file of a fixed layout in this process; None for a file that needs a process of its own."""
    found = read_plain(path, options.format, options.reading)
    return None if found is None else list(_prepare(found, options))


def read_calls(path: str, options: IngestOptions) -> Generator[list[Call], None, None]:
    """Find which grids the spectra of one file call for, stack by stack; what is wrong with them is said later."""
    found = read_plain(path, options.format, options.reading)
    if found is None:
        return (some for some in read_contained(calls_in, options, path, options.limits) if isinstance(some, list))
    return _calls(found, options)


def calls_in(options: IngestOptions, path: str) -> Iterator[list[Call]]:
    """Find as `read_calls` does, in this process."""
    return _calls(read_here(path, options.format, options.reading), options)


def _calls(found: Iterable[Found], options: IngestOptions) -> Generator[list[Call], None, None]:
    for item in found:
        if not isinstance(item, Spectra):
            continue
        if not options.rest_frame:
            yield calls_of(item)
            continue
        joined = join_catalogue(item, options.join)[0] if options.join else item
        yield [call for part in at_rest(joined) if isinstance(part, Spectra) for call in calls_of(part)]


def _prepare(found: Iterable[Found], options: IngestOptions) -> Iterator[Outcome]:
    """Join the catalogue to the spectra of a file and place them on the grid."""
    for item in found:
        if not isinstance(item, Spectra):
            yield item
            continue
        if options.join:
            item, n_matched = join_catalogue(item, options.join)
            if n_matched < len(item):
                yield Unmatched(len(item) - n_matched)
        assert options.grid
        yield from place(item, options.grid, options.rest_frame)
