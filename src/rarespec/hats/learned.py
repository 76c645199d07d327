"""What scores a spectrum: grid, recipe and ranker of a search, and the ids that are not to be listed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np

from rarespec.features.recipe import Recipe
from rarespec.rankers.ranker import Ranker, Scores
from rarespec.searching.kept_search import kept_search
from rarespec.spectrum import Spectra, WavelengthGrid


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
        kept = kept_search(path)
        known = tuple(kept.known_ids)
        return cls(kept.grid, kept.recipe, kept.ranker, kept.method, known, frozenset((*known, *non_members)))

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
