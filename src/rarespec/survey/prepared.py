"""Blocks of a survey after the first steps of a recipe, which treat each row by itself: filtered and rescaled flux."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.engine import Engine
from rarespec.features.recipe import Recipe
from rarespec.features.row_blocks import Own, Result, Shared
from rarespec.survey.block_memory import OF_THIS_PROCESS, Place
from rarespec.survey.manifest import BlockRecord
from rarespec.survey.scratch import Scratch
from rarespec.survey.survey import Survey


class PreparedBlock(NamedTuple):
    """rows (n, columns); lost_at (n,) int8 as the recipe's `prepare` gives it; n_bad (n,) int32, bad pixels."""

    rows: NDArray[np.floating]
    lost_at: NDArray[np.int8]
    n_bad: NDArray[np.int32]


class PreparedBlocks:
    """By number, prepared when they are asked for; inside `kept` only the first time.

    A copy that was sent to another process keeps its blocks in that process's memory, as far as they fit in.
    """

    def __init__(self, survey: Survey, recipe: Recipe, in_memory: bool = False) -> None:
        self._survey, self._recipe = survey, recipe
        self._in_memory = in_memory
        self._scratch = Scratch(survey.path)
        self._known: dict[int, tuple[Any, Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedBlocks, (seen_from_elsewhere(self._survey), self._recipe.preparation(), self._in_memory)

    @property
    def sizes(self) -> list[int]:
        return [record.rows for record in self._survey.manifest.blocks]

    def __getitem__(self, i: int) -> PreparedBlock:
        """In memory of its own."""
        if self._in_memory:
            return self._remembered(i)
        rows = self._scratch.kept(i)
        if rows is not None:
            return PreparedBlock(rows, *self._known[i])
        block = self._prepared(i)
        if self._scratch.is_open:
            self._known[i] = block.lost_at, block.n_bad
            self._scratch.keep(i, block.rows)
        return block

    def forget(self, i: int) -> None:
        """This block is not needed again."""
        if self._in_memory:
            OF_THIS_PROCESS.forget(self._place(i))

    def _remembered(self, i: int) -> PreparedBlock:
        kept = OF_THIS_PROCESS.get(self._place(i))
        if kept is None:
            kept = self._prepared(i)
            OF_THIS_PROCESS.keep(self._place(i), kept, kept.rows.nbytes)
        return PreparedBlock(kept.rows.copy(), kept.lost_at, kept.n_bad)

    def _prepared(self, i: int) -> PreparedBlock:
        flux = self._survey.masked_flux(i)
        n_bad = np.isnan(flux).sum(axis=1, dtype=np.int32)
        return PreparedBlock(*self._recipe.prepare(flux), n_bad)

    def _place(self, i: int) -> Place:
        return Place(self._job, content_name(self._survey.manifest.blocks[i], i))

    @cached_property
    def _job(self) -> tuple[str, str]:
        return str(self._survey.path), self._recipe.fingerprint

    @contextmanager
    def kept(self, engine: Engine) -> Iterator[None]:
        """Blocks are kept between readings for as long as this lasts, if they fit in.

        In this process a temporary file beside the survey's arrays keeps them, elsewhere the memory of each process.
        """
        if not self._recipe.prepares_to_learn:
            yield
        elif not engine.in_this_process:
            self._in_memory = True
            try:
                yield
            finally:
                self._in_memory = False
        else:
            rows, _ = self._recipe.prepare(self._survey.masked_flux(0)[:1])
            try:
                with self._scratch.open_for(len(self._survey) * rows.nbytes):
                    yield
            finally:
                self._known.clear()


@dataclass(frozen=True)
class SurveyRows:
    """The RowBlocks of a survey: its prepared blocks, looked at wherever this engine runs."""

    prepared: PreparedBlocks
    engine: Engine

    @property
    def sizes(self) -> Sequence[int]:
        return self.prepared.sizes

    def __call__(self) -> Iterator[NDArray[np.floating]]:
        return (self.prepared[i].rows for i in range(len(self.sizes)))

    def map(
        self, look: Callable[[Shared, Own, NDArray[np.floating]], Result], shared: Shared, own: Sequence[Own]
    ) -> Iterator[Result]:
        visits = (Visit(i, one) for i, one in enumerate(own))
        return self.engine.map(_look_at_block, (self.prepared, look, shared), visits)


@dataclass(frozen=True)
class Visit:
    """To a block. Visits to the same block are equal, by which an engine knows where the block is kept."""

    block: int
    own: Any = field(compare=False, repr=False)


def _look_at_block(shared: tuple[PreparedBlocks, Callable[..., Any], Any], visit: Visit) -> Any:
    prepared, look, its_shared = shared
    return look(its_shared, visit.own, prepared[visit.block].rows)


def seen_from_elsewhere(survey: Survey) -> Survey:
    """As it can be sent to another process, without what was read of it."""
    return Survey(survey.path.absolute(), survey.manifest)


def content_name(record: BlockRecord, i: int) -> str:
    """A name for this block of this flux: a block that grew has another, so nothing under it can be outdated."""
    digests = "".join(digest for name, digest in sorted(record.digests.items()) if name.startswith(("flux", "mask")))
    return f"{i:06d}-{hashlib.sha256(digests.encode()).hexdigest()[:20]}"
