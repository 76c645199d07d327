"""What a user reaches from `rarespec` alone, or from an object in hand."""

import matplotlib
import numpy as np
import pytest

import rarespec as rs
from rarespec.features import PaperFeatures
from search_rankings import ranking_of, survey_with_bands

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    return survey_with_bands(tmp_path_factory.mktemp("face") / "a.survey")


@pytest.fixture(scope="module")
def ranking(survey):
    return ranking_of(survey)


def test_features_and_neighbours_of_a_survey(survey):
    recipe = PaperFeatures(n_components=4)
    features = survey.features(recipe)
    assert np.array_equal(features.values, rs.features_of(survey, PaperFeatures(n_components=4)).values)
    assert np.array_equal(survey.neighbours(3, recipe).indices, rs.graph_of(features, 3).indices)


def test_a_saved_ranking_searches_again(ranking, survey, tmp_path):
    path = ranking.save(tmp_path / "bands.safetensors")
    again = rs.load_model(path).search(survey, top=40)
    assert again.table["id"].tolist() == ranking.table["id"].tolist()
    assert again.table["id"].tolist() == rs.search_with_model(survey, path, top=40).table["id"].tolist()


def test_a_model_for_other_wavelengths_is_refused(ranking, tmp_path):
    other = rs.Survey.create(tmp_path / "other.survey", rs.PAPER_GRID)
    model = rs.load_model(ranking.save(tmp_path / "bands.safetensors"))
    with pytest.raises(rs.UsageError, match=r"the model of a\.survey"):
        model.search(other)


def test_objects_plot_themselves(ranking, survey):
    assert survey["s000"].plot().lines
    assert ranking.plot(2).get_title(loc="left").startswith("2. ")


def test_spectra_come_from_specutils(survey):
    pytest.importorskip("specutils")
    stack = survey.select(["s000", "s001"])
    back = rs.Spectra.from_specutils(stack.to_specutils())
    assert back.ids == ["s000", "s001"] and np.allclose(back.flux, stack.flux)


def test_every_error_that_is_raised_on_purpose_has_one_root():
    assert issubclass(rs.UsageError, rs.RarespecError) and issubclass(rs.UsageError, ValueError)
    assert issubclass(rs.SurveyError, rs.RarespecError) and not issubclass(rs.UsageError, rs.SurveyError)
    with pytest.raises(rs.RarespecError):
        rs.Survey.open("no-such.survey")
