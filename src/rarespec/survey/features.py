"""Features of a whole survey: computed block by block, kept with the survey, grown when it grows.

    SURVEY/features/FINGERPRINT/current.json        the model in use, and the recipe in words
    SURVEY/features/FINGERPRINT/MODEL/model.npz     what the recipe learned
    SURVEY/features/FINGERPRINT/MODEL/BLOCK.npz     features of one block of the survey

A model has a directory of its own, named after its contents, and a block's file is named after the contents of the
block: whatever several processes do at once, features never stand beside a model that did not make them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.ahead import computed_ahead
from rarespec.features.for_grid import for_grid
from rarespec.features.recipe import Recipe
from rarespec.spectrum import Defect, Reason
from rarespec.survey.kept_arrays import UNREADABLE, keep_if_possible, load_arrays, npz
from rarespec.survey.manifest import BlockRecord, SurveyError, WrongUseError
from rarespec.survey.prepared import PreparedBlocks
from rarespec.survey.survey import Survey

FOLDER = "features"
CURRENT = "current.json"
MODEL = "model.npz"
Progress = Callable[[int, int], None]
"""Called with the number of blocks done and in all."""


@dataclass(frozen=True)
class FeatureSet:
    """The features of one state of a survey under one recipe, rows in the survey's order."""

    survey: Survey
    recipe: Recipe
    folder: Path
    n_fitted: int
    """Rows the survey had when the recipe learned from it."""
    prepared: PreparedBlocks = field(repr=False)
    """What the last steps of the recipe are given."""

    def __len__(self) -> int:
        return len(self.survey)

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Features block by block, each (rows, features) float32."""
        return (self._block(i)["values"] for i in range(self.survey.n_blocks))

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """All features, (n, features) float32; a row that could not be used holds NaN."""
        return np.concatenate(list(self.blocks()))

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Which spectra have features, (n,) bool."""
        return self._lost_at == 0

    @cached_property
    def n_bad(self) -> NDArray[np.int32]:
        """Bad pixels of each spectrum, (n,); in a usable one they were bridged."""
        return np.concatenate([self._block(i)["n_bad"] for i in range(self.survey.n_blocks)])

    @property
    def defects(self) -> list[Defect]:
        """The spectra without features, and why."""
        rows = np.flatnonzero(~self.usable)
        reasons = [self.recipe.why_lost(int(number)) for number in self._lost_at[rows]]
        ids, path = self.survey.ids[rows], str(self.survey.path)
        return [Defect(path, Reason.NO_FEATURES, why, id) for id, why in zip(ids, reasons, strict=True)]

    @cached_property
    def _lost_at(self) -> NDArray[np.int8]:
        return np.concatenate([self._block(i)["lost_at"] for i in range(self.survey.n_blocks)])

    def _block(self, i: int) -> dict[str, NDArray[Any]]:
        """From its file; anew when that is damaged, or was swept away because the survey has grown since."""
        try:
            return load_arrays(self.folder / block_file(self.survey.manifest.blocks[i], i))
        except UNREADABLE:
            return self.compute(i)

    def compute(self, i: int) -> dict[str, NDArray[Any]]:
        """Features of one block, from its flux, written to its file where that is possible."""
        block = self.prepared[i]
        values, lost_at = self.recipe.finish(block.rows, block.lost_at)
        values = values.astype(np.float32)
        arrays: dict[str, NDArray[Any]] = {"values": values, "lost_at": lost_at, "n_bad": block.n_bad}
        if self.folder.is_dir():  # a model that was replaced meanwhile has lost its directory
            keep_if_possible(self.folder / block_file(self.survey.manifest.blocks[i], i), npz(arrays))
        return arrays


