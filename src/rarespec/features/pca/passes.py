"""What the solvers ask of rows, each answer from one pass of them all: sums over shares, in the order of the rows.

Rows come as a stream, or as blocks that are looked at where they are. Sums are taken in one order in either case, so
results are the same to the last bit on any number of cores or machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr, dsyrk, ssyrk

from rarespec.features import rows as _rows
from rarespec.features.rows import RowBlocks, Rows, RowStream, column_sums, finite_rows
from rarespec.storage.processes import available_cores

# ---- Count, mean and scatter matrix of rows, grown piece by piece: all that the exact solver needs to know.


LARGE_PIECES = 4
"""Products of p x p results are faster on more rows at once than those of thin ones."""
PIECES_IN_FLOAT32 = 4
"""float32 pieces whose scatter is added up in float32, inside the matrix product, before it goes to float64."""


@dataclass
class Moments:
    """Sums over rows x minus a fixed `shift` near their mean, which keeps small variances apart from large means.

    Attributes
    ----------
    n : int
        Number of rows.
    shift : (p,) float64
        The mean of the first rows.
    total : (p,) float64
        Sum of x - shift.
    scatter : (p, p) float64
        Sum of (x - shift)(x - shift)', lower triangle only.
    """

    n: int
    shift: NDArray[np.float64]
    total: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @classmethod
    def of(cls, stream: RowStream) -> Self | None:
        """The moments of these rows; None when there are none."""
        shift = shift_for(stream)
        if shift is None:
            return None
        moments = cls.around(shift)
        moments.add(stream)
        return moments

    @classmethod
    def around(cls, shift: NDArray[np.float64]) -> Self:
        """Of no rows yet."""
        p = len(shift)
        return cls(0, shift, np.zeros(p), np.zeros((p, p)))

    def add(self, stream: RowStream) -> None:
        """Take in more rows, with one pass."""
        recent: NDArray[np.float32] | None = None
        for number, piece in enumerate(stream.pieces(self.shift, times=LARGE_PIECES), start=1):
            self.n += len(piece)
            self.total += column_sums(piece)
            if piece.dtype == np.float64:
                dsyrk(1.0, piece.T, beta=1.0, c=self.scatter.T, overwrite_c=1)
                continue
            recent = np.zeros(self.scatter.shape, np.float32) if recent is None else recent
            ssyrk(1.0, piece.T, beta=1.0, c=recent.T, overwrite_c=1)
            if number % PIECES_IN_FLOAT32 == 0:
                self.scatter += recent
                recent[:] = 0
        if recent is not None:
            self.scatter += recent

    def merge(self, others: Self) -> None:
        """Take in the moments of other rows around the same shift."""
        self.n += others.n
        self.total += others.total
        self.scatter += others.scatter

    @property
    def mean(self) -> NDArray[np.float64]:
        return self.shift + self.total / self.n

    def covariance(self) -> NDArray[np.float64]:
        """(p, p) float64, lower triangle only, with n - 1 in the denominator."""
        # sum (x - m)(x - m)' = sum (x - s)(x - s)' - total total' / n, for the mean m and the shift s
        around_mean = self.scatter.copy()
        dsyr(-1.0 / self.n, self.total, a=around_mean.T, overwrite_a=1)
        around_mean /= max(self.n - 1, 1)
        return around_mean


def shift_for(stream: RowStream) -> NDArray[np.float64] | None:
    """(p,) the mean of the first finite rows; None when there are none."""
    first = next(stream.finite_parts(), None)
    return None if first is None else _in_float32(column_sums(first) / len(first))


def _in_float32(shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest shift that float32 rows take without rounding; the shift itself where float32 cannot hold it."""
    with np.errstate(over="ignore"):
        rounded = shift.astype(np.float32).astype(np.float64)
    return np.where(np.isfinite(rounded), rounded, shift)


SAMPLE_ROWS = 2048
SHARE_ROWS = 128
"""Rows that are multiplied at once: few enough to stay in cache, and to be added up in float32."""

