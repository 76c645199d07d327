"""From survey files to a survey: `ingest`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rarespec.formats.contained import USUAL_LIMITS, read_limits
from rarespec.formats.reader import SDSS_BAD_BITS, ReadOptions
from rarespec.spectrum import Resolution, WavelengthGrid
from rarespec.survey.engine_for import AnyEngine
from rarespec.survey.fit_of_grid import fits_of
from rarespec.survey.hours import ask_about_hours
from rarespec.survey.ingest.first_files import grid_of_text
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store.precision import Precision
from rarespec.survey.survey import Survey

WORTH_A_WARNING = 0.01
"""Share of the good pixels that the grid leaves out; `rarespec info` tells of any."""

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class GridWarning(UserWarning):
    """The grid of the survey leaves out a part of the spectra; `rarespec info` says how much."""


class HoursWarning(UserWarning):
    """Right ascensions look like hours; a survey takes numbers without a unit for degrees."""


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
    resolution: float | str | None = None,
    wavelength_unit: str | None = None,
    precision: Precision | str | None = None,
) -> Survey:
    """Read survey files into a survey on disk, which is made or grown.

    A bad file never stops the rest: it is listed in `survey.defects`, and a `DefectsWarning` gives the count. Run the
    same ingest again, also after an interruption, and it reads only what the survey does not hold yet.

    Parameters
    ----------
    paths : path, str or iterable of them
        Files, directories, globs (``"dr17/**/spec-*.fits"``), or ``"@list.txt"`` with one path a line, relative to the
        list.
    into : path or str
        Directory of the survey.
    format : str, optional
        Name of a reader; by default each file is recognised by its structure.
    grid : WavelengthGrid or str, optional
        The wavelength grid, or its text form: ``"desi"``, ``"log:3.5930:1e-4:3601"``, ``"linear:0.8um:1nm:1601"`` or
        ``"like:FILE"``. By default that of the survey that grows; a new one gets the grid that its first files call
        for: sdss, boss, lamost or desi for spectra of these surveys, otherwise the sampling of the spectra over the
        range that at least half of them cover, with at most 20 000 pixels. A `GridWarning` says if it leaves out more
        than 1 % of the spectra.
    rest_frame : bool
        Shift each spectrum to its rest frame by its redshift.
    join : path, str or sequence of them
        Catalogue files (FITS, CSV, ECSV, VOTable, Parquet) whose columns are joined by id.
    air : bool
        Wavelengths are in air although the files do not say so.
    sdss_bad_bits : int, optional
        Bits of SDSS's and_mask that make a pixel bad.
    jobs : int, optional
        Worker processes; by default one per core.
    engine : address, client or engine, optional
        A Dask cluster that reads the files instead, given by its address, its client or as a DaskCluster.
    time_limit : float
        Seconds in which a file must give its next spectra; a large file gets a second more for every 10 MB.
    memory_limit : float
        Gigabytes that the process which reads a file may use.
    resolution : float or str, optional
        Resolving power of the spectra, 2000, or the width of their lines, ``"1.8A"``. Examples of another instrument
        are smoothed to it by a search.
    wavelength_unit : str, optional
        Unit of the wavelengths in files that name none: ``"A"``, ``"nm"`` or ``"um"``. By default the size of the
        numbers decides.
    precision : Precision or str, optional
        How precisely a new survey stores its spectra: ``"noise"``, the default, in steps of 0.35 of their noise,
        ``"noise:0.2"``, or ``"exact"`` in float32.

    Returns
    -------
    Survey
        The survey with the new spectra.

    Raises
    ------
    UsageError
        If a setting is wrong, or does not fit the survey that grows.
    SurveyError
        If a catalogue to join cannot be read, or the survey is damaged.
    BusyError
        If another process is writing to this survey.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> from rarespec.mock.files import native_wavelength, write_files
    >>> with TemporaryDirectory() as folder:
    ...     sky = rarespec.MockSky(3, seed=1, wavelength=native_wavelength("sdss"))
    ...     files = write_files(sky.block(0), "sdss", f"{folder}/files")
    ...     survey = rarespec.ingest(files, f"{folder}/sdss.survey", jobs=1)
    >>> len(survey)
    3
    """
    reading = ReadOptions(air, SDSS_BAD_BITS if sdss_bad_bits is None else sdss_bad_bits, wavelength_unit)
    limits = read_limits(time_limit, memory_limit)
    sharpness = None if resolution is None else Resolution.parse(resolution)
    options = IngestOptions(None, rest_frame, format, None, reading, limits, sharpness)
    steps = Precision.parse(precision) if isinstance(precision, str) else precision
    grid = grid_of_text(grid, options) if isinstance(grid, str) else grid
    options = replace(options, grid=grid, precision=steps)
    survey, report = run_ingest(_as_list(paths), into, options, _as_list(join), jobs, engine=engine)
    if report.spectra["defective"]:
        warnings.warn(
            f"{report.files['defective']} of {report.files_seen} files could not be stored "
            f"({report.spectra['defective']} defects in all); see survey.defects",
            DefectsWarning,
            stacklevel=2,
        )
    for fit in fits_of(survey):
        if fit.outside >= WORTH_A_WARNING:
            warnings.warn(fit.in_words()[0], GridWarning, stacklevel=2)
    if question := ask_about_hours(survey):
        warnings.warn(question, HoursWarning, stacklevel=2)
    return survey


def _as_list(paths: Paths) -> list[str | os.PathLike[str]]:
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)
