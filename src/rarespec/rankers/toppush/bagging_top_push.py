"""BaggingTopPush: the mean of TopPush rankers over random bags of unlabelled rows (Du et al. 2016, Algorithm 1)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rarespec.rankers.bags import bag_size_for, draw_bags, estimate_prevalence
from rarespec.rankers.linear_map import LinearMap, linear_map
from rarespec.rankers.other_arrays import as_numpy, check_other_rows, is_other_array, rows_at
from rarespec.rankers.parameters import require, require_count, warn_unless_converged
from rarespec.rankers.ranker import Flags, Kept, LinearRanker, Needs, Scores, weighted_sums
from rarespec.rankers.rows import BLOCK_ROWS, Rows, check_known, check_rows
from rarespec.rankers.toppush.problem import Solution
from rarespec.rankers.toppush.solve import ADVICE, PushSettings, check_settings, solve_bags, where_stopped
from rarespec.storage.processes import available_cores

N_TRIAL_BAGS = 20
"""Bags of each trial fit that estimates the prevalence."""


class BaggingTopPush(LinearRanker):
    """Mean of `n_bags` TopPush rankers, each of which puts all known examples above one random bag of unlabelled rows.

    The mean of linear rankers is one linear ranker, so scoring costs one weighted sum, and the weights can be drawn as
    a spectrum. Known examples are never drawn as negatives. The bags follow from the seed alone: neither threads nor
    the number of cores change the result.

    Parameters
    ----------
    n_bags : int, default 50
        T of the paper, its default.
    bag_size : int or "auto", default 200
        K of the paper, its default. A bag spoils when it holds a hidden positive, and on average it holds K times
        their share of the survey. "auto" takes K = 1 / share, between 50 and 1000, with the share estimated by hiding
        known examples in turn. It stays at 200 with fewer than five known, and when the estimate exceeds 5 %, which
        as a rule means that hidden ones are not found again: give `prevalence` for kinds that are as common as that.
        More than the number of unlabelled rows counts as all of them.
    regularisation : float, default 100
        lam of the paper, its default. It has a meaning only relative to |x|^2, X after `scaling`: the default refers
        to the paper's features, 50 principal components of spectra scaled from 0 to 1, not whitened, whose median
        distance from their mean is about 15. See `TopPush`.
    loss : {"truncated-quadratic", "exponential", "logistic"}
        As in `TopPush`.
    top_k : int, default 1
        As in `TopPush`.
    scaling : {"none", "standard", "whiten"}
        As in `TopPush`.
    solver : {"interior-point", "published"}
        As in `TopPush`.
    tol : float, optional
        As in `TopPush`.
    max_iter : int, optional
        As in `TopPush`.
    prevalence : float, optional
        Share of the wanted kind among the unlabelled rows, for bag_size="auto"; estimated when not given.
    keep_bags : bool
        Keep the weights and rows of every bag, for `spread` and `out_of_bag_scores`.
    n_jobs : int, optional
        Threads; all cores when not given.
    random_state : int, RandomState or None
        Seed of the bags.

    Attributes
    ----------
    coef_ : (d,) float64
        Mean weights, on X as given.
    duality_gap_, relative_gap_, weight_error_ : float
        The largest of all bags; see `TopPush`.
    n_iter_ : int
        Most iterations of any bag.
    converged_ : bool
        Whether all bags reached tol.
    bag_size_ : int
        Rows in each bag.
    prevalence_ : float or None
        Given or estimated; None when there was no need or no way.
    bag_coef_ : (n_bags, d) float64
        With `keep_bags`: weights of each bag.
    bag_rows_ : (n_bags, bag_size_) int
        With `keep_bags`: rows of each bag.
    origin_ : (d,) float64
        With `keep_bags`: the mean row.

    References
    ----------
    C. Du, A. Luo, H. Yang, W. Hou, Y. Guo (2016), "An efficient method for rare spectra retrieval in astronomical
    databases", PASP 128, 034502.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import BaggingTopPush
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(BaggingTopPush(n_bags=5, bag_size=20, random_state=0).fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        n_bags: int = 50,
        bag_size: int | str = 200,
        regularisation: float = 100.0,
        loss: str = "truncated-quadratic",
        top_k: int = 1,
        scaling: str = "none",
        solver: str = "interior-point",
        tol: float | None = None,
        max_iter: int | None = None,
        prevalence: float | None = None,
        keep_bags: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_bags = n_bags
        self.bag_size = bag_size
        self.regularisation = regularisation
        self.loss = loss
        self.top_k = top_k
        self.scaling = scaling
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.prevalence = prevalence
        self.keep_bags = keep_bags
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from feature vectors and known examples.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite. An array of another library, on a GPU for instance, is taken where it is:
            all bags are solved there, as one batch. What is learned is the same up to the certified gap, and held in
            NumPy arrays.
        y : (n,) array
            1 = known, 0 = unlabelled.

        Returns
        -------
        BaggingTopPush
            Itself.
        """
        if not is_other_array(X):
            return super().fit(X, y)
        rows = check_other_rows(self, X, reset=True)
        self._fit(rows, check_known(np.empty((rows.shape[0], 0)), as_numpy(y)))
        return self

    def spread(self, X: Any) -> Scores:
        """Return how much the bags differ about each row.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite.

        Returns
        -------
        (n,) float64
            Standard deviation over the bags of the row's score above that of the mean row.

        Raises
        ------
        ValueError
            If the bags were not kept; see `keep_bags`.
        """
        self._require_bags()
        rows, offsets = check_rows(self, X, reset=False), self.bag_coef_ @ self.origin_
        spread = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            spread[block] = np.std(rows[block].astype(np.float64) @ self.bag_coef_.T - offsets, axis=1)
        return spread

    def out_of_bag_scores(self, X: Any) -> Scores:
        """Score the fitted rows, each by the bags that did not draw it.

        Parameters
        ----------
        X : (n, d) array
            The matrix given to `fit`.

        Returns
        -------
        (n,) float64
            Scores. Known examples, and rows that every bag drew, have the score of all bags.

        Raises
        ------
        ValueError
            If X has another number of rows, or the bags were not kept; see `keep_bags`.
        """
        self._require_bags()
        rows = check_rows(self, X, reset=False)
        if len(rows) != self.n_rows_:
            raise ValueError(f"X has {len(rows)} rows, but fit saw {self.n_rows_}: out-of-bag scores are for those")
        # each bag's scores count from the mean row, as means over different bags need a common origin
        scores, origin = weighted_sums(rows, self.coef_), self.origin_ @ self.coef_
        total, n_left = (scores - origin) * len(self.bag_coef_), np.full(len(rows), len(self.bag_coef_))
        for w, drawn in zip(self.bag_coef_, self.bag_rows_, strict=True):
            total[drawn] -= weighted_sums(rows[drawn], w) - self.origin_ @ w
            n_left[drawn] -= 1
        return np.where(n_left > 0, total / np.maximum(n_left, 1) + origin, scores)

    def needs(self) -> Needs:
        """Ask for a copy of the rows on a GPU, where there is one."""
        return Needs(rows_on_device=True)

    def _prepare(self, X: Rows, kept: Kept) -> Any:
        return kept.rows_on_device

    def _learn(self, ready: Any, X: Rows, known: Flags, refused: Flags) -> None:
        self._fit(X if ready is None else ready, known)

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._check_parameters()
        random = check_random_state(self.random_state)
        settings, scaled = check_settings(self), linear_map(self.scaling, X, ~known)
        self.prevalence_ = self.prevalence
        if self.bag_size == "auto" and self.prevalence is None:
            self.prevalence_ = self._estimate_prevalence(X, known, scaled, settings, random)
        size = bag_size_for(self.prevalence_) if self.bag_size == "auto" else int(self.bag_size)
        bags = draw_bags(known, self.n_bags, size, random)
        solution = self._solve(X, known, bags, scaled, settings)
        self.bag_size_ = bags.shape[1]
        self._keep(X, bags, solution, scaled)
        warn_unless_converged(self.converged_, where_stopped(self.relative_gap_, settings), ADVICE)

    def _solve(
        self, X: Rows, known: NDArray[np.bool_], bags: NDArray[np.intp], scaled: LinearMap, settings: PushSettings
    ) -> Solution:
        positives = scaled.apply(as_numpy(rows_at(X, np.flatnonzero(known))))
        return solve_bags(X, positives, bags, scaled, settings, self.n_jobs or available_cores())

    def _estimate_prevalence(
        self,
        X: Rows,
        known: NDArray[np.bool_],
        scaled: LinearMap,
        settings: PushSettings,
        random: np.random.RandomState,
    ) -> float | None:
        seed = int(random.randint(np.iinfo(np.int32).max))

        def scores_with(remaining: NDArray[np.bool_]) -> Scores:
            bags = draw_bags(known, N_TRIAL_BAGS, bag_size_for(None), seed)
            trial = self._solve(X, remaining, bags, scaled, settings)
            return as_numpy(weighted_sums(X, scaled.weights_of(trial.weights.mean(axis=0))))

        return estimate_prevalence(known, scores_with, seed)

    def _keep(self, X: Rows, bags: NDArray[np.intp], solution: Solution, scaled: LinearMap) -> None:
        self.coef_ = scaled.weights_of(solution.weights.mean(axis=0))
        self.duality_gap_ = float(solution.gap.max())
        self.relative_gap_ = float(solution.relative_gap.max())
        self.weight_error_ = float(solution.weight_error(self.regularisation).max())
        self.n_iter_ = int(solution.n_iter.max())
        self.converged_ = bool(solution.converged.all())
        self.n_rows_ = X.shape[0]
        for name in ("bag_coef_", "bag_rows_", "origin_"):  # those of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        if self.keep_bags:
            self.bag_coef_ = scaled.weights_of(solution.weights)
            self.bag_rows_ = bags
            self.origin_ = as_numpy(X).mean(axis=0, dtype=np.float64)

    def _check_parameters(self) -> None:
        check_settings(self)
        require_count(self, "n_bags")
        require_count(self, "n_jobs", optional=True)
        if self.bag_size != "auto":
            require_count(self, "bag_size")
        share = self.prevalence
        require(self, "prevalence", share is None or 0 < share < 1, "None or a share between 0 and 1")

    def _require_bags(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "bag_coef_"):
            raise ValueError("the bags were not kept: fit with keep_bags=True")
