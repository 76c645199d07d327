"""BipartiteBoosting: RankBoost over thresholds, with labels that spread to unlabelled rows by similarity."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rarespec.rankers.linear_map import SCALINGS, linear_map
from rarespec.rankers.parameters import is_from_0_to_1, require, require_count, require_one_of, require_share
from rarespec.rankers.ranker import Ranker, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows
from rarespec.rankers.svm.kernel import squared_distances

# ---- Steps at thresholds of single features: binning, the search for the best one, and sums of many.


Array = NDArray[np.float64]
Bins = NDArray[np.uint8]
"""(d, n): for each feature and row, the number of that feature's candidate thresholds below the value."""

N_THRESHOLDS = 255
"""Candidates for each feature; a bin number then fits one byte."""
N_SAMPLE = 65536
"""Rows, evenly spaced, whose quantiles give the candidates."""
LARGEST_LOGIT = 9.0


def candidate_thresholds(X: Rows) -> Array:
    """(d, 255) float64, rising along each feature, from the smallest 1e-4 of the values to the largest 1e-4.

    They lie closer together in the tails (evenly in the logit of the quantile), for rare rows are found there.
    """
    levels = expit(np.linspace(-LARGEST_LOGIT, LARGEST_LOGIT, N_THRESHOLDS))
    sample = X[:: max(1, len(X) // N_SAMPLE)]
    return np.stack([np.quantile(column.astype(np.float64), levels) for column in sample.T])


def bin_numbers(X: Rows, thresholds: Array) -> Bins:
    """Where each value of X lies among its feature's thresholds, (d, n) uint8: value > thresholds[b] if bin > b."""
    bins = np.empty(X.shape[::-1], dtype=np.uint8)
    for start in range(0, len(X), BLOCK_ROWS):
        for feature, column in enumerate(X[start : start + BLOCK_ROWS].T):
            bins[feature, start : start + BLOCK_ROWS] = np.searchsorted(thresholds[feature], column)
    return bins


def best_step(bins: Bins, signed_weights: Array) -> tuple[int, int, float]:
    """Feature, candidate and edge of the step that tells positive from negative weights best.

    The edge of a step is the sum of the signed weights, (n,), above its threshold: from -1 to 1 if the positive weights
    sum to 1 and the negative ones to -1, as is assumed here. The first of the largest absolute edges is taken.
    """
    edges = np.empty((len(bins), N_THRESHOLDS))
    for feature, numbers in enumerate(bins):
        in_bin = np.bincount(numbers, weights=signed_weights, minlength=N_THRESHOLDS + 1)
        edges[feature] = -np.cumsum(in_bin)[:-1]  # above a threshold = all (0) less those below it
    best = np.unravel_index(np.argmax(np.abs(edges)), edges.shape)
    return int(best[0]), int(best[1]), float(edges[best])


def step_sums(X: Rows, features: NDArray[np.intp], thresholds: Array, weights: Array) -> Array:
    """Sum the weights of the steps that each row passes.

    Parameters
    ----------
    X : (n, d) array
        Rows.
    features : (t,) int
        Feature of each step.
    thresholds : (t,) float64
        A row passes a step when its feature exceeds this.
    weights : (t,) float64
        Weight of each step.

    Returns
    -------
    (n,) float64
        The sums.
    """
    tables = [_table(thresholds[features == feature], weights[features == feature]) for feature in np.unique(features)]
    sums = np.zeros(len(X))
    for start in range(0, len(X), BLOCK_ROWS):
        block, block_sums = X[start : start + BLOCK_ROWS], sums[start : start + BLOCK_ROWS]
        for feature, (sorted_thresholds, totals) in zip(np.unique(features), tables, strict=True):
            block_sums += totals[np.searchsorted(sorted_thresholds, block[:, feature])]
    return sums


def _table(thresholds: Array, weights: Array) -> tuple[Array, Array]:
    """One feature's steps as a staircase: thresholds, (k,), sorted, and the height between them, (k + 1,)."""
    order = np.argsort(thresholds, kind="stable")
    return thresholds[order], np.concatenate([[0.0], np.cumsum(weights[order])])


# ---- bipartite boosting


LEAST_EDGE = 1e-12
"""A step whose edge is smaller tells nothing apart."""


class BipartiteBoosting(Ranker):
    """A sum of steps, each at a threshold of one feature, learned so that the known rank above distant rows.

    The loss is that of RankBoost: the sum over pairs of a positive i and a negative j of p_i q_j exp(f(x_j) - f(x_i)),
    with weights p and q that sum to 1 each, so that both sides count the same however many they are. Each round adds
    the step that lowers it most. Unlike the linear rankers it can single out a box in a few features, and it does not
    care about the scale of a feature; but it needs more examples, and it knows only the axes it is given.

    Amini et al. (2008) let an unlabelled row take the label of the labelled row that it is most like, and minimise the
    loss on labelled and such rows together, the latter discounted. They have labelled negatives; here only positives
    are known, so that this is an adaptation:

    - the `n_similar` unlabelled rows nearest to each known example count as positives, at a discount;
    - all other unlabelled rows are negatives, the farther from every known example, the more so: the nearest share
      `doubtful` of them has a weight that rises with the rank of the distance, from almost 0 to 1.

    Parameters
    ----------
    n_rounds : int, default 100
        Steps at most.
    learning_rate : float, default 0.3
        What is taken of each step's best weight, above 0, up to 1 (RankBoost). Less learns slower and generalises
        better from few examples.
    n_similar : int, default 3
        Rows that count as positives, for each known example; 0 for none. More helps with one to three known examples
        and harms once there are tens. All together they are never more than half of the unlabelled rows.
    discount : float, default 0.5
        Total weight of the similar rows, relative to the known.
    doubtful : float, default 0.5
        Share of the other unlabelled rows, the nearest first, that have less than full weight; 0 for none.
    scaling : "whiten" (default), "standard" or "none"
        Of the rows between which distances are measured, learned from the unlabelled ones. The steps themselves refer
        to X as given.

    Attributes
    ----------
    features_ : (t,) int
        Feature of each step, t <= `n_rounds`: fewer if no step tells anything any more.
    thresholds_ : (t,) float64
        Threshold of each step.
    weights_ : (t,) float64
        Added to the score of a row whose feature is above the threshold; negative where low values are wanted.
    ranking_loss_ : (t,) float64
        The loss after each round; it starts at 1.

    Notes
    -----
    The candidates for thresholds are 255 quantiles of each feature. Rows between the same thresholds have equal scores.

    References
    ----------
    M.-R. Amini, T.-V. Truong, C. Goutte (2008), "A boosting algorithm for learning bipartite ranking functions with
    partially labeled data", SIGIR, 99.
    Y. Freund, R. Iyer, R. E. Schapire, Y. Singer (2003), "An efficient boosting algorithm for combining preferences",
    JMLR 4, 933: RankBoost.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import BipartiteBoosting
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(BipartiteBoosting().fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    features_: NDArray[np.intp]
    thresholds_: Array
    weights_: Array
    ranking_loss_: Array

    def __init__(
        self,
        n_rounds: int = 100,
        learning_rate: float = 0.3,
        n_similar: int = 3,
        discount: float = 0.5,
        doubtful: float = 0.5,
        scaling: Literal["whiten", "standard", "none"] = "whiten",
    ):
        self.n_rounds = n_rounds
        self.learning_rate = learning_rate
        self.n_similar = n_similar
        self.discount = discount
        self.doubtful = doubtful
        self.scaling = scaling

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._check_parameters()
        self._boost(X, *self._initial_weights(X, known))

    def _scores(self, X: Rows) -> Scores:
        return step_sums(X, self.features_, self.thresholds_, self.weights_)

    def _initial_weights(self, X: Rows, known: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Weights of the rows as positives and as negatives, (n,) each, each with sum 1."""
        nearest, similar = self._neighbourhood(X, known)
        positive = np.where(known, 1 / np.count_nonzero(known), 0.0)
        positive[similar] = self.discount / max(1, len(similar))
        negative = (~known).astype(np.float64)
        negative[similar] = 0
        rows = np.flatnonzero(negative)
        rows = rows[np.argsort(nearest[rows], kind="stable")]
        n_doubtful = int(np.ceil(self.doubtful * len(rows)))
        negative[rows[:n_doubtful]] = np.arange(1, n_doubtful + 1) / max(1, n_doubtful)
        return positive / positive.sum(), negative / negative.sum()

    def _neighbourhood(self, X: Rows, known: NDArray[np.bool_]) -> tuple[Array, NDArray[np.intp]]:
        """Squared distance of each row to the nearest known one, (n,), and the unlabelled rows most like the known."""
        scaled = linear_map(self.scaling, X, ~known)
        examples = scaled.apply(X[known])
        nearest, near_rows, near_distances = np.empty(len(X)), [], []
        for start in range(0, len(X), BLOCK_ROWS):
            distances = squared_distances(scaled.apply(X[start : start + BLOCK_ROWS]), examples)
            nearest[start : start + BLOCK_ROWS] = distances.min(axis=1)
            distances[known[start : start + BLOCK_ROWS]] = np.inf
            rows = np.argsort(distances, axis=0, kind="stable")[: self.n_similar]
            near_rows.append(rows + start)
            near_distances.append(np.take_along_axis(distances, rows, axis=0))
        return nearest, self._similar(np.concatenate(near_rows), np.concatenate(near_distances), int((~known).sum()))

    def _similar(self, rows: NDArray[np.intp], distances: Array, n_unlabelled: int) -> NDArray[np.intp]:
        """Of the candidates, (k, m), the nearest few for each of the m known: row numbers, without repetition."""
        best = np.argsort(distances, axis=0, kind="stable")[: self.n_similar]
        rows, distances = np.take_along_axis(rows, best, axis=0), np.take_along_axis(distances, best, axis=0)
        unlabelled = np.isfinite(distances)
        order = np.argsort(distances[unlabelled], kind="stable")
        _, first = np.unique(rows[unlabelled][order], return_index=True)
        return rows[unlabelled][order][np.sort(first)[: n_unlabelled // 2]]

    def _boost(self, X: Rows, positive: Array, negative: Array) -> None:
        """RankBoost; the weights of pairs stay products of `positive` and `negative`, which are changed in place."""
        candidates = candidate_thresholds(X)
        bins = bin_numbers(X, candidates)
        steps, losses, loss = [], [], 1.0
        # an edge of 1 (the known are above, all others below) would have infinite weight
        smoothing = 1 / len(X)
        for _ in range(self.n_rounds):
            feature, candidate, edge = best_step(bins, positive - negative)
            if abs(edge) < LEAST_EDGE:
                break
            weight = self.learning_rate * 0.5 * np.log((1 + edge + smoothing) / (1 - edge + smoothing))
            above = bins[feature] > candidate
            positive[above] *= np.exp(-weight)
            negative[above] *= np.exp(weight)
            loss *= positive.sum() * negative.sum()
            positive /= positive.sum()
            negative /= negative.sum()
            steps.append((feature, candidates[feature, candidate], weight))
            losses.append(loss)
        self.features_ = np.array([feature for feature, _, _ in steps], dtype=np.intp)
        self.thresholds_ = np.array([threshold for _, threshold, _ in steps], dtype=np.float64)
        self.weights_ = np.array([weight for _, _, weight in steps], dtype=np.float64)
        self.ranking_loss_ = np.array(losses, dtype=np.float64)

    def _check_parameters(self) -> None:
        require_count(self, "n_rounds")
        require_one_of(self, "scaling", SCALINGS)
        require_count(self, "n_similar", least=0)
        require_share(self, "learning_rate")
        for name in ("discount", "doubtful"):
            require(self, name, is_from_0_to_1(getattr(self, name)), "a number from 0 to 1")
