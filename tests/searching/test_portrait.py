"""What is shown of a candidate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarespec.features import median_filter
from rarespec.mock import MockSky
from rarespec.searching.explain.portrait import AT_REST, TellingLines, names_in, on_scale_of, portraits_of
from rarespec.searching.explain.spectral_features import LINE, list_spectral_features
from rarespec.searching.explain.template import NoTemplate
from rarespec.searching.ranking import Ranking
from rarespec.spectrum import Spectra
from rarespec.survey import Survey
from search_rankings import N, ranking_of, spectra_with_bands, survey_with_bands


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("portrait") / "a.survey")


@pytest.fixture(scope="module")
def ranking(survey: Survey) -> Ranking:
    return ranking_of(survey)


def test_each_candidate_has_its_own_spectrum_with_gaps(ranking: Ranking, survey: Survey) -> None:
    portraits = portraits_of(ranking, 20)
    assert [one.facts["id"] for one in portraits] == ranking.table["id"][:20].tolist()
    for one in portraits:
        spectrum = survey[one.facts["id"]]
        assert np.array_equal(one.observed, np.where(spectrum.bad, np.nan, spectrum.flux), equal_nan=True)
        assert np.array_equal(np.isnan(one.filtered), spectrum.bad)
    gap = next(one for one in portraits if one.facts["id"] == "s004")
    assert np.isnan(gap.filtered[250:325]).all()


def test_the_known_example_has_the_same_median(ranking: Ranking, survey: Survey) -> None:
    for one in portraits_of(ranking, 5):
        known = survey[one.facts["nearest_known"]]
        assert one.known is not None and one.known_note == ""
        assert np.nanmedian(one.known) == pytest.approx(np.nanmedian(one.filtered), rel=1e-5)
        good = ~known.bad
        assert np.corrcoef(one.known[good], known.flux[good])[0, 1] > 0.8


def test_marks_are_those_of_carbon(ranking: Ranking) -> None:
    assert {"C₂"} == {mark.name for mark in portraits_of(ranking, 1)[0].marks}


def test_an_example_from_elsewhere_is_drawn_as_observed(survey: Survey) -> None:
    examples = spectra_with_bands(3)
    one = portraits_of(ranking_of(survey, known=examples), 1)[0]
    nearest = examples.ids.index(str(one.facts["nearest_known"]))
    assert examples.ids[nearest].startswith("elsewhere") and one.known_note == ""
    good = ~examples.bad[nearest]
    filtered = median_filter(examples.flux[nearest], survey.grid, bad=examples.bad[nearest])
    expected = on_scale_of(one.filtered, np.where(good, filtered, np.nan))
    assert expected is not None and one.known is not None
    np.testing.assert_allclose(one.known, expected, rtol=1e-6)


def test_an_example_of_which_only_features_are_known_is_drawn_from_them(survey: Survey) -> None:
    ranking = ranking_of(survey, known=spectra_with_bands(3))
    without = replace(ranking, rows=replace(ranking.rows, elsewhere=None))
    one = portraits_of(without, 1)[0]
    assert str(one.facts["nearest_known"]).startswith("elsewhere") and "not in the survey" in one.known_note
    assert one.known is not None and np.nanmedian(one.known) == pytest.approx(np.nanmedian(one.filtered), rel=1e-5)
    at = np.searchsorted(one.wavelength, [5160, 5250])
    assert one.known[at[0]] < one.known[at[1]] - 1


def test_marks_follow_the_redshift_of_examples_from_elsewhere(survey: Survey) -> None:
    examples = spectra_with_bands(3)
    far = Spectra(
        examples.wavelength, examples.flux, examples.ivar, examples.bad, examples.catalogue | {"z": [0.05] * 3}
    )
    at_rest = portraits_of(ranking_of(survey, known=examples), 1)[0].marks
    assert at_rest and portraits_of(ranking_of(survey, known=far), 1)[0].marks != at_rest


def test_marks_follow_the_redshift_where_the_known_are_far_away(tmp_path: Path) -> None:
    far = survey_with_bands(tmp_path / "far.survey", z=[0.05] * (N - 1) + [None])
    marks = portraits_of(ranking_of(far), 1)[0].marks
    at_rest = {(one.name, round(one.wavelength, 3)) for one in list_spectral_features()}
    assert marks and all((one.name, round(one.wavelength / 1.05, 3)) in at_rest for one in marks)


def test_no_molecule_of_stars_is_named_in_a_galaxy(tmp_path: Path) -> None:
    """One of the candidates with bands at 5165 A as observed is a galaxy at 0.18, where C2 is not at 5165 A."""
    among_stars = survey_with_bands(tmp_path / "a.survey", z=[0.18 if i == 12 else 1e-4 for i in range(N)])
    portraits = {str(one.facts["id"]): one for one in portraits_of(ranking_of(among_stars), 12)}
    galaxy, stars = portraits.pop("s012"), [one for one in portraits.values() if one.facts["class"] == "<b>C</b>"]
    assert stars and all({mark.name for mark in one.marks} == {"C₂"} and not one.is_far for one in stars)
    assert galaxy.is_far and "C₂" not in {mark.name for mark in galaxy.marks}
    lines = {(one.name, round(one.wavelength * 1.18, 3)) for one in list_spectral_features() if one.side == LINE}
    assert {(one.name, round(one.wavelength, 3)) for one in galaxy.marks} <= lines
    assert any(names_in(band, stars[0].marks) for band in stars[0].bands)
    assert not any("C₂" in names_in(band, galaxy.marks) for band in galaxy.bands)


def test_a_galaxy_is_explained_by_its_own_lines(tmp_path: Path) -> None:
    """Ca II at 0.2 falls on C2 at 4737: that is why the galaxy is on the list."""
    sky = MockSky(60, {"carbon": 8, "galaxy": 20}, seed=5, median_snr=40)
    survey = Survey.create(tmp_path / "mock.survey")
    survey.append(sky)
    kind, z = survey.catalogue["class"], survey.catalogue["z"]
    known = survey.ids[kind == "CARBON"][:4].tolist()
    portraits = portraits_of(ranking_of(survey, known=known, top=80), 80)
    far = [one for one in portraits if abs(one.facts["z"]) > AT_REST]
    assert len(far) > 15 and max(abs(z[kind == "CARBON"])) < AT_REST
    bands = {one.name for one in list_spectral_features() if one.side != LINE}
    assert not any(mark.name in bands for one in far for mark in one.marks)
    assert any("Ca II" in {mark.name for mark in one.marks} for one in far)


def test_species_are_those_that_the_known_show(ranking: Ranking, tmp_path: Path) -> None:
    assert TellingLines(ranking).species() == ["C₂"]
    far = survey_with_bands(tmp_path / "far.survey", z=[0.05] * (N - 1) + [None])
    lines = TellingLines(ranking_of(far))
    assert not lines.known_at_rest and lines.species()
    without = replace(ranking, rows=replace(ranking.rows, elsewhere=None))
    without.__dict__["template"] = NoTemplate("none")
    assert TellingLines(without).species() == []


@given(st.floats(-50, 50), st.floats(0.1, 10), st.booleans())
def test_any_known_spectrum_comes_to_the_same_median(offset: float, scale: float, offset_is_free: bool) -> None:
    candidate = np.linspace(1, 3, 41)
    known = on_scale_of(candidate, offset + scale * candidate[::-1], offset_is_free)
    assert known is not None and np.median(known) == pytest.approx(2, abs=1e-6)
    if offset_is_free or offset + 2 * scale <= 0:
        assert np.ptp(known) == pytest.approx(2, rel=1e-6)


def test_nothing_to_compare_is_not_drawn() -> None:
    assert on_scale_of(np.ones(5), np.full(5, np.nan)) is None
    assert on_scale_of(np.full(5, np.nan), np.ones(5)) is None
