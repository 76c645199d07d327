"""Why a candidate is on the list: contributions add up to its score, and the ranges named are those that matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.errors import UsageError
from rarespec.features import MinMax, PaperFeatures, Recipe, StreamingPCA
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.rankers import MatchedFilter
from rarespec.searching.explain.explanation import bands_of, contributions, explain_score, smooth_weights
from rarespec.searching.explain.template import NoTemplate, rescale_flux, template_of
from rarespec.spectrum import PAPER_GRID, Spectrum
from rarespec.survey.features.computing import features_of

WAVELENGTH = PAPER_GRID.wavelength


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A survey's features and scores, the template, and the id of a carbon star that was not known."""
    choice = SkyChoice(160, (("carbon", 16),), seed=5)
    survey = simulate_survey(choice, tmp_path_factory.mktemp("explanation") / "s", jobs=1)
    features = features_of(survey, PaperFeatures(12))
    rows = np.flatnonzero(features.usable)
    carbon = np.flatnonzero(survey.catalogue["class"][rows] == "CARBON")
    X, y = features.values[rows], np.zeros(len(rows), int)
    y[carbon[:8]] = 1
    ranker = MatchedFilter().fit(X, y)
    scores = ranker.decision_function(X)
    best = carbon[8:][np.argmax(scores[carbon[8:]])]
    template = template_of(ranker, X, scores, features)
    return survey, features, template, survey.ids[rows[best]], scores[best] - scores.mean()


def test_contributions_add_up_to_the_score(case):
    survey, features, template, id, score = case
    explanation = explain_score(template, survey[id], features)
    assert explanation.score == pytest.approx(score, rel=1e-3)
    assert explanation.contribution.sum() == pytest.approx(explanation.score)
    np.testing.assert_array_equal(explanation.contribution, contributions(template, explanation.flux))
    assert explanation.flux.min() == 0 and explanation.flux.max() == 1


def test_a_carbon_star_is_told_by_a_band_of_carbon(case):
    survey, features, template, id, _ = case
    first = explain_score(template, survey[id], features).bands[0]
    assert first.contribution > 0
    assert any(first.start - 100 < head < first.stop + 100 for head in (4737, 5165, 5636)), str(first)


def test_a_band_of_one_pixel_has_a_width():
    wavelength = np.arange(4000.0, 9000.0, 100.0)
    contribution = np.zeros(len(wavelength))
    contribution[20] = 1
    (band,) = bands_of(wavelength, contribution)
    assert (band.start, band.stop) == (5950, 6050) and band.share == 1


def test_words(case):
    survey, features, template, id, _ = case
    lines = str(explain_score(template, survey[id], features)).splitlines()
    assert lines[0].startswith(f"{id}: +") and " A in favour: " in lines[1] and lines[-1] == template.said


def test_the_spectrum_is_left_as_it_was(case):
    survey, features, template, id, _ = case
    spectrum = survey[id]
    before = spectrum.flux.copy()
    explain_score(template, spectrum, features)
    np.testing.assert_array_equal(spectrum.flux, before)


def test_rescaling_leaves_the_flux_as_it_was():
    flux = np.random.default_rng(0).random((9, 40))
    recipe = Recipe([MinMax(), StreamingPCA(2)]).fit(flux)
    recipe.steps_[0].copy = False
    before = flux.copy()
    assert rescale_flux(recipe, flux).max() == 1
    np.testing.assert_array_equal(flux, before)


def test_contributions_of_many_rows(case):
    *_, template, _, _ = case
    rows = np.random.default_rng(0).random((3, len(WAVELENGTH)))
    np.testing.assert_array_equal(contributions(template, rows)[1], contributions(template, rows[1]))


def test_what_cannot_be_explained_says_why(case):
    survey, features, template, id, _ = case
    spectrum = survey[id]
    with pytest.raises(UsageError, match=r"no explanation by wavelength\. No pixels"):
        explain_score(NoTemplate("No pixels."), spectrum, features)
    short = Spectrum(id, WAVELENGTH[:9], spectrum.flux[:9], None, spectrum.bad[:9])
    with pytest.raises(UsageError, match="has 9 pixels, but the template has 3601"):
        explain_score(template, short, features)
    lost = Spectrum(id, WAVELENGTH, spectrum.flux, None, np.ones(len(WAVELENGTH), bool))
    with pytest.raises(UsageError, match="no features"):
        explain_score(template, lost, features)


def test_bands_are_found_where_they_are():
    contribution = np.zeros(len(WAVELENGTH))
    contribution[(WAVELENGTH > 5100) & (WAVELENGTH < 5165)] = 2.0
    contribution[(WAVELENGTH > 7000) & (WAVELENGTH < 7100)] = -1.0
    favour, against = bands_of(WAVELENGTH, contribution)
    assert abs(favour.start - 5100) < 30 and abs(favour.stop - 5165) < 30 and favour.contribution > 0
    assert abs(against.start - 7000) < 30 and abs(against.stop - 7100) < 30 and against.contribution < 0
    assert favour.share + against.share > 0.9
    assert str(against).endswith(f"A against: {100 * against.share:.0f} %")


def test_neighbours_that_cancel_are_no_band():
    contribution = np.where(np.arange(len(WAVELENGTH)) % 2, 2.0, -2.0)
    contribution[(WAVELENGTH > 6000) & (WAVELENGTH < 6100)] += 1.0
    band, *_ = bands_of(WAVELENGTH, contribution)
    assert abs(band.start - 6000) < 40 and abs(band.stop - 6100) < 40


def test_nothing_contributes():
    assert bands_of(WAVELENGTH, np.zeros(len(WAVELENGTH))) == ()


@given(st.integers(0, 10**6), st.sampled_from([0.1, 3.0, 60.0, 1e4]))
def test_smoothing_keeps_the_sum(seed, width):
    values = np.random.default_rng(seed).normal(size=len(WAVELENGTH))
    assert smooth_weights(WAVELENGTH, values, width).sum() == pytest.approx(values.sum(), abs=1e-8)


@given(st.integers(0, 10**6))
def test_shares_never_exceed_everything(seed):
    rng = np.random.default_rng(seed)
    contribution = np.cumsum(rng.normal(size=len(WAVELENGTH)))
    bands = bands_of(WAVELENGTH, contribution)
    assert 0 < sum(band.share for band in bands) <= 1 + 1e-9
    assert [band.share for band in bands] == sorted((band.share for band in bands), reverse=True)
