"""Line and band indices: analytic spectra, a brute-force oracle, errors by Monte Carlo, and what stars show."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from rarespec.features.indices.definitions import DefinitionError, IndexDefinition, index_table, load_definitions
from rarespec.features.indices.line_indices import LineIndices, find_covered, measure
from rarespec.spectrum import PAPER_GRID, WavelengthGrid
from rarespec.spectrum.grid import air_to_vacuum

Values = NDArray[np.float64]
LINEAR_GRID = WavelengthGrid("linear", 3700.0, 0.9, 6500)
LINE = IndexDefinition("line", "width", ((5000.3, 5040.7),), ((4950.2, 4990.1), (5050.6, 5080.9)))
DEPTH = IndexDefinition("depth", "magnitude", LINE.feature, LINE.continuum)
BAND = IndexDefinition("band", "ratio", ((5000.3, 5040.7),), ((4950.2, 4990.1), (5050.6, 5080.9)))
GRIDS = pytest.mark.parametrize("grid", [PAPER_GRID, LINEAR_GRID], ids=["log", "linear"])


def sloped(grid: WavelengthGrid) -> Values:
    """Flux linear in wavelength, averaged over each pixel."""
    middle = (grid.edges[1:] + grid.edges[:-1]) / 2
    return 9.0 + 0.004 * (middle - 5000.0)


def covered_share(grid: WavelengthGrid, low: float, high: float) -> Values:
    """Share of each pixel that lies between two wavelengths."""
    inside = np.clip(grid.edges, low, high)
    return np.diff(inside) / np.diff(grid.edges)


def with_box_line(grid: WavelengthGrid, low: float, high: float, depth: float) -> Values:
    return sloped(grid) * (1 - depth * covered_share(grid, low, high))


def one(flux: Values, grid: WavelengthGrid, definition: IndexDefinition, **more: Any) -> float:
    return float(measure(flux[None, :], None, grid, [definition], **more).values[0, 0])


def rough_spectra(n: int, grid: WavelengthGrid = PAPER_GRID, seed: int = 0, bad: float = 0.02) -> Values:
    """Positive, structured spectra with bad pixels."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(0, 0.03, (n, grid.n_pixels)).cumsum(axis=1)
    flux = np.exp(steps - steps.mean(axis=1, keepdims=True))
    flux[rng.random(flux.shape) < bad] = np.nan
    return flux


def by_hand(flux: Values, grid: WavelengthGrid, index: IndexDefinition, z: float = 0.0) -> float:
    """One index of one spectrum, pixel by pixel from its definition."""

    def window(low: float, high: float) -> tuple[float, float, list[tuple[float, float, float]]]:
        pixels = []
        near = np.flatnonzero(np.abs(grid.wavelength / (1 + z) - (low + high) / 2) < high - low + 5)
        for i in near:
            left, right = grid.edges[i] / (1 + z), grid.edges[i + 1] / (1 + z)
            shared = min(right, high) - max(left, low)
            if shared > 0 and np.isfinite(flux[i]):
                pixels.append((shared, (left + right) / 2, float(flux[i])))
        total = sum(p[0] for p in pixels)
        if total < 0.8 * (high - low):
            return np.nan, np.nan, []
        return sum(s * f for s, _, f in pixels) / total, sum(s * m for s, m, _ in pixels) / total, pixels

    if index.kind == "ratio":
        feature = np.mean([window(*w)[0] for w in index.feature])
        continuum = np.mean([window(*w)[0] for w in index.continuum])
        return float(feature / continuum) if continuum > 0 else np.nan
    (blue, at_blue, _), (red, at_red, _) = (window(*w) for w in index.continuum)
    pixels = window(*index.feature[0])[2]
    if not pixels or not (blue > 0 and red > 0):
        return np.nan
    line = [blue + (red - blue) * (m - at_blue) / (at_red - at_blue) for _, m, _ in pixels]
    total = sum(s for s, _, _ in pixels)
    q = sum(s * f / c for (s, _, f), c in zip(pixels, line, strict=True)) / total
    return index.width * (1 - q) if index.kind == "width" else float(-2.5 * np.log10(q))


# ---- analytic spectra ----


@GRIDS
def test_box_line_in_a_sloped_continuum_has_its_equivalent_width(grid: WavelengthGrid) -> None:
    flux = with_box_line(grid, 5010.37, 5029.91, 0.6)
    assert one(flux, grid, LINE) == pytest.approx(0.6 * (5029.91 - 5010.37), abs=1e-9)


