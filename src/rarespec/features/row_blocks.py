"""Blocks of rows that stay where they are, here or on other machines: functions go to them, small results come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from rarespec.features._rows import Blocks, Rows

Own = TypeVar("Own")
Result = TypeVar("Result")
Shared = TypeVar("Shared")


@runtime_checkable
class RowBlocks(Protocol):
    """Like the plain `blocks` of `fit_blocks`, but a learner can have each block looked at where it is."""

    @property
    def sizes(self) -> Sequence[int]:
        """Rows of each block."""

    def __call__(self) -> Iterator[Rows]:
        """The blocks themselves, (n_i, p) each, one after the other."""

    def map(self, look: Callable[[Shared, Own, Rows], Result], shared: Shared, own: Sequence[Own]) -> Iterator[Result]:
        """`look(shared, own[i], rows)` for each block i, in their order; the look may not change the rows."""


@dataclass(frozen=True)
class Transformed:
    """RowBlocks after some steps that are fitted."""

    blocks: RowBlocks
    steps: tuple[Any, ...]

    @property
    def sizes(self) -> Sequence[int]:
        return self.blocks.sizes

    def __call__(self) -> Iterator[Rows]:
        return (after(self.steps, rows) for rows in self.blocks())

    def map(self, look: Callable[[Shared, Own, Rows], Result], shared: Shared, own: Sequence[Own]) -> Iterator[Result]:
        return self.blocks.map(_look_after, (self.steps, look, shared), own)


def _look_after(shared: tuple[Any, ...], own: Any, rows: Rows) -> Any:
    steps, look, its_shared = shared
    return look(its_shared, own, after(steps, rows))


def through(steps: Iterable[Any], blocks: Blocks) -> Blocks:
    """The blocks after these fitted steps: RowBlocks when they are, otherwise a plain stream."""
    steps = tuple(steps)
    if not steps:
        return blocks
    if isinstance(blocks, RowBlocks):
        return Transformed(blocks, steps)
    return lambda: (after(steps, block) for block in blocks())


def after(steps: Iterable[Any], X: Any) -> Any:
    """These rows after these steps."""
    for step in steps:
        X = step.transform(X)
    return X
