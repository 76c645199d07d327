"""What Auto asks of many rows, answered on a device by comparing all of them: no cells have to be learned first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.gpu.device import on_device
from rarespec.gpu.exact_neighbours import nearest_to, neighbours_on
from rarespec.rankers.auto.signal import SignalSpace, n_neighbours
from rarespec.rankers.neighbours.exact import Distances, Indices
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph
from rarespec.rankers.other_arrays import as_numpy
from rarespec.rankers.rows import Rows

Tensor = Any
RowNumbers = NDArray[np.intp]

WHITENED_AT_ONCE = 1 << 18
"""Rows whose whitened copy is held in float64 at a time: 100 MB for fifty features."""
COMPARED_AT_ONCE = 1 << 26
"""Likenesses of rows to known ones that are held at a time."""


class OnDevice:
    """Finds neighbours on a device; the `Elsewhere` of `rarespec.rankers.auto.signal`.

    Parameters
    ----------
    device : str
        A name of torch's; "cpu" will do, for comparison.
    """

    def __init__(self, device: str) -> None:
        self._device = device

    def graph(self, X: Rows, k: int) -> NeighbourGraph:
        """Find the k nearest rows of each row.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite.
        k : int
            Neighbours of each.

        Returns
        -------
        NeighbourGraph
            The exact graph.
        """
        return neighbours_on(self._device, X, k)

    def nearest(self, X: Rows, rows: RowNumbers, k: int) -> Indices:
        """Find the k nearest of some rows, without themselves.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite.
        rows : (m,) int
            Row numbers.
        k : int
            Neighbours of each.

        Returns
        -------
        (m, k) int64
            Row numbers, nearest first.
        """
        there = on_device(X, self._device)
        return as_numpy(nearest_to(there, on_device(rows, self._device), k)[0])

    def among(self, X: Rows, space: SignalSpace) -> RowsOnDevice:
        """Take all rows to the device, to find some of them later.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite.
        space : SignalSpace
            Their space of signal.

        Returns
        -------
        RowsOnDevice
            The rows.
        """
        return RowsOnDevice(X, space, self._device)


class RowsOnDevice:
    """All rows, as given and in the space of signal; the `RowSearch` of `rarespec.rankers.auto.row_search`.

    Parameters
    ----------
    X : (n, d) array
        Feature vectors, all finite.
    space : SignalSpace
        Their space of signal.
    device : str
        A name of torch's.
    """

    def __init__(self, X: Rows, space: SignalSpace, device: str) -> None:
        self._device = device
        self._given = on_device(X, device)
        self._units = _units(self._given, space)

    def nearest(self, space: str, rows: RowNumbers) -> tuple[Indices, Distances]:
        """Find the nearest of each of some rows, without the row itself.

        Parameters
        ----------
        space : str
            "signal" or "given".
        rows : (m,) int
            Row numbers.

        Returns
        -------
        indices : (m, k) int64
            Row numbers, nearest first.
        distances : (m, k) float64
            Euclidean.
        """
        X = {"signal": self._units, "given": self._given}[space]
        found = nearest_to(X, on_device(rows, self._device), n_neighbours(len(X)))
        return as_numpy(found[0]), as_numpy(found[1])

    def alike(self, known: RowNumbers, n: int) -> list[RowNumbers]:
        """Find the n rows most alike to any of the known ones.

        Parameters
        ----------
        known : (m,) int
            Row numbers.
        n : int
            How many.

        Returns
        -------
        list of (n,) int
            Row numbers, in any order: in the space of signal, and in the features as given.
        """
        rows = on_device(known, self._device)
        by_angle = _best(self._units, self._units[rows], _cosines, n)
        return [as_numpy(by_angle), as_numpy(_best(self._given, self._given[rows], _closeness, n))]

    def join(self, rows: Rows) -> NeighbourGraph:
        """Find the exact graph of some rows, with as many neighbours each as befits all.

        Parameters
        ----------
        rows : (m, d) array
            The rows, in any space.

        Returns
        -------
        NeighbourGraph
            Of these rows.
        """
        return neighbours_on(self._device, rows, n_neighbours(len(self._units)))

    def let_go(self) -> None:
        """Do nothing: all rows stay on the device."""


def _units(X: Tensor, space: SignalSpace) -> Tensor:
    """As `SignalSpace.all_units`, (n, d) float32."""
    import torch

    mean, whitening = (torch.as_tensor(one, device=X.device) for one in (space.mean, space.whitening))
    share = torch.as_tensor(np.sqrt(space.signal_share(1)).astype(np.float32), device=X.device)
    units = torch.empty_like(X, dtype=torch.float32)
    for part in _parts(len(X), WHITENED_AT_ONCE):
        rows = ((X[part].to(torch.float64) - mean) @ whitening).to(torch.float32) * share
        lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        units[part] = rows / lengths.clamp_min(float(np.finfo(np.float32).tiny))
    return units


def _best(X: Tensor, known: Tensor, likeness: Any, n: int) -> Tensor:
    """Numbers of the n rows most alike to any of the known ones."""
    import torch

    size = max(1, COMPARED_AT_ONCE // len(known))
    best = torch.cat([likeness(X[part], known).amax(dim=1) for part in _parts(len(X), size)])
    return best.topk(n, sorted=False).indices


def _cosines(rows: Tensor, known: Tensor) -> Tensor:
    return rows @ known.T


def _closeness(rows: Tensor, known: Tensor) -> Tensor:
    """Minus the squared distance, from the middle of the known: a common offset then costs no digits."""
    middle = known.mean(dim=0)
    rows, known = rows - middle, known - middle
    return 2 * rows @ known.T - rows.square().sum(dim=1)[:, None] - known.square().sum(dim=1)


def _parts(n: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, n, size))