def test_emission_is_a_negative_width() -> None:
    assert one(with_box_line(PAPER_GRID, 5010.0, 5020.0, -2.0), PAPER_GRID, LINE) == pytest.approx(-20, abs=1e-9)


def test_magnitude_is_the_mean_depth_on_a_logarithmic_scale() -> None:
    flux = with_box_line(PAPER_GRID, 5010.0, 5030.0, 0.5)
    expected = -2.5 * np.log10(1 - 0.5 * 20 / (5040.7 - 5000.3))
    assert one(flux, PAPER_GRID, DEPTH) == pytest.approx(expected, abs=1e-12)


@GRIDS
def test_ratio_of_steps_with_fractional_pixels_at_the_edges(grid: WavelengthGrid) -> None:
    flux = 2.0 + 3.0 * covered_share(grid, 5045.0, 9999.0) - 1.5 * covered_share(grid, 4995.0, 5045.0)
    assert one(flux, grid, BAND) == pytest.approx(0.5 / ((2.0 + 5.0) / 2), rel=1e-12)
    assert one(1 + covered_share(grid, 5020.5, 9999), grid, BAND) == pytest.approx(1, rel=1e-12)


def test_several_feature_windows_are_averaged() -> None:
    index = IndexDefinition("two", "ratio", ((5000.0, 5010.0), (5100.0, 5150.0)), ((5200.0, 5250.0),))
    flux = 1.0 + 2.0 * covered_share(PAPER_GRID, 5050.0, 5180.0)
    assert one(flux, PAPER_GRID, index) == pytest.approx((1.0 + 3.0) / 2, rel=1e-12)


def test_line_windows_that_share_a_pixel_edge_lose_nothing() -> None:
    index = IndexDefinition("H", "width", ((4849.0, 4878.0),), ((4829.0, 4849.0), (4878.0, 4893.0)))
    flux = with_box_line(PAPER_GRID, 4860.0, 4866.0, 0.9)
    assert one(flux, PAPER_GRID, index) == pytest.approx(5.4, abs=1e-9)


# ---- redshift ----


