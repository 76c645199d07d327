"""Auto: several ways to rank, each trusted as far as it finds the known examples again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rarespec.rankers._auto_filters import along, expanded_direction, mean_direction
from rarespec.rankers._auto_kernels import MAX_OTHERS, POWERS, centres_of, kernel_values, kernel_weights
from rarespec.rankers._auto_push import push_weights
from rarespec.rankers._auto_query import Query, query_of, some
from rarespec.rankers._known import Rows
from rarespec.rankers._linear import BLOCK_ROWS, weighted_sums
from rarespec.rankers._parameters import require_count
from rarespec.rankers._ranker import Ranker, Scores
from rarespec.rankers._signal_space import SignalSpace, signal_space
from rarespec.rankers.neighbours import NeighbourGraph, build_neighbours

PRIOR = {"linear": 1.0, "expanded": 2.0, "broad": 1.0, "narrow": 0.3, "push": 0.5}
"""Weight of each part before any known example has been hidden."""

ALONE = ("linear", "expanded", "push")
"""Parts that are used with one known example: what a kernel learns from one is where the one lies."""

TEMPER = 0.35
"""Power of the evidence: places of hidden examples under different parts are far from independent."""

MAX_EVIDENCE = 10
"""Hidden examples that count, at most."""

NEGLIGIBLE = 1e-3
"""Share below which a part is left out."""

WORDS = {
    "linear": "the mean of the known cleared of noise",
    "expanded": "the same with the best candidates added",
    "broad": "likeness to each known example",
    "narrow": "close likeness to each known example",
    "push": "BaggingTopPush",
}


class Auto(Ranker):
    """Rank by the weighted sum of 1 / sqrt(rank) over the ranks that several parts give.

    A row that one trusted part puts high comes high: with a mean of ranks, or of their logarithms, the worst part
    decides.

    Each part is weighted by how well it finds known examples that are hidden from it, one at a time, and by a prior,
    which alone decides when one example is known. `why_` says which were used.

    - "linear": the mean of the known in whitened space, cleared of noise by Wiener's filter; the noise is measured on
      differences between neighbours in the survey. A single example is mostly noise, and this helps it most.
    - "expanded": the same, with the best hundred candidates added to the known: a mean of many is free of noise.
    - "broad", "narrow": ridge regressions with a kernel, which can follow a class of several unlike families.
    - "push": BaggingTopPush on the features as given, for classes that whitening would hide.

    Parameters
    ----------
    n_neighbours : int >= 1, default 5
        Of the graph on which noise is measured.
    graph : NeighbourGraph, optional
        The neighbour graph of the rows that will be fitted; by default it is built.
    random_state : int, RandomState or None, default 0
        Draws the rows that stand for the survey, and the bags.

    Attributes
    ----------
    weights_ : dict of part -> share, which sum to 1
    hidden_places_ : dict of part -> (h,) float64, places of the known examples that were hidden, 1 = first
    hidden_scores_ : (h,) float64, the scores that these places give
    why_ : str, the same in words

    Not to be confused with `rarespec.evaluation.Tuned`, which chooses the parameters of one ranker.
    """

    weights_: dict[str, float]
    hidden_places_: dict[str, NDArray[np.float64]]
    hidden_scores_: NDArray[np.float64]
    why_: str
    mean_: NDArray[np.float64]
    whitening_: NDArray[np.float64]
    axes_: NDArray[np.float64]
    noise_: NDArray[np.float64]
    parts_: dict[str, NDArray[np.float64]]
    centres_: NDArray[np.float32]
    levels_: dict[str, NDArray[np.float64]]

    def __init__(self, n_neighbours: int = 5, graph: NeighbourGraph | None = None, random_state: Any = 0) -> None:
        self.n_neighbours = n_neighbours
        self.graph = graph
        self.random_state = random_state

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        require_count(self, "n_neighbours")
        space = signal_space(X, known, self._neighbours(X))
        self.mean_, self.whitening_, self.axes_, self.noise_ = space.mean, space.whitening, space.axes, space.noise
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self._learn(query_of(space, X, space.all_whitened(X), known, seed))
        self.weights_ = _weights(self.hidden_places_)
        self.levels_ = {name: np.sort(scores[~known]) for name, scores in self._part_scores(X).items()}
        self.hidden_scores_ = _fused(self.hidden_places_, self.weights_)
        self.why_ = _in_words(self.weights_, self.hidden_places_)

    def _learn(self, query: Query) -> None:
        """What each part learned, and how it finds the hidden known examples."""
        learned = {"linear": mean_direction(query), "expanded": expanded_direction(query)}
        self.centres_ = np.empty((0, query.Z.shape[1]), np.float32)
        if len(query.known) > 1:
            units, centres = query.space.unit_rows(query.Z), centres_of(query)
            others = some(query.unlabelled, MAX_OTHERS, query.rng)
            self.centres_ = units[centres]
            learned |= {name: kernel_weights(query, units, centres, others, power) for name, power in POWERS.items()}
        learned["push"] = push_weights(query)
        self.parts_ = {name: weights for name, (weights, _) in learned.items()}
        self.hidden_places_ = {name: places for name, (_, places) in learned.items()}

    def _scores(self, X: Rows) -> Scores:
        ranks = {name: _ranks(scores, self.levels_[name]) for name, scores in self._part_scores(X).items()}
        return _fused(ranks, self.weights_)

    def _part_scores(self, X: Rows) -> dict[str, Scores]:
        """Scores of all rows under each part that has a weight."""
        scores = {name: np.empty(len(X)) for name, weight in self.weights_.items() if weight > 0}
        for start in range(0, len(X), BLOCK_ROWS):
            block = X[start : start + BLOCK_ROWS]
            Z = self._space.whitened(block)
            for name in scores:
                scores[name][start : start + BLOCK_ROWS] = self._scores_of_block(name, block, Z)
        return scores

    def _scores_of_block(self, name: str, X: Rows, Z: NDArray[np.float64]) -> Scores:
        weights = self.parts_[name]
        if name == "push":
            return weighted_sums(X, weights)
        if name in POWERS:
            return np.asarray(kernel_values(self._space.unit_rows(Z), self.centres_, POWERS[name]) @ weights)
        return along(Z, weights)

    @property
    def _space(self) -> SignalSpace:
        return SignalSpace(self.mean_, self.whitening_, self.axes_, self.noise_)

    def _neighbours(self, X: Rows) -> NDArray[np.int32]:
        k = min(self.n_neighbours, len(X) - 1)
        graph = build_neighbours(X, k) if self.graph is None else self.graph
        if len(graph) != len(X):
            raise ValueError(f"graph: it has {len(graph)} rows and X has {len(X)}; build it on this X")
        return graph.nearest(k).indices


def _fused(ranks: Mapping[str, NDArray[np.float64]], weights: Mapping[str, float]) -> Scores:
    """Scores of rows that have these ranks under the parts."""
    return np.log(sum(weight / np.sqrt(ranks[name]) for name, weight in weights.items() if weight > 0))


def _ranks(scores: Scores, levels: Scores) -> Scores:
    """Rank of each score among the unlabelled ones, whose scores `levels` are rising; in between, in between.

    Above them all ranks go on from 1 towards 0, so that rows that no fitted one reaches are still told apart.
    """
    ranks = np.interp(scores, levels, np.arange(len(levels), 0.0, -1.0))
    spread = levels[-1] - levels[len(levels) // 2]
    beyond = scores > levels[-1]
    ranks[beyond] = 1 / (1 + (scores[beyond] - levels[-1]) / spread) if spread > 0 else 0.5
    return ranks


def _weights(places: dict[str, NDArray[np.float64]]) -> dict[str, float]:
    """Prior times the places of hidden examples to a power; those that would hardly count are set to 0."""
    evidence = {
        name: float(np.log(found).mean()) * min(len(found), MAX_EVIDENCE)
        for name, found in places.items()
        if len(found)
    }
    used = evidence or dict.fromkeys(ALONE, 0.0)
    logs = {name: np.log(PRIOR[name]) - TEMPER * used[name] for name in used}
    shares = {name: float(np.exp(log - max(logs.values()))) for name, log in logs.items()}
    shares = {name: share if share > NEGLIGIBLE else 0.0 for name, share in shares.items()}
    return {name: shares.get(name, 0.0) / sum(shares.values()) for name in places}


def _in_words(weights: dict[str, float], places: dict[str, NDArray[np.float64]]) -> str:
    used = sorted((name for name in weights if weights[name] >= 0.01), key=lambda name: -weights[name])
    shares = ", ".join(f"{WORDS[name]} ({weights[name]:.0%}{_found(places[name])})" for name in used)
    if any(len(found) for found in places.values()):
        return f"combined by how well hidden known examples are found again (median place): {shares}"
    return f"one known example cannot be hidden, so these are combined as experience suggests: {shares}"


def _found(places: NDArray[np.float64]) -> str:
    return f", {np.median(places):.0f}" if len(places) else ""
