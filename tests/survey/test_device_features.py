"""Features of a survey on a device: those of the CPU, and a clear word where there is no GPU."""

import numpy as np
import pytest

import rarespec as rs
from rarespec.errors import UsageError
from rarespec.features import PaperFeatures
from rarespec.gpu import NoGPUWarning
from rarespec.gpu.device import why_not
from rarespec.gpu.device_recipe import DeviceRecipe
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.survey import Survey
from rarespec.survey.features import computing as features
from rarespec.survey.features import neighbours

needs_no_gpu = pytest.mark.skipif(why_not("cuda") is None, reason="there is a GPU, so nothing is to be told")


@pytest.fixture
def survey(tmp_path):
    simulate_survey(SkyChoice(300, (("carbon", 20),), seed=5), tmp_path / "a.survey")
    return Survey.open(tmp_path / "a.survey")


def carbon_stars(survey):
    return survey.ids[survey.catalogue["class"] == "CARBON"][:3].tolist()


def test_a_device_gives_the_features_of_the_cpu(survey, monkeypatch):
    pytest.importorskip("torch", reason="features on a device go through torch")
    recipe = PaperFeatures(n_components=5)
    expected = features.features_of(survey, recipe)
    monkeypatch.setattr(features, "recipe_on", lambda device, recipe: DeviceRecipe(recipe, "cpu"))
    seen = []
    found = features.features_of(survey, recipe, refit=True, progress=lambda *done: seen.append(done), device="cuda")
    np.testing.assert_array_equal(found.usable, expected.usable)
    spread = expected.usable_values.std(axis=0)
    assert (np.abs(found.usable_values - expected.usable_values) < 1e-2 * spread).all()
    assert seen[0] == (1, survey.n_blocks) and all(found.file(i).exists() for i in range(survey.n_blocks))


@needs_no_gpu
def test_without_a_gpu_the_cpu_does_the_work_and_says_so_once(survey):
    expected = rs.search(survey, carbon_stars(survey))
    with pytest.warns(NoGPUWarning, match="using the CPU") as told:
        found = rs.search(survey, carbon_stars(survey), device="cuda")
    assert sum(issubclass(one.category, NoGPUWarning) for one in told) == 1
    assert found.table["id"].tolist() == expected.table["id"].tolist()


@needs_no_gpu
def test_a_graph_without_a_gpu_is_that_of_the_cpu(survey):
    made = features.features_of(survey, PaperFeatures(n_components=5))
    with pytest.warns(NoGPUWarning):
        found = neighbours.graph_of(made, 4, device="cuda")
    np.testing.assert_array_equal(found.indices, neighbours.graph_of(made, 4).indices)


def test_wrong_use_is_told(survey):
    with pytest.raises(UsageError, match="tpu"):
        rs.search(survey, carbon_stars(survey), device="tpu")
    with pytest.raises(UsageError, match="choose either"):
        rs.search(survey, carbon_stars(survey), device="cuda", engine="tcp://127.0.0.1:1")
