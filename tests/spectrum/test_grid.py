"""Wavelength grids: their pixels, their names, where a wavelength falls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.spectrum import PAPER_GRID, WavelengthGrid

grids = st.one_of(
    st.builds(WavelengthGrid, st.just("log"), st.floats(3.3, 4.2), st.floats(1e-5, 1e-3), st.integers(2, 5000)),
    st.builds(WavelengthGrid, st.just("linear"), st.floats(100, 10000), st.floats(0.05, 20), st.integers(2, 5000)),
)


def test_the_papers_grid():
    assert PAPER_GRID.n_pixels == 3601
    assert PAPER_GRID.wavelength[0] == pytest.approx(3917.4, abs=0.05)
    assert PAPER_GRID.wavelength[-1] == pytest.approx(8974.3, abs=0.05)
    assert np.allclose(np.diff(np.log10(PAPER_GRID.wavelength)), 1e-4)


@given(grids)
def test_pixels_lie_between_their_edges(grid):
    assert len(grid.edges) == grid.n_pixels + 1
    assert (grid.edges[:-1] < grid.wavelength).all() and (grid.wavelength < grid.edges[1:]).all()


@given(grids)
def test_every_pixel_finds_itself(grid):
    assert np.allclose(grid.pixel_of(grid.wavelength), np.arange(grid.n_pixels), atol=1e-6)
    assert grid.offset_of(grid.wavelength) == 0


@given(grids)
def test_survives_json(grid):
    assert WavelengthGrid.from_json(grid.to_json()) == grid


def test_text_form():
    assert WavelengthGrid.parse("paper") == PAPER_GRID
    assert WavelengthGrid.parse(str(PAPER_GRID)) == PAPER_GRID
    assert WavelengthGrid.parse("linear:3600:0.8:7781").wavelength[-1] == pytest.approx(9824)


@pytest.mark.parametrize(
    "text", ["", "papre", "log:3.6:1e-4", "cubic:1:2:3", "log:3.6:-1e-4:10", "linear:-5:1:10", "log:a:b:c"]
)
def test_a_wrong_grid_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"write paper|linear:3600"):
        WavelengthGrid.parse(text)


def test_sdss_float32_wavelengths_lie_on_the_grid():
    loglam = (3.5800 + 1e-4 * np.arange(3800)).astype("f4")
    assert PAPER_GRID.offset_of(10.0 ** loglam.astype("f8")) == -130


def test_shifted_by_a_third_of_a_pixel_is_off_the_grid():
    assert PAPER_GRID.offset_of(10 ** (3.60 + 1e-4 / 3 + 1e-4 * np.arange(100))) is None
