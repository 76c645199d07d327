"""Wavelength grids: their pixels, their names, where a wavelength falls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.spectrum import NAMED_GRIDS, PAPER_GRID, WavelengthGrid
from rarespec.spectrum.grid import MOST_PIXELS

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


@pytest.mark.parametrize("text", ["log:4000:1:100", "log:3.6:1:100", "linear:4000:1e9:100"])
def test_a_grid_beyond_a_metre_is_refused(text):
    """A survey was made whose manifest could not be read again."""
    with pytest.raises(ValueError, match="beyond a metre"):
        WavelengthGrid.parse(text)


def test_names_of_grids_in_capitals():
    assert WavelengthGrid.parse("SDSS") == NAMED_GRIDS["sdss"]


def test_sdss_float32_wavelengths_lie_on_the_grid():
    loglam = (3.5800 + 1e-4 * np.arange(3800)).astype("f4")
    assert PAPER_GRID.offset_of(10.0 ** loglam.astype("f8")) == -130


def test_shifted_by_a_third_of_a_pixel_is_off_the_grid():
    assert PAPER_GRID.offset_of(10 ** (3.60 + 1e-4 / 3 + 1e-4 * np.arange(100))) is None


# --- named grids, units, and grids after wavelengths


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [("sdss", 3800, 9215), ("boss", 3567, 10399), ("lamost", 3700, 9099), ("desi", 3600, 9824)],
)
def test_named_grids_hold_the_pixels_of_their_survey(name, first, last):
    grid = WavelengthGrid.parse(name)
    assert grid.name == name and grid == NAMED_GRIDS[name]
    assert grid.wavelength[0] <= first and grid.wavelength[-1] >= last - 0.3
    if grid.spacing == "log":
        assert grid.offset_of(PAPER_GRID.wavelength) is not None  # copied, not rebinned


@pytest.mark.parametrize(
    "text", ["linear:0.8um:0.001um:1200", "linear:800nm:1nm:1200", "linear:8000A:10 A:1200", "linear:8000:10:1200"]
)
def test_units_of_a_linear_grid(text):
    assert WavelengthGrid.parse(text) == WavelengthGrid("linear", 8000.0, 10.0, 1200)


def test_a_log_grid_may_begin_at_a_wavelength():
    assert WavelengthGrid.parse("log:1um:1e-4:10") == WavelengthGrid("log", 4.0, 1e-4, 10)


@pytest.mark.parametrize("text", ["linear:0.8um:0.001:1200", "log:3.6:1nm:10", "linear:1km:1km:10", "log:0A:1e-4:10"])
def test_units_that_make_no_sense_are_refused(text):
    with pytest.raises(ValueError, match="is not a wavelength grid"):
        WavelengthGrid.parse(text)


@given(grids)
def test_a_grid_is_like_itself(grid):
    """Up to what a pixel may be off; of two or three pixels nobody can tell log from linear."""
    found = WavelengthGrid.like(grid.wavelength)
    assert found.n_pixels == grid.n_pixels
    assert np.abs(grid.pixel_of(found.wavelength) - np.arange(grid.n_pixels)).max() < (0.02 if grid.n_pixels > 9 else 1)


@pytest.mark.parametrize("grid", [*NAMED_GRIDS.values(), WavelengthGrid("linear", 8000.0, 10.0, 1601)])
def test_float32_and_rounded_wavelengths_give_the_exact_grid(grid):
    assert WavelengthGrid.like(grid.wavelength) == grid
    assert WavelengthGrid.like(grid.wavelength.round(3)) == grid
    if grid.spacing == "log":
        assert WavelengthGrid.like(10.0 ** np.log10(grid.wavelength).astype("f4").astype("f8")) == grid


def test_uneven_wavelengths_give_a_grid_as_fine_as_their_finest_part():
    wavelength = np.concatenate([np.arange(8000.0, 12000, 5), np.arange(12000.0, 24000, 20)])
    grid = WavelengthGrid.like(wavelength)
    assert np.diff(grid.wavelength).min() <= 5.1
    assert grid.wavelength[0] == pytest.approx(8000, abs=1) and grid.wavelength[-1] == pytest.approx(23980, abs=10)


def test_a_grid_after_spectra_has_at_most_20000_pixels():
    wavelength = np.linspace(3000.0, 9000.0, 300_001)
    grid = WavelengthGrid.like(wavelength)
    assert grid.n_pixels <= MOST_PIXELS and grid.step == pytest.approx(0.02 * 16)
    assert grid.edges[0] == pytest.approx(3000, abs=0.02) and grid.edges[-1] == pytest.approx(9000, abs=0.4)


@pytest.mark.parametrize("wavelength", [[5000.0], [5000.0, 5000.0], [2.0, 1.0], [-1.0, 1.0], [[1.0, 2.0]]])
def test_no_grid_after_what_does_not_increase(wavelength):
    with pytest.raises(ValueError, match="increase"):
        WavelengthGrid.like(np.array(wavelength))


@given(grids, st.floats(0, 1), st.floats(0, 1))
def test_a_part_keeps_the_pixels(grid, one, other):
    first, last = sorted((one, other))
    ends = grid.wavelength[[round(first * (grid.n_pixels - 1)), round(last * (grid.n_pixels - 1))]]
    part = grid.part(*ends)
    assert part.n_pixels >= 2 and abs(grid.pixel_of(part.wavelength[:1])[0] - round(first * (grid.n_pixels - 1))) < 0.02
    assert np.abs(grid.pixel_of(part.wavelength) % 1 - 0.5).min() > 0.47  # on pixels of the grid