@GRIDS
def test_without_redshift_and_with_redshift_zero_agree(grid: WavelengthGrid) -> None:
    flux = rough_spectra(7, grid)
    ivar = np.full(flux.shape, 25.0)
    still, moved = measure(flux, ivar, grid), measure(flux, ivar, grid, z=np.zeros(7))
    np.testing.assert_allclose(moved.values, still.values, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(moved.errors, still.errors, rtol=1e-10)
    assert np.isfinite(still.values).mean() > 0.8


@GRIDS
@settings(deadline=None, max_examples=30)
@given(z=st.floats(-0.15, 0.7), depth=st.floats(-3, 1))
def test_redshifted_line_has_its_rest_frame_width(grid: WavelengthGrid, z: float, depth: float) -> None:
    flux = with_box_line(grid, 5010.37 * (1 + z), 5029.91 * (1 + z), depth)
    got = measure(flux[None, :], None, grid, [LINE, DEPTH], z=np.array([z])).values[0]
    width = depth * (5029.91 - 5010.37)
    np.testing.assert_allclose(got, [width, -2.5 * np.log10(1 - width / LINE.width)], atol=1e-7)


def test_rows_with_unlike_redshifts_are_measured_like_each_alone() -> None:
    z = np.array([0.0, 0.3, -0.004, 2.5, np.nan, -1.0, 0.1])
    flux, ivar = rough_spectra(7), np.full((7, 3601), 9.0)
    together = measure(flux, ivar, PAPER_GRID, z=z)
    for i in range(7):
        alone = measure(flux[i : i + 1], ivar[i : i + 1], PAPER_GRID, z=z[i : i + 1])
        np.testing.assert_allclose(together.values[i], alone.values[0], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(together.errors[i], alone.errors[0], rtol=1e-10)
    assert np.isnan(together.values[4:6]).all()
    assert np.isnan(together.errors[4:6]).all()


# ---- the oracle ----


@pytest.mark.parametrize("z", [None, 0.013])
@GRIDS
def test_every_built_in_index_agrees_with_the_definition_spelled_out(grid: WavelengthGrid, z: float | None) -> None:
    flux = rough_spectra(1, grid, seed=3, bad=0.06)
    got = measure(flux, None, grid, z=None if z is None else np.array([z]))
    for name, value, index in zip(got.names, got.values[0], load_definitions(), strict=True):
        expected = by_hand(flux[0], grid, index, z or 0.0)
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9, err_msg=name)
    assert 0.5 < np.isfinite(got.values).mean() < 1


def test_blocks_of_rows_do_not_show() -> None:
    flux = rough_spectra(1200)
    together = measure(flux, None, PAPER_GRID, [LINE, BAND]).values
    np.testing.assert_allclose(together[900:910], measure(flux[900:910], None, PAPER_GRID, [LINE, BAND]).values)
    assert together.shape == (1200, 2)


# ---- errors ----


@pytest.mark.parametrize("z", [None, 0.01])
def test_errors_are_those_of_the_derivatives(z: float | None) -> None:
    """Windows that overlap share noise: only the full gradient gets that right."""
    overlapping = [index for index in load_definitions() if index.name in ("G4300", "Mg_b", "Hbeta", "Fe5270")]
    indices = [LINE, DEPTH, BAND, *overlapping]
    flux = rough_spectra(1, seed=5)
    ivar = np.random.default_rng(1).uniform(20, 400, flux.shape)
    shift = None if z is None else np.array([z])
    pixels = np.flatnonzero(np.isfinite(flux[0]) & (PAPER_GRID.wavelength > 4200) & (PAPER_GRID.wavelength < 5500))
    moved = np.repeat(flux, 2 * len(pixels), axis=0)
    moved[np.arange(len(pixels)), pixels] += 1e-5
    moved[np.arange(len(pixels)) + len(pixels), pixels] -= 1e-5
    both = measure(moved, None, PAPER_GRID, indices, z=None if z is None else np.full(len(moved), z)).values
    gradient = (both[: len(pixels)] - both[len(pixels) :]) / 2e-5
    expected = np.sqrt((gradient**2 / ivar[0, pixels][:, None]).sum(axis=0))
    got = measure(flux, ivar, PAPER_GRID, indices, z=shift).errors[0]
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize("z", [None, 0.004])
def test_pulls_have_unit_width(z: float | None) -> None:
    rng = np.random.default_rng(11)
    n, indices = 1500, find_covered(PAPER_GRID)
    truth = rough_spectra(1, seed=8, bad=0.01)
    sigma = truth * rng.uniform(0.01, 0.03, truth.shape)
    flux = (truth + sigma * rng.normal(size=(n, 3601))).astype("f4")
    got = measure(flux, np.tile(sigma**-2.0, (n, 1)), PAPER_GRID, indices, z=None if z is None else np.full(n, z))
    true = measure(truth, None, PAPER_GRID, indices, z=None if z is None else np.array([z])).values
    pull = (got.values - true) / got.errors
    measured = np.isfinite(true[0])
    assert measured.sum() > 50
    # 1500 draws know the width to 1.8 %.
    np.testing.assert_allclose(np.std(pull[:, measured], axis=0), 1.0, atol=0.08)
    np.testing.assert_allclose(np.mean(pull[:, measured], axis=0), 0.0, atol=0.13)


def test_ivar_changes_no_value_and_a_used_pixel_without_weight_leaves_no_error() -> None:
    flux = np.tile(sloped(PAPER_GRID), (3, 1))
    ivar = np.ones(flux.shape)
    inside = int(PAPER_GRID.pixel_of(np.array(5020.0)))
    ivar[1, inside] = 0
    ivar[2, inside], flux[2, inside] = 0, np.nan
    got = measure(flux, ivar, PAPER_GRID, [LINE])
    np.testing.assert_allclose(got.values, measure(flux, None, PAPER_GRID, [LINE]).values, atol=1e-12)
    assert np.isfinite(got.errors[:, 0]).tolist() == [True, False, True]
    assert np.isnan(measure(flux, None, PAPER_GRID, [LINE]).errors).all()


# ---- what must not matter, and what must ----


@settings(deadline=None, max_examples=8)
@given(scale=st.floats(1e-17, 1e17))
def test_the_scale_of_the_flux_does_not_matter(scale: float) -> None:
    flux, ivar = rough_spectra(2), np.full((2, 3601), 30.0)
    plain, scaled = measure(flux, ivar, PAPER_GRID), measure(flux * scale, ivar / scale**2, PAPER_GRID)
    np.testing.assert_allclose(scaled.values, plain.values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scaled.errors, plain.errors, rtol=1e-9)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_missing_pixels_do_not_bend_a_straight_continuum(seed: int) -> None:
    flux = sloped(PAPER_GRID)[None, :].copy()
    flux[:, np.random.default_rng(seed).random(3601) < 0.1] = np.nan
    values = measure(flux, None, PAPER_GRID, [LINE, DEPTH]).values
    assume(not np.isnan(values).all())  # too few pixels were left
    assert np.abs(values).max() < 1e-9


@pytest.mark.parametrize("window", [LINE.feature[0], *LINE.continuum])
def test_a_window_needs_four_fifths_of_good_pixels(window: tuple[float, float]) -> None:
    low, high = window
    share = np.array([0.1, 0.3])
    flux = np.tile(sloped(PAPER_GRID), (2, 1))
    for row, lost in zip(flux, share, strict=True):
        row[(PAPER_GRID.edges[1:] > low) & (PAPER_GRID.edges[1:] < low + lost * (high - low))] = np.nan
    assert np.isnan(measure(flux, None, PAPER_GRID, [LINE, BAND]).values).tolist() == [[False] * 2, [True] * 2]


def test_infinite_flux_is_a_bad_pixel_and_a_spike_stays_where_it_is() -> None:
    flux = np.tile(sloped(PAPER_GRID), (3, 1))
    flux[1, int(PAPER_GRID.pixel_of(np.array(5020.0)))] = np.inf
    flux[2, 10] = 1e30
    for z in (None, np.full(3, 1e-4)):
        values = measure(flux, None, PAPER_GRID, [LINE], z=z).values
        np.testing.assert_allclose(values, 0, atol=1e-9)


def test_rows_that_cannot_be_measured_are_nan_and_leave_the_others_alone() -> None:
    flux = rough_spectra(5, bad=0.0)
    alone = measure(flux[4:], None, PAPER_GRID).values
    flux[0], flux[1], flux[2] = np.nan, 0.0, -flux[2]
    values = measure(flux, np.ones(flux.shape), PAPER_GRID)
    assert np.isnan(values.values[:3]).all()
    assert np.isnan(values.errors[:3]).all()
    np.testing.assert_allclose(values.values[4:], alone)


def test_a_negative_feature_has_a_width_but_no_magnitude() -> None:
    flux = with_box_line(PAPER_GRID, 4995.0, 5045.0, 1.5)
    got = measure(flux[None, :], np.ones((1, 3601)), PAPER_GRID, [LINE, DEPTH])
    assert got.values[0, 0] == pytest.approx(1.5 * LINE.width, abs=1e-9)
    assert np.isnan(got.values[0, 1])
    assert np.isnan(got.errors[0, 1])


def test_windows_off_the_grid_are_not_measured_and_half_covered_ones_neither() -> None:
    first, last = PAPER_GRID.edges[0], PAPER_GRID.edges[-1]
    outside = IndexDefinition("outside", "ratio", ((3000.0, 3100.0),), ((5000.0, 5100.0),))
    beyond = IndexDefinition("beyond", "ratio", ((5000.0, 5100.0),), ((last + 5, last + 90),))
    half = IndexDefinition("half", "ratio", ((first - 5, first + 5),), ((5000.0, 5100.0),))
    most = IndexDefinition("most", "ratio", ((first - 1, first + 9),), ((5000.0, 5100.0),))
    for z in (None, np.zeros(1)):
        values = measure(np.ones((1, 3601)), None, PAPER_GRID, [outside, beyond, half, most], z=z).values
        assert np.isnan(values[0, :3]).all()
        assert values[0, 3] == pytest.approx(1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_precision_is_kept(dtype: str) -> None:
    flux = rough_spectra(4).astype(dtype)
    got = measure(flux, np.ones_like(flux), PAPER_GRID)
    assert got.values.dtype == got.errors.dtype == np.dtype(dtype)
    np.testing.assert_allclose(got.values, measure(flux.astype("f8"), None, PAPER_GRID).values, rtol=1e-5, atol=1e-5)


def test_no_spectra_and_no_definitions() -> None:
    assert measure(np.ones((0, 3601)), None, PAPER_GRID, [LINE], z=np.ones(0)).values.shape == (0, 1)
    assert measure(np.ones((4, 3601)), None, PAPER_GRID, []).values.shape == (4, 0)


@pytest.mark.parametrize(
    ("flux", "ivar", "z"),
    [((2, 9), None, None), ((3601,), None, None), ((2, 3601), (1, 3601), None), ((2, 3601), None, (3,))],
)
def test_shapes_that_do_not_fit_are_refused(flux: tuple, ivar: tuple | None, z: tuple | None) -> None:
    ivar_values, z_values = (None if shape is None else np.ones(shape) for shape in (ivar, z))
    with pytest.raises(ValueError, match="of shape"):
        measure(np.ones(flux), ivar_values, PAPER_GRID, [LINE], z=z_values)


@pytest.mark.parametrize("z", [None, 0.02])
def test_array_api_standard_is_enough(z: float | None) -> None:
    xp = pytest.importorskip("array_api_strict")
    flux, ivar = rough_spectra(3).astype("f4"), np.full((3, 3601), 4.0, "f4")
    shift = None if z is None else np.full(3, z)
    expected = measure(flux, ivar, PAPER_GRID, z=shift)
    got = measure(xp.asarray(flux), xp.asarray(ivar), PAPER_GRID, z=None if z is None else xp.asarray(shift))
    assert got.values.dtype == xp.float32
    np.testing.assert_allclose(np.asarray(got.values), expected.values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.asarray(got.errors), expected.errors, rtol=1e-6)


def test_torch_tensors_give_the_same() -> None:
    torch = pytest.importorskip("torch")
    flux, z = rough_spectra(3), np.array([0.0, 0.1, -0.01])
    got = measure(torch.asarray(flux), torch.ones(3, 3601), PAPER_GRID, z=torch.asarray(z))
    expected = measure(flux, np.ones((3, 3601)), PAPER_GRID, z=z)
    np.testing.assert_allclose(got.values.numpy(), expected.values, rtol=1e-9)
    np.testing.assert_allclose(got.errors.numpy(), expected.errors, rtol=1e-6)


# ---- definitions ----

WRITTEN = """
[[index]]
name = "{name}"
kind = "{kind}"
medium = "{medium}"
feature = {feature}
continuum = {continuum}
{more}
"""
SOUND = {
    "name": "mine",
    "kind": "width",
    "medium": "air",
    "feature": "[5000, 5010.5]",
    "continuum": "[[4980.0, 4990.0], [5020.0, 5030.0]]",
    "more": 'source = "me"',
}


def written(folder: Path, **changes: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(WRITTEN.format(**(SOUND | changes)))
    return path


def test_a_users_file_in_air_becomes_vacuum(tmp_path: Path) -> None:
    (index,) = load_definitions(written(tmp_path))
    assert index.feature == (tuple(air_to_vacuum(np.array([5000.0, 5010.5]))),)
    assert index.feature[0][0] - 5000 == pytest.approx(1.39, abs=0.02)
    assert (index.name, index.kind, index.source, index.species) == ("mine", "width", "me", "")
    (same,) = load_definitions(str(written(tmp_path, medium="vacuum")))
    assert same.feature == ((5000.0, 5010.5),)
    assert measure(np.ones((1, 3601)), None, PAPER_GRID, written(tmp_path)).names == ["mine"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "depth"}, "kind"),
        ({"medium": "water"}, "medium"),
        ({"name": "two words"}, "name"),
        ({"name": ""}, "name"),
        ({"feature": "[5010.0, 5000.0]"}, "feature"),
        ({"feature": "[5000.0]"}, "feature"),
        ({"feature": '["a", "b"]'}, "feature"),
        ({"feature": "[]"}, "feature"),
        ({"feature": "5000.0"}, "feature"),
        ({"feature": "[nan, 5000.0]"}, "feature"),
        ({"feature": "[-5.0, 5000.0]"}, "feature"),
        ({"feature": "[true, 5000.0]"}, "feature"),
        ({"feature": "[[5000.0, 5005.0], [5006.0, 5010.0]]"}, "feature"),
        ({"continuum": "[4980.0, 4990.0]"}, "continuum"),
        ({"continuum": "[[4980.0, 4990.0], [4992.0, 4999.0]]"}, "continuum"),
        ({"continuum": "[[5020.0, 5030.0], [4980.0, 4990.0]]"}, "continuum"),
        ({"kind": "ratio", "continuum": "[[5000.0, 5010.5]]"}, "continuum"),
        ({"kind": "ratio", "continuum": "[[4980.0, 4990.0], [4985.0, 4995.0]]"}, "continuum"),
        ({"more": "sorce = 'me'"}, "sorce"),
        ({"more": "source = 5"}, "source"),
    ],
)
def test_mistakes_are_named_with_file_index_and_field(tmp_path: Path, changes: dict[str, str], field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        load_definitions(written(tmp_path, **changes))
    message = str(caught.value)
    assert "mine.toml" in message
    assert repr(changes.get("name", "mine")) in message
    assert f": {field} " in message


@pytest.mark.parametrize("field", ["name", "kind", "medium", "feature", "continuum"])
def test_missing_fields_are_named(tmp_path: Path, field: str) -> None:
    path = written(tmp_path)
    path.write_text("\n".join(line for line in path.read_text().splitlines() if not line.startswith(field)))
    with pytest.raises(DefinitionError, match=rf"mine.toml: index .*: {field} is missing"):
        load_definitions(path)


@pytest.mark.parametrize(
    "text", ["", "x = 1", "[[index]", "index = 5", "index = [5]", "index = []", "[index]\nname = 'a'"]
)
def test_files_without_indices_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.toml"
    path.write_text(text)
    with pytest.raises(DefinitionError, match=r"other\.toml: "):
        load_definitions(path)


def test_bytes_that_are_no_text_are_refused_and_a_missing_file_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "raw.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DefinitionError, match=r"raw\.toml: not a TOML"):
        load_definitions(tmp_path / "raw.toml")
    with pytest.raises(FileNotFoundError, match="absent"):
        load_definitions(tmp_path / "absent.toml")


def test_two_indices_of_one_name_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text() * 2)
    with pytest.raises(DefinitionError, match="'mine': name is used 2 times"):
        load_definitions(path)


