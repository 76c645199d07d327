"""A recipe on a device learns and gives what it does on the CPU."""

import numpy as np
import pytest
from sklearn.base import clone

from conftest import SMALL_GRID
from gpu import made_up
from rarespec.features import LineIndices, PaperFeatures, Recipe, SkyFeatures, StreamingPCA
from rarespec.gpu.device import NoGPUWarning
from rarespec.gpu.device_recipe import DeviceRecipe, fit_components, recipe_on


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return request.param


@pytest.fixture(scope="module")
def recipe():
    return PaperFeatures(8, grid=SMALL_GRID, solver="randomised").fit(made_up.flux(600, SMALL_GRID))


def numbered(blocks):
    return lambda numbers: (blocks[i] for i in numbers)


def sizes_of(blocks):
    return [block.shape[0] for block in blocks]


def test_features_lost_rows_and_bad_pixels(device, recipe):
    blocks = [made_up.with_bad_pixels(made_up.flux(n, SMALL_GRID, seed=n), seed=n) for n in (60, 200, 31)]
    for block, found in zip(blocks, DeviceRecipe(recipe, device).transform_blocks(iter(blocks)), strict=True):
        expected, lost_at = recipe.transform_and_locate(block.copy())
        assert np.array_equal(found.lost_at, lost_at) and set(lost_at) >= {0, 1, 2}
        assert np.abs(found.values - expected)[lost_at == 0].max() < 1e-4
        assert np.array_equal(found.n_bad, np.isnan(block).sum(axis=1))
        assert found.values.dtype == np.float32 and found.lost_at.dtype == np.int8


def test_double_precision_takes_the_general_way(device, recipe):
    flux = made_up.flux(40, SMALL_GRID).astype(np.float64)
    values, _ = DeviceRecipe(recipe, device).transform_and_locate(flux)
    assert np.allclose(values, recipe.transform(flux), atol=1e-5)


def test_learning_from_blocks(device):
    blocks = [made_up.with_bad_pixels(made_up.flux(300, SMALL_GRID, seed=i)) for i in range(4)]
    here = PaperFeatures(8, grid=SMALL_GRID, solver="randomised").fit_blocks(lambda: iter(blocks))
    there = DeviceRecipe(clone(here), device).fit_blocks(numbered(blocks), sizes_of(blocks))
    assert there.steps_[2].n_samples_seen_ == here.steps_[2].n_samples_seen_
    assert there.steps_[2].n_left_out_ == here.steps_[2].n_left_out_ > 0
    expected, found = here.transform(blocks[0]), there.transform(blocks[0])
    spread = np.nanstd(expected, axis=0)
    assert np.nanmax(np.abs(found - expected)[:, :4] / spread[:4]) < 1e-3
    variance = [one.steps_[2].explained_variance_ratio_.sum() for one in (here, there)]
    assert abs(variance[0] / variance[1] - 1) < 1e-5
    assert there.restore(there.state()).transform(blocks[0]).shape == expected.shape


def test_sky_features_are_learned_from_a_sample(device):
    blocks = [made_up.with_bad_pixels(made_up.flux(300, SMALL_GRID, seed=i)) for i in range(4)]
    here = SkyFeatures(6, 30, grid=SMALL_GRID, solver="randomised").fit_blocks(lambda: iter(blocks))
    there = DeviceRecipe(clone(here), device).fit_blocks(numbered(blocks), sizes_of(blocks))
    expected, found = here.transform(blocks[0]), there.transform(blocks[0])
    for one, other in zip(expected.T[:3], found.T[:3], strict=True):
        assert abs(np.corrcoef(one[np.isfinite(one)], other[np.isfinite(one)])[0, 1]) > 0.99
    on_device = next(iter(DeviceRecipe(there, device).transform_blocks(iter(blocks))))
    assert np.allclose(on_device.values, found, atol=1e-2, equal_nan=True)


def test_the_exact_solver_is_left_to_the_cpu(device):
    blocks = [made_up.flux(150, SMALL_GRID, seed=i) for i in range(2)]
    here = PaperFeatures(5, grid=SMALL_GRID).fit_blocks(lambda: iter(blocks))
    there = DeviceRecipe(clone(here), device).fit_blocks(numbered(blocks), sizes_of(blocks))
    assert there.steps_[2].solver_ == here.steps_[2].solver_ == "exact"
    assert np.allclose(there.transform(blocks[0]), here.transform(blocks[0]), atol=1e-4)


def test_components_of_arrays_of_any_library(arrays):
    rows = made_up.flux(500, SMALL_GRID) * 0.01
    rows[17, 5] = np.nan
    blocks = [arrays.of(rows[:200]), arrays.of(rows[200:])]
    there = fit_components(StreamingPCA(6, n_passes=4), lambda: blocks, sizes_of(blocks))
    here = StreamingPCA(6, n_passes=4, solver="randomised").fit(rows)
    assert there.n_left_out_ == 1 and there.solver_ == "randomised"
    assert np.allclose(there.explained_variance_, here.explained_variance_, rtol=1e-3)
    assert np.abs(np.sum(there.components_[:3] * here.components_[:3], axis=1)).min() > 1 - 1e-5


def test_no_rows_to_learn_from(torch):
    with pytest.raises(ValueError, match="no rows"):
        DeviceRecipe(PaperFeatures(3, grid=SMALL_GRID), "cpu").fit_blocks(numbered([]), [])
    with pytest.raises(ValueError, match=r"none of .* rows is finite"):
        fit_components(StreamingPCA(3), lambda: [torch.full((5, 30), torch.nan)], [5])


def test_a_step_that_needs_the_cpu_is_named(monkeypatch):
    monkeypatch.setattr("rarespec.gpu.device.why_not", lambda device: None)
    with pytest.warns(NoGPUWarning, match="LineIndices cannot run on a GPU"):
        assert recipe_on("cuda", Recipe([LineIndices()])) is None
    assert recipe_on("cuda:1", PaperFeatures()).device == "cuda:1"
    assert recipe_on("cpu", PaperFeatures()) is None
