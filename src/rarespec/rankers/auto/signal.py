"""The rows' own space of signal: whitened, with the axes along which neighbours differ most, which is where noise is.

It takes Auto longest to find of the rows alone: this space, and who is near whom in it and in the features as given.

Notation: z = U' S^-1/2 (x - mean), S the covariance of all rows; U diag(w) U' the covariance of one row's noise after
S^-1/2. As whitened rows have covariance 1, what is not noise has 1 - w along each axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import one_blas_thread
from rarespec.rankers.covariance import ledoit_wolf
from rarespec.rankers.linear_map import LinearMap, whitening_of
from rarespec.rankers.neighbours.cell_search import Cells, group_in_cells
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph, NeighbourSearch, build_neighbours
from rarespec.rankers.ranker import Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows

if TYPE_CHECKING:
    from rarespec.rankers.auto.row_search import RowSearch

Floating = TypeVar("Floating", np.float32, np.float64)

SPACES = ("signal", "given")
"""In which rows have neighbours: the space of signal, and the features as given."""

N_ROWS_COMPARED = 5000
"""Rows whose differences to their neighbours measure the noise."""

RECALL = 0.95
"""Share of the neighbours that must be found: many ways lead to a row, and the noise is a mean over many pairs."""

PARTS_EXACT_BELOW = 5000
"""Rows of a part of a survey from which on a search finds that share of the neighbours."""

RECALL_IN_CELLS = 0.8
"""Of those by which walks find their way among many rows; the rows that they reach are joined with RECALL."""

N_ROUNDS = 2
"""Of Tyler's weights, which settle at once."""

LEAST_SHARE, MOST_SHARE = 1e-3, 1 - 1e-3
NOISIEST = 0.9
"""Quantile of w that counts as all noise: neighbours among few rows differ by more than noise, everywhere alike."""

LEAST_NOISE_UNIT = 0.3

USUAL = 0.95
"""Share of the rows whose reach along the noisy axes is put down to noise; less would take rare ones for noise."""


WIDE = 200_000
"""More rows than this have no graph but cells, and their space is learned from so many of them."""

Nearest = Callable[[Rows, NDArray[np.intp], int], NDArray[np.int64]]
"""Numbers of the k nearest of some rows among all, (m, k), without the row itself."""


class Elsewhere(Protocol):
    """Where rows are compared if not on the CPU, such as a GPU; every search there is exact."""

    def graph(self, X: Rows, k: int) -> NeighbourGraph:
        """Find the k nearest rows of each row."""

    def nearest(self, X: Rows, rows: NDArray[np.intp], k: int) -> NDArray[np.int64]:
        """Find the k nearest of some rows, as `Nearest`."""

    def among(self, X: Rows, space: SignalSpace) -> RowSearch:
        """Take all rows there, to find some of them later."""


