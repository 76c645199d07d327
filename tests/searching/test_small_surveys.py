"""Promise: a survey of few spectra, or few usable ones, is ranked or refused in plain words; never a traceback."""

import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import rarespec as rs
from conftest import PAPER_GRID, SMALL_GRID, make_spectra
from rarespec.cli.app import app
from rarespec.errors import RarespecError
from rarespec.features import PaperFeatures
from rarespec.labels.campaign import Campaign
from rarespec.rankers.by_name import NAMES
from rarespec.searching.search import search_with_model
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_of
from rarespec.survey.store.writer import SurveyWriter

SIZES = (1, 2, 3, 5, 10, 30, 49, 50, 51, 100)


def constant(spectra):
    spectra.flux[:] = 7


def half_constant(spectra):
    spectra.flux[1::2] = 7


def identical(spectra):
    spectra.flux[:], spectra.bad[:] = spectra.flux[0], spectra.bad[0]


def duplicates(spectra):
    half = len(spectra) // 2
    spectra.flux[half : 2 * half], spectra.bad[half : 2 * half] = spectra.flux[:half], spectra.bad[:half]


def usable(some):
    def spoil(spectra):
        spectra.bad[some(len(spectra)) :] = True

    return spoil


def huge(spectra):
    spectra.flux[0] *= 1e30


def as_they_are(_):
    pass


