"""A whole search on a graphics card finds what it finds on the CPU."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import rarespec as rs
from rarespec.features import PaperFeatures, SkyFeatures
from rarespec.gpu.device_recipe import DeviceRecipe
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.rankers import BaggingTopPush
from rarespec.searching import fitting
from rarespec.survey.features import computing
from rarespec.survey.features.computing import begin_to_learn, compute_on, learn_on_device

TOLERANCE = 1e-3
"""Of a score's distance to that of the best; what is closer may change places."""


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    pytest.importorskip("torch", reason="torch is not installed")  # before it is made for nobody
    path = tmp_path_factory.mktemp("searched") / "mock.survey"
    simulate_survey(SkyChoice(3000, (("carbon", 40),), seed=5), path)
    return rs.Survey.open(path)


def known_in(survey):
    return survey.ids[survey.catalogue["class"] == "CARBON"].tolist()[:5]


def search_on_both(survey, folder, method):
    copy = rs.Survey.open(shutil.copytree(survey.path, folder / "copy.survey"))
    here = rs.search(survey, known_in(survey), method=method, top=1000)
    return here, rs.search(copy, known_in(survey), method=method, top=1000, device="cuda")


def test_auto_finds_nearly_the_same(gpu, survey, tmp_path):
    """Features agree to 1e-4 of their spread or better. Where two neighbours are as near as that, a walk may take the
    other one, and the score of a row changes at once by some hundredths of their range."""
    here, there = search_on_both(survey, tmp_path, "auto")
    apart = np.abs(here.scores - there.scores) / np.ptp(here.scores)
    assert np.mean(apart > 10 * TOLERANCE) < 0.02, np.quantile(apart, (0.5, 0.9, 0.98, 1))
    assert len(np.intersect1d(here.table["id"], there.table["id"])) >= 990


@pytest.mark.parametrize("method", ["bagging_top_push", "lrga"])
def test_the_first_thousand_are_the_same(gpu, survey, tmp_path, method):
    here, there = search_on_both(survey, tmp_path, method)
    slack = TOLERANCE * np.ptp(here.scores)
    assert np.abs(here.scores - there.scores).max() <= slack
    apart = np.asarray(here.table["id"]) != np.asarray(there.table["id"])
    assert np.abs(np.asarray(here.table["score"] - there.table["score"])[apart]).max(initial=0) <= slack


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_all_components_are_those_of_the_cpu(survey, device):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    here = rs.features_of(survey, PaperFeatures())
    assert here.recipe.steps_[-1].solver_ == "randomised"
    there = learn_on_device(DeviceRecipe(PaperFeatures(), device), survey)
    flux = survey.masked_flux(0)[:500]
    apart = np.nanmax(np.abs(there.transform(flux) - here.recipe.transform(flux)), axis=0)
    assert (apart / np.nanstd(here.values, axis=0)).max() < 1e-3


@pytest.mark.parametrize("rows_at_once", [1, 10**6])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_features_of_a_survey_are_those_of_the_cpu(survey, device, rows_at_once, monkeypatch):
    """Learned and computed on a device, one stored block at a time or all at once, and read back from their files."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    monkeypatch.setattr(computing, "ROWS_AT_ONCE", rows_at_once)
    here, recipe = rs.features_of(survey, SkyFeatures()), SkyFeatures()
    learned = learn_on_device(DeviceRecipe(recipe, device), survey, begin_to_learn(survey, recipe))
    there = computing._with_model(survey, learned, survey.path / "features" / f"{device}-{rows_at_once}")
    seen = []
    compute_on(DeviceRecipe(learned, device), there, lambda done, total: seen.append((done, total)))
    assert all(there.file(i).exists() for i in range(survey.n_blocks)) and survey.n_blocks > 1
    assert seen == [(i + 1, survey.n_blocks) for i in range(survey.n_blocks)]
    apart = np.nanmax(np.abs(there.values - here.values), axis=0) / np.nanstd(here.values, axis=0)
    # features of nearly the same eigenvalue are turned a little into each other by rounding: 1.4e-3 was seen
    assert apart.max() < 1e-2, apart
    assert np.array_equal(there.usable, here.usable) and np.array_equal(there.n_bad, here.n_bad)


def test_bags_are_solved_on_the_device(survey, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rows = rs.search(survey, known_in(survey), method="bagging_top_push").rows
    given, fit = [], BaggingTopPush._fit
    monkeypatch.setattr(BaggingTopPush, "_fit", lambda self, X, known: given.append(type(X)) or fit(self, X, known))
    here, there = (
        fitting.prepare(BaggingTopPush(random_state=0), rows, device).fit(rows.known).ranker for device in (None, "cpu")
    )
    assert given == [np.ndarray, torch.Tensor]
    assert np.allclose(there.coef_, here.coef_, rtol=1e-4, atol=1e-4 * np.abs(here.coef_).max())