Mask = NDArray[np.bool_]
Sums = tuple[Any, ...]
"""Arrays or numbers that are added up, each to its like."""


@dataclass(frozen=True)
class Projection:
    """Rows as seen in directions Q: (rows - centre) Q - offset.

    Attributes
    ----------
    q : (p, l) float
        The directions.
    offset : (l,) float
        Subtracted after the product.
    centre : (p,) float or None
        Subtracted before it; None for rows that need no centring before the product.
    """

    q: Rows
    offset: Rows
    centre: Rows | None

    def astype(self, dtype: np.dtype[Any]) -> Projection:
        centre = None if self.centre is None else self.centre.astype(dtype)
        return Projection(self.q.astype(dtype), self.offset.astype(dtype), centre)

    def of(self, rows: Rows) -> tuple[Rows, Rows]:
        """The rows, centred if they are to be, and what is seen of them, (m, l)."""
        if self.centre is not None:
            rows = rows - self.centre
        projected = rows @ self.q
        projected -= self.offset
        return rows, projected


Look = Callable[[Projection, Rows], Sums]
"""What is added up of a share of the rows; a function with a name, which other processes can import."""


class Passes(Protocol):
    @property
    def n_rows(self) -> int | None:
        """Finite rows of the last complete pass."""

    @property
    def n_left_out(self) -> int:
        """Rows with a NaN or an infinity."""

    def moments(self) -> Moments | None:
        """Of all finite rows; None when there are none."""

    def mean_and_sample(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], Rows] | None:
        """The mean of the finite rows, (p,), and up to SAMPLE_ROWS of them, drawn at random; None when there are none.

        The sample is the caller's to overwrite.
        """

    def looks(self, look: Look, projection: Projection) -> Iterator[Sums]:
        """What is to be added up, in the order of the rows."""