CASES = {
    "one known": (as_they_are, slice(1), None),
    "two known": (as_they_are, slice(2), None),
    "constant": (constant, slice(1), None),
    "half constant": (half_constant, slice(1), None),
    "identical": (identical, slice(1), None),
    "duplicates": (duplicates, slice(1), None),
    "a known copy": (duplicates, slice(-1, None), None),
    "huge": (huge, slice(1), None),
    "none usable": (usable(lambda n: 0), slice(1), None),
    "one usable": (usable(lambda n: 1), slice(1), None),
    "two usable": (usable(lambda n: 2), slice(1), None),
    "a third usable": (usable(lambda n: n // 3), slice(1), None),
    "known is unusable": (usable(lambda n: n // 2), slice(-1, None), None),
    "all known but one": (as_they_are, slice(-1), None),
    "all known": (as_they_are, slice(None), None),
    "non-members": (as_they_are, slice(1), slice(1, 3)),
    "all labelled": (as_they_are, slice(1), slice(1, None)),
    "all non-members but one": (as_they_are, slice(1), slice(2, None)),
}
"""Name -> what is done to the spectra, which are known, which are non-members."""


def written(path, spectra, grid=SMALL_GRID):
    with SurveyWriter(path, grid) as writer:
        writer.add(spectra)
        writer.commit()
    return Survey.open(path)


def made(path, n, case):
    change, known, refused = CASES[case]
    spectra = make_spectra(n, SMALL_GRID)
    change(spectra)
    return written(path, spectra), spectra.ids[known], None if refused is None else spectra.ids[refused]


def ranked_or_refused(survey, known, refused, method):
    """Whether it was ranked; a refusal must name the survey or say what to give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ranking = rs.search(survey, known, method, non_members=refused)
        except RarespecError as error:
            assert str(survey.path) in str(error) or "no examples were given" in str(error)
            assert len(str(error).removeprefix(str(survey.path))) > 20
            return False
    assert np.isfinite(ranking.scores).all() and len(ranking.table) == ranking.n_listed > 0
    return True


@pytest.mark.parametrize("case", CASES)
def test_every_case_is_ranked_or_refused(case, tmp_path):
    """Each with some of the sizes and of the rankers, others for each."""
    number = list(CASES).index(case)
    for i, n in enumerate((2, 30)):
        survey, known, refused = made(tmp_path / str(n), n, case)
        ranked_or_refused(survey, known, refused, NAMES[(2 * number + i) % len(NAMES)])


@pytest.mark.parametrize("method", ["auto", "bagging_svm", "lrga"])
def test_a_survey_without_an_unlabelled_spectrum_is_refused_before_anything_is_learned(method, tmp_path):
    for n in (2, 30):
        survey, known, refused = made(tmp_path / str(n), n, "all labelled")
        assert not ranked_or_refused(survey, known, refused, method)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", SIZES)
def test_every_case_is_ranked_or_refused_by_every_ranker(n, case, tmp_path):
    survey, known, refused = made(tmp_path / "a.survey", n, case)
    ranked = {ranked_or_refused(survey, known, refused, method) for method in NAMES}
    assert len(ranked) == 1  # what can be ranked at all, every ranker can rank


def rarespec(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def on_the_command_line(survey, known, refused, method):
    words = ["--known", ",".join(known), "--method", method]
    words += ["--non-members", ",".join(refused)] if refused else []
    result = rarespec("search", survey.path, *words)
    assert result.exit_code in (0, 1, 2, 3) and "Traceback" not in result.output, result.output
    assert "bug in rarespec" not in result.output and result.output.strip()


@pytest.mark.parametrize(("n", "case"), [(30, "none usable"), (30, "all labelled"), (1, "one known"), (3, "one known")])
def test_the_command_line_never_shows_a_traceback(n, case, tmp_path):
    survey, known, refused = made(tmp_path / "a.survey", n, case)
    on_the_command_line(survey, known, refused, NAMES[(n + len(case)) % len(NAMES)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", SIZES)
def test_the_command_line_never_shows_a_traceback_whatever_the_ranker(n, case, tmp_path):
    survey, known, refused = made(tmp_path / "a.survey", n, case)
    for method in NAMES:
        on_the_command_line(survey, known, refused, method)


def test_fewer_components_are_told_each_time(tmp_path):
    survey = written(tmp_path / "a.survey", make_spectra(30, SMALL_GRID))
    with pytest.warns(UserWarning, match="30 rows to learn from: 29 components instead of 50"):
        assert features_of(survey, PaperFeatures()).values.shape == (30, 29)
    with pytest.warns(UserWarning, match="a.survey: 30 spectra were too few to learn all the components"):
        assert features_of(survey, PaperFeatures()).values.shape == (30, 29)


def test_once_there_are_enough_spectra_all_components_are_learned(tmp_path):
    survey = written(tmp_path / "a.survey", make_spectra(30, SMALL_GRID))
    with pytest.warns(UserWarning, match="29 components"):
        features_of(survey, PaperFeatures())
    survey.append(make_spectra(40, SMALL_GRID, seed=3, prefix="t"))
    with pytest.warns(UserWarning, match="learning them again from 70"):
        assert features_of(survey, PaperFeatures()).values.shape == (70, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert features_of(survey, PaperFeatures()).values.shape == (70, 50)


@pytest.mark.parametrize("n", [2, 30])
def test_so_it_is_on_the_grid_of_the_paper(n, tmp_path):
    """There the components are found by the randomised solver."""
    survey = written(tmp_path / "a.survey", make_spectra(n, PAPER_GRID), PAPER_GRID)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert features_of(survey, PaperFeatures()).values.shape == (n, min(n - 1, 50))
    assert ranked_or_refused(survey, survey.ids[:1].tolist(), None, "auto")


@pytest.mark.filterwarnings("ignore:.*components")
@pytest.mark.parametrize("method", ["auto", "emr", "lrga", "label_propagation", "svdd"])
def test_examples_from_elsewhere_may_outnumber_the_survey(method, tmp_path):
    survey = written(tmp_path / "a.survey", make_spectra(3, SMALL_GRID))
    ranking = rs.search(survey, make_spectra(6, SMALL_GRID, seed=9, prefix="e"), method)
    assert np.isfinite(ranking.scores).all() and len(ranking.table) == 3


def test_a_model_ranks_a_single_spectrum(tmp_path):
    large = written(tmp_path / "large", make_spectra(80, SMALL_GRID))
    rs.search(large, ["s00001", "s00002"], "matched_filter").save(tmp_path / "a.model")
    one = written(tmp_path / "one", make_spectra(1, SMALL_GRID, prefix="t"))
    ranking = search_with_model(one, tmp_path / "a.model")
    assert list(ranking.table["id"]) == ["t00000"] and np.isfinite(ranking.scores).all()


@pytest.mark.filterwarnings("ignore:.*components")
@pytest.mark.parametrize("n", [2, 3])
def test_a_campaign_on_few_spectra_starts(n, tmp_path):
    survey = written(tmp_path / "a.survey", make_spectra(n, SMALL_GRID))
    campaign = Campaign.start(survey, ["s00000"], method="auto")
    assert len(campaign.ranking.table) == n - 1


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.*components")
def test_a_report_of_few_spectra_is_written(tmp_path):
    survey = written(tmp_path / "a.survey", make_spectra(3, SMALL_GRID))
    result = rarespec("report", survey.path, "--known", "s00000", "--out", tmp_path / "report")
    assert result.exit_code == 0 and (tmp_path / "report" / "report.html").exists(), result.output


@pytest.mark.exhaustive
@pytest.mark.parametrize(("n", "n_rare"), [(1, 1), (2, 1), (3, 2), (5, 2), (30, 2), (30, 29), (51, 3)])
def test_an_experiment_on_few_spectra_is_done_or_refused(n, n_rare, tmp_path):
    classes = {"class": ["R"] * n_rare + ["M"] * (n - n_rare), "snr": [9.0] * n}
    survey = written(tmp_path / "a.survey", make_spectra(n, SMALL_GRID, **classes))
    words = ["--rare", "R", "--quick", "--methods", "cosine,lda", "--jobs", 1, "--out", tmp_path / "out"]
    result = rarespec("experiment", survey.path, *words)
    assert "Traceback" not in result.output and "bug in rarespec" not in result.output, result.output
    assert result.exit_code in (0, 1, 2, 3) and result.output.strip()
