"""Rank a whole spectroscopic survey so that the rare objects you are looking for come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from rarespec._version import __version__
from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.errors import RarespecError as RarespecError
    from rarespec.errors import SurveyError as SurveyError
    from rarespec.errors import UsageError as UsageError
    from rarespec.features import Recipe as Recipe
    from rarespec.fetching import fetch as fetch
    from rarespec.formats import read as read
    from rarespec.formats.specutils_objects import from_specutils as from_specutils
    from rarespec.hats.search import search_hats as search_hats
    from rarespec.hats.writing import write_hats as write_hats
    from rarespec.inspector import inspect_ranking as inspect_ranking
    from rarespec.labels import Campaign as Campaign
    from rarespec.labels import Label as Label
    from rarespec.labels.lessons import AnyLog
    from rarespec.mock import MockSky as MockSky
    from rarespec.plots import plot_candidate as plot_candidate
    from rarespec.plots import plot_spectra as plot_spectra
    from rarespec.plots import plot_spectrum as plot_spectrum
    from rarespec.plots import plot_template as plot_template
    from rarespec.plots import plot_yield as plot_yield
    from rarespec.progress import Progress
    from rarespec.rankers import Ranker as Ranker
    from rarespec.searching import Ranking as Ranking
    from rarespec.searching import Rankings as Rankings
    from rarespec.searching import load_model as load_model
    from rarespec.searching.request import SearchRequest as SearchRequest
    from rarespec.searching.search import search_with_model as search_with_model
    from rarespec.searching.selection import Selection as Selection
    from rarespec.searching.spectra_export import export as export
    from rarespec.spectrum import PAPER_GRID as PAPER_GRID
    from rarespec.spectrum import Defect as Defect
    from rarespec.spectrum import Spectra as Spectra
    from rarespec.spectrum import Spectrum as Spectrum
    from rarespec.spectrum import WavelengthGrid as WavelengthGrid
    from rarespec.survey import Survey as Survey
    from rarespec.survey.engine_for import AnyEngine
    from rarespec.survey.features.computing import features_of as features_of
    from rarespec.survey.features.neighbours import graph_of as graph_of
    from rarespec.survey.ingest import ingest as ingest
    from rarespec.survey.repack import repack as repack

_HOME_OF = {
    "PAPER_GRID": "spectrum",
    "Campaign": "labels",
    "Defect": "spectrum",
    "Label": "labels",
    "MockSky": "mock",
    "Ranker": "rankers",
    "Ranking": "searching",
    "Rankings": "searching",
    "RarespecError": "errors",
    "Recipe": "features",
    "SearchRequest": "searching",
    "Selection": "searching",
    "Spectra": "spectrum",
    "Spectrum": "spectrum",
    "Survey": "survey",
    "SurveyError": "errors",
    "UsageError": "errors",
    "WavelengthGrid": "spectrum",
    "export": "searching.spectra_export",
    "features_of": "survey",
    "fetch": "fetching",
    "from_specutils": "formats.specutils_objects",
    "graph_of": "survey",
    "ingest": "survey.ingest",
    "inspect_ranking": "inspector",
    "load_model": "searching",
    "plot_candidate": "plots",
    "plot_spectra": "plots",
    "plot_spectrum": "plots",
    "plot_template": "plots",
    "plot_yield": "plots",
    "read": "formats",
    "repack": "survey.repack",
    "search_hats": "hats",
    "search_with_model": "searching",
    "write_hats": "hats",
}
"""Public name -> room, or module of one."""

__getattr__, __dir__, _names = hand_out(__name__, _HOME_OF)
__all__ = ["__version__", "search", "search_many", *_names]


@overload
def search(survey: Survey, known: Any = None, *args: Any, **settings: Any) -> Ranking: ...
@overload
def search(survey: Any, known: Any = None, *args: Any, **settings: Any) -> Any: ...
def search(
    survey: Any,
    known: Any = None,
    method: str = "auto",
    top: int = 1000,
    seed: int = 0,
    *,
    non_members: Any = None,
    params: dict[str, Any] | None = None,
    recipe: Recipe | str = "sky",
    selection: Selection | None = None,
    radius_arcsec: float = 2.0,
    progress: Progress | None = None,
    engine: AnyEngine = None,
    device: str | None = None,
    known_resolution: float | str | None = None,
    labels: AnyLog | None = None,
    kind: str | None = None,
    tag: str | None = None,
    not_tags: Sequence[str] = (),
) -> Any:
    """Rank the spectra of a survey, or of a HATS catalogue, by how much they resemble the known examples.

    Parameters
    ----------
    survey : Survey, path, URL or LSDB catalogue
        A Survey or its directory; or a HATS catalogue, opened by LSDB or by its directory or URL.
    known : ids, table, positions, spectra or files
        The known examples: ids; a table, or a file with one, of ids or positions; spectra, or files of spectra of any
        survey. With labels it may be left out: then those count with which the inspection was started.
    method : str
        Name of the ranker; "auto" chooses and combines rankers by how well each finds the known examples again.
    top : int
        How many candidates the table holds.
    seed : int
        Same seed, same ranking.
    non_members : as known, optional
        Objects known not to be of the kind. They are not listed, and rankers that can learn from them do.
    params : dict, optional
        Parameters of the ranker.
    recipe : Recipe or str
        The features; a name or a recipe.
    selection : Selection, optional
        Which spectra are listed; by default every one. The ranker learns from all. Not for a HATS catalogue: filter
        that with LSDB.
    radius_arcsec : float
        How far from a given position a spectrum may be.
    progress : callable, optional
        Called with the blocks of features done, and in all; for a HATS catalogue, with the partitions done.
    engine : address, client or engine, optional
        Where to compute: in this process by default, or on a Dask cluster, given by its address, its client or as a
        DaskCluster. The ranking is the same.
    device : str, optional
        "cuda" for features, neighbour graphs and BaggingTopPush on a GPU; where there is none, a warning says so. Not
        for a HATS catalogue.
    known_resolution : float or str, optional
        Resolving power of spectra that are given as examples, 5000, or the width of their lines, ``"1.8A"``; by default
        as their files say. Sharper ones are smoothed to the resolution of the survey, where that is known.
    labels : bool, path or LabelLog, optional
        Learn from labels: True for the log beside the survey, or a log. Spectra labelled yes join the known examples,
        those labelled no are refused, and no spectrum with a label is listed.
    kind : str, optional
        Which labels beside the survey, if several kinds are kept apart.
    tag : str, optional
        Of the spectra labelled yes, only those with this tag are known.
    not_tags : sequence of str
        Spectra with one of these tags are refused.

    Returns
    -------
    Ranking or HatsRanking
        The candidates, best first, with what is known about the list as a whole.

    Raises
    ------
    UsageError
        If a setting is wrong, before anything is computed; or if no example can be used.

    See Also
    --------
    search_many : Search for many kinds at once.
    search_with_model : Rank with what an earlier search learned.
    search_hats : Search a HATS catalogue, with settings for how to learn from it.

    Examples
    --------
    Hide half of eight simulated carbon stars among sixty common objects, and find them again.

    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     ranking = rarespec.search(survey, carbon[:4], "matched_filter", top=5)
    >>> len(set(ranking.table["id"]) & set(carbon[4:])) > 2
    True
    """
    from rarespec.errors import UsageError
    from rarespec.hats.catalogue import is_catalogue
    from rarespec.searching.request import EVERYTHING, SearchRequest

    settings: dict[str, Any] = {
        "known": known,
        "method": method,
        "top": top,
        "seed": seed,
        "non_members": non_members,
        "params": params or {},
        "recipe": recipe,
        "selection": EVERYTHING if selection is None else selection,
        "radius_arcsec": radius_arcsec,
        "engine": engine,
        "device": device,
        "known_resolution": known_resolution,
    }
    if labels is not None and labels is not False:
        from rarespec.labels.lessons import with_lessons

        settings = with_lessons(survey, settings, labels, kind=kind, tag=tag, not_tags=not_tags)
    elif kind is not None or tag is not None or not_tags:
        raise UsageError("kind, tag and not_tags say which labels to use; add labels=True")
    request = SearchRequest(**settings)
    if is_catalogue(survey):
        from rarespec.hats.search import rank_catalogue

        return rank_catalogue(survey, request, progress=progress)
    from rarespec.searching.search import rank_survey

    return rank_survey(survey, request, progress)


def search_many(
    survey: Any,
    kinds: Any,
    *,
    labels: bool = False,
    tag: str | None = None,
    not_tags: Sequence[str] = (),
    progress: Progress | None = None,
    **settings: Any,
) -> Rankings:
    """Search a survey for many kinds of objects at once.

    Each ranking is what `search` gives for its kind alone. Features, neighbour graphs and the catalogue are read once,
    and so is the spectrum of a candidate that several kinds share. A kind whose examples cannot be used does not stop
    the others.

    Parameters
    ----------
    survey : Survey or path
        A Survey or its directory. A HATS catalogue is searched for one kind at a time, with `search`.
    kinds : mapping or path
        Kind -> its known examples, in any form that `search` takes; or a file with a table that has a column `kind`
        beside ids or positions. A kind is named by letters, digits, - and _, as for labels.
    labels : bool
        Learn from the labels of each kind, in its own log beside the survey. Kinds without labels are searched without.
    tag : str, optional
        Of the spectra labelled yes, only those with this tag are known.
    not_tags : sequence of str
        Spectra with one of these tags are refused.
    progress : callable, optional
        Called with the blocks of features done, and in all; then with the kinds done.
    **settings : dict
        Those of `search`, for all kinds alike: method, top, seed, non_members, params, recipe, selection,
        radius_arcsec, engine, device, known_resolution.

    Returns
    -------
    Rankings
        Kind -> Ranking; `unsearched` says why a kind is not among them.

    Raises
    ------
    UsageError
        If a setting is wrong, before anything is computed; or if no kind can be searched.

    See Also
    --------
    search : Search for one kind.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8, "dz": 8}, seed=1))
    ...     known = {name: survey.ids[survey.catalogue["class"] == name.upper()][:4] for name in ("carbon", "dz")}
    ...     rankings = rarespec.search_many(survey, known | {"lost": ["no-such-id"]}, method="matched_filter", top=5)
    >>> list(rankings), list(rankings.unsearched)
    (['carbon', 'dz'], ['lost'])
    """
    from rarespec.errors import UsageError
    from rarespec.hats.catalogue import is_catalogue
    from rarespec.labels.asked_kinds import ask_for_kinds
    from rarespec.searching.many import rank_many

    if is_catalogue(survey):
        name = getattr(survey, "name", survey)
        raise UsageError(f"{name}: a HATS catalogue is searched for one kind at a time; search for each by itself")
    asked = ask_for_kinds(survey, kinds, settings, labels=labels, tag=tag, not_tags=not_tags)
    return rank_many(survey, asked.requests, progress, asked.refused, asked.notes)
