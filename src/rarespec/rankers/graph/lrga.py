"""Local regression and global alignment: scores that are nearly linear in the features around every row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.linalg import splu
from sklearn.exceptions import ConvergenceWarning

from rarespec.rankers.graph.conjugate_gradients import Block, Operator, OrderedMatrix, Solution, solve, solve_in_blocks
from rarespec.rankers.graph.graph_ranker import NeighbourGraphRanker
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph, neighbours_of
from rarespec.rankers.parameters import is_positive, require, require_count, require_positive, require_share
from rarespec.rankers.ranker import Kept, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows

# ---- LRGA's two steps: local regressions of the scores on the features, and the scores that agree best with all of
# them.
#
# Notation (Yang et al. 2009, section 3): N_i the k rows nearest to row i and itself; X_i their vectors as columns,
# centred by H = I - 11'/k; A_i = lam H (lam I + H X_i'X_i H)^-1 H, the cost f'A_i f of a ridge regression of the
# scores f on the vectors, which by the identity of Woodbury is their H - H X_i'(X_i H X_i' + lam I)^-1 X_i H; S_i
# picks N_i out of all rows; L = sum S_i A_i S_i'. U is diagonal with the weight w on known rows and 1 elsewhere; f
# solves (L + U) f = U y. Every query has a U of its own.


RANK_TOLERANCE = 1e-14
"""Eigenvalues that are a smaller share of the largest are rounding: features do not vary in that direction."""

MOST_KNOWN_DIRECTLY = 64
"""Known rows up to which a query goes through the factors: each costs one solution, and a column of n values."""


def gram_spectrum(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute eigenvalues (m, k), rounding set to 0, and eigenvectors (m, k, k) of V V' for each V of (m, k, d)."""
    values, directions = np.linalg.eigh(vectors @ vectors.transpose(0, 2, 1))
    values[values <= RANK_TOLERANCE * values[:, -1:]] = 0.0
    return values, directions


def local_costs(X: Rows, neighbourhoods: NDArray[np.int32], lam: float) -> NDArray[np.float64]:
    """Compute A_i of some neighbourhoods, from k x k matrices however many features there are.

    Parameters
    ----------
    X : (n, d) array
        All rows.
    neighbourhoods : (m, k) int32
        Row numbers of each neighbourhood, the row itself among them.
    lam : float
        Strength of the ridge, in units of squared features.

    Returns
    -------
    (m, k, k) float64
        The A_i, symmetric.
    """
    k = neighbourhoods.shape[1]
    H = np.eye(k) - 1.0 / k
    vectors = X[neighbourhoods].astype(np.float64)
    vectors -= vectors.mean(axis=1, keepdims=True)
    # A_i = H (I + X_i'X_i / lam)^-1 H, through the eigenvalues of X_i'X_i; vectors of size 1 cannot overflow it
    sizes = _sizes(vectors)
    values, directions = gram_spectrum(vectors / sizes)
    with np.errstate(over="ignore"):
        strengths = np.minimum((sizes[:, :, 0] / np.sqrt(lam)) ** 2, np.finfo(np.float64).max)
        shares = 1.0 / (1.0 + values * strengths)
    costs = H @ (directions * shares[:, None, :]) @ directions.transpose(0, 2, 1) @ H
    return np.asarray(0.5 * (costs + costs.transpose(0, 2, 1)))


