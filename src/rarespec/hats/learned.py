"""What scores a spectrum: grid, recipe and ranker of a search, and the ids that are not to be listed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import numpy as np

from rarespec.features.recipe import Recipe
from rarespec.rankers._ranker import Ranker, Scores
from rarespec.rankers.model_file import ModelFileError, load_model
from rarespec.searching.model import recipe_of
from rarespec.spectrum import Spectra, WavelengthGrid
from rarespec.survey.manifest import WrongUseError


@dataclass(frozen=True, eq=False)
class Learned:
    grid: WavelengthGrid
    recipe: Recipe
    ranker: Ranker
    method: str
    known: tuple[str, ...]
    unlisted: frozenset[str]
    """Known examples and known non-members."""
    token: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def of_model(cls, path: str | os.PathLike[str], non_members: Iterable[str] = ()) -> Learned:
        """From the file of a search that was saved."""
        try:
            model = load_model(path)
            grid = model.wavelength_grid
            if grid is None:
                raise ModelFileError(f"{path}: has no wavelength grid: it was not saved by a search")
            recipe = recipe_of(model, grid, Path(path))
        except ModelFileError as error:
            raise WrongUseError(str(error)) from None
        known = tuple(model.extra["known_ids"])
        return cls(grid, recipe, model.ranker, model.extra["method"], known, frozenset((*known, *non_members)))

    def __dask_tokenize__(self) -> str:
        """So that Dask need not look at every array to tell two of them apart."""
        return self.token

    def scores(self, spectra: Spectra) -> tuple[Scores, dict[int, str]]:
        """Of spectra on the grid, (n,) float64; NaN for one that has no features, with the reason by its place."""
        flux = np.where(spectra.bad, np.float32(np.nan), spectra.flux)
        values, lost_at = self.recipe.transform_and_locate(flux)
        usable = np.flatnonzero(lost_at == 0)
        scores = np.full(len(flux), np.nan)
        if len(usable):
            scores[usable] = self.ranker.decision_function(values[usable].astype(np.float32))
        lost = np.flatnonzero(lost_at).tolist()
        return scores, {i: self.recipe.why_lost(int(lost_at[i])) for i in lost}
