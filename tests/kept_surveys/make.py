"""Surveys, a label log and a model as this version of rarespec writes them, kept for every later one to open.

    python tests/kept_surveys/make.py

writes into tests/kept_surveys/VERSION. What is there already is never written again: users have the like on their
disks. Numbers are made by whole-number arithmetic and are exact in single precision, so that a test can say what must
be there.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

import rarespec as rs
from rarespec._version import __version__
from rarespec.features import PaperFeatures
from rarespec.labels.event import Label, LabelEvent
from rarespec.labels.log import LabelLog
from rarespec.spectrum import Defect, Reason, Spectra, WavelengthGrid
from rarespec.survey import Survey
from rarespec.survey.store import accounts as defect_table
from rarespec.survey.store.precision import EXACT, Precision
from rarespec.survey.store.writer import SurveyWriter

HERE = Path(__file__).parent
GRID = WavelengthGrid("log", 3.6, 1e-3, 64)
BLOCK_ROWS = 8
KNOWN = ["k-0003", "k-0010"]
SURVEYS = {"plain": 20, "grown": 30, "searched": 24, "empty": 0}
"""Directory -> spectra; `grown` was written in two steps, `searched` keeps features and graphs. They are exact."""
PACKED = 20
"""Spectra in `packed`, which is in steps of the noise, and written in two steps."""
EVENTS = [
    LabelEvent("00000000-0000-4000-8000-000000000001", "k-0001", Label.YES, person="ada", comment="a first look"),
    LabelEvent("00000000-0000-4000-8000-000000000002", "k-0002", Label.NO, person="ada", rank=2, score=0.5),
    LabelEvent("00000000-0000-4000-8000-000000000003", "", None, "00000000-0000-4000-8000-000000000001", "ada"),
]
DEFECTS = [Defect("bad.fits", Reason.TRUNCATED, "cut")]


def recipe() -> PaperFeatures:
    return PaperFeatures(n_components=3, width_angstrom=20)


def spectra(start: int, stop: int) -> Spectra:
    """Rows `start` to `stop` of an endless list; a pixel in 13 is bad, and every third row is of another shape."""
    i, j = np.arange(start, stop)[:, None], np.arange(GRID.n_pixels)[None, :]
    flux = 100 + (i * 37 + j * j * 11) % 101 / 8 + np.where(i % 3 == 0, j / 4, -j / 4)
    bad = (i * 5 + j * 7) % 13 == 0
    ivar = np.where(bad, 0, 1 + (i + j) % 4)
    n = range(start, stop)
    catalogue = {
        "id": [f"k-{k:04d}" for k in n],
        "z": [k / 1024 for k in n],
        "class": ["CARBON" if k % 7 == 3 else "STAR" for k in n],
        "objid": [2**62 + k for k in n],
        "note": [None if k % 2 else f"größer {k}" for k in n],
    }
    return Spectra(GRID.wavelength, flux.astype("f4"), ivar.astype("f4"), bad, catalogue)


def write(path: Path, *steps: Spectra, precision: Precision = EXACT) -> Survey:
    for number, rows in enumerate(steps):
        with SurveyWriter(path, GRID, block_rows=BLOCK_ROWS, precision=precision) as writer:
            if len(rows):
                writer.add(rows)
            writer.commit({defect_table.NAME: defect_table.to_csv(DEFECTS)} if number == 0 else {})
    return Survey.open(path)


def write_packed(path: Path) -> None:
    """Beside it, the flux and inverse variances that it has."""
    survey = write(path, spectra(0, 11), spectra(11, PACKED), precision=Precision())
    found = survey[:]
    np.savez_compressed(path.with_suffix(".npz"), flux=found.flux, ivar=found.ivar)


def main() -> None:
    folder = HERE / __version__
    if (folder / "packed").exists():
        sys.exit(f"{folder}: is there already and stays as it is")
    write_packed(folder / "packed")
    if (folder / "plain").exists():
        sys.exit(f"{folder}: packed was added; the rest is there already and stays as it is")
    write(folder / "plain", spectra(0, SURVEYS["plain"]))
    write(folder / "grown", spectra(0, 11), spectra(11, SURVEYS["grown"]))
    write(folder / "empty", spectra(0, 0))
    searched = write(folder / "searched", spectra(0, SURVEYS["searched"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few neighbours are possible
        rs.search(searched, KNOWN, "label_propagation", recipe=recipe())
        rs.search(searched, KNOWN, "auto", recipe=recipe()).save(folder / "carbon.safetensors")
    with LabelLog(folder / "labels.sqlite") as log:
        log.add(EVENTS)


if __name__ == "__main__":
    main()