def _sizes(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest value of each neighbourhood, (m, 1, 1); 1 where all are 0."""
    sizes = np.abs(vectors).max(axis=(1, 2), keepdims=True)
    sizes[sizes == 0] = 1.0
    return sizes


def alignment_matrix(X: Rows, neighbourhoods: NDArray[np.int32], lam: float) -> csr_array:
    """Compute L, the sum of the costs of all neighbourhoods.

    Parameters
    ----------
    X : (n, d) array
        The rows.
    neighbourhoods : (n, k) int32
        Row numbers of the neighbourhood of each row, the row itself among them.
    lam : float
        Strength of the ridge, in units of squared features.

    Returns
    -------
    (n, n) sparse float64
        L, symmetric and positive semidefinite.
    """
    n, k = neighbourhoods.shape
    costs = np.empty((n, k, k))
    for start in range(0, n, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        costs[block] = local_costs(X, neighbourhoods[block], lam)
    rows, columns = np.repeat(neighbourhoods, k, axis=1), np.tile(neighbourhoods, k)
    # coordinates that occur several times are added up, which is the sum over i
    return csr_array(coo_array((costs.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n)))


def regress_scores(
    X_new: Rows, X_fit: Rows, scores: NDArray[np.float64], neighbourhoods: NDArray[np.int32], lam: float
) -> NDArray[np.float64]:
    """Evaluate, at each new row, the ridge regression of the scores of its neighbourhood.

    Parameters
    ----------
    X_new : (m, d) array
        New rows.
    X_fit : (n, d) array
        Fitted rows.
    scores : (n,) float64
        Their scores.
    neighbourhoods : (m, k) int32
        Fitted rows nearest to each new row.
    lam : float
        Strength of the ridge.

    Returns
    -------
    (m,) float64
        Scores of the new rows.
    """
    vectors = X_fit[neighbourhoods].astype(np.float64)
    centres = vectors.mean(axis=1)
    vectors -= centres[:, None, :]
    from_centres = (X_new - centres)[:, None, :]
    sizes = np.maximum(_sizes(vectors), _sizes(from_centres))
    vectors /= sizes
    values, directions = gram_spectrum(vectors)
    local = scores[neighbourhoods]
    means = local.mean(axis=1)
    pull = (from_centres / sizes) @ vectors.transpose(0, 2, 1) @ directions
    slopes = (local - means[:, None])[:, None, :] @ directions
    with np.errstate(over="ignore"):
        ridge = np.minimum((np.sqrt(lam) / sizes) ** 2, np.finfo(np.float64).max)
    varies = values[:, None, :] > 0
    added = np.divide(pull * slopes, ridge + values[:, None, :], out=np.zeros_like(pull), where=varies)
    return np.asarray(means + added.sum(axis=(1, 2)))


@dataclass(frozen=True)
class AlignmentSystem:
    """L + I, to which each query adds the weight of its known rows."""

    matrix: OrderedMatrix
    """(n, n) L + I, symmetric, no eigenvalue below 1."""
    factors: Any
    """SuperLU's of the matrix, or None."""

    def __reduce__(self) -> tuple[Any, ...]:  # SuperLU's objects cannot be copied; they are made anew
        return _system_of, (self.matrix, self.factors is not None)


def alignment_system(L: csr_array, factored: bool) -> AlignmentSystem:
    """Set up L + I. Factors make queries much faster; their time and memory grow faster than the number of rows."""
    return _system_of(OrderedMatrix.of(L + eye_array(L.shape[0], format="csr")), factored)


def _system_of(matrix: OrderedMatrix, factored: bool) -> AlignmentSystem:
    if not factored:
        return AlignmentSystem(matrix, None)
    columns, ordering = matrix.matrix.tocsc(), {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
    return AlignmentSystem(matrix, splu(columns, **ordering))


def align(system: AlignmentSystem, Y: Block, query_weight: float, rtol: float, max_iter: int) -> Solution:
    """Solve (L + U) f = U y for each column y of Y, with U = query_weight where y is not 0, and 1 elsewhere.

    It uses conjugate gradients, preconditioned by the diagonal; from 0, or from the solution through the factors where
    there are any: `n_iter` is 0 where these alone were exact enough. `residuals` bound the relative error of f, as no
    eigenvalue of L + U is below 1.

    Parameters
    ----------
    system : AlignmentSystem
        L + I.
    Y : (n, q) float64
        Queries.
    query_weight : float
        How firmly known rows are held to y.
    rtol : float
        Residual of every row, relative to its score, at which a query is done.
    max_iter : int
        Products at most.

    Returns
    -------
    Solution
        Scores (n, q), and how good they are.
    """
    diagonal = system.matrix.matrix.diagonal()[:, None]

    def aligned(y: Block, times: Operator) -> Solution:
        known, extra = np.nonzero(y), query_weight - 1.0

        def times_with_query(P: Block) -> Block:
            Q = times(P)
            Q[known] += extra * P[known]
            return Q

        return solve(
            times_with_query,
            query_weight * y,
            through_factors(system.factors, y, query_weight),
            rtol=rtol,
            max_iter=max_iter,
            inverse_diagonal=1.0 / (diagonal + extra * (y != 0)),
        )

    return solve_in_blocks(system.matrix, Y, aligned)


def through_factors(factors: Any, Y: Block, query_weight: float) -> Block:
    """Solve queries of few known rows through the factors of L + I.

    Notation: E the columns of I of the m known rows, y_P their y, w the query weight. As (L + I + (w - 1) EE') f
    = w E y_P, f is G c with G = (L + I)^-1 E and (I + (w - 1) E'G) c = w y_P.

    Parameters
    ----------
    factors : scipy.sparse.linalg.SuperLU or None
        Of L + I; None where it was not factored.
    Y : (n, q) float64
        Queries, 0 on unlabelled rows.
    query_weight : float
        How firmly known rows are held to y.

    Returns
    -------
    (n, q) float64
        Scores; 0 without factors, and for queries of more than MOST_KNOWN_DIRECTLY known rows.
    """
    F = np.zeros_like(Y)
    for f, y in zip(F.T, Y.T, strict=True):
        known = np.flatnonzero(y)
        if factors is None or not 0 < len(known) <= MOST_KNOWN_DIRECTLY:
            continue
        E = np.zeros((len(y), len(known)), order="F")
        E[known, np.arange(len(known))] = 1.0
        G = factors.solve(E)
        c = np.linalg.solve(np.eye(len(known)) + (query_weight - 1.0) * G[known], query_weight * y[known])
        f[:] = np.einsum("ij,j->i", G, c)
    return F


MAX_ITER = 20_000
"""Far beyond what is needed: 550 at 100 450 rows, with the extra factor."""

FACTORED_BELOW = 20_000
"""Rows up to which a matrix with the extra factor is factored.

It takes half a second at 20 000 rows of a survey, and 20 seconds at 100 000. Factors are fuller where neighbours are
random: 14 000 rows of 50 independent features took 5 seconds.
"""


class LRGA(NeighbourGraphRanker):
    """Rank rows by scores that a ridge regression on the features fits well around every row.

    Each row and its nearest neighbours carry a local regression of their scores on their features. What it cannot fit
    is its cost, f'A_i f; L sums the costs of all neighbourhoods. The scores solve (L + U) f = U y: y is 1 on the known
    rows and 0 elsewhere, U is diagonal, `query_weight` on the known rows and 1 elsewhere.

    Parameters
    ----------
    n_neighbours : int, default 5
        Rows of a neighbourhood, the row itself among them; from 2 up. 5 is taken over from label
        propagation, and not a value of the paper.
    regularisation : float, default 1e4
        lam of the local regressions, in units of squared features; the value of the authors' code. See the notes.
    query_weight : float, default 1e4
        How firmly known rows are held to 1, from 1 up; the value of the authors' code.
    extra_factor : bool, default True
        Whether L is multiplied by lam, as the authors' code does and their paper does not. It decides more than any
        other parameter: see the notes.
    rtol : float, default 1e-8
        A query is solved until the residual of every row is within rtol of that row's score. A tolerance against the
        right-hand side, as is usual, leaves most scores undecided, as these are many orders of magnitude smaller. With
        the extra factor rounding alone is of the order 1e-16 lam: from lam = 1e7 on the default is out of reach, and a
        warning says what was reached.
    graph : NeighbourGraph, optional
        The neighbour graph of the rows that will be fitted, with at least n_neighbours - 1; by default it is built.

    Attributes
    ----------
    scores_ : (n,) float64
        Scores of the fitted rows.
    fitted_rows_ : (n, d)
        The rows, for placing new ones among them.
    n_iter_ : int
        Products with L.
    residual_ : float
        |U y - (L + U) f| / |f|, which bounds the relative error of the scores as a whole.

    Notes
    -----
    The paper calls the result insensitive to lam. It is where lam is far above the squared distances between
    neighbours: then A_i is I - 11'/k, nothing is regressed, and L is the Laplacian of the graph in which neighbourhoods
    are cliques. With the paper's features (min-max flux, 50 components) 1e4 is such a value. Without the extra factor
    the ranking gets worse from lam = 1 downwards, where costs are small against the pull of y = 0. With it lam is the
    strength of L as well, and never without effect.

    Without the extra factor the cost of y = 0 on unlabelled rows weighs as much as the neighbours, and scores fall by
    about an order of magnitude with every step along the graph. With it and lam = 1e4 scores are nearly constant on
    what is well connected. With one known example that is mostly better, with 10 or more neither wins everywhere
    (`lrga` and `lrga_as_printed` in benchmarks/rankings.py).

    Rows in parts of the graph without a known example score exactly 0. Where lam is large all others have a positive
    exact score, and so do the scores found, down to 1e-40 of the highest: fainter ones can be 0, or lose their order.
    Where lam is small, local regressions can extrapolate to scores below 0.

    The paper has no rule for new rows. Here a new row gets the value, at its place, of the ridge regression of the
    scores of its `n_neighbours` nearest fitted rows: the paper's local model, without the pull towards y = 0. With the
    extra factor that is close to what the row would score if it were fitted; without it, it is higher.

    Below 20 000 rows L is factored once when it has the extra factor; otherwise queries are solved by conjugate
    gradients, about 80 iterations without the extra factor and 550 with it at 100 450 rows.

    References
    ----------
    Y. Yang et al. 2009, Ranking with Local Regression and Global Alignment for Cross Media Retrieval, ACM Multimedia.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import LRGA
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(LRGA(n_neighbours=4).fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    n_iter_: int
    residual_: float

    def __init__(
        self,
        n_neighbours: int = 5,
        regularisation: float = 1e4,
        query_weight: float = 1e4,
        extra_factor: bool = True,
        rtol: float = 1e-8,
        graph: NeighbourGraph | None = None,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.regularisation = regularisation
        self.query_weight = query_weight
        self.extra_factor = extra_factor
        self.rtol = rtol
        self.graph = graph

    def _prepare(self, X: Rows, kept: Kept) -> AlignmentSystem:
        self._check_parameters()
        others = self._graph_for(X, self.n_neighbours - 1, kept).indices
        themselves = np.arange(len(X), dtype=np.int32)[:, None]
        L = alignment_matrix(X, np.concatenate([themselves, others], axis=1), self.regularisation)
        if not self.extra_factor:  # scores fall too fast for factors to be exact in each, and iterations are few
            return alignment_system(L, factored=False)
        return alignment_system(L * self.regularisation, factored=len(X) < FACTORED_BELOW)

    def _solve(self, ready: AlignmentSystem, Y: NDArray[np.float64], fitting: bool = False) -> NDArray[np.float64]:
        alignment = align(ready, Y, self.query_weight, self.rtol, MAX_ITER)
        if not alignment.converged.all():
            _warn_of_residuals(alignment.residuals, self.rtol)
        if fitting:
            self.n_iter_, self.residual_ = int(alignment.n_iter[0]), float(alignment.residuals[0])
        return alignment.x

    def _scores_of_new_rows(self, X: Rows) -> Scores:
        k = min(self.n_neighbours, len(self.fitted_rows_))
        neighbourhoods, _ = neighbours_of(self.fitted_rows_, X, k)
        scores = np.empty(len(X))
        for start in range(0, len(X), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            scores[block] = regress_scores(
                X[block], self.fitted_rows_, self.scores_, neighbourhoods[block], self.regularisation
            )
        return scores

    def _check_parameters(self) -> None:
        require_count(self, "n_neighbours", least=2)
        require_positive(self, "regularisation")
        require(self, "query_weight", is_positive(self.query_weight) and self.query_weight >= 1, "a number >= 1")
        require_share(self, "rtol")


def _warn_of_residuals(residuals: NDArray[np.float64], rtol: float) -> None:
    warnings.warn(
        f"a query was not solved to rtol = {rtol:.1e} in every row; the error of its scores as a whole is at most "
        f"{residuals.max():.1e} of their size, but small scores may be out of order",
        ConvergenceWarning,
        stacklevel=5,
    )
