"""What the solver of the components asks of rows, answered where the rows are: sums over blocks of any library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from rarespec.features.pca import solvers as _subspace
from rarespec.features.pca.components import StreamingPCA
from rarespec.features.pca.passes import SAMPLE_ROWS, Look, Moments, Projection, Sums, draw_rows
from rarespec.features.rows import Rows
from rarespec.rankers.other_arrays import as_numpy, like, rows_at

Array = Any
ArrayBlocks = Callable[[], Iterable[Array]]
"""Gives a fresh iterator over blocks of rows, (n_i, p) each, every time it is called."""

ROWS_AT_ONCE = 1 << 15
"""Rows of a product: enough for a GPU at full speed; sums over them are added up in float64."""


class DevicePasses:
    """Passes of blocks on a device; as `BlockPasses` of the components, of which it draws the same sample.

    Rows that are not finite are left out.

    Parameters
    ----------
    blocks : callable
        Gives a fresh iterator over blocks of rows, of any array library.
    sizes : sequence of int
        Rows of each block.
    """

    def __init__(self, blocks: ArrayBlocks, sizes: Sequence[int]) -> None:
        self._blocks = blocks
        self._n_all = sum(sizes)
        self.n_rows: int | None = None

    @property
    def n_left_out(self) -> int:
        return self._n_all - (self.n_rows or 0)

    def moments(self) -> Moments | None:
        raise NotImplementedError("the exact solver runs on the CPU")

    def mean_and_sample(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], Rows] | None:
        drawn, total, finite, sample = draw_rows(self._n_all, rng), None, [np.empty(0, bool)], []
        start = 0
        for rows, mask in self._parts():
            xp = array_namespace(rows)
            sums = as_numpy(xp.sum(xp.astype(_of(rows, mask), xp.float64), axis=0))
            total = sums if total is None else total + sums
            finite.append(as_numpy(mask))
            here = drawn[(drawn >= start) & (drawn < start + rows.shape[0])] - start
            sample.append(as_numpy(rows_at(rows, here[finite[-1][here]])))
            start += rows.shape[0]
        usable = np.flatnonzero(np.concatenate(finite))
        self.n_rows = len(usable)
        if total is None or not len(usable):
            return None
        found = np.concatenate(sample)
        if 2 * len(found) < min(len(usable), SAMPLE_ROWS):
            found = self._rows_numbered(usable[draw_rows(len(usable), rng)])
        return total / len(usable), found

    def looks(self, look: Look, projection: Projection) -> Iterator[Sums]:
        there: Projection | None = None
        for part, mask in self._parts():
            rows = _of(part, mask)
            if rows.shape[0]:
                there = there or _there(projection, rows)
                yield tuple(as_numpy(one) for one in LOOKS[look](there, rows))

    def _parts(self) -> Iterator[tuple[Array, Array]]:
        """Rows, (m, p), and which of them are finite, (m,) bool."""
        for block in self._blocks():
            for start in range(0, block.shape[0], ROWS_AT_ONCE):
                rows = block[start : min(start + ROWS_AT_ONCE, block.shape[0]), :]
                xp = array_namespace(rows)
                yield rows, xp.isfinite(xp.sum(rows * rows, axis=1))

    def _rows_numbered(self, numbers: NDArray[np.intp]) -> Rows:
        """Rows of these numbers among all, rising, from another pass; needed where most rows are not finite."""
        found, start = [], 0
        for block in self._blocks():
            here = numbers[(numbers >= start) & (numbers < start + block.shape[0])] - start
            found.append(as_numpy(rows_at(block, here)))
            start += block.shape[0]
        return np.concatenate(found)


def _of(rows: Array, mask: Array) -> Array:
    return rows if bool(array_namespace(rows).all(mask)) else rows[mask]


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


def fit_components(pca: StreamingPCA, blocks: ArrayBlocks, sizes: Sequence[int]) -> StreamingPCA:
    """Learn components by the randomised solver, with products made where the blocks are.

    Parameters
    ----------
    pca : StreamingPCA
        The step that learns.
    blocks : callable
        Gives a fresh iterator over blocks of rows, of any array library.
    sizes : sequence of int
        Rows of each block.

    Returns
    -------
    StreamingPCA
        The step, fitted.
    """
    return fit_by(pca, DevicePasses(blocks, sizes))


def fit_by(pca: StreamingPCA, passes: DevicePasses) -> StreamingPCA:
    """Learn components by the randomised solver, from these passes.

    The CPU works on the few directions between the passes, with all its threads: products of the device are not those
    of the CPU to the last bit anyway.
    """
    pca._check_parameters()
    found = _subspace._find_subspace(passes, pca._search(), None)
    pca._check_size(passes, 0 if found is None else len(found.mean))
    assert found is not None
    pca._publish_subspace(found)
    pca.solver_, pca.n_left_out_ = "randomised", passes.n_left_out
    return pca
