"""Right ascensions that look like hours: the user is asked, and nothing is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rarespec
from conftest import SMALL_GRID
from rarespec.cli.app import app
from rarespec.survey.hours import ask_about_hours
from rarespec.survey.ingest import HoursWarning

N = 40


def write_matrix(path: Path, ra: np.ndarray, dec: np.ndarray) -> Path:
    rng = np.random.default_rng(1)
    flux = rng.normal(5, 1, (len(ra), SMALL_GRID.n_pixels))
    np.savez(path, wavelength=SMALL_GRID.wavelength, flux=flux, ra=ra, dec=dec)
    return path


def test_hours_over_the_whole_sky_are_asked_about(tmp_path: Path) -> None:
    path = write_matrix(tmp_path / "a.npz", np.linspace(0.1, 23.9, N), np.linspace(-60, 60, N))
    with pytest.warns(HoursWarning, match="are right ascensions in hours.*All 40 lie between 0 and 24"):
        survey = rarespec.ingest(path, tmp_path / "a.survey", jobs=1)
    assert len(survey) == N and survey.catalogue["ra"][-1] == 23.9
    again = CliRunner().invoke(app, ["ingest", str(path), "--into", str(tmp_path / "b.survey"), "--jobs", "1"])
    assert again.exit_code == 0 and "are right ascensions in hours" in again.output
    told = CliRunner().invoke(app, ["info", str(tmp_path / "b.survey")])
    assert "are right ascensions in hours" in told.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("ra", "dec"),
    [
        (np.linspace(0, 359, N), np.linspace(-60, 60, N)),
        (np.linspace(0, 24, N), np.linspace(-5, 5, N)),  # a field near the equator
        (np.linspace(3, 4, N), np.linspace(-60, 60, N)),  # a slice of the sky
        (np.linspace(-12, 12, N), np.linspace(-60, 60, N)),
        (np.linspace(0, 24, N)[:5], np.linspace(-60, 60, N)[:5]),
        (np.full(N, np.nan), np.full(N, np.nan)),
    ],
)
def test_other_positions_are_not(ra: np.ndarray, dec: np.ndarray, tmp_path: Path) -> None:
    survey = rarespec.ingest(write_matrix(tmp_path / "a.npz", ra, dec), tmp_path / "a.survey", jobs=1)
    assert len(survey) == len(ra) and ask_about_hours(survey) is None
