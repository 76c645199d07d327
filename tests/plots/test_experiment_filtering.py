"""Figure 1 of an experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from conftest import make_spectra
from rarespec.plots.experiment.filtering import draw_figure_1, filtering_figure, row_to_show
from rarespec.survey import Survey

SNR = [3.0, 40.0, 12.0, 5.0, None, None]


def survey_with(folder: Path, snr: list[float | None], spike: float = 0.0) -> Survey:
    """Without errors of the flux, so that an S/N that is not given cannot be measured."""
    survey = Survey.create(folder / "small.survey")
    spectra = replace(make_spectra(len(snr), snr=snr, seed=3), ivar=None)
    spectra.flux[0, 1800] += spike
    spectra.bad[0, 1795:1805] = False
    survey.append(spectra)
    return survey


def test_the_row_shown_has_the_middle_snr_of_those_that_have_one(tmp_path: Path) -> None:
    survey = survey_with(tmp_path, SNR)
    assert row_to_show(survey, np.arange(6)) == 2
    assert row_to_show(survey, np.array([0, 1, 4])) == 1
    assert row_to_show(survey, np.array([0, 3, 1])) == 3


def test_without_any_snr_the_middle_row_is_shown(tmp_path: Path) -> None:
    survey = survey_with(tmp_path, [None, None, None])
    assert row_to_show(survey, np.array([0, 1, 2])) == 1


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("figure")
    return draw_figure_1(survey_with(folder, SNR, spike=1000.0), 0, folder)


def test_it_is_written_twice(drawn: list[Path]) -> None:
    assert [path.name for path in drawn] == ["figure-1.png", "figure-1.pdf"]
    assert drawn[1].read_bytes().startswith(b"%PDF")


def test_a_spike_does_not_flatten_the_whole_spectrum_but_is_seen_when_zoomed(drawn: list[Path]) -> None:
    """The observed flux fills the left panel; in the right one all but the spike lies at the bottom."""
    picture = imread(drawn[0])[..., :3]
    blue = (picture[..., 2] - picture[..., 0] > 0.3) & (picture[..., 1] < 0.6)
    height, width = blue.shape
    inside = slice(int(0.1 * height), int(0.8 * height))
    left, right = blue[inside, int(0.1 * width) : int(0.65 * width)], blue[inside, int(0.75 * width) :]
    n_blue_of_row = left.sum(axis=1)
    assert (n_blue_of_row > 0.05 * left.shape[1]).mean() > 0.5
    assert 0 < right[: len(right) // 2].any(axis=0).sum() < 0.05 * right.shape[1]


@pytest.mark.parametrize("spike", [1000.0, -1000.0])
def test_a_line_that_is_cut_off_is_told(tmp_path: Path, spike: float) -> None:
    survey = survey_with(tmp_path, SNR, spike=spike)
    whole, zoomed = filtering_figure(survey, 0).axes
    (said,) = [text.get_text() for text in whole.texts]
    at = survey[survey.ids[0]].wavelength[1800]
    assert said.startswith(f"clipped: the line at {at:.0f} Å reaches {'-' if spike < 0 else ''}")
    assert not zoomed.texts


def test_nothing_is_said_to_be_cut_when_nothing_is(tmp_path: Path) -> None:
    assert not [text for panel in filtering_figure(survey_with(tmp_path, SNR), 1).axes for text in panel.texts]
