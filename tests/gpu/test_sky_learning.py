"""What SkyFeatures learns on a device is what it learns on the CPU, but for rounding."""

import numpy as np
import pytest
from sklearn.base import clone

from conftest import SMALL_GRID
from gpu import made_up
from rarespec.features import SkyFeatures
from rarespec.gpu.sky_learning import begin_sky, learn_sky


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return request.param


@pytest.mark.parametrize("solver", ["randomised", "exact"])
def test_features_are_those_of_the_cpu(device, solver):
    flux = made_up.with_bad_pixels(made_up.flux(3000, SMALL_GRID, seed=2), seed=2).astype(np.float32)
    flux[17] = np.nan
    recipe = SkyFeatures(
        n_components=6, n_followed=20, grid=SMALL_GRID, n_changed=400, n_learned=2500, solver=solver, random_state=3
    )
    here = clone(recipe).fit_sample(flux)
    there = learn_sky(begin_sky(clone(recipe), flux), device)
    assert there.steps_[-1].solver_ == here.steps_[-1].solver_ == solver
    assert there.steps_[-1].n_left_out_ == here.steps_[-1].n_left_out_ > 0
    expected, found = here.transform(flux), there.transform(flux)
    assert np.isnan(found[17]).all()
    apart = np.nanmax(np.abs(found - expected), axis=0) / np.nanstd(expected, axis=0)
    assert apart.max() < 1e-3, apart


def test_what_is_learned_can_be_kept(torch):
    flux = made_up.flux(400, SMALL_GRID, seed=4).astype(np.float32)
    recipe = SkyFeatures(n_components=3, n_followed=10, grid=SMALL_GRID, n_changed=100, solver="randomised")
    learned = learn_sky(begin_sky(recipe, flux), "cpu")
    again = clone(recipe).restore(learned.state())
    assert np.array_equal(again.transform(flux), learned.transform(flux))