def test_built_in_indices_lie_in_the_optical_and_name_their_source() -> None:
    for index in load_definitions():
        assert 3600 < index.reach[0] < index.reach[1] < 10000, index.name
        assert index.source and index.species, index.name
        if index.kind != "ratio":
            (low, high), (blue, red) = index.feature[0], index.continuum
            assert blue[0] < low and red[1] > high and blue[1] < red[0], index.name


def test_built_in_indices_name_all_species_asked_of_them() -> None:
    names = {index.name for index in load_definitions()}
    assert names >= {f"C2_{head}" for head in (4383, 4737, 5165, 5636, 6191)}
    assert names >= {"CN_3883", "CN_4216", "CN_6926", "CN_7872", "CH_4300", "G4300", "CaH1", "CaH2", "CaH3"}
    assert names >= {f"TiO{i}" for i in (1, 2, 3, 4, 5, 8)} | {"VO_7434", "VO_7912", "FeH_8692", "CrH_8611"}
    assert names >= {"Halpha", "Hbeta", "Hgamma_A", "Hgamma_F", "Hdelta_A", "Hdelta_F"}
    assert names >= {"HeI_4471", "HeI_5876", "HeII_4686", "CaII_HK", "Ca4227", "CaT_8542", "Na_D", "Na_8190"}
    assert names >= {"K_7665", "K_7699", "Mg_b", "Mg_1", "Mg_2", "Fe5270", "Fe5335", "Li_6708", "Ba_4554"}


