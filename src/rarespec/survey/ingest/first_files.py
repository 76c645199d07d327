"""The grid that files call for: the first ones of an ingest, or the one that `--grid like:FILE` names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from rarespec.errors import UsageError
from rarespec.formats import read
from rarespec.formats.contained import end_readers
from rarespec.spectrum import Defect, WavelengthGrid
from rarespec.survey.grid_choice import ENOUGH_FILES, ENOUGH_SPECTRA, Call, GridChoice, choose_grid
from rarespec.survey.ingest.reading import IngestOptions, read_calls
from rarespec.survey.store.manifest import NAME as MANIFEST
from rarespec.survey.store.manifest import Manifest

LIKE = ("like:", "like ")


def grid_of_files(files: Iterable[str], options: IngestOptions) -> GridChoice | None:
    """Choose the grid that the first spectra of these files call for; None if there are no spectra.

    It depends on the files and their order alone: a run that was killed before it stored anything chooses the same.
    """
    calls: list[Call] = []
    n_files = 0
    for path in files:
        n_before = len(calls)
        with closing(read_calls(path, options)) as found:
            for some in found:
                calls += some
                if len(calls) >= ENOUGH_SPECTRA:
                    return choose_grid(calls[:ENOUGH_SPECTRA])
        n_files += len(calls) > n_before
        if n_files == ENOUGH_FILES:
            break
    return choose_grid(calls) if calls else None


def grid_of_text(text: str, options: IngestOptions) -> WavelengthGrid:
    """Read a grid as `--grid` takes it: as `WavelengthGrid.parse` does, or like that of a file or of a survey.

    Parameters
    ----------
    text : str
        A grid, or `like:PATH`.
    options : IngestOptions
        How the file is read.

    Returns
    -------
    WavelengthGrid
        The grid.

    Raises
    ------
    ValueError
        If the text is no grid.
    UsageError
        If the file has no spectrum that can be read.
    """
    if not text.lower().startswith(LIKE) and text.lower() != "like":
        return WavelengthGrid.parse(text)
    name = text[len(LIKE[0]) :].strip()
    if not name:
        raise UsageError(f"--grid {text}: name a file or a survey behind it, as in like:night1.fits")
    path = Path(name)
    if (path / MANIFEST).exists():
        return Manifest.load(path).grid
    try:
        choice = grid_of_files([os.path.abspath(path)], options)
        if choice is None:
            raise UsageError(f"--grid like:{path}: {_why_unreadable(path, options)}")
    finally:
        end_readers()
    return choice.grid


def _why_unreadable(path: Path, options: IngestOptions) -> str:
    defects = (item for item in read(path, options.format, options.reading) if isinstance(item, Defect))
    return next((f"{defect.reason}: {defect.detail}" for defect in defects), "there are no spectra in it")
