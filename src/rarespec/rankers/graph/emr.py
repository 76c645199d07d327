"""Efficient manifold ranking: manifold ranking on a graph that runs through anchors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, dia_array
from sklearn.utils import check_random_state

from rarespec.rankers.graph.graph_ranker import GraphRanker
from rarespec.rankers.neighbours.exact import exact_nearest, in_threads
from rarespec.rankers.parameters import is_positive, require, require_count
from rarespec.rankers.ranker import Kept, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows, row_digests

# ---- Anchors: a few points that stand for all rows, and the weights that tie each row to those near it.
#
# Notation (Xu et al. 2011, section 3): p anchors u_k, the r nearest of which carry a row x; z_k = K(|x - u_k| / h)
# with the Epanechnikov kernel K(t) = 3/4 (1 - t^2) for t <= 1, and h the distance from x to the r-th nearest
# anchor.


Anchors = NDArray[np.float64]
"""(p, d) float64."""

ROWS_AT_ONCE = 1024
"""Rows compared with all anchors at a time: their similarities stay in the cache of one core."""


def draw_anchors(X: Rows, n_anchors: int, random: np.random.RandomState) -> Anchors:
    """Draw rows as anchors, no two equal.

    They are drawn from the rows in an order that their contents decide, so the order of X does not matter.

    Parameters
    ----------
    X : (n, d) array
        The rows.
    n_anchors : int
        Anchors, at most: each different row is drawn once.
    random : numpy.random.RandomState
        Decides the draw.

    Returns
    -------
    (p, d) float64
        The anchors; fewer than n_anchors when X has fewer different rows.
    """
    _, first_of_equals = np.unique(row_digests(X), return_index=True)
    drawn = random.permutation(len(first_of_equals))[:n_anchors]
    return X[first_of_equals[drawn]].astype(np.float64)


def k_means(X: Rows, anchors: Anchors, n_iterations: int) -> Anchors:
    """Move anchors to the means of the rows nearest to them, again and again (Lloyd's iterations).

    Not scikit-learn's KMeans, which is as fast: it adds up rows per thread, so digits could depend on their number.

    Parameters
    ----------
    X : (n, d) array
        The rows.
    anchors : (p, d) float64
        Where they start.
    n_iterations : int
        Rounds, at most: it stops as soon as nothing moves.

    Returns
    -------
    (p, d) float64
        The anchors. One that no row is nearest to stays where it is.
    """
    for _ in range(n_iterations):
        sums, counts = _sums_by_anchor(X, anchors)
        occupied = counts > 0
        moved = anchors.copy()
        moved[occupied] = sums[occupied] / counts[occupied, None]
        if np.array_equal(moved, anchors):
            break
        anchors = moved
    return anchors


def _sums_by_anchor(X: Rows, anchors: Anchors) -> tuple[Anchors, NDArray[np.int64]]:
    """Sum (p, d) and number (p,) of the rows nearest to each anchor, added up in the order of X."""
    nearest = nearest_anchor(X, anchors)
    sums = np.zeros_like(anchors)
    for start in range(0, len(X), ROWS_AT_ONCE):
        block = X[start : start + ROWS_AT_ONCE].astype(np.float64)
        sums += _one_in_each_row(nearest[start : start + len(block)], len(anchors)).T @ block
    return sums, np.bincount(nearest, minlength=len(anchors))


def nearest_anchor(X: Rows, anchors: Anchors) -> NDArray[np.int64]:
    """Find the anchor nearest to each row, (n,): that of the largest u.x - |u|^2 / 2, about the anchors' mean."""
    nearest, centre = np.empty(len(X), np.int64), anchors.mean(axis=0)
    scale = float(np.abs(anchors - centre).max()) or 1.0  # squares of large or small values stay in range
    u = ((anchors - centre) / scale).T
    half_squares = 0.5 * (u**2).sum(axis=0)

    def fill(start: int) -> int:
        similarities = ((X[start : start + ROWS_AT_ONCE] - centre) / scale) @ u
        similarities -= half_squares
        similarities.argmax(axis=1, out=nearest[start : start + ROWS_AT_ONCE])
        return start

    for _ in in_threads(fill, range(0, len(X), ROWS_AT_ONCE), None):
        pass
    return nearest


def _one_in_each_row(columns: NDArray[np.int64], n_columns: int) -> Any:
    n = len(columns)
    return csr_array((np.ones(n), columns, np.arange(n + 1)), (n, n_columns))


def anchor_weights(X: Rows, anchors: Anchors, n_nearest: int) -> csr_array:
    """Compute Z: how strongly each row is tied to the anchors nearest to it.

    A row at distance 0 from all its anchors has no bandwidth; it gets the kernel's largest value, 3/4, on each.

    Parameters
    ----------
    X : (n, d) array
        The rows.
    anchors : (p, d) float64
        The anchors.
    n_nearest : int
        Anchors that a row is tied to, at most p. The farthest of them sets the bandwidth and so has weight 0.

    Returns
    -------
    (n, p) sparse float64
        Z, with n_nearest entries in each row; rows are not normalised.
    """
    indices, distances = exact_nearest(anchors, X, n_nearest)
    bandwidths = distances[:, -1:]
    relative = np.divide(distances, bandwidths, out=np.zeros_like(distances), where=bandwidths > 0)
    weights = 0.75 * (1.0 - relative**2)
    shape = len(X), len(anchors)
    return csr_array((weights.ravel(), indices.ravel().astype(np.int32), np.arange(len(X) + 1) * n_nearest), shape)


@dataclass(frozen=True)
class AnchorGraph:
    """The rows' ties to the anchors, ready for queries."""

    H: csr_array
    """(n, p) D^-1/2 Z."""
    cholesky: NDArray[np.float64]
    """(p, p) lower factor of I / alpha - H'H, which is positive definite."""


class EMR(GraphRanker):
    """Rank rows by f = y - H (H'H - I / alpha)^-1 H'y: manifold ranking where rows meet through anchors only.

    Anchors are centres of k-means. A row is tied to the r nearest anchors, with the weights z = 3/4 (1 - (d / h)^2)
    of the Epanechnikov kernel, h being the distance to the r-th (whose weight is therefore 0). Two rows are as similar
    as their weights: W = ZZ', whose degrees are D = Z(Z'1), and H = D^-1/2 Z. The score is that of manifold ranking,
    (I - alpha HH')^-1 y, by the identity of Woodbury: one p x p system, factored once, then O(n r + p^2) a query.

    Parameters
    ----------
    n_anchors : int, default 1000
        p; the value of the authors' experiments. Where X has fewer different rows, each is an anchor, and a warning
        says so.
    n_nearest : int, default 5
        r, from 2 up; the value of the authors' code. At most as many as there are anchors.
    alpha : float, default 0.99
        How far known examples reach, between 0 (nowhere) and 1 (excluded); the value of the paper.
    n_kmeans_iterations : int, default 5
        Lloyd's iterations from anchors drawn among the rows, as in the authors' code. 0 leaves them as drawn.
    random_state : int, RandomState or None
        Seed of the draw. The result depends on it, but neither on threads nor, beyond rounding, on the order of rows.

    Attributes
    ----------
    scores_ : (n,) float64
        Scores of the fitted rows; but for rounding not negative.
    fitted_rows_ : (n, d)
        The rows.
    anchors_ : (p, d) float64
        Centres of k-means.
    anchor_sums_ : (p,) float64
        Z'1, the weight tied to each anchor: new rows take their degree from it.
    anchor_scores_ : (p,) float64
        (I / alpha - H'H)^-1 H'y, what the query gives each anchor.
    n_unconnected_ : int
        Fitted rows of degree 0: their r anchors are all equally far, so every weight is 0. They score y.

    Notes
    -----
    A new row is scored by its weights on the same anchors, z, as Xu et al. do: z / sqrt(z . anchor_sums_) times
    anchor_scores_. It is not added to Z and D, so that other scores stay as they are. A new row whose weights vanish
    scores 0, as any row does which shares no anchor, over any number of steps, with a known one.

    Centres of k-means make this an approximation of rank p, in the manner of Nyström: two rows differ only by their
    weights on at most r - 1 anchors. That is its weakness for rare objects. Anchors lie where rows are many; a rare
    class smaller than a cluster (n / p rows) shares its anchors with common rows, and cannot be set apart. Which
    anchors are drawn then matters much: try another seed. More anchors help, at p^3 for the factor and n p for the
    weights. Another weakness is the bandwidth: it adapts to each row, so an outlier holds on to far anchors as firmly
    as a typical row does to near ones.

    References
    ----------
    B. Xu et al. 2011, Efficient Manifold Ranking for Image Retrieval, SIGIR.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import EMR
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(EMR(n_anchors=20, random_state=0).fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    anchors_: NDArray[np.float64]
    anchor_sums_: NDArray[np.float64]
    anchor_scores_: NDArray[np.float64]
    n_unconnected_: int

    def __init__(
        self,
        n_anchors: int = 1000,
        n_nearest: int = 5,
        alpha: float = 0.99,
        n_kmeans_iterations: int = 5,
        random_state: Any = None,
    ) -> None:
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.alpha = alpha
        self.n_kmeans_iterations = n_kmeans_iterations
        self.random_state = random_state

    def _prepare(self, X: Rows, kept: Kept) -> AnchorGraph:
        self._check_parameters()
        drawn = draw_anchors(X, self.n_anchors, check_random_state(self.random_state))
        self._warn_of_few(len(drawn))
        self.anchors_ = k_means(X, drawn, self.n_kmeans_iterations)
        Z = self._weights(X)
        self.anchor_sums_ = Z.sum(axis=0)
        H, degrees = scale_by_degree(Z, self.anchor_sums_)
        self.n_unconnected_ = int((degrees == 0).sum())
        system = np.eye(len(self.anchors_)) / self.alpha - (H.T @ H).toarray()
        return AnchorGraph(H, cho_factor(system, lower=True, overwrite_a=True)[0])

    def _weights(self, X: Rows) -> csr_array:
        return anchor_weights(X, self.anchors_, min(self.n_nearest, len(self.anchors_)))

    def _solve(self, ready: AnchorGraph, Y: NDArray[np.float64], fitting: bool = False) -> NDArray[np.float64]:
        anchor_scores = cho_solve((ready.cholesky, True), ready.H.T @ Y)
        if fitting:
            self.anchor_scores_ = anchor_scores[:, 0]
        scores = ready.H @ anchor_scores
        scores += Y
        return scores

    def _scores_of_new_rows(self, X: Rows) -> Scores:
        scores = np.empty(len(X))
        for start in range(0, len(X), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            H, _ = scale_by_degree(self._weights(X[block]), self.anchor_sums_)
            scores[block] = H @ self.anchor_scores_
        return scores

    def _check_parameters(self) -> None:
        require_count(self, "n_anchors", "n_nearest", least=2)
        require_count(self, "n_kmeans_iterations", least=0)
        require(self, "alpha", is_positive(self.alpha) and self.alpha < 1, "above 0 and below 1")

    def _warn_of_few(self, n_drawn: int) -> None:
        if n_drawn < self.n_anchors:
            warnings.warn(
                f"n_anchors = {self.n_anchors}: X has only {n_drawn} different rows, so each is an anchor",
                stacklevel=4,
            )


def scale_by_degree(Z: csr_array, anchor_sums: NDArray[np.float64]) -> tuple[csr_array, NDArray[np.float64]]:
    """Compute H = D^-1/2 Z with D = Z anchor_sums, and D as (n,); a row of degree 0 has a row of 0 in H."""
    degrees = Z @ anchor_sums
    scaling = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return csr_array(dia_array((scaling[None, :], [0]), shape=(len(degrees), len(degrees))) @ Z), degrees