@pytest.mark.parametrize(
    ("name", "vacuum"),
    [
        ("TiO5", ((7127.96, 7136.97), (7043.94, 7047.94))),
        ("CaH3", ((6961.92, 6991.93), (7043.94, 7047.94))),
        ("CaII_K", ((3924.81, 3944.82), (3944.82, 3954.82))),
        ("VO_7912", ((7902.17, 7982.20), (8102.23, 8152.24))),
    ],
)
def test_vacuum_windows_agree_with_those_published_in_vacuum(name: str, vacuum: tuple) -> None:
    (index,) = (index for index in load_definitions() if index.name == name)
    # Those tables were converted by another formula, and CaH and TiO with an offset of 0.01 A.
    np.testing.assert_allclose(index.windows, vacuum, atol=0.03)


@pytest.mark.parametrize(
    ("name", "line"),
    [("Halpha", 6564.61), ("Hbeta", 4862.68), ("Hgamma_F", 4341.68), ("Hdelta_F", 4102.89), ("HeI_4471", 4472.73),
     ("HeI_5876", 5877.25), ("HeII_4686", 4687.02), ("CaII_K", 3934.78), ("Ca4227", 4227.92), ("CaT_8498", 8500.36),
     ("CaT_8542", 8544.44), ("CaT_8662", 8664.52), ("Na_D", 5891.58), ("Na_8190", 8197.08), ("K_7665", 7667.01),
     ("K_7699", 7701.08), ("Mg_b", 5185.05), ("Li_6708", 6709.76), ("Ba_4554", 4555.31)],
)  # fmt: skip
def test_lines_lie_in_their_windows(name: str, line: float) -> None:
    (index,) = (index for index in load_definitions() if index.name == name)
    low, high = index.feature[0]
    assert low + 2 < line < high - 2
    assert not any(a < line < b for a, b in index.continuum)


