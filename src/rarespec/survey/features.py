"""Features of a whole survey: computed block by block, kept with the survey, grown when it grows."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rarespec.features.recipe import Recipe
from rarespec.spectrum import Defect, Reason
from rarespec.survey.manifest import BlockRecord, SurveyError, WrongUseError
from rarespec.survey.survey import Block, Survey

FOLDER = "features"
MODEL = "model.npz"
DESCRIPTION = "recipe.json"

Progress = Callable[[int, int], None]
"""Called with the number of blocks done and in all."""


@dataclass(frozen=True)
class FeatureSet:
    """The features of a survey under one recipe, rows in the survey's order."""

    survey: Survey
    recipe: Recipe
    folder: Path
    n_fitted: int
    """Rows the survey had when the recipe learned from it."""

    def __len__(self) -> int:
        return len(self.survey)

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Features block by block, each (rows, features) float32."""
        return (self._block(i)["values"] for i in range(self.survey.n_blocks))

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """All features, (n, features) float32; rows that could not be used are NaN."""
        parts = list(self.blocks())
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Which spectra have features, (n,) bool."""
        return self._lost_at == 0

    @cached_property
    def _lost_at(self) -> NDArray[np.int8]:
        parts = [self._block(i)["lost_at"] for i in range(self.survey.n_blocks)]
        return np.concatenate(parts) if parts else np.empty(0, np.int8)

    @property
    def defects(self) -> list[Defect]:
        """The spectra without features, and why."""
        rows = np.flatnonzero(~self.usable)
        why = [self.recipe.why_lost(int(number)) for number in self._lost_at[rows]]
        path = str(self.survey.path)
        return [
            Defect(path, Reason.NO_FEATURES, reason, self.survey.ids[row])
            for row, reason in zip(rows, why, strict=True)
        ]

    def _block(self, i: int) -> dict[str, NDArray[Any]]:
        return _load_or_compute(self.survey, self.recipe, self.folder, i)


def features_of(survey: Survey, recipe: Recipe, refit: bool = False, progress: Progress | None = None) -> FeatureSet:
    """The features of this survey under this recipe; only what is not there yet is computed.

    The recipe learns once from all spectra the survey has, and what it learned is kept: when the survey grows, the new
    spectra are transformed as the old ones were, so the old features stay valid. `refit` learns anew from all.
    """
    recipe = _for_grid(recipe, survey)
    folder = survey.path / FOLDER / recipe.fingerprint
    folder.mkdir(parents=True, exist_ok=True)
    if refit:
        for path in folder.iterdir():
            path.unlink()
    fitted, n_fitted = _fitted(survey, recipe, folder)
    _compute_missing(survey, fitted, folder, progress)
    _remove_outdated(survey, folder)
    return FeatureSet(survey, fitted, folder, n_fitted)


def _fitted(survey: Survey, recipe: Recipe, folder: Path) -> tuple[Recipe, int]:
    """The recipe with what it learned from this survey, now or earlier."""
    if (folder / MODEL).exists():
        with np.load(folder / MODEL, allow_pickle=False) as state:
            return recipe.restore(dict(state)), int(state["n_fitted"])
    if not len(survey):
        raise SurveyError(f"{survey.path}: an empty survey has no features; ingest spectra first")
    recipe.fit_blocks(lambda: (flux_of(block) for block in survey.blocks()))
    _write(folder / DESCRIPTION, json.dumps({"recipe": repr(recipe), "n_fitted": len(survey)}).encode())
    _write(folder / MODEL, _npz(n_fitted=np.array(len(survey)), **recipe.state()))
    return recipe, len(survey)


def _for_grid(recipe: Recipe, survey: Survey) -> Recipe:
    """A copy of the recipe for the survey's grid; a recipe made for another grid is refused."""
    recipe = clone(recipe)
    if "grid" not in recipe.get_params(deep=False):
        return recipe
    if recipe.get_params(deep=False)["grid"] not in (None, survey.grid):
        raise WrongUseError(f"{survey.path}: has the grid {survey.grid}, which this recipe was not made for")
    return recipe.set_params(grid=survey.grid)


def _compute_missing(survey: Survey, recipe: Recipe, folder: Path, progress: Progress | None) -> None:
    for i in range(survey.n_blocks):
        if not (folder / block_file(survey.manifest.blocks[i], i)).exists():
            _compute(survey, recipe, folder, i)
        if progress:
            progress(i + 1, survey.n_blocks)


def _load_or_compute(survey: Survey, recipe: Recipe, folder: Path, i: int) -> dict[str, NDArray[Any]]:
    """From the file; anew when it is damaged, or was removed because the survey has grown since it was opened."""
    try:
        with np.load(folder / block_file(survey.manifest.blocks[i], i), allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, BadZipFile):
        return _compute(survey, recipe, folder, i)


def _compute(survey: Survey, recipe: Recipe, folder: Path, i: int) -> dict[str, NDArray[Any]]:
    values, lost_at = recipe.transform_and_locate(flux_of(survey.block(i)))
    arrays: dict[str, NDArray[Any]] = {"values": values.astype(np.float32), "lost_at": lost_at}
    _write(folder / block_file(survey.manifest.blocks[i], i), _npz(**arrays))
    return arrays


def flux_of(block: Block) -> NDArray[np.float32]:
    """The flux of a block as the features room wants it: NaN where a pixel is bad."""
    flux = block.flux
    flux[block.bad] = np.nan
    return flux


def block_file(record: BlockRecord, i: int) -> str:
    """Named after the contents it was computed from: a block that grew has another name, so nothing can be outdated."""
    digests = "".join(digest for name, digest in sorted(record.digests.items()) if name.startswith(("flux", "mask")))
    return f"{i:06d}-{digests[:12]}{digests[64:76]}.npz"


def _remove_outdated(survey: Survey, folder: Path) -> None:
    wanted = {block_file(record, i) for i, record in enumerate(survey.manifest.blocks)} | {MODEL, DESCRIPTION}
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink(missing_ok=True)


def _npz(**arrays: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, so that an interruption costs one block."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)
