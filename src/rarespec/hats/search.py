"""A search over a HATS catalogue of spectra: learn from a sample if need be, then score it partition by partition."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.features.recipe import Recipe
from rarespec.hats.candidates import candidate_table
from rarespec.hats.catalogue import opened
from rarespec.hats.learned import Learned
from rarespec.hats.over_partitions import Failed, over_partitions
from rarespec.hats.ranking import HatsRanking
from rarespec.hats.scoring import Account, Best, Scoring, score_partition
from rarespec.hats.training import SAMPLE, training_survey
from rarespec.progress import Progress
from rarespec.searching.model import save_search
from rarespec.searching.ranking import Ranking
from rarespec.searching.search import search
from rarespec.spectrum import PAPER_GRID, WavelengthGrid
from rarespec.survey.manifest import WrongUseError
from rarespec.versions import versions_with

if TYPE_CHECKING:
    from lsdb.catalog import Catalog

MODEL = "model.safetensors"


def search_hats(
    catalogue: Catalog | str | os.PathLike[str],
    known: Any = None,
    model: str | os.PathLike[str] | None = None,
    top: int = 1000,
    *,
    method: str = "auto",
    seed: int = 0,
    non_members: Any = None,
    params: dict[str, Any] | None = None,
    recipe: Recipe | str = "paper",
    grid: WavelengthGrid = PAPER_GRID,
    sample: int = SAMPLE,
    radius_arcsec: float = 2.0,
    workspace: str | os.PathLike[str] | None = None,
    save_model: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> HatsRanking:
    """Rank the spectra of a HATS catalogue (Multimodal Universe layout) by how alike they are to the known examples.

    Every partition is read and scored by itself, on the workers of the Dask client where one is active, and only its
    best rows come back.

    Parameters
    ----------
    catalogue : a catalogue of LSDB, filtered or not, or the directory or URL of one.
    known : the examples, in any form that `rarespec.search` takes. They and a sample of the catalogue are put in a
        survey, a search on which learns what is then used on all.
    model : instead of `known`, a file saved by a search; the spectra are put on its wavelength grid.
    top : how many candidates are kept.
    method, seed, non_members, params, recipe, radius_arcsec : as for `rarespec.search`; not with a model.
    grid : wavelengths of the survey to learn from; a model has its own.
    sample : how many spectra to learn from, drawn from all partitions in proportion to their size.
    workspace : a new or empty directory where the survey to learn from and the model stay; by default they go.
    save_model : a file for what was learned.
    progress : called with the partitions scored, and in all.
    """
    if (known is None) == (model is None):
        raise WrongUseError("give either known examples or the model of an earlier search")
    if not isinstance(top, int) or top < 1:
        raise WrongUseError(f"top must be a whole number of at least 1, not {top!r}")
    found = opened(catalogue)
    if model is not None:
        return _ranked(found, Learned.of_model(model), None, top, {"model": Path(model).name}, progress)
    options: dict[str, Any] = {
        "method": method,
        "seed": seed,
        "params": params,
        "recipe": recipe,
        "radius_arcsec": radius_arcsec,
    }
    with _folder(workspace) as folder:
        into = Path(folder) / f"{found.name}.survey"
        given = [known] if non_members is None else [known, non_members]
        survey = training_survey(found, given, into, grid, sample, radius_arcsec, seed)
        lesson = search(survey, known, top=top, non_members=non_members, **options)
        path = save_search(lesson, save_model or Path(folder) / MODEL)
        learned = Learned.of_model(path, _refused_ids(lesson))
        settings = {"seed": seed, "params": params or {}, "n_sample": len(survey)}
        return _ranked(found, learned, lesson, top, settings, progress)


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


def _refused_ids(lesson: Ranking) -> list[str]:
    material = lesson.material
    ids: list[str] = lesson.survey.ids[material.rows[material.refused[: len(material.rows)]]].tolist()
    return ids


def _ranked(
    catalogue: Catalog,
    learned: Learned,
    lesson: Ranking | None,
    top: int,
    settings: dict[str, Any],
    progress: Progress | None,
) -> HatsRanking:
    best, account = Best(top), Account()
    unread: dict[str, str] = {}
    empty: list[str] = []
    for name, outcome in over_partitions(catalogue, score_partition, Scoring(learned, top), progress):
        if isinstance(outcome, Failed):
            unread[name] = outcome.why
            continue
        rows, of_partition = outcome
        best.add(rows)
        account += of_partition
        if not of_partition.read:
            empty.append(name)
    if not best.rows:
        raise WrongUseError(f"{catalogue.name}: none of {account.read} spectra could be ranked: {account.unusable}")
    why = getattr(learned.ranker, "why_", f"ranked by {learned.method} from {len(learned.known)} known examples")
    return HatsRanking(
        table=candidate_table(best.rows),
        account=account,
        unread=unread,
        empty=empty,
        method=learned.method,
        why=why,
        lesson_problems=[f"during training: {problem}" for problem in lesson.problems] if lesson else [],
        examples_lost=bool(lesson and lesson.examples_lost),
        sample_yield=lesson.yield_curve if lesson else None,
        provenance=_provenance(catalogue, learned, account, settings),
    )


def _provenance(catalogue: Catalog, learned: Learned, account: Account, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "catalogue": catalogue.name,
        "n_spectra": account.read,
        "n_scored": account.scored,
        "recipe": repr(learned.recipe),
        "recipe_fingerprint": learned.recipe.fingerprint,
        "known_ids": list(learned.known),
        "ranker": repr(learned.ranker),
        "method": learned.method,
        **settings,
        "versions": versions_with("numpy", "scipy", "scikit-learn", "astropy", "lsdb"),
    }