def test_the_documentation_shows_the_table() -> None:
    docs = Path(__file__).parents[2] / "docs" / "line-indices.md"
    assert index_table(load_definitions()) in docs.read_text(encoding="utf-8")


# ---- the transformer ----


class OnAnyGrid(LineIndices):
    """For the common checks, whose data have a handful of columns: a grid of any number of pixels."""

    def _grid_of(self, n_pixels: int) -> WavelengthGrid:
        if n_pixels < 2:
            raise ValueError(f"n_features = {n_pixels}: a spectrum has more than 1 feature(s)")
        return WavelengthGrid("linear", 4000.0, 4000.0 / n_pixels, n_pixels)

    def _definitions(self, grid: WavelengthGrid) -> list[IndexDefinition]:
        return [IndexDefinition(f"c{i}", "ratio", ((4100.0 + i, 4200.0),), ((6000.0, 6500.0),)) for i in range(3)]


@parametrize_with_checks([OnAnyGrid(), OnAnyGrid(missing="median")])
def test_scikit_learn_conventions(estimator: LineIndices, check: Any) -> None:
    check(estimator)


def test_transformer_gives_the_built_in_indices_on_the_papers_grid() -> None:
    flux = rough_spectra(6).astype("f4")
    indices = LineIndices()
    got = indices.fit(flux).transform(flux)
    assert got.dtype == np.float32
    assert list(indices.get_feature_names_out()) == [index.name for index in find_covered(PAPER_GRID)]
    assert "CN_3883" not in indices.get_feature_names_out()
    np.testing.assert_array_equal(got, measure(flux, None, PAPER_GRID, find_covered(PAPER_GRID)).values)
    np.testing.assert_array_equal(LineIndices().transform(flux), got)
    np.testing.assert_array_equal(indices.n_missing_, np.isnan(got).sum(axis=0))