class StreamPasses:
    """Of rows that pass by in this process; threads share the rows of a piece."""

    def __init__(self, stream: RowStream) -> None:
        self._stream = stream

    @property
    def n_rows(self) -> int | None:
        return self._stream.n_rows

    @property
    def n_left_out(self) -> int:
        return self._stream.n_left_out

    def moments(self) -> Moments | None:
        return Moments.of(self._stream)

    def mean_and_sample(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], Rows] | None:
        sample, total = Sample(SAMPLE_ROWS, rng), None
        for piece in self._stream.finite_parts():
            total = column_sums(piece) if total is None else total + column_sums(piece)
            sample.look_at(piece)
        if total is None or self.n_rows is None:
            return None
        return total / self.n_rows, sample.rows()

    def looks(self, look: Look, projection: Projection) -> Iterator[Sums]:
        n_shares = max(_rows.PIECE_ROWS // SHARE_ROWS, 1)
        with ThreadPoolExecutor(min(available_cores(), n_shares)) as pool:
            for piece in self._stream.pieces():
                yield from pool.map(partial(look, projection.astype(piece.dtype)), _shares(piece))


class BlockPasses:
    """Of blocks that are looked at where they are: a block is added up there, its sums are added up here."""

    def __init__(self, blocks: RowBlocks) -> None:
        self._blocks = blocks
        self._finite: list[Mask | None] = []
        self.n_rows: int | None = None
        self.n_left_out = 0

    def moments(self) -> Moments | None:
        shift = shift_for(RowStream(self._blocks))
        if shift is None:
            self._count(0)
            return None
        moments = Moments.around(shift)
        for part in self._blocks.map(_moments_of_block, shift, [None] * len(self._blocks.sizes)):
            moments.merge(part)
        self._count(moments.n)
        return moments

    def mean_and_sample(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], Rows] | None:
        drawn = draw_rows(sum(self._blocks.sizes), rng)
        total, n_finite, samples = None, 0, []
        self._finite = []
        for seen in self._blocks.map(_first_look, None, self._by_block(drawn)):
            total = seen.total if total is None else total + seen.total
            n_finite += seen.n_finite
            self._finite.append(seen.finite)
            samples.append(seen.sample)
        self._count(n_finite)
        if total is None or not n_finite:
            return None
        sample = np.concatenate(samples)
        if 2 * len(sample) < min(n_finite, SAMPLE_ROWS):
            sample = self._sample_of_finite(rng)
        return total / n_finite, sample

    def looks(self, look: Look, projection: Projection) -> Iterator[Sums]:
        seen = self._blocks.map(_add_up, (look, projection), self._finite)
        return (sums for sums in seen if sums is not None)

    def _count(self, n_rows: int) -> None:
        self.n_rows, self.n_left_out = n_rows, sum(self._blocks.sizes) - n_rows

    def _sample_of_finite(self, rng: np.random.Generator) -> Rows:
        """Drawn again, now that it is known which rows are finite; needed where most are not."""
        masks = zip(self._finite, self._blocks.sizes, strict=True)
        finite = np.flatnonzero(np.concatenate([np.ones(size, bool) if mask is None else mask for mask, size in masks]))
        drawn = self._by_block(finite[draw_rows(len(finite), rng)])
        return np.concatenate(list(self._blocks.map(_some_rows, None, drawn)))

    def _by_block(self, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Row numbers of all blocks, rising, as numbers within each block."""
        ends = np.cumsum(self._blocks.sizes)
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        return [part - (end - size) for part, end, size in zip(parts, ends, self._blocks.sizes, strict=True)]


class FirstLook(NamedTuple):
    """total (p,) of the finite rows; finite (n,) bool, None when all are; those of the sample that are finite."""

    total: NDArray[np.float64]
    finite: Mask | None
    n_finite: int
    sample: Rows


def _first_look(_: None, drawn: NDArray[np.intp], rows: Rows) -> FirstLook:
    finite = finite_rows(rows)
    usable = rows[finite] if not finite.all() else rows
    mask = None if len(usable) == len(rows) else finite
    return FirstLook(column_sums(usable), mask, len(usable), rows[drawn[finite[drawn]]])


def _some_rows(_: None, drawn: NDArray[np.intp], rows: Rows) -> Rows:
    return rows[drawn]


def _add_up(shared: tuple[Look, Projection], finite: Mask | None, rows: Rows) -> Sums | None:
    """In float64, over the shares of a block; None when it has no finite row."""
    look, projection = shared
    rows = rows if finite is None else rows[finite]
    if not len(rows):
        return None
    projection = projection.astype(rows.dtype)
    sums: list[Any] | None = None
    for share in _shares(rows):
        seen = look(projection, share)
        if sums is None:
            sums = [np.asarray(one, np.float64) for one in seen]
            continue
        for total, one in zip(sums, seen, strict=True):
            total += one
    return tuple(sums or ())


def _moments_of_block(shift: NDArray[np.float64], own: None, rows: Rows) -> Moments:
    moments = Moments.around(shift)
    moments.add(RowStream(lambda: [rows]))
    return moments


def _shares(rows: Rows) -> Iterator[Rows]:
    return (rows[i : i + SHARE_ROWS] for i in range(0, len(rows), SHARE_ROWS))


def draw_rows(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """SAMPLE_ROWS of the numbers below n, or all if they are fewer, rising."""
    return np.sort(rng.choice(n, min(SAMPLE_ROWS, n), replace=False))


class Sample:
    """A uniform random sample of a stream of unknown length (Vitter 1985, algorithm R)."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng = size, rng
        self._n_seen = 0
        self._rows: Rows | None = None

    def look_at(self, rows: Rows) -> None:
        if self._rows is None:
            self._rows = np.empty((self._size, rows.shape[1]), rows.dtype)
        number = np.arange(self._n_seen, self._n_seen + len(rows))
        # The first rows fill the sample; later ones replace a random row of it, ever more rarely.
        slot = np.where(number < self._size, number, self._rng.integers(0, number + 1))
        taken = np.flatnonzero(slot < self._size)
        self._rows[slot[taken]] = rows[taken]
        self._n_seen += len(rows)

    def rows(self) -> Rows:
        assert self._rows is not None
        return self._rows[: self._n_seen]
