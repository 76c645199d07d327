"""The job from end to end on a small mock survey, and what was learned on another one."""

import numpy as np
import pytest

import rarespec as rs
from rarespec.errors import UsageError
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.searching.search import search_with_model
from rarespec.searching.selection import Selection

N_RARE = 25


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "a.survey"
    return simulate_survey(SkyChoice(700, (("carbon", N_RARE),), seed=5), path)


@pytest.fixture(scope="module")
def carbon(survey):
    return survey.ids[survey.catalogue["class"] == "CARBON"].tolist()


@pytest.fixture(scope="module")
def ranking(survey, carbon):
    return rs.search(survey, known=carbon[:5], top=100)


def test_the_others_come_first(ranking, carbon):
    found = np.isin(ranking.table["id"], carbon)
    assert found[:20].sum() >= 15
    assert not set(ranking.table["id"]) & set(carbon[:5])
    assert ranking.table["rank"].tolist() == list(range(1, 101))
    assert (np.diff(ranking.table["score"]) <= 0).all()


def test_a_ranking_says_what_it_did(ranking, carbon, survey):
    assert "hidden known examples" in ranking.why
    assert ranking.n_listed == len(survey) - 5 and ranking.problems == [] and not ranking.examples_lost
    assert sorted(ranking.provenance["known_ids"]) == sorted(carbon[:5])
    assert ranking.provenance["seed"] == 0 and "numpy" in ranking.provenance["versions"]
    assert set(ranking.table["nearest_known"]) <= set(carbon[:5])
    assert "Ranking of 720" in repr(ranking) and "<table" in ranking._repr_html_()


def test_the_yield_is_of_the_right_size(ranking):
    curve = ranking.yield_curve
    assert curve.can_tell and curve.low[49] <= N_RARE - 5 <= curve.high[49]
    assert 5 <= curve.stopping_rank <= 200


def test_explanations_are_about_the_spectrum(ranking):
    id = ranking.table["id"][0]
    assert ranking.explain(id).id == id
    with pytest.raises(UsageError, match="nobody"):
        ranking.explain("nobody")


@pytest.mark.parametrize("method", ["matched_filter", "bagging_top_push", "label_propagation", "lrga"])
def test_any_method_can_be_asked_for(survey, carbon, method):
    ranking = rs.search(survey, known=carbon[:5], method=method, top=40)
    assert np.isin(ranking.table["id"], carbon).sum() >= 10


def test_the_same_seed_gives_the_same_ranking(survey, carbon, ranking):
    again = rs.search(survey.path, known=carbon[:5], top=100)
    assert again.table["id"].tolist() == ranking.table["id"].tolist()
    np.testing.assert_array_equal(again.table["score"], ranking.table["score"])


@pytest.mark.parametrize("method", ["auto", "label_propagation"])
def test_examples_from_another_survey_are_used(survey, carbon, tmp_path_factory, method):
    other = simulate_survey(SkyChoice(20, (("carbon", 5),), seed=9), tmp_path_factory.mktemp("other") / "b.survey")
    spectra = other.select(other.ids[other.catalogue["class"] == "CARBON"].tolist())
    renamed = rs.Spectra(
        spectra.wavelength, spectra.flux, spectra.ivar, spectra.bad, spectra.catalogue | {"id": list("vwxyz")}
    )
    ranking = rs.search(survey, known=renamed, method=method, top=50, recipe="paper")
    assert set(ranking.table["nearest_known"]) <= set("vwxyz")
    assert np.isin(ranking.table["id"], carbon).sum() >= 15


@pytest.mark.parametrize("none", [[], (), None])
def test_no_non_members(survey, carbon, ranking, none):
    again = rs.search(survey, known=carbon[:5], non_members=none, top=100)
    assert list(again.table["id"]) == list(ranking.table["id"][:100])


def test_non_members_are_not_listed(survey, carbon, ranking):
    refused = ranking.table["id"][:3].tolist()
    again = rs.search(survey, known=carbon[:5], non_members=refused, top=100)
    assert not set(refused) & set(again.table["id"]) and again.n_listed == ranking.n_listed - 3
    both = rs.search(survey, known=carbon[:5], non_members=carbon[:1], top=10)
    assert any("given both as known and as a non-member" in problem for problem in both.problems)


def test_selection_changes_what_is_listed_and_not_what_is_learned(survey, carbon, ranking):
    bright = rs.search(survey, known=carbon[:5], selection=Selection(min_snr=15), top=1000)
    assert (bright.table["snr"] >= 15).all() and any("S/N" in problem for problem in bright.problems)
    score_of = dict(zip(ranking.table["id"], ranking.table["score"], strict=True))
    shared = [(row["score"], score_of[row["id"]]) for row in bright.table if row["id"] in score_of]
    assert shared and all(one == other for one, other in shared)


def test_what_is_wrong_with_examples_is_told_and_the_rest_is_used(survey, carbon):
    ranking = rs.search(survey, known=[*carbon[:3], "nobody", carbon[0]], top=10)
    assert ranking.examples_lost and len(ranking.provenance["known_ids"]) == 3
    assert any("nobody" in problem for problem in ranking.problems)
    with pytest.raises(UsageError, match="nobody"):
        rs.search(survey, known=["nobody"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"params": {"magic": 1}}, "no parameter magic"),
        ({"recipe": "magic"}, "there is no recipe 'magic'"),
        ({"top": 0}, "top"),
    ],
)
def test_wrong_use_is_told(survey, carbon, wrong, said):
    with pytest.raises(UsageError, match=said):
        rs.search(survey, known=carbon[:3], **wrong)


def test_what_was_learned_ranks_another_survey(ranking, tmp_path):
    model = ranking.save(tmp_path / "carbon.safetensors")
    other = simulate_survey(SkyChoice(500, (("carbon", 20),), seed=11), tmp_path / "b.survey")
    found = search_with_model(other, model, top=40)
    carbon = other.ids[other.catalogue["class"] == "CARBON"]
    assert np.isin(found.table["id"], carbon).sum() >= 12
    curve = found.yield_curve  # from where Auto placed its hidden examples
    assert curve.can_tell and curve.n_total_low <= 20 <= curve.n_total_high
    assert found.provenance["model"] == "carbon.safetensors"


def test_a_model_whose_ranker_hid_no_examples_cannot_tell_how_many_there_are(survey, carbon, tmp_path):
    model = rs.search(survey, carbon[:4], method="matched_filter").save(tmp_path / "lda.safetensors")
    assert not search_with_model(survey, model).yield_curve.can_tell


def test_a_model_on_its_own_survey_gives_the_same_order(ranking, survey, tmp_path):
    model = ranking.save(tmp_path / "carbon.safetensors")
    again = search_with_model(survey, model, top=100)
    assert again.table["id"].tolist() == ranking.table["id"].tolist()


def test_a_model_for_another_grid_is_refused(ranking, tmp_path):
    model = ranking.save(tmp_path / "carbon.safetensors")
    grid = rs.WavelengthGrid("log", 3.6, 1e-4, 3400)
    other = simulate_survey(SkyChoice(20, (("carbon", 2),), seed=1, grid=grid), tmp_path / "c.survey")
    with pytest.raises(UsageError, match="grid"):
        search_with_model(other, model)


def test_a_file_that_is_no_model_is_refused(survey, tmp_path):
    (tmp_path / "x").write_bytes(b"nothing")
    with pytest.raises(UsageError, match="x"):
        search_with_model(survey, tmp_path / "x")
