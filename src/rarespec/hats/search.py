"""A search over a HATS catalogue of spectra: learn from a sample if need be, then score it partition by partition."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.errors import UsageError
from rarespec.formats.matrices.multimodal_universe import Layout
from rarespec.formats.matrices.nested_spectra import Arms
from rarespec.hats.catalogue import Failed, layout_in, only_needed, open_catalogue, over_partitions
from rarespec.hats.ranking import Account, Best, HatsRanking, Scoring, score_partition
from rarespec.hats.training import SAMPLE, training_survey
from rarespec.progress import Progress
from rarespec.searching.candidates import make_table
from rarespec.searching.model import SearchModel
from rarespec.searching.ranking import Ranking
from rarespec.searching.request import EVERYTHING, SearchRequest, name_of_recipe
from rarespec.searching.search import rank_survey
from rarespec.spectrum import WavelengthGrid
from rarespec.survey.engine_for import AnyEngine, engine_for
from rarespec.versions import versions_with

if TYPE_CHECKING:
    from astropy.table import Table
    from lsdb.catalog import Catalog

MODEL = "model.safetensors"


@dataclass(frozen=True)
class HatsPlan:
    """How to learn from a sample of a catalogue, and what to keep of that.

    Parameters
    ----------
    grid : WavelengthGrid, optional
        Wavelengths of the survey to learn from; by default what the first spectra drawn call for. A model has its own.
    sample : int
        How many spectra to learn from, drawn from all partitions in proportion to their size.
    workspace : path, optional
        A new or empty directory that keeps the survey to learn from and the model; by default both are deleted.
    save_model : path, optional
        A file for what was learned.
    columns : mapping, optional
        Columns of the spectra, and fields in them, that cannot be guessed.
    """

    grid: WavelengthGrid | None = None
    sample: int = SAMPLE
    workspace: str | os.PathLike[str] | None = None
    save_model: str | os.PathLike[str] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_kept(self) -> bool:
        """Whether what was learned stays."""
        return self.save_model is not None or self.workspace is not None


PLAN = HatsPlan()


def search_hats(
    catalogue: Catalog | str | os.PathLike[str],
    known: Any = None,
    model: str | os.PathLike[str] | None = None,
    top: int = 1000,
    *,
    grid: WavelengthGrid | None = None,
    sample: int = SAMPLE,
    workspace: str | os.PathLike[str] | None = None,
    save_model: str | os.PathLike[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> HatsRanking:
    """Rank the spectra of a HATS catalogue by how much they resemble the known examples.

    The spectra are nested columns with flux and wavelength: one, or one for each arm of the spectrograph.

    `rarespec.search` takes a catalogue as well; here you can also say how to learn from it. Every partition is read and
    scored by itself, on the workers of the Dask client where one is active, and only its best rows come back.

    Parameters
    ----------
    catalogue : Catalog or path
        A catalogue of LSDB, filtered or not, or the directory or URL of one.
    known : ids, table, positions, spectra or files
        The examples, in any form that `rarespec.search` takes. They and a sample of the catalogue are put in a
        survey; a search on it learns what is then used on all.
    model : path, optional
        Instead of `known`, a file saved by a search; the spectra are put on its wavelength grid.
    top : int
        How many candidates to keep.
    grid : WavelengthGrid, optional
        Wavelengths of the survey to learn from; by default what the first spectra drawn call for, such as DESI's own
        for DESI. A model has its own.
    sample : int
        How many spectra to learn from, drawn from all partitions in proportion to their size.
    workspace : path, optional
        A new or empty directory that keeps the survey to learn from and the model; by default both are deleted.
    save_model : path, optional
        A file for what was learned.
    columns : mapping, optional
        What cannot be guessed: `spectrum`, the nested column or the list of all arms of a spectrum; flux, wavelength,
        ivar, error, mask and arm, the fields in it.
    progress : callable, optional
        Called with the partitions done, and in all: with known examples, while these are looked for and while a
        sample is drawn; then while all partitions are scored.
    **settings : dict
        Everything else that a `SearchRequest` takes, by name: method, seed, non_members, params, recipe,
        radius_arcsec, engine.

    Returns
    -------
    HatsRanking
        The candidates, and what became of every spectrum.

    Raises
    ------
    UsageError
        If a setting is not possible for a catalogue: a selection, a device.

    Examples
    --------
    >>> from rarespec import search_hats
    >>> ranking = search_hats("desi.hats", known="carbon-stars.csv", top=300, sample=20_000)  # doctest: +SKIP
    >>> ranking.write("candidates.hats")  # doctest: +SKIP
    PosixPath('candidates.hats')
    """
    request = SearchRequest(known, top=top, model=model, **settings)
    return rank_catalogue(catalogue, request, HatsPlan(grid, sample, workspace, save_model, columns or {}), progress)


def rank_catalogue(
    catalogue: Catalog | str | os.PathLike[str],
    request: SearchRequest,
    plan: HatsPlan = PLAN,
    progress: Progress | None = None,
) -> HatsRanking:
    """Rank a HATS catalogue as a request asks.

    Parameters
    ----------
    catalogue : Catalog or path
        A catalogue of LSDB, or the directory or URL of one.
    request : SearchRequest
        The known examples, or a model, and the settings.
    plan : HatsPlan
        How to learn from a sample.
    progress : callable, optional
        Called with the partitions done, and in all: with known examples, while these are looked for and while a
        sample is drawn; then while all partitions are scored.

    Returns
    -------
    HatsRanking
        The candidates, and what became of every spectrum.
    """
    _refuse_what_needs_a_survey(catalogue, request, plan)
    found = open_catalogue(catalogue)
    layout = layout_in(found, plan.columns)
    found = only_needed(found, layout)
    with _current_cluster(request.engine):
        if request.model is not None:
            given = request.model
            model = given if isinstance(given, SearchModel) else SearchModel.load(given)
            scoring = Scoring(model, layout, request.top, frozenset(model.known_ids))
            return _rank(found, scoring, None, request.settings, progress)
        with _folder(plan.workspace) as folder:
            return _learn_and_rank(found, layout, request, plan, Path(folder), progress)


def _learn_and_rank(
    catalogue: Catalog,
    layout: Layout | Arms,
    request: SearchRequest,
    plan: HatsPlan,
    folder: Path,
    progress: Progress | None,
) -> HatsRanking:
    place = folder / f"{catalogue.name}.survey"
    survey = training_survey(catalogue, request, place, layout, plan.grid, plan.sample, progress)
    lesson = rank_survey(survey, replace(request, engine=None))
    model = SearchModel.of(lesson)
    if plan.is_kept:
        model.save(plan.save_model or folder / MODEL)
    labelled = frozenset() if request.lessons is None else request.lessons.ids
    not_listed = labelled.union(model.known_ids, lesson.rows.refused_ids)
    scoring = Scoring(model, layout, request.top, not_listed)
    return _rank(catalogue, scoring, lesson, request.settings | {"n_sample": len(survey)}, progress)


def _refuse_what_needs_a_survey(catalogue: Any, request: SearchRequest, plan: HatsPlan) -> None:
    name = getattr(catalogue, "name", catalogue)
    if request.selection != EVERYTHING:
        raise UsageError(
            f"{name}: --min-snr, --class, --not-class and --cone work only on surveys; filter the catalogue with "
            "LSDB and pass the result to rarespec.search"
        )
    if request.device not in (None, "cpu"):
        raise UsageError(
            f"{name}: a HATS catalogue is searched on the CPU, by LSDB; leave --device out, or give a Dask cluster"
        )
    if plan.is_kept and name_of_recipe(request.make_recipe()) is None:
        raise UsageError("cannot save a search with a custom recipe; use a recipe that has a name")
    if request.model is not None and plan.save_model is not None:
        raise UsageError(
            f"{request.model}: --model learns nothing new, so there is nothing to save; leave out --save-model"
        )


@contextmanager
def _current_cluster(engine: AnyEngine) -> Iterator[None]:
    """LSDB runs on the Dask client that is current."""
    if engine is None:
        yield
        return
    from rarespec.engines.dask_cluster import DaskCluster

    with engine_for(engine) as where, where.current() if isinstance(where, DaskCluster) else nullcontext():
        yield


@dataclass
class _Kept:
    """A directory that stays."""

    path: str | os.PathLike[str]

    def __enter__(self) -> str | os.PathLike[str]:
        Path(self.path).mkdir(parents=True, exist_ok=True)
        return self.path

    def __exit__(self, *_: object) -> None:
        return None


def _folder(workspace: str | os.PathLike[str] | None) -> Any:
    return tempfile.TemporaryDirectory(prefix="rarespec-hats-") if workspace is None else _Kept(workspace)


def _rank(
    catalogue: Catalog,
    scoring: Scoring,
    lesson: Ranking | None,
    settings: dict[str, Any],
    progress: Progress | None,
) -> HatsRanking:
    model = scoring.model
    best, account = Best(scoring.top), Account()
    unread: dict[str, str] = {}
    empty: list[str] = []
    for name, outcome in over_partitions(catalogue, score_partition, scoring, progress):
        if isinstance(outcome, Failed):
            unread[name] = outcome.why
            continue
        rows, of_partition = outcome
        best.add(rows)
        account += of_partition
        if not of_partition.read:
            empty.append(name)
    if not best.rows:
        raise UsageError(f"{catalogue.name}: none of {account.read} spectra could be ranked: {account.unusable}")
    why = model.ranker.words(len(model.known_ids))
    return HatsRanking(
        table=_table(best.rows),
        account=account,
        unread=unread,
        empty=empty,
        method=model.method,
        why=why,
        lesson_problems=[f"during training: {problem}" for problem in lesson.problems] if lesson else [],
        examples_lost=bool(lesson and lesson.examples_lost),
        sample_yield=lesson.yield_curve if lesson else None,
        provenance=_provenance(catalogue, model, account, settings),
    )


def _table(rows: list[dict[str, Any]]) -> Table:
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    ids, scores = columns.pop("id"), columns.pop("score")
    return make_table(ids, columns, scores)


def _provenance(catalogue: Catalog, model: SearchModel, account: Account, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "catalogue": catalogue.name,
        "n_spectra": account.read,
        "n_scored": account.scored,
        "grid": str(model.grid),
        "recipe": repr(model.recipe),
        "recipe_fingerprint": model.recipe.fingerprint,
        "known_ids": model.known_ids,
        "ranker": repr(model.ranker),
        **settings,
        "method": model.method,
        "versions": versions_with("numpy", "scipy", "scikit-learn", "astropy", "lsdb"),
    }
