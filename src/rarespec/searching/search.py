"""The job itself: here are my objects, find the others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from rarespec.errors import UsageError
from rarespec.features.steps.running_median import WindowFilter
from rarespec.gpu.device import may_have, usable_device, wake_device, why_not
from rarespec.progress import Progress
from rarespec.rankers.ranker import Fit, Ranker
from rarespec.searching.candidates import CandidateTables
from rarespec.searching.fitting import prepare, ranker_for
from rarespec.searching.known.known_examples import Examples, examples_of
from rarespec.searching.listing import estimate_hidden_curve, find_listed, list_rows
from rarespec.searching.model import (
    SearchModel,
    blame_file,
    join_scores,
    require_finite_scores,
    scores_by_block,
    scores_of_rows,
)
from rarespec.searching.ranking import Ranking, build_ranking
from rarespec.searching.request import EVERYTHING, SearchRequest
from rarespec.searching.rows import FeatureMatrix, SearchRows, gather_rows
from rarespec.searching.selection import Chosen, Selection
from rarespec.storage.processes import give_back_freed
from rarespec.survey import Survey
from rarespec.survey.engine_for import AnyEngine, engine_for
from rarespec.survey.features.computing import features_by, features_of
from rarespec.survey.features.feature_set import FeatureSet
from rarespec.survey.store.joined_columns import join_columns


def rank_survey(
    survey: Survey | str | os.PathLike[str], request: SearchRequest, progress: Progress | None = None
) -> Ranking:
    """Rank a survey as the request asks.

    Parameters
    ----------
    survey : Survey or path
        The survey, or its directory.
    request : SearchRequest
        What is asked for.
    progress : callable, optional
        Called with the blocks of features done, and in all.

    Returns
    -------
    Ranking
        The candidates, best first.
    """
    if request.model is not None:
        return _rank_with_model(survey, request, progress)
    search = prepare_search(survey, request, progress)
    if request.lessons is not None:
        from rarespec.searching.relearning import rank_with_lessons  # which begins with a search prepared here

        return rank_with_lessons(search, request.lessons)
    fit = prepare(search.ranker, search.rows, search.device).fit(search.rows.known, search.rows.refused)
    give_back_freed()
    tables = CandidateTables(search.rows.survey)
    ranking = rank_fitted(search, fit, tables)
    tables.examine(ranking.table, template=ranking.template)
    return ranking


def rank_fitted(search: PreparedSearch, fit: Fit, tables: CandidateTables) -> Ranking:
    """Rank with a ranker that has learned; flags are those of spectra that were examined before."""
    listing = list_rows(search.rows, fit, search.chosen)
    curve = estimate_hidden_curve(listing, search.request.seed)
    return build_ranking(listing, curve, tables, search.request, search.problems, search.examples_lost)


@dataclass(frozen=True, eq=False)
class PreparedSearch:
    """A search before anything is learned: the examples found, the features there, the ranker chosen."""

    request: SearchRequest
    rows: SearchRows
    ranker: Ranker
    """Not fitted."""
    chosen: Chosen
    """Which spectra of the survey may be listed."""
    problems: list[str]
    """What is wrong with the examples."""
    examples_lost: bool
    """Whether one could not be used."""
    device: str | None
    """The GPU that does the work, where there is one."""


def prepare_search(
    survey: Survey | str | os.PathLike[str], request: SearchRequest, progress: Progress | None = None
) -> PreparedSearch:
    """Do all that comes before the ranker learns.

    Parameters
    ----------
    survey : Survey or path
        The survey, or its directory.
    request : SearchRequest
        The known examples and the settings.
    progress : callable, optional
        Called with the blocks of features done, and in all.

    Returns
    -------
    PreparedSearch
        Rows, ranker, and what is wrong with the examples.

    Raises
    ------
    UsageError
        If no example can be used, or nothing is left to rank.
    """
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    given = find_given(opened, request)
    wake_device(request.device)
    return put_together(request, given, ready_survey(opened, request, progress))


@dataclass(frozen=True, eq=False)
class Given:
    """The examples of a request, found."""

    known: Examples
    others: Examples | None
    """Known non-members, if any were given."""


def find_given(survey: Survey, request: SearchRequest) -> Given:
    """Find the examples that a request names; a UsageError when none can be used."""
    how = request.radius_arcsec, request.resolution_of_known()
    known = examples_of(survey, request.known, *how)
    others = None if request.non_members is None else examples_of(survey, request.non_members, *how)
    return Given(known, others)


@dataclass(frozen=True, eq=False)
class ReadySurvey:
    """What a search needs of a survey, whatever it looks for."""

    features: FeatureSet
    chosen: Chosen
    device: str | None

    @cached_property
    def matrix(self) -> FeatureMatrix:
        """The features of its spectra alone."""
        return FeatureMatrix(self.features)


def ready_survey(survey: Survey, request: SearchRequest, progress: Progress | None = None) -> ReadySurvey:
    """Choose what may be listed, and read or compute the features."""
    chosen, asked = request.selection.choose(survey), request.device
    wait_with_columns = may_have(asked)  # learning begins while the GPU is still being opened
    if not wait_with_columns:
        join_columns(survey.path, survey.manifest, survey.catalogue)
    features = features_of(survey, request.make_recipe(), progress=progress, engine=request.engine, device=asked)
    if wait_with_columns:
        join_columns(survey.path, survey.manifest, survey.catalogue)
    give_back_freed()
    # where there is no such GPU, a warning has said so
    return ReadySurvey(features, chosen, asked if may_have(asked) and why_not(str(asked)) is None else None)


def put_together(request: SearchRequest, given: Given, ready: ReadySurvey) -> PreparedSearch:
    """Put a search together; a UsageError when no example has features, or nothing is left to rank."""
    rows, without_features = gather_rows(ready.features, given.known, given.others, ready.matrix)
    find_listed(rows, ready.chosen)  # without an unlabelled row there is nothing to learn from
    said = [one.problems for one in (given.known, given.others) if one is not None]
    problems = [*chain(*said), *without_features, *widened_windows(ready.features)]
    lost = given.known.lost or bool(given.others and given.others.lost) or bool(without_features)
    return PreparedSearch(request, rows, ranker_for(request), ready.chosen, problems, lost, ready.device)


def widened_windows(features: FeatureSet) -> list[str]:
    """Tell of windows that are narrower than three pixels of the grid, and so were widened."""
    return [step.widened for step in features.recipe.steps_ if isinstance(step, WindowFilter) and step.widened]


def search_with_model(
    survey: Survey | str | os.PathLike[str],
    model: str | os.PathLike[str] | SearchModel,
    top: int = 1000,
    *,
    selection: Selection = EVERYTHING,
    progress: Progress | None = None,
    engine: AnyEngine = None,
    device: str | None = None,
) -> Ranking:
    """Rank a survey with what a search on another one learned; both must be on the same wavelength grid.

    Parameters
    ----------
    survey : Survey or path
        The survey, or its directory.
    model : path or SearchModel
        A file that `Ranking.save` wrote, or what `load_model` made of it.
    top : int
        How many candidates to list.
    selection : Selection, optional
        Which spectra to list.
    progress : callable, optional
        Called with the blocks of features done, and in all.
    engine : address, client or engine, optional
        Where features and scores are computed, block by block, as in `search`.
    device : str, optional
        "cuda" for features on a GPU, as in `search`.

    Returns
    -------
    Ranking
        The candidates, best first.

    Raises
    ------
    UsageError
        If the file is no model, or one for other wavelengths.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     file = rarespec.search(survey, carbon[:4], "matched_filter").save(f"{folder}/carbon.safetensors")
    ...     ranking = rarespec.search_with_model(survey, file, top=5)
    >>> len(ranking)
    5
    """
    request = SearchRequest(model=model, top=top, selection=selection, engine=engine, device=device)
    return rank_survey(survey, request, progress)


def _rank_with_model(
    survey: Survey | str | os.PathLike[str], request: SearchRequest, progress: Progress | None = None
) -> Ranking:
    """As `rank_survey`, where the request names a model."""
    model = request.model
    assert model is not None
    device = usable_device(request.device)
    opened = survey if isinstance(survey, Survey) else Survey.open(survey)
    kept = model if isinstance(model, SearchModel) else SearchModel.load(model)
    if kept.grid != opened.grid:
        raise UsageError(
            f"{model}: the model is for spectra on {kept.grid}, {opened.path} is on {opened.grid}: "
            "ingest the files again with the model's --grid"
        )
    about = {"method": kept.method, "learned on": kept.survey}
    with engine_for(request.engine) as where, blame_file(model):
        features = features_by(opened, kept.recipe, progress, where, device)
        rows = _rows_with_examples(features, kept)  # reads every block here, where a warning of a damaged one is seen
        found = join_scores(
            [scores_by_block(features, kept.ranker, where), scores_of_rows(kept.ranker, kept.known_features)]
        )
        for scores in found:
            if scores is not None:
                require_finite_scores(scores)
        fit = Fit(kept.ranker, rows.X, len(kept.known_ids))
        listing = list_rows(rows, fit, request.selection.choose(opened), found.scores)
        curve = estimate_hidden_curve(listing, None, found.scores if found.edges is None else found.edges)
        tables = CandidateTables(opened)
        ranking = build_ranking(listing, curve, tables, request, about=about)
        tables.examine(ranking.table, template=ranking.template)
        return ranking


def _rows_with_examples(features: FeatureSet, model: SearchModel) -> SearchRows:
    """The survey's rows, then the examples that the model learned from; none of these is listed."""
    matrix = FeatureMatrix(features, model.known_features)
    n_here = len(matrix.survey_rows)
    given = features.survey.rows_of(model.known_ids)
    here = np.isin(matrix.survey_rows, given[given >= 0])
    refused = np.concatenate([here, np.zeros(len(model.known_ids), bool)])
    return SearchRows(matrix, np.arange(len(matrix.values)) >= n_here, refused, list(model.known_ids))
