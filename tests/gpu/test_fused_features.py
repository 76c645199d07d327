"""The two kernels give the features of the CPU, bad pixels and lost rows included."""

import os
import subprocess
import sys

import numpy as np
import pytest

from conftest import SMALL_GRID
from gpu import made_up
from rarespec.features import LineIndices, MedianFilter, MinMax, PaperFeatures, Recipe, StreamingPCA, UnitNorm
from rarespec.gpu.fused_features import FusedFeatures, Tiling
from rarespec.spectrum import PAPER_GRID

TOLERANCE = 1e-4


def fitted(grid, n_components, width_angstrom=10.0, min_good=0.5):
    return PaperFeatures(n_components, width_angstrom, grid, min_good=min_good).fit(made_up.flux(200, grid))


def agree(fused, recipe, flux, to_device):
    expected, lost_here = recipe.transform_and_locate(flux.copy())
    found, lost_at = (result.cpu().numpy() for result in fused(to_device(flux)))
    assert np.array_equal(lost_at, lost_here)
    assert np.isnan(found[lost_at > 0]).all()
    assert np.abs(found - expected)[lost_at == 0].max() < TOLERANCE


@pytest.mark.parametrize(
    ("grid", "n_components", "width_angstrom"), [(PAPER_GRID, 50, 10), (SMALL_GRID, 7, 45), (SMALL_GRID, 30, 90)]
)
def test_features_of_the_cpu(gpu, grid, n_components, width_angstrom):
    recipe = fitted(grid, n_components, width_angstrom)
    flux = made_up.with_bad_pixels(made_up.flux(333, grid, seed=1))
    agree(FusedFeatures.of(recipe), recipe, flux, lambda values: gpu.asarray(values, device="cuda"))


def test_another_share_of_good_pixels(gpu):
    recipe = fitted(SMALL_GRID, 10, min_good=0.97)
    flux = made_up.with_bad_pixels(made_up.flux(100, SMALL_GRID, seed=1))
    agree(FusedFeatures.of(recipe), recipe, flux, lambda values: gpu.asarray(values, device="cuda"))


def test_more_rows_than_are_held_at_once(gpu, monkeypatch):
    monkeypatch.setattr("rarespec.gpu.fused_features.ROWS_AT_ONCE", 96)
    recipe = fitted(SMALL_GRID, 10)
    flux = made_up.with_bad_pixels(made_up.flux(300, SMALL_GRID, seed=1))
    agree(FusedFeatures.of(recipe), recipe, flux, lambda values: gpu.asarray(values, device="cuda"))


def test_the_flux_is_not_changed(gpu):
    flux = gpu.asarray(made_up.with_bad_pixels(made_up.flux(64, SMALL_GRID)), device="cuda")
    before = flux.clone()
    FusedFeatures.of(fitted(SMALL_GRID, 10))(flux)
    assert gpu.equal(flux.nan_to_num(7, 8, 9), before.nan_to_num(7, 8, 9))


def test_other_chains_and_wide_windows_are_left_to_others():
    recipe = Recipe([MinMax(), StreamingPCA(5)]).fit(made_up.flux(50, SMALL_GRID))
    assert FusedFeatures.of(recipe) is None
    longer = Recipe([MedianFilter(grid=SMALL_GRID), MinMax(), UnitNorm(), StreamingPCA(5)])
    assert FusedFeatures.of(longer.fit(made_up.flux(50, SMALL_GRID))) is None
    assert FusedFeatures.of(Recipe([LineIndices()]).fit(made_up.flux(5))) is None
    assert FusedFeatures.of(fitted(SMALL_GRID, 5, width_angstrom=400.0)) is None


def test_the_kernels_without_a_gpu(torch, tmp_path):
    """Triton can run kernels slowly on a CPU, with the weights in float32; it has to be told before it is imported."""
    pytest.importorskip("triton", reason="triton is not installed")
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    code = "from gpu.test_fused_features import interpreted; interpreted()"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment)
    assert done.returncode == 0


def interpreted():
    import torch

    recipe = fitted(SMALL_GRID, 7, 45)
    flux = made_up.with_bad_pixels(made_up.flux(35, SMALL_GRID, seed=1))
    agree(FusedFeatures.of(recipe, Tiling(rows=16, number="float32")), recipe, flux, torch.asarray)
