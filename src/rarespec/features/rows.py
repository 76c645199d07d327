"""Rows from a stream of blocks, gathered into pieces of one size: finite, centred, contiguous, ready for BLAS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.floating]
Blocks = Callable[[], Iterable[NDArray[Any]]]
"""Gives a fresh iterator over blocks of rows, (n_i, p) each, every time it is called."""

FRESH = "`blocks` must return a fresh iterator over the same rows at every call"
PIECE_ROWS = 512
"""Rows multiplied at once: enough for matrix products at full speed, few enough (7 MB of spectra) to stay in cache."""


@dataclass
class RowStream:
    """The finite rows of re-iterable blocks; pieces do not depend on how the rows were cut into blocks.

    Attributes
    ----------
    blocks : callable
        Gives a fresh iterator over blocks of rows, (n_i, p) each.
    n_rows : int or None
        Finite rows of the last complete pass.
    n_left_out : int
        Rows with a NaN or an infinity, of the same pass.
    """

    blocks: Blocks
    n_rows: int | None = field(default=None, init=False)
    n_left_out: int = field(default=0, init=False)
    _finite: list[NDArray[np.bool_]] = field(default_factory=list, init=False, repr=False)

    def pieces(self, centre: NDArray[np.float64] | None = None, times: int = 1) -> Iterator[Rows]:
        """Yield rows minus `centre`, `times` PIECE_ROWS at a time.

        With a centre, pieces lie in one buffer, which the caller may overwrite and the next piece will. Without one,
        they are views of the blocks where those are large enough, and must not be changed.
        """
        buffer: Rows | None = None
        filled, size = 0, times * PIECE_ROWS
        for rows in self.finite_parts():
            if centre is None and not filled and len(rows) == size:
                yield rows
                continue
            if buffer is None:
                buffer = np.empty((size, rows.shape[1]), rows.dtype)
                offset = np.zeros(rows.shape[1], rows.dtype) if centre is None else centre.astype(rows.dtype)
            while len(rows):
                taken, rows = rows[: size - filled], rows[size - filled :]
                np.subtract(taken, offset, out=buffer[filled : filled + len(taken)], casting="same_kind")
                filled += len(taken)
                if filled == size:
                    yield buffer
                    filled = 0
        if buffer is not None and filled:
            yield buffer[:filled]

    def finite_parts(self) -> Iterator[Rows]:
        """Yield the finite rows as they come, at most PIECE_ROWS at a time; a part that is all finite is not copied."""
        n_rows = n_left_out = 0
        for number, part in enumerate(self._parts()):
            finite = self._finite_rows_of(number, part)
            rows = part if finite.all() else part[finite]
            n_rows, n_left_out = n_rows + len(rows), n_left_out + len(part) - len(rows)
            if len(rows):
                yield rows
        self._count(n_rows, n_left_out)

    def _finite_rows_of(self, number: int, part: Rows) -> NDArray[np.bool_]:
        """Looked for in the first pass, remembered in the next ones."""
        if number == len(self._finite):
            self._finite.append(finite_rows(part))
        if len(self._finite[number]) != len(part):
            raise ValueError(f"a block changed between two passes; {FRESH}")
        return self._finite[number]

    def _parts(self) -> Iterator[Rows]:
        width: int | None = None
        for block in self.blocks():
            width = block.shape[-1] if width is None else width
            if block.ndim != 2 or block.shape[1] != width:
                raise ValueError(f"blocks must be two-dimensional and equally wide; found {block.shape}")
            for start in range(0, len(block), PIECE_ROWS):
                yield _floating(block[start : start + PIECE_ROWS])

    def _count(self, n_rows: int, n_left_out: int) -> None:
        if self.n_rows not in (None, n_rows):
            raise ValueError(
                f"the blocks had {self.n_rows} finite rows in the first pass and {n_rows} in a later one; {FRESH}"
            )
        self.n_rows, self.n_left_out = n_rows, n_left_out


def finite_rows(rows: Rows) -> NDArray[np.bool_]:
    """Find rows, (n,) bool, without NaN, infinity, or anything so large that its square is infinite.

    One such row would make every covariance infinite.
    """
    with np.errstate(all="ignore"):
        return np.isfinite(np.einsum("ij,ij->i", rows, rows))


def _floating(rows: NDArray[Any]) -> Rows:
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def column_sums(rows: Rows) -> NDArray[np.float64]:
    """Sum each column, (p,) float64. A few hundred float32 rows at a time, so that rounding does not build up."""
    starts = range(0, len(rows), 256)
    return sum((rows[i : i + 256].sum(axis=0) for i in starts), np.zeros(rows.shape[1]))


def sum_of_squares(rows: Rows) -> float:
    return float(np.einsum("ij,ij->i", rows, rows).sum(dtype=np.float64))


# ---- Blocks of rows that stay where they are, here or on other machines: functions go to them, small results come
# back.


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
        """Look at each block where it is, and bring the results here.

        Parameters
        ----------
        look : callable
            Called with (shared, own[i], rows) for block i; it must not change the rows.
        shared : object
            What every look is given.
        own : sequence
            What each look is given for its block; as long as `sizes`.

        Returns
        -------
        iterator
            What `look` returned, in the order of the blocks.
        """


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
        """Look at each block after the steps; see `RowBlocks.map`."""
        return self.blocks.map(_look_after, (self.steps, look, shared), own)


def _look_after(shared: tuple[Any, ...], own: Any, rows: Rows) -> Any:
    steps, look, its_shared = shared
    return look(its_shared, own, after(steps, rows))


def through(steps: Iterable[Any], blocks: Blocks) -> Blocks:
    """Pass blocks through fitted steps: RowBlocks stay RowBlocks, others become a plain stream."""
    steps = tuple(steps)
    if not steps:
        return blocks
    if isinstance(blocks, RowBlocks):
        return Transformed(blocks, steps)
    return lambda: (after(steps, block) for block in blocks())


def after(steps: Iterable[Any], X: Any) -> Any:
    """Transform rows by these steps, one after the other."""
    for step in steps:
        X = step.transform(X)
    return X
