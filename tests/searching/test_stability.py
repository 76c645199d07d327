"""A ranking must not depend on what cannot matter: the random start of the components, the order of rows, the noise."""

import numpy as np
import pytest

from rarespec.evaluation import average_precision_at_k, relevance_in_order
from rarespec.features import SkyFeatures
from rarespec.mock import MockSky
from rarespec.rankers import Auto
from rarespec.spectrum import WavelengthGrid

GRID = WavelengthGrid("log", 3.6, 4e-4, 880)
N_RARE, N_KNOWN = 80, 10
TOLERANCE = 0.005


@pytest.fixture(scope="module")
def sky():
    """Flux with hardly any noise, and which spectra are carbon stars."""
    blocks = list(MockSky(3000, {"carbon": N_RARE}, seed=5, wavelength=GRID.wavelength, median_snr=100))
    flux = np.concatenate([np.where(block.bad, np.nan, block.flux) for block in blocks])
    flux /= np.nanmedian(abs(flux), axis=1, keepdims=True)
    return flux, np.concatenate([np.array(block.catalogue["class"]) == "CARBON" for block in blocks])


def observe(flux, seed):
    """Add noise, between a twentieth and a fifth of the flux, the same for the same spectrum."""
    level = np.geomspace(0.05, 0.2, len(flux))[np.random.default_rng(0).permutation(len(flux))]
    noise = np.random.default_rng(seed).normal(size=flux.shape) * level[:, None]
    return (flux + noise).astype(np.float32)


def search(flux, rare, known, recipe=None, order=None):
    """Return the average precision of what is not known, and the first rows, in the numbers of `flux`."""
    order = np.arange(len(flux)) if order is None else order
    X = (recipe or SkyFeatures(grid=GRID)).fit_transform(flux[order])
    is_known = np.isin(order, known)
    scores = Auto().fit(X, is_known).decision_function(X)
    relevant = relevance_in_order(scores[~is_known], rare[order][~is_known])
    best = order[~is_known][np.argsort(-scores[~is_known])]
    return average_precision_at_k(relevant), set(best[: N_RARE - N_KNOWN].tolist())


def agree(one, other):
    return abs(one[0] - other[0]) <= TOLERANCE and len(one[1] & other[1]) >= 0.95 * len(one[1])


@pytest.fixture(scope="module")
def first_answer(sky):
    flux, rare = sky
    known = np.flatnonzero(rare)[:N_KNOWN]
    answer = search(observe(flux, 1), rare, known)
    assert answer[0] > 0.9
    return known, answer


def test_another_start_of_the_components_changes_nothing(sky, first_answer):
    flux, rare = sky
    known, answer = first_answer
    recipe = SkyFeatures(grid=GRID, solver="randomised", random_state=1)
    assert agree(search(observe(flux, 1), rare, known, recipe), answer)


def test_another_order_of_rows_changes_nothing(sky, first_answer):
    flux, rare = sky
    known, answer = first_answer
    order = np.random.default_rng(1).permutation(len(flux))
    assert agree(search(observe(flux, 1), rare, known, order=order), answer)


def test_fresh_noise_changes_little(sky, first_answer):
    flux, rare = sky
    known, answer = first_answer
    precision, first = search(observe(flux, 2), rare, known)
    assert abs(precision - answer[0]) <= 2 * TOLERANCE and len(first & answer[1]) >= 0.95 * len(first)
