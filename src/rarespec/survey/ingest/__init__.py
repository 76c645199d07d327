"""From survey files to a survey: `ingest`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence

from rarespec.formats.contained import USUAL_LIMITS, read_limits
from rarespec.formats.reader import ReadOptions
from rarespec.spectrum import WavelengthGrid
from rarespec.survey.engine_for import AnyEngine
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.survey import Survey

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class DefectsWarning(UserWarning):
    """Some input could not be stored; `survey.defects` says which and why."""


def ingest(
    paths: Paths,
    into: str | os.PathLike[str],
    *,
    format: str | None = None,
    grid: WavelengthGrid | str | None = None,
    rest_frame: bool = False,
    join: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    air: bool = False,
    sdss_bad_bits: int | None = None,
    jobs: int | None = None,
    engine: AnyEngine = None,
    time_limit: float = USUAL_LIMITS.seconds,
    memory_limit: float = USUAL_LIMITS.memory / 1e9,
) -> Survey:
    """Read survey files into a survey on disk, which is made or grown, and return it.

    Parameters
    ----------
    paths : files, directories, globs (`"dr17/**/spec-*.fits"`), or `"@list.txt"` with one path a line,
        relative to the list
    into : directory of the survey
    format : name of a reader; by default each file is recognised by its structure
    grid : wavelength grid, or its text form (`"log:3.5930:1e-4:3601"`); by default that of the survey that grows, and
        the paper's for a new one
    rest_frame : shift each spectrum by its redshift
    join : catalogue files (FITS, CSV, ECSV, VOTable, Parquet) whose columns are joined by id
    air : wavelengths are in air although the files do not say so
    sdss_bad_bits : bits of SDSS's and_mask that make a pixel bad
    jobs : worker processes; by default one per core
    engine : a Dask cluster that reads the files instead, given by its address, its client or as a DaskCluster
    time_limit : seconds in which a file must give its next spectra; a large file gets a second more for every 10 MB
    memory_limit : gigabytes that the process which reads a file may use

    A bad file never stops the rest: it is listed in `survey.defects`, and a `DefectsWarning` gives the count.
    Running the same ingest again, also after an interruption, reads only what the survey does not hold yet.
    """
    reading = ReadOptions(air=air) if sdss_bad_bits is None else ReadOptions(air=air, sdss_bad_bits=sdss_bad_bits)
    grid = WavelengthGrid.parse(grid) if isinstance(grid, str) else grid
    limits = read_limits(time_limit, memory_limit)
    options = IngestOptions(grid, rest_frame, format, None, reading, limits)
    survey, report = run_ingest(_as_list(paths), into, options, _as_list(join), jobs, engine=engine)
    if report.spectra["defective"]:
        warnings.warn(
            f"{report.files['defective']} of {report.files_seen} files could not be stored "
            f"({report.spectra['defective']} defects in all); see survey.defects",
            DefectsWarning,
            stacklevel=2,
        )
    return survey


def _as_list(paths: Paths) -> list[str | os.PathLike[str]]:
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)