def test_missing_indices_become_the_fitted_median_but_lost_rows_stay_lost() -> None:
    flux = rough_spectra(9, bad=0.0)
    flux[:, PAPER_GRID.wavelength > 8000] = np.nan
    flux[3, (PAPER_GRID.wavelength > 5000) & (PAPER_GRID.wavelength < 5045)] = np.nan
    flux[4] = np.nan
    red = IndexDefinition("red", "ratio", ((8100.0, 8200.0),), ((8300.0, 8400.0),))
    green = IndexDefinition("green", "ratio", ((6000.0, 6100.0),), ((6200.0, 6300.0),))
    indices = LineIndices(definitions=[LINE, red, DEPTH, green], missing="median")
    got = indices.fit_transform(flux)
    plain = measure(flux, None, PAPER_GRID, indices.definitions).values
    assert indices.n_missing_.tolist() == [2, 9, 2, 1]
    assert got[3, 0] == pytest.approx(np.nanmedian(plain[:, 0]))
    assert got[3, 3] == plain[3, 3]
    assert np.isnan(got[4]).all()
    assert np.isnan(got[:, 1]).all()
    with pytest.raises(NotFittedError):
        LineIndices(missing="median").transform(flux)


def test_transformer_refuses_what_it_cannot_place(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="100 pixels, but the paper's grid"):
        LineIndices().fit(np.ones((2, 100)))
    with pytest.raises(ValueError, match="missing must be"):
        LineIndices(missing="zero").fit(np.ones((2, 3601)))  # type: ignore[arg-type]
    mine = LineIndices(LINEAR_GRID, written(tmp_path))
    assert mine.fit_transform(rough_spectra(2, LINEAR_GRID)).shape == (2, 1)
    assert list(mine.get_feature_names_out()) == ["mine"]


