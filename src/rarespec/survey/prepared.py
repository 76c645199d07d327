"""Blocks of a survey after the first steps of a recipe, which treat each row by itself: filtered and rescaled flux."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.ahead import computed_ahead
from rarespec.features.recipe import Recipe
from rarespec.survey.scratch import Scratch
from rarespec.survey.survey import Survey


class PreparedBlock(NamedTuple):
    """rows (n, columns); lost_at (n,) int8 as the recipe's `prepare` gives it; n_bad (n,) int32, bad pixels."""

    rows: NDArray[np.floating]
    lost_at: NDArray[np.int8]
    n_bad: NDArray[np.int32]


class PreparedBlocks:
    """By number, prepared when they are asked for; inside `kept_on_disk` only the first time."""

    def __init__(self, survey: Survey, recipe: Recipe) -> None:
        self._survey, self._recipe = survey, recipe
        self._scratch = Scratch(survey.path)
        self._known: dict[int, tuple[Any, Any]] = {}

    def __getitem__(self, i: int) -> PreparedBlock:
        rows = self._scratch.kept(i)
        if rows is not None:
            return PreparedBlock(rows, *self._known[i])
        flux = self._survey.masked_flux(i)
        n_bad = np.isnan(flux).sum(axis=1, dtype=np.int32)
        block = PreparedBlock(*self._recipe.prepare(flux), n_bad)
        if self._scratch.is_open:
            self._known[i] = block.lost_at, block.n_bad
            self._scratch.keep(i, block.rows)
        return block

    def rows(self) -> Iterator[NDArray[np.floating]]:
        """Of all blocks, one after the other."""
        return computed_ahead(lambda i: self[i].rows, range(self._survey.n_blocks))

    @contextmanager
    def kept_on_disk(self) -> Iterator[None]:
        """A temporary file beside the survey's arrays keeps the blocks for as long as this lasts, if they fit in."""
        if not self._recipe.prepares_to_learn:
            yield
            return
        rows, _ = self._recipe.prepare(self._survey.masked_flux(0)[:1])
        with self._scratch.open_for(len(self._survey) * rows.nbytes):
            yield
        self._known.clear()
