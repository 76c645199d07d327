"""What the solver of the components asks of rows, answered where the rows are: sums over blocks of any library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from rarespec.features import _subspace
from rarespec.features._moments import Moments
from rarespec.features._readings import SAMPLE_ROWS, Look, Projection, Sums
from rarespec.features._rows import Rows
from rarespec.rankers._other_arrays import as_numpy, like

Array = Any
ArrayBlocks = Callable[[], Iterable[Array]]
"""Gives a fresh iterator over blocks of rows, (n_i, p) each, every time it is called."""

ROWS_AT_ONCE = 1 << 15
"""Rows of a product: enough for a GPU at full speed; sums over them are added up in float64."""


class DeviceReadings:
    """As `features._readings.Readings`. Rows that are not finite are left out."""

    def __init__(self, blocks: ArrayBlocks) -> None:
        self._blocks = blocks
        self.n_rows: int | None = None
        self.n_left_out = 0

    def moments(self) -> Moments | None:
        raise NotImplementedError("the exact solver runs on the CPU")

    def mean_and_sample(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], Rows] | None:
        total, n_rows, n_seen, sample = None, 0, 0, _FetchedSample(SAMPLE_ROWS, rng)
        for rows, n_all in self._finite_parts():
            n_rows, n_seen = n_rows + rows.shape[0], n_seen + n_all
            if rows.shape[0]:
                xp = array_namespace(rows)
                sums = as_numpy(xp.sum(xp.astype(rows, xp.float64), axis=0))
                total = sums if total is None else total + sums
                sample.look_at(rows)
        self.n_rows, self.n_left_out = n_rows, n_seen - n_rows
        return None if total is None else (total / n_rows, np.stack(sample.rows))

    def looks(self, look: Look, projection: Projection) -> Iterator[Sums]:
        there: Projection | None = None
        for rows, _ in self._finite_parts():
            if rows.shape[0]:
                there = there or _there(projection, rows)
                yield tuple(as_numpy(one) for one in LOOKS[look](there, rows))

    def _finite_parts(self) -> Iterator[tuple[Array, int]]:
        """Finite rows, and how many rows they were taken from."""
        for block in self._blocks():
            for start in range(0, block.shape[0], ROWS_AT_ONCE):
                rows = block[start : min(start + ROWS_AT_ONCE, block.shape[0]), :]
                xp = array_namespace(rows)
                finite = xp.isfinite(xp.sum(rows * rows, axis=1))
                yield (rows if bool(xp.all(finite)) else rows[finite]), rows.shape[0]


class _FetchedSample:
    """A uniform random sample of a stream (Vitter 1985, algorithm R), of which only the rows drawn are brought here."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng, self._n_seen = size, rng, 0
        self.rows: list[NDArray[Any]] = []

    def look_at(self, rows: Array) -> None:
        number = np.arange(self._n_seen, self._n_seen + rows.shape[0])
        slot = np.where(number < self._size, number, self._rng.integers(0, number + 1))
        drawn = np.flatnonzero(slot < self._size)
        fetched = as_numpy(array_namespace(rows).take(rows, like(rows, drawn), axis=0))
        for place, row in zip(slot[drawn].tolist(), fetched, strict=True):
            self.rows[place : place + 1] = [row]
        self._n_seen += rows.shape[0]


def _there(projection: Projection, rows: Array) -> Projection:
    """The projection in the library and the precision of the rows."""
    xp = array_namespace(rows)

    def moved(values: Any) -> Array:
        return xp.astype(like(rows, values), rows.dtype)

    centre = None if projection.centre is None else moved(projection.centre)
    return Projection(moved(projection.q), moved(projection.offset), centre)


def _scatter_product(projection: Projection, rows: Array) -> Sums:
    rows, projected = projection.of(rows)
    xp = array_namespace(rows)
    return (xp.astype(rows.T @ projected, xp.float64),)


def _measures(projection: Projection, rows: Array) -> Sums:
    """Gram matrix of the rows in Q, and their sum of squares."""
    rows, projected = projection.of(rows)
    xp = array_namespace(rows)
    precise = xp.astype(projected, xp.float64)
    return precise.T @ precise, xp.sum(xp.astype(xp.sum(rows * rows, axis=1), xp.float64))


LOOKS: dict[Any, Callable[[Projection, Array], Sums]] = {
    _subspace._scatter_product: _scatter_product,
    _subspace._measures: _measures,
}
"""What the solver asks for -> the same on arrays of any library."""