# ---- science ----


def separation(values: Values, positive: NDArray[np.bool_]) -> float:
    """Probability that a positive has the larger value than another object (area under the curve)."""
    a, b = values[positive & np.isfinite(values)], values[~positive & np.isfinite(values)]
    return float((a[:, None] > b[None, :]).mean())


@pytest.fixture(scope="module")
def mock_sky() -> tuple[dict[str, Values], NDArray[np.str_]]:
    """Indices of an observed mock sky, in the rest frame, and the class of each object."""
    from rarespec.mock import MockSky

    values, classes = [], []
    for block in MockSky(900, {"carbon": 60}, seed=4, median_snr=20):
        flux = np.where(block.bad, np.nan, block.flux)
        z = np.array(block.catalogue["z"], dtype=np.float64)
        got = measure(flux, block.ivar, PAPER_GRID, z=np.where(z < 0.01, z, 0.0))
        values.append(got.values)
        classes += block.catalogue["class"]
    return dict(zip(got.names, np.concatenate(values).T, strict=True)), np.array(classes)


@pytest.fixture(scope="module")
def templates(real_data: Path) -> tuple[dict[str, Values], NDArray[np.str_]]:
    if not (real_data / "templates.npz").exists():
        pytest.skip("the real templates (../shared/data/templates.npz) are not here")
    with open(real_data / "templates.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    # Averages of observed spectra; the models and AGB averages beside them do not reach the blue bands.
    observed = np.array([row["source"] in ("pyhammer_templates", "spEigenStar") for row in rows])
    classes = np.array([row["class"] for row in rows])[observed]
    got = measure(np.load(real_data / "templates.npz")["flux"][observed], None, PAPER_GRID)
    return dict(zip(got.names, got.values.T, strict=True)), classes


@pytest.mark.parametrize("name", ["mock_sky", "templates"])
def test_swan_bands_set_carbon_stars_apart(name: str, request: pytest.FixtureRequest) -> None:
    values, classes = request.getfixturevalue(name)
    carbon, stars = classes == "CARBON", np.isin(classes, [*"OBAFGKM", "CARBON"])
    assert separation(-values["C2_4737"][stars], carbon[stars]) > 0.97
    assert separation(values["C2_4668"][stars], carbon[stars]) > 0.95
    assert separation(-values["C2_5165"][stars], carbon[stars]) > 0.9
    assert separation(-values["C2_5636"][stars], carbon[stars]) > 0.9
    assert separation(-values["C2_6191"][stars], carbon[stars]) > 0.9


@pytest.mark.parametrize("name", ["mock_sky", "templates"])
def test_titanium_oxide_and_calcium_hydride_grow_from_k_to_m(name: str, request: pytest.FixtureRequest) -> None:
    values, classes = request.getfixturevalue(name)
    for index in ("TiO2", "TiO3", "TiO5", "CaH2", "CaH3"):
        g, k, m = (np.nanmedian(values[index][classes == letter]) for letter in "GKM")
        assert m < k - 0.1 < g, index
    cool = np.isin(classes, ["K", "M"])
    assert separation(-values["TiO5"][cool], classes[cool] == "M") > 0.9


@pytest.mark.parametrize("name", ["mock_sky", "templates"])
def test_balmer_lines_peak_in_a_stars(name: str, request: pytest.FixtureRequest) -> None:
    values, classes = request.getfixturevalue(name)
    for index in ("Halpha", "Hbeta", "Hgamma_A", "Hgamma_F", "Hdelta_A", "Hdelta_F"):
        strength = {letter: np.nanmedian(values[index][classes == letter]) for letter in "BAFGK"}
        assert max(strength, key=strength.__getitem__) == "A", (index, strength)


@pytest.mark.parametrize("name", ["mock_sky", "templates"])
def test_metals_and_helium_follow_temperature(name: str, request: pytest.FixtureRequest) -> None:
    values, classes = request.getfixturevalue(name)
    for index in ("Mg_b", "Na_D", "Ca4227", "Fe5270"):
        a, g, k = (np.nanmedian(values[index][classes == letter]) for letter in "AGK")
        assert a < g < k, index
    b, g = (np.nanmedian(values["HeI_4471"][classes == letter]) for letter in "BG")
    assert b > g + 0.2
