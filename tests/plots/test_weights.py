"""The picture of a ranker's weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.image import imread

from rarespec.plots.spectra import draw_weights
from rarespec.spectrum import PAPER_GRID


def drawn(folder: Path, weights: np.ndarray) -> np.ndarray:
    spectrum = np.linspace(0, 1, PAPER_GRID.n_pixels)
    draw_weights(weights, spectrum, spectrum[::-1], PAPER_GRID, folder / "weights.png")
    return imread(folder / "weights.png")[..., :3]


def share_of(picture: np.ndarray, reddish: bool) -> float:
    """Share of pixels that are clearly orange, or clearly blue."""
    red, blue = picture[..., 0], picture[..., 2]
    return float(np.mean(red - blue > 0.2 if reddish else blue - red > 0.2))


def test_weights_in_favour_and_against_have_their_own_colour(tmp_path: Path) -> None:
    ramp = np.linspace(0.1, 1, PAPER_GRID.n_pixels)
    favour, against = drawn(tmp_path, ramp), drawn(tmp_path, -ramp)
    assert share_of(favour, reddish=False) > 0.1 > share_of(favour, reddish=True)
    assert share_of(against, reddish=True) > 0.1


def test_zero_is_at_the_middle_of_the_scale(tmp_path: Path) -> None:
    weights = np.linspace(-0.2, 1, PAPER_GRID.n_pixels)
    spectrum = np.ones(PAPER_GRID.n_pixels)
    _, below = draw_weights(weights, spectrum, spectrum, PAPER_GRID, tmp_path / "weights.png")
    low, high = below.get_ylim()
    assert low == -high and high > 1
