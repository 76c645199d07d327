"""Label propagation: what is known spreads along the edges of the neighbour graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, dia_array, eye_array
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from rarespec.rankers.graph.conjugate_gradients import Block, Operator, OrderedMatrix, Solution, solve, solve_in_blocks
from rarespec.rankers.graph.graph_ranker import NeighbourGraphRanker
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph, neighbours_of
from rarespec.rankers.parameters import is_positive, require, require_count, require_share
from rarespec.rankers.ranker import Kept, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows

SELF_TUNED = "self-tuned"
MAX_ITER = 10_000
"""Far beyond what is needed: 200 to 520 products at 30 150 rows with alpha = 0.99."""

SMALLEST_WEIGHT = 1e-280
"""Weights below count as none: a division by them would overflow, and near the smallest numbers digits are lost."""


@dataclass(frozen=True)
class Diffusion:
    """A weighted graph ready for queries."""

    matrix: OrderedMatrix
    """(n, n) I - alpha S, symmetric positive definite."""
    degrees: NDArray[np.float64]
    """(n,) row sums of W; 1 for a row without edges."""
    component: NDArray[np.int32]
    """(n,) which connected part of the weighted graph each row is in."""


class LabelPropagation(NeighbourGraphRanker):
    """Rank rows by (I - alpha S)^-1 y: learning with local and global consistency.

    y is 1 on the known rows and 0 elsewhere; S = D^-1/2 W D^-1/2, where W has exp(-d^2 / 2 sigma^2) between each row
    and its nearest neighbours, in both directions, 0 elsewhere and on the diagonal, and D holds its row sums. Solved
    by conjugate gradients; the iteration f <- alpha S f + y of the paper has the same limit, and needs ten times as
    many steps to come as near.

    Parameters
    ----------
    n_neighbours : int, default 5
        Neighbours of each row; the value with which carbon stars were searched in SDSS (Si et al. 2014).
    sigma : float or "self-tuned", default 1.0
        Width of the weights in units of X; 1 is the value of the same search. It must suit the distances: where they
        are many times sigma, weights vanish and rows are cut off. "self-tuned" takes exp(-d^2 / (s_i s_j)) instead,
        where s_i is the distance from row i to the last of its neighbours (Zelnik-Manor & Perona 2004 take the 7th).
    alpha : float, default 0.99
        How far known examples reach, between 0 (nowhere) and 1 (excluded); the value of the paper.
    tol : float, default 1e-10
        The system is solved until the residual y - (I - alpha S) f of every row is within tol of that row's score.
        Scores are then accurate to about tol / (1 - alpha) relative to themselves, and rows are in the order of the
        exact solution, down to 1e-40 of the highest score. (For weights of both signs, scores may cancel, and tol
        counts against the largest.) A tolerance against |y|, as is usual, takes 130 to 140 products at 30 150 rows
        instead of 200 to 520, and leaves the order of faint scores to rounding: half of the scores are below 3e-6 of
        the highest with sigma = 1 there, and below 1e-19 with 0.3.
    graph : NeighbourGraph, optional
        The neighbour graph of the rows that will be fitted, with at least `n_neighbours`; by default it is built.

    Attributes
    ----------
    scores_ : (n,) float64
        Scores of the fitted rows, not negative.
    fitted_rows_ : (n, d)
        The rows, for placing new ones among them.
    scales_ : (n,) float64 or None
        s_i of each row when self-tuned.
    n_iter_ : int
        Products with S.
    residual_ : float
        |y - (I - alpha S) f| / |f|.
    n_isolated_ : int
        Rows whose weights all vanished; a warning says so.
    n_unreached_ : int
        Rows to which no path leads from a known example, isolated ones among them.

    Notes
    -----
    Rows that no known example reaches score exactly 0, and all others more than 0. The graph says nothing about
    them: they come last, in the order of X.

    A new row gets the mean of the scores of its nearest fitted rows, weighted by W (Delalleau, Bengio & Le Roux 2005,
    equation 7). That is the value of least cost for W itself; for S it would be alpha sum_j w_j f_j / sqrt(d_x d_j),
    which ranked held-out rows no better where that was tried. The mean lacks alpha and the pull towards y = 0, so new
    rows score higher than they would as fitted rows, the more so the fewer rows were fitted. The graph itself is not
    changed by them.

    Not to be confused with scikit-learn's LabelPropagation and LabelSpreading, which normalise over classes: with known
    examples of one class only, they give every row the score 1.

    References
    ----------
    D. Zhou et al. 2004, Learning with Local and Global Consistency, NIPS 16.
    L. Zelnik-Manor & P. Perona 2004, Self-Tuning Spectral Clustering, NIPS 17.
    O. Delalleau, Y. Bengio & N. Le Roux 2005, Efficient Non-Parametric Function Induction, AISTATS.
    J. Si et al. 2014, Search for carbon stars and DZ white dwarfs in SDSS spectra survey through machine learning.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import LabelPropagation
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(LabelPropagation(n_neighbours=3, sigma="self-tuned").fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    scales_: NDArray[np.float64] | None
    n_iter_: int
    residual_: float
    n_isolated_: int
    n_unreached_: int

    def __init__(
        self,
        n_neighbours: int = 5,
        sigma: float | str = 1.0,
        alpha: float = 0.99,
        tol: float = 1e-10,
        graph: NeighbourGraph | None = None,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.sigma = sigma
        self.alpha = alpha
        self.tol = tol
        self.graph = graph

    def _prepare(self, X: Rows, kept: Kept) -> Diffusion:
        self._check_parameters()
        graph = self._graph_for(X, self.n_neighbours, kept)
        self.scales_ = local_scales(graph) if self.sigma == SELF_TUNED else None
        weights = edge_weights(graph, self.sigma, self.scales_)
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        _, component = connected_components(weights, directed=False)
        self.n_isolated_ = int((degrees == 0).sum())
        self._warn_of_isolated(len(X))
        degrees[degrees == 0] = 1.0
        scaling = dia_array((1.0 / np.sqrt(degrees)[None, :], [0]), shape=weights.shape)
        system = eye_array(len(X), format="csr") - self.alpha * (scaling @ weights @ scaling)
        return Diffusion(OrderedMatrix.of(system), degrees, component)

    def _solve(self, ready: Diffusion, Y: NDArray[np.float64], fitting: bool = False) -> NDArray[np.float64]:
        solution = solve_in_blocks(ready.matrix, Y, self._solve_block)
        if not solution.converged.all():
            _warn_of_residuals(solution.residuals, self.tol)
        reached = find_reached_rows(ready.component, Y)
        if fitting:
            self.n_iter_, self.residual_ = int(solution.n_iter[0]), float(solution.residuals[0])
            self.n_unreached_ = int((~reached).sum())
        return _above_unreached(solution.x, Y, reached)

    def _solve_block(self, Y: Block, times: Operator) -> Solution:
        """(I - alpha S) f = y, by way of (I + alpha S)(I - alpha S) f = (I + alpha S) y.

        That has half the spread of eigenvalues: half as many iterations of two products, and half of all other work.
        """

        def plus(V: Block) -> Block:
            return 2.0 * V - times(V)  # I + alpha S = 2 I - (I - alpha S)

        return solve(lambda V: times(plus(V)), plus(Y), np.zeros_like(Y), rtol=self.tol, max_iter=MAX_ITER)

    def _scores_of_new_rows(self, X: Rows) -> Scores:
        k = min(self.n_neighbours, len(self.fitted_rows_))
        indices, distances = neighbours_of(self.fitted_rows_, X, k)
        exponents = _exponents(distances, indices, self.sigma, distances[:, -1].astype(np.float64), self.scales_)
        weights = np.exp(exponents.min(axis=1, keepdims=True) - exponents)  # the largest is 1: they cannot all vanish
        return (weights * self.scores_[indices]).sum(axis=1) / weights.sum(axis=1)

    def _check_parameters(self) -> None:
        require_count(self, "n_neighbours")
        tuned = self.sigma == SELF_TUNED
        require(self, "sigma", tuned or is_positive(self.sigma), f"a number > 0 or {SELF_TUNED!r}")
        require(
            self, "alpha", self.alpha == 0 or (is_positive(self.alpha) and self.alpha < 1), "at least 0 and below 1"
        )
        require_share(self, "tol")

    def _warn_of_isolated(self, n: int) -> None:
        if self.n_isolated_:
            warnings.warn(
                f"{self.n_isolated_} of {n} rows are disconnected: their distances are so much larger than sigma = "
                f"{self.sigma} that all their weights vanish, and they score 0 unless known; "
                f'try sigma="{SELF_TUNED}"',
                stacklevel=4,
            )


def edge_weights(
    graph: NeighbourGraph, sigma: float | str, scales: NDArray[np.float64] | None = None, dtype: Any = np.float64
) -> csr_array:
    """Compute W: exp(-d^2 / 2 sigma^2), or exp(-d^2 / s_i s_j), on the edges in both directions.

    Parameters
    ----------
    graph : NeighbourGraph
        The edges and their lengths d.
    sigma : float or "self-tuned"
        Width of the weights.
    scales : (n,) float64, optional
        s_i of each row, instead of sigma.
    dtype : dtype, optional
        Of the weights.

    Returns
    -------
    csr_array
        W, (n, n).
    """
    n, k = graph.indices.shape
    weights = np.empty((n, k), dtype)
    for start in range(0, n, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        own = None if scales is None else scales[rows]
        weights[rows] = np.exp(-_exponents(graph.distances[rows], graph.indices[rows], sigma, own, scales))
    weights[weights < SMALLEST_WEIGHT] = 0.0
    one_way = csr_array((weights.ravel(), graph.indices.ravel(), np.arange(n + 1) * k), (n, n))
    both_ways = csr_array(one_way.maximum(one_way.T))
    both_ways.eliminate_zeros()
    return both_ways


def _exponents(
    distances: NDArray[np.float32],
    indices: NDArray[np.int32],
    sigma: float | str,
    own_scales: NDArray[np.float64] | None,
    scales: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """d^2 / 2 sigma^2, or d^2 / s_i s_j, (m, k), finite: divided before anything is squared."""
    far = distances.astype(np.float64)
    with np.errstate(over="ignore"):
        if scales is None or own_scales is None:
            exponents = 0.5 * (far / float(sigma)) ** 2
        else:
            exponents = far / own_scales[:, None] * (far / scales[indices])
    return np.minimum(exponents, np.finfo(np.float64).max)


def local_scales(graph: NeighbourGraph) -> NDArray[np.float64]:
    """s_i, (n,): the distance to the last neighbour; where that is 0 among duplicates, the median of the others."""
    scales = graph.distances[:, -1].astype(np.float64) if graph.n_neighbours else np.zeros(len(graph))
    positive = scales > 0
    scales[~positive] = np.median(scales[positive]) if positive.any() else 1.0
    return scales


def find_reached_rows(component: NDArray[np.int32], Y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n, q) bool: rows whose connected part holds a row that the query names."""
    reached = np.zeros((component.max(initial=0) + 1, Y.shape[1]), np.bool_)
    rows, queries = np.nonzero(Y)
    reached[component[rows], queries] = True
    return reached[component]


def _above_unreached(
    scores: NDArray[np.float64], Y: NDArray[np.float64], reached: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Rounding must not put a reached row at or below 0, where no score of a query without negative weights can be."""
    positive = reached & (Y.min(axis=0) >= 0)
    return np.where(positive, np.maximum(scores, np.finfo(np.float64).tiny), scores)


def _warn_of_residuals(residuals: NDArray[np.float64], tol: float) -> None:
    warnings.warn(
        f"a query was not solved to tol = {tol:.1e} in every row; its residual is {residuals.max():.1e} of its scores "
        "as a whole: a larger tol or a smaller alpha is within reach",
        ConvergenceWarning,
        stacklevel=5,
    )


# ---- Manifold ranking: label propagation read as ranking around one or several queries.


class ManifoldRanking(LabelPropagation):
    """Rank rows by their place on the manifold around the known examples, which are its queries.

    What it learns has the names of `LabelPropagation`.

    Notes
    -----
    How it differs from `LabelPropagation`. The operator is the same, and so is the score (I - alpha S)^-1 y: given
    equal parameters the two rank alike. The papers differ in what they feed it with:

    - Manifold ranking has queries and no classes; several queries are several ones in y, as here.
    - Its graph joins pairs in order of distance until all rows are connected, or joins all pairs. That takes n^2
      distances, so the graph of nearest neighbours stands in for it here. It may have several parts; rows in a part
      without a query score 0 and come last, in the order of X.
    - Its weights are wider: sigma = 1.25 in the experiment on handwritten digits.
    - It has an unnormalised variant, (D - alpha W)^-1 y = D^-1/2 (I - alpha S)^-1 D^-1/2 y, here with
      `normalised=False`: scores are not multiplied by the root of the degree, so rows with weak edges rank higher.

    Parameters
    ----------
    n_neighbours : int, default 5
        As in `LabelPropagation`.
    sigma : float or "self-tuned", default 1.25
        As in `LabelPropagation`; the value of the paper.
    alpha : float, default 0.99
        As in `LabelPropagation`.
    normalised : bool, default True
        Whether W is divided by the degrees on both sides, as in the paper's algorithm.
    tol : float, default 1e-10
        As in `LabelPropagation`.
    graph : NeighbourGraph, optional
        As in `LabelPropagation`.

    References
    ----------
    D. Zhou, J. Weston, A. Gretton, O. Bousquet & B. Schölkopf 2004, Ranking on Data Manifolds, NIPS 16.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import ManifoldRanking
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(ManifoldRanking(n_neighbours=3, sigma="self-tuned").fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        n_neighbours: int = 5,
        sigma: float | str = 1.25,
        alpha: float = 0.99,
        normalised: bool = True,
        tol: float = 1e-10,
        graph: NeighbourGraph | None = None,
    ) -> None:
        super().__init__(n_neighbours, sigma, alpha, tol, graph)
        self.normalised = normalised

    def _solve(self, ready: Diffusion, Y: NDArray[np.float64], fitting: bool = False) -> NDArray[np.float64]:
        if self.normalised:
            return super()._solve(ready, Y, fitting)
        roots = np.sqrt(ready.degrees)[:, None]
        return super()._solve(ready, Y / roots, fitting) / roots
