"""Local regression and global alignment: scores that are nearly linear in the features around every row."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rarespec.rankers._alignment import AlignmentSystem, align, alignment_matrix, alignment_system, regressed_scores
from rarespec.rankers.graph_ranker import NeighbourGraphRanker
from rarespec.rankers.neighbours import NeighbourGraph, neighbours_of
from rarespec.rankers.parameters import is_positive, require, require_count, require_positive, require_share
from rarespec.rankers.ranker import Kept, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows

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
    n_iter_, residual_ : int, float
        Products with L, and |U y - (L + U) f| / |f|, which bounds the relative error of the scores as a whole.

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
            scores[block] = regressed_scores(
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
