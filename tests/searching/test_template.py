"""The template: exact for weighted sums, a faithful stand-in for everything else, and honest where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.features import LineIndices, MedianFilter, MinMax, PaperFeatures, Recipe, SideBySide, StreamingPCA
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.rankers import BaggingSVM, BaggingTopPush, MatchedFilter
from rarespec.searching.explain.template import NoTemplate, Template, agreement, savage_scores, stand_in, template_of
from rarespec.survey.features.computing import features_of


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    return simulate_survey(SkyChoice(160, (("carbon", 16),), seed=5), tmp_path_factory.mktemp("template") / "s", jobs=1)


def fitted(survey, ranker, recipe):
    """Features, their usable rows, and the ranker that learned from five carbon stars."""
    features = features_of(survey, recipe)
    X = features.values[features.usable]
    y = np.zeros(len(X), int)
    y[np.flatnonzero(survey.catalogue["class"][features.usable] == "CARBON")[:5]] = 1
    return features, X, ranker.fit(X, y)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("ranker", [MatchedFilter(), BaggingTopPush(n_bags=3, bag_size=20, random_state=0)])
def test_weights_of_a_linear_ranker_are_exact(survey, ranker, whiten):
    features, X, ranker = fitted(survey, ranker, PaperFeatures(8, whiten=whiten))
    scores = ranker.decision_function(X)
    template = template_of(ranker, X, scores, features)
    assert isinstance(template, Template)
    assert template.agreement == pytest.approx(1, abs=1e-4) and "approximate" not in template.said
    flux = survey.block(0).flux[:4]
    before_pca = features.recipe.steps_[1].transform(features.recipe.steps_[0].transform(flux))
    expected = ranker.decision_function(features.recipe.transform(flux)) - scores.mean()
    np.testing.assert_allclose((before_pca - template.typical) @ template.weights, expected, rtol=1e-3, atol=1e-4)


def test_typical_spectrum_is_the_mean_of_the_rows(survey):
    features, X, ranker = fitted(survey, MatchedFilter(), PaperFeatures(8))
    some = X[:50]
    template = template_of(ranker, some, ranker.decision_function(some), features)
    mean = features.recipe.steps_[-1].inverse_transform(some.astype(float)).mean(axis=0)
    np.testing.assert_allclose(template.typical, mean, atol=1e-5)


def test_out_of_bag_scores_are_told(survey):
    features, X, ranker = fitted(survey, BaggingSVM(n_bags=2, random_state=0), PaperFeatures(8))
    template = template_of(ranker, X, -ranker.decision_function(X), features)
    assert template.agreement < 0 and "top-down" in template.said


def test_stand_in_is_called_one_and_looks_like_the_linear_filter(survey):
    features, X, cosine = fitted(survey, MatchedFilter(method="cosine"), PaperFeatures(8))
    template = template_of(cosine, X, cosine.decision_function(X), features)
    assert template.said.startswith("MatchedFilter is not a weighted sum") and 0.5 < template.agreement < 1
    exact = features.recipe.to_flux(fitted(survey, MatchedFilter(), PaperFeatures(8))[2].coef_)
    assert np.corrcoef(template.weights, exact)[0, 1] > 0.6


def test_recipe_inside_a_recipe_has_the_same_template(survey):
    flat, X, ranker = fitted(survey, MatchedFilter(), PaperFeatures(8))
    nested = features_of(survey, Recipe([MedianFilter(), Recipe([MinMax(), StreamingPCA(8, n_passes=5)])]))
    scores = ranker.decision_function(X)
    one, other = (template_of(ranker, X, scores, features) for features in (flat, nested))
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-6, atol=1e-6 * np.abs(one.weights).max())
    np.testing.assert_allclose(other.typical, one.typical, atol=1e-6)


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        (Recipe([LineIndices(missing="median")]), "LineIndices is not"),
        (Recipe([SideBySide([PaperFeatures(4), LineIndices(missing="median")])]), "SideBySide is not"),
        (Recipe([LineIndices(missing="median"), StreamingPCA(4)]), "what LineIndices measured"),
    ],
)
def test_no_template_outside_flux_space(survey, recipe, why):
    features, X, ranker = fitted(survey, MatchedFilter(), recipe)
    template = template_of(ranker, X, ranker.decision_function(X), features)
    assert isinstance(template, NoTemplate) and not template and why in template.said
    felt = {name: abs(weight) for name, weight in template.weights}
    assert list(felt.values()) == sorted(felt.values(), reverse=True) and len(felt) == min(6, X.shape[1])


def test_no_template_of_equal_scores(survey):
    features, X, ranker = fitted(survey, MatchedFilter(), PaperFeatures(8))
    assert "same score" in template_of(ranker, X, np.ones(len(X)), features).said


@pytest.mark.parametrize("scores", [np.ones(3), np.array([np.nan] * 150)])
def test_scores_must_fit(survey, scores):
    features, X, ranker = fitted(survey, MatchedFilter(), PaperFeatures(8))
    with pytest.raises(ValueError, match="finite scores"):
        template_of(ranker, X[:150], scores, features)


def test_stand_in_finds_the_direction_behind_any_monotone_score():
    rng = np.random.default_rng(1)
    X, direction = rng.normal(size=(9000, 6)).astype("f4") * [1, 2, 3, 4, 5, 6] + 7, np.array([1, -1, 0, 0.5, 0, 0.2])
    found = stand_in(X, savage_scores(np.exp(X @ direction)))
    assert found @ direction / np.linalg.norm(found) / np.linalg.norm(direction) > 0.999


@given(st.integers(0, 10**6), st.integers(20, 200))
def test_agreement_depends_on_order_only(seed, n):
    scores = np.random.default_rng(seed).normal(size=n)
    savage = savage_scores(scores)
    assert agreement(savage, savage_scores(np.exp(3 * scores) - 5)) == pytest.approx(1)
    assert agreement(savage, savage_scores(-scores)) < 0


def test_agreement_weighs_the_top():
    scores = np.arange(1000.0)
    top, bottom = scores.copy(), scores.copy()
    top[-50:], bottom[:50] = scores[-50:][::-1], scores[:50][::-1]
    of_scores, of_top, of_bottom = map(savage_scores, (scores, top, bottom))
    assert agreement(of_scores, of_top) < 0.95 < agreement(of_scores, of_bottom)


def test_tied_scores_share_their_place():
    assert len(set(savage_scores(np.array([1.0, 1, 1, 0, 0])).tolist())) == 2