def features_of(survey: Survey, recipe: Recipe, refit: bool = False, progress: Progress | None = None) -> FeatureSet:
    """The features of this survey under this recipe; only what is not there yet is computed.

    The recipe learns once from all spectra the survey has, and what it learned is kept: when the survey grows, the new
    spectra are transformed as the old ones were, so the old features stay valid. `refit` learns anew from all. What
    cannot be kept, in a survey that cannot be written for instance, is computed when it is asked for, with a warning.
    While the recipe learns, a temporary file in the survey's directory holds the filtered spectra, up to 8 GB of them.
    """
    if not len(survey):
        raise SurveyError(f"{survey.path}: an empty survey has no features; ingest spectra first")
    try:
        recipe = for_grid(recipe, survey.grid)
    except ValueError as error:
        raise WrongUseError(f"{survey.path}: {error}") from None
    state = Survey(survey.path, survey.manifest)  # the caller's object may be appended to
    home = survey.path / FOLDER / recipe.fingerprint
    features = None if refit else _kept(state, recipe, home)
    if features is None:
        features = _learned(state, recipe, home, progress)
    else:
        _compute_missing(features, progress)
    _sweep(features, home)
    return features


def features_by(survey: Survey, recipe: Recipe, progress: Progress | None = None) -> FeatureSet:
    """The features of this survey under a recipe that learned elsewhere: those that a model of another survey needs.

    They are kept until `features_of` makes room; then they are computed again when asked for.
    """
    state = Survey(survey.path, survey.manifest)
    content = npz(recipe.state())
    folder = survey.path / FOLDER / recipe.fingerprint / hashlib.sha256(content).hexdigest()[:20]
    keep_if_possible(folder / MODEL, content)
    features = FeatureSet(state, recipe, folder, 0, PreparedBlocks(state, recipe))
    _compute_missing(features, progress)
    return features


def _compute_missing(features: FeatureSet, progress: Progress | None) -> None:
    blocks = features.survey.manifest.blocks

    def compute(i: int) -> int:
        if features.folder.is_dir() and not (features.folder / block_file(blocks[i], i)).exists():
            features.compute(i)
        return i + 1

    for n_done in computed_ahead(compute, range(len(blocks))):
        if progress:
            progress(n_done, len(blocks))


def block_file(record: BlockRecord, i: int) -> str:
    """Named after the contents it was computed from: a block that grew has another name, so nothing can be outdated."""
    digests = "".join(digest for name, digest in sorted(record.digests.items()) if name.startswith(("flux", "mask")))
    return f"{i:06d}-{hashlib.sha256(digests.encode()).hexdigest()[:20]}.npz"


def _kept(survey: Survey, recipe: Recipe, home: Path) -> FeatureSet | None:
    """With the model that was learned earlier; None when there is none, or it cannot be read."""
    try:
        folder = home / json.loads((home / CURRENT).read_bytes())["model"]
        state = load_arrays(folder / MODEL)
        recipe.restore(state)
        return FeatureSet(survey, recipe, folder, int(state["n_fitted"]), PreparedBlocks(survey, recipe))
    except UNREADABLE:
        return None


def _learned(survey: Survey, recipe: Recipe, home: Path, progress: Progress | None) -> FeatureSet:
    """With a new model; what is prepared for learning, in several readings, serves for the features too."""
    recipe.fit_preparation(survey.masked_flux(0)[:1])
    prepared = PreparedBlocks(survey, recipe)
    with prepared.kept_on_disk():
        recipe.fit_prepared(prepared.rows)
        features = FeatureSet(survey, recipe, _keep_model(survey, recipe, home), len(survey), prepared)
        _compute_missing(features, progress)
    return features


def _keep_model(survey: Survey, recipe: Recipe, home: Path) -> Path:
    """The model's directory; it is there if it can be written."""
    content = npz(recipe.state() | {"n_fitted": np.array(len(survey))})
    name = hashlib.sha256(content).hexdigest()[:20]
    current = json.dumps({"model": name, "recipe": repr(recipe), "n_fitted": len(survey)}).encode()
    if keep_if_possible(home / name / MODEL, content):
        keep_if_possible(home / CURRENT, current)
    return home / name


def _sweep(features: FeatureSet, home: Path) -> None:
    """Remove models that were replaced, and blocks as they were before the survey grew."""
    try:
        current = json.loads((home / CURRENT).read_bytes())["model"]
    except UNREADABLE:  # it could not be kept
        return
    wanted = {block_file(record, i) for i, record in enumerate(features.survey.manifest.blocks)} | {MODEL}
    for path in home.iterdir():
        if path.is_dir() and path.name not in (current, features.folder.name):
            shutil.rmtree(path, ignore_errors=True)
    for path in features.folder.glob("*.npz"):
        if path.name not in wanted:
            path.unlink(missing_ok=True)