@dataclass(frozen=True)
class SignalSpace:
    """Whitening onto axes along each of which the share of noise is known."""

    mean: NDArray[np.float64]
    whitening: NDArray[np.float64]
    """(d, d), one axis in each column."""
    noise: NDArray[np.float64]
    """(d,) between 0 and 1."""
    usual_reach: float
    """How far all but the noisiest rows reach along the noisy axes; see `reach`."""

    def whiten(self, X: Rows) -> NDArray[np.float64]:
        """Whiten a block of rows, (n, d) float64."""
        return np.asarray((X - self.mean) @ self.whitening)

    @cached_property
    def part_whitening(self) -> NDArray[np.float64]:
        """(S + s)^-1/2, (d, d), with s the median of the variances.

        Axes along which the survey varies most are whitened; those along which it hardly varies, which are mostly
        noise, are not blown up to the same size.
        """
        inverses, directions = np.linalg.eigh(self.whitening @ self.whitening.T)
        present = inverses > len(inverses) * np.finfo(np.float64).eps * inverses[-1]
        variances, factors = 1 / inverses[present], np.zeros_like(inverses)
        factors[present] = (variances + np.median(variances)) ** -0.5
        return np.asarray((directions * factors) @ directions.T)

    def whiten_in_part(self, X: Rows) -> NDArray[np.float64]:
        """Whiten a block of rows in part, (n, d) float64; see `part_whitening`."""
        return np.asarray((X - self.mean) @ self.part_whitening)

    def all_whitened(self, X: Rows) -> NDArray[np.float32]:
        """Whiten all rows, (n, d) float32."""
        return _map_rows(X, self.mean, self.whitening)

    def all_whitened_in_part(self, X: Rows) -> NDArray[np.float32]:
        """Whiten all rows in part, (n, d) float32."""
        return _map_rows(X, self.mean, self.part_whitening)

    def all_units(self, X: Rows) -> NDArray[np.float32]:
        """Compute `unit_rows` of all rows, whitened block by block."""
        units = np.empty(X.shape, np.float32)
        for start in range(0, len(X), BLOCK_ROWS):
            units[start : start + BLOCK_ROWS] = self.unit_rows(self.all_whitened(X[start : start + BLOCK_ROWS]))
        return units

    def signal_share(self, m: float, beyond: float = 0.0) -> NDArray[np.float64]:
        """Compute Wiener's weight of each axis in a mean of m rows: signal over signal plus the noise that is left.

        Parameters
        ----------
        m : float
            Rows in the mean.
        beyond : float, default 0
            Signal that the rare kind has where the survey has none, in units of one row's noise.

        Returns
        -------
        (d,) float64
            Weights from 0 to 1.
        """
        signal = 1 - self.noise + beyond * self.noise
        return signal / (signal + self.noise / m)

    def beyond(self, Z: NDArray[Any]) -> float:
        """Measure the signal of a kind, of which Z are whitened rows, along axes where the survey has only noise.

        What several rows have in common there is no noise. One row may just be noisy: it must reach further than
        rows of the survey do, and so must they, or what little they have is better left to other axes.
        """
        m, rows = len(Z), Z.astype(np.float64)
        # the mean product of two different rows, in which noise averages out; of one row the noise is subtracted
        common = (
            rows[0] ** 2 - self.noise if m == 1 else (rows.sum(axis=0) ** 2 - (rows**2).sum(axis=0)) / (m * (m - 1))
        )
        found = reach(common - (1 - self.noise), self.noise)
        return float(found) if found > self.usual_reach else 0.0

    def seen(self, Z: NDArray[Any]) -> float:
        """Compute how much of what sets Z, (m, d) whitened rows, apart from the survey lies where that has signal."""
        energy, m = Z.mean(axis=0, dtype=np.float64) ** 2, len(Z)
        everywhere = float(energy @ self.signal_share(m, self.beyond(Z)))
        return float(energy @ self.signal_share(m)) / everywhere if everywhere > 0 else 1.0

    def unit_rows(self, Z: NDArray[Floating]) -> NDArray[Floating]:
        """Weight whitened rows by their share of signal and set their length to 1, in the precision they have."""
        rows = Z * np.sqrt(self.signal_share(1)).astype(Z.dtype)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def _map_rows(X: Rows, mean: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Compute (X - mean) @ matrix block by block, (n, d) float32."""
    mapped, single = np.empty(X.shape, np.float32), matrix.astype(np.float32)
    for start in range(0, len(X), BLOCK_ROWS):
        centred = (X[start : start + BLOCK_ROWS] - mean).astype(np.float32)  # nothing cancels after this
        np.matmul(centred, single, out=mapped[start : start + BLOCK_ROWS])
    return mapped


def root_lengths(Z: NDArray[Floating]) -> NDArray[Floating]:
    """Take the square root of the length of each row, (n,)."""
    return np.sqrt(np.maximum(np.linalg.norm(Z, axis=1), Z.dtype.type(1e-6)))


def reach(excess: NDArray[Any], noise: NDArray[np.float64]) -> NDArray[Any]:
    """Average squared values beyond what is expected, (..., d), over the axes, in units of noise."""
    return excess @ noise / (noise @ noise)


def signal_space(
    X: Rows, k: int = 5, graph: NeighbourGraph | None = None, nearest: Nearest | None = None
) -> SignalSpace:
    """Learn the space of signal of these rows; noise is how some of them differ from their k nearest.

    Parameters
    ----------
    X : (n, d) array
        Feature vectors, all finite.
    k : int, optional
        Neighbours between which noise is measured.
    graph : NeighbourGraph, optional
        Of X, where there is one; without it, or if it has fewer neighbours, they are looked for.
    nearest : callable, optional
        Looks for them. By default a search that finds nearly all.

    Returns
    -------
    SignalSpace
        The space.
    """
    with one_blas_thread():  # products here are too small for threads
        return _signal_space(X, min(k, len(X) - 1), graph, nearest or _nearly_nearest)


def _nearly_nearest(X: Rows, rows: NDArray[np.intp], k: int) -> NDArray[np.int64]:
    return NeighbourSearch(X, RECALL, 0, None).nearest_to(X[rows], rows, k)[0]


def _signal_space(X: Rows, k: int, graph: NeighbourGraph | None, nearest: Nearest) -> SignalSpace:
    mean, covariance, _ = ledoit_wolf(X)
    whitening = whitening_of(mean, covariance).matrix
    whitening = np.diag(whitening) if whitening.ndim == 1 else whitening
    rows = np.linspace(0, len(X) - 1, min(len(X), N_ROWS_COMPARED)).astype(np.intp)
    centred = LinearMap(mean, whitening)
    Z = centred.apply(X[rows])
    if graph is not None and graph.n_neighbours >= k:
        near = graph.indices[rows, :k].astype(np.int64)
    else:
        near = nearest(X, rows, k)
    differences = Z[:, None] - centred.apply(X[near.ravel()]).reshape(*near.shape, -1)
    share, axes = np.linalg.eigh(_noise_covariance(differences.reshape(-1, X.shape[1])))
    share /= max(np.quantile(share, NOISIEST), LEAST_NOISE_UNIT)
    noise = np.clip(share, LEAST_SHARE, MOST_SHARE)
    usual_reach = float(np.quantile(reach((Z @ axes) ** 2 - 1, noise), USUAL))
    return SignalSpace(mean, whitening @ axes, noise, usual_reach)


def _noise_covariance(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the covariance of differences between neighbours, each counted by its shape (Tyler 1987).

    By their size the faintest spectra alone would decide.
    """
    n, d = differences.shape
    ridge = 1e-9 * np.eye(d)
    W = differences.T @ differences / (2 * n) + ridge
    for _ in range(N_ROUNDS):
        size = (differences @ np.linalg.inv(W) * differences).sum(axis=1) / (2 * d)
        size = np.maximum(size, max(0.05 * float(np.median(size)), 1e-12))
        W = (differences / size[:, None]).T @ differences / (2 * n) + ridge
    return W


@dataclass(frozen=True, eq=False)
class Signal:
    """Of the rows of one feature matrix."""

    n_rows: int
    space: SignalSpace
    graph: NeighbourGraph | None
    """In this space; None for more than WIDE rows."""
    given: NeighbourGraph | None
    """In the features as given; None for more than WIDE rows."""
    cells: Mapping[str, Cells] | None = None
    """What `group_in_cells` made of the rows in each of SPACES; None for no more than WIDE rows, and where rows are
    searched elsewhere."""
    search: RowSearch | None = None
    """Finds rows elsewhere than on the CPU."""


def signal_of_rows(X: Rows, k: int = 5, elsewhere: Elsewhere | None = None) -> Signal:
    """Find the space of signal of rows, for several `Auto` on the same rows.

    Parameters
    ----------
    X : (n, d) array
        Feature vectors, all finite.
    k : int, optional
        Neighbours between which noise is measured.
    elsewhere : Elsewhere, optional
        Finds neighbours. By default the CPU, by a search that is nearly exact.

    Returns
    -------
    Signal
        The space, the graph in it, and the one in the features as given.
    """
    neighbours = None if elsewhere is None else elsewhere.graph
    if len(X) <= WIDE:
        given = join_graph(X, len(X), neighbours)
        space = signal_space(X, k, given)
        return Signal(len(X), space, join_graph(space.all_units(X), len(X), neighbours), given)
    some = np.sort(np.random.default_rng(0).choice(len(X), WIDE, replace=False))
    if elsewhere is not None:
        space = signal_space(X[some], k, nearest=elsewhere.nearest)
        return Signal(len(X), space, None, None, search=elsewhere.among(X, space))
    space = signal_space(X[some], k)
    k_and_self = n_neighbours(len(X)) + 1
    rows = {"signal": unit_rows(X, space), "given": X}
    cells = {name: group_in_cells(rows[name], X, k_and_self, RECALL_IN_CELLS, seed=0) for name in SPACES}
    return Signal(len(X), space, None, None, cells)


def join_graph(rows: Rows, n: int, neighbours: Callable[[Rows, int], NeighbourGraph] | None = None) -> NeighbourGraph:
    """Find the neighbours of rows.

    Parameters
    ----------
    rows : (m, d) array
        A whole survey, or a part of one.
    n : int
        Rows of the whole survey, which decides how many neighbours each row gets.
    neighbours : callable, optional
        Makes the graph from rows and a number of neighbours. By default a search that finds nearly all of them.

    Returns
    -------
    NeighbourGraph
        Of the m rows, with `n_neighbours(n)` neighbours each.
    """
    if neighbours is not None:
        return neighbours(rows, n_neighbours(n))
    # every query joins a part anew, and has it in a quarter of the time where not all of its rows are compared
    exact_below = None if len(rows) == n else PARTS_EXACT_BELOW
    return build_neighbours(rows, n_neighbours(n), target_recall=RECALL, exact_below=exact_below)


def n_neighbours(n: int) -> int:
    """Choose how many neighbours each of n rows has: too few in a large survey would split a kind into islands."""
    return min(int(np.ceil(n**0.25)), n - 1)


def unusualness(X: Rows, space: SignalSpace) -> Scores:
    """Measure how unusual rows are, (n,): their squared length after whitening, as far as it is signal."""
    share, values = space.signal_share(1), np.empty(len(X))
    for start in range(0, len(X), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        values[block] = space.whiten(X[block]) ** 2 @ share
    return values


@dataclass(frozen=True, eq=False)
class _UnitRows:
    """Stands for an (n, d) float32 array of which rows are taken."""

    X: Rows
    space: SignalSpace

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.X.shape
        return n, d

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        return self.space.all_units(self.X[rows])


def unit_rows(X: Rows, space: SignalSpace) -> Rows:
    """Give all rows of X as unit rows without computing them all: they are made when some are taken."""
    return cast(Rows, _UnitRows(X, space))
