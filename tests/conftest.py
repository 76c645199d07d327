"""What all tests share: small stacks of made-up spectra, and the real data when it is there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

if "PYTEST_XDIST_WORKER" in os.environ:  # each has a core: more threads would only wait for one another
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from rarespec.spectrum import PAPER_GRID, Spectra, WavelengthGrid

# No test measures time. In continuous integration the examples are the same every time; elsewhere they explore.
settings.register_profile("rarespec", deadline=None, derandomize="CI" in os.environ, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("rarespec")

# A shell has what it runs in the background ignore Ctrl-C, and with it every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL_GRID = WavelengthGrid("log", 3.6, 1e-3, 300)


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Parametrise with the first of these cases and each step-th after it; the others are `exhaustive`."""
    exhaustive = pytest.mark.exhaustive
    rows = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*row, marks=exhaustive if number % step else ()) for number, row in enumerate(rows)]


def make_spectra(
    n: int, grid: WavelengthGrid = PAPER_GRID, seed: int = 0, prefix: str = "s", **columns: list
) -> Spectra:
    """n smooth noisy spectra on the grid, a few pixels bad."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-1, 1, grid.n_pixels)
    flux = 10 + rng.normal(0, 3, (n, 1)) * x + rng.normal(0, 1, (n, grid.n_pixels))
    ivar = rng.uniform(0.5, 2, flux.shape)
    bad = rng.random(flux.shape) < 0.01
    ivar[bad] = 0
    catalogue = {"id": [f"{prefix}{i:05d}" for i in range(n)], "z": [float(z) for z in rng.normal(0, 1e-3, n)]}
    return Spectra(grid.wavelength, flux.astype("f4"), ivar.astype("f4"), bad, catalogue | columns)


@pytest.fixture(scope="session", autouse=True)
def _readers_are_used_again() -> Iterator[None]:
    """Each ingest and search ends the processes that read its files; starting them anew would take minutes in all."""
    from rarespec.formats.contained import end_readers
    from shared_readers import of_any_job

    with ExitStack() as kept:
        kept.enter_context(patch("rarespec.formats.contained._readers", of_any_job))
        for where in ("survey.ingest.run", "survey.ingest.first_files"):
            kept.enter_context(patch(f"rarespec.{where}.end_readers"))
        for where in ("example_inputs", "kinds_file"):
            kept.enter_context(patch(f"rarespec.searching.known.{where}.end_readers"))
        yield
        end_readers()


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once() -> Iterator[None]:
    """Typer builds all verbs anew whenever a test calls one, which takes longer than most of these tests."""
    import typer.testing

    with patch("typer.testing._get_command", cache(typer.testing._get_command)):
        yield


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real spectra beside the project; its contents are never part of the project."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real spectra (../shared/data) are not here")
    return folder


def small_survey_files(folder: Path, n: int, layout: str = "sdss", seed: int = 0) -> list[Path]:
    """n files of made-up spectra in the layout of a real survey."""
    from rarespec.mock.files import native_wavelength, write_files

    wavelength = native_wavelength(layout)
    rng = np.random.default_rng(seed)
    flux = rng.normal(10, 1, (n, len(wavelength))).astype("f4")
    bad = rng.random(flux.shape) < 0.01
    ivar = np.where(bad, 0, 1).astype("f4")
    catalogue = {
        "id": [f"{1000 + i // 640:04d}-55000-{i % 640 + 1:04d}" for i in range(n)],
        "plate": [1000 + i // 640 for i in range(n)],
        "mjd": [55000] * n,
        "fiberid": [i % 640 + 1 for i in range(n)],
        "ra": rng.uniform(0, 360, n).tolist(),
        "dec": rng.uniform(-20, 80, n).tolist(),
        "z": rng.normal(0, 1e-3, n).tolist(),
        "class": rng.choice(["M", "F", "CARBON"], n).tolist(),
        "subclass": ["M4"] * n,
        "snr": [10.0] * n,
    }
    return write_files(Spectra(wavelength, flux, ivar, bad, catalogue), layout, folder)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, one for all: a process cannot have a second one beside it."""
    from inspector.browser.visiting import opened_browser

    with opened_browser() as browser:
        yield browser
