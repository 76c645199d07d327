"""Auto: several ways to rank, each trusted as far as it finds the known examples again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rarespec.engines.here import one_blas_thread
from rarespec.rankers.auto.machine import Lesson, Machine, lesson_of_list, teach
from rarespec.rankers.auto.parts import Begun, KeptRows, along, begin_query, begin_together, parts_of, wide_parts
from rarespec.rankers.auto.query import Query
from rarespec.rankers.auto.rows import Prepared, Wide, rows_with
from rarespec.rankers.auto.signal import Signal, SignalSpace, signal_of_rows, unusualness
from rarespec.rankers.auto.trust import (
    AT_THE_EDGE,
    NEGLIGIBLE,
    confirm,
    fuse,
    in_words,
    leaning,
    levels_and_ranks,
    rank_from_end,
    ranks_among,
    trust,
)
from rarespec.rankers.auto.walks import ASTRAY
from rarespec.rankers.neighbours.exact import in_threads
from rarespec.rankers.parameters import require_count
from rarespec.rankers.ranker import Flags, Kept, Needs, PreparingRanker, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows, check_rows, same_rows
from rarespec.rankers.svm.kernel import resolve_gamma

MAX_JUDGED = 20_000
"""First rows of the list that "taught" judges: what is further down it would hardly move."""


class Auto(PreparingRanker):
    """Rank by the weighted sum of 1 / sqrt(rank + n / 300) over the ranks that several parts give to n rows.

    A row that one trusted part puts high comes high: with a mean of ranks, or of their logarithms, the worst part
    decides.

    Each part is weighted by how well it finds known examples that are hidden from it, one at a time, and by a prior.
    With one known example none can be hidden, and the prior decides. `why_` says which were used.

    - "signal": the chance that a walk from neighbour to neighbour meets a known example, where neighbours are found
      after whitening and without noise. It follows sequences, and families each of which has a known example.
    - "given": the same among neighbours in the features as given, for kinds that whitening would hide.
    - "expanded": the mean of the known and of the best candidates, after whitening in part: axes along which the
      survey hardly varies are not blown up. It finds a tight family from an example that is mostly noise.
    - "taught": a support vector machine around the known and the first rows of the list that the other parts make, as
      far as walks are sure of these, and as far as it finds hidden examples as well as they do. It finds members with
      odd neighbours, and sends back rows of other kinds that walks from an odd member run into.

    A single known example at the edge of its kind has neighbours of other kinds. Walks that start there do not come
    back to it. The less they do, the more the first few rows under "expanded" count as known too; `advice` then asks
    for another example.

    y may hold -1 for rows that are known not to be of the kind: walks learn from them, and none is a candidate.
    They also tell whether members are more unusual rows than what was refused, or less so.

    Parameters
    ----------
    n_neighbours : int >= 1, default 5
        Between which noise is measured.
    signal : Signal, optional
        The space of signal of the rows that will be fitted, and their graphs, from `signal_of_rows`; by default they
        are found.
    random_state : int, RandomState or None, default 0
        Draws the rows among which hidden ones are placed.

    Attributes
    ----------
    weights_ : dict of str to float
        Share of each part; they sum to 1.
    hidden_places_ : dict of str to (h,) float64
        Places that each part gives the known examples that were hidden; 1 = first.
    hidden_scores_ : (h,) float64
        The scores that these places give.
    returns_ : float
        Chance that a walk from a known example, in the space of signal, comes back to a known one. Below 0.25 a single
        example lies at the edge of its kind.
    machine_ : dict of str to array
        What "taught" has learned; empty where it has no weight.
    leaning_ : float
        How much is added to the score of a row for being unusual; 0 where nothing was refused.
    why_ : str
        The same in words.

    Notes
    -----
    "signal" and "given" are found for the fitted rows as a whole. A new row gets the mean of the nearest of those that
    are kept, at most ten thousand.

    Of more than 200 000 rows, walks follow those that they reach from the known ones and those most alike to them in
    either space, some 20 000 in all, and "expanded" learns from 100 000 that are drawn. Beside X that takes some 100
    bytes a row and, while neighbours are looked for, in each space once more as much as X for the rows of the cells
    that walks come near.

    References
    ----------
    X. Zhu, Z. Ghahramani & J. Lafferty 2003, Semi-Supervised Learning Using Gaussian Fields and Harmonic Functions.
    L. Zelnik-Manor & P. Perona 2004, Self-Tuning Spectral Clustering, NIPS 17.

    Not to be confused with `rarespec.evaluation.Tuned`, which chooses the parameters of one ranker.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import Auto
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(Auto().fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    learns_from_non_members = True

    weights_: dict[str, float]
    hidden_places_: dict[str, NDArray[np.float64]]
    hidden_scores_: NDArray[np.float64]
    why_: str
    mean_: NDArray[np.float64]
    whitening_: NDArray[np.float64]
    noise_: NDArray[np.float64]
    usual_reach_: float
    directions_: dict[str, NDArray[np.float64]]
    kept_rows_: dict[str, Rows]
    kept_scores_: dict[str, Scores]
    levels_: dict[str, NDArray[np.float64]]
    returns_: float
    leaning_: float
    unusual_levels_: NDArray[np.float64]
    _fitted_rows: Rows | None = None
    """Whose scores under the parts are at hand; None for a model from a file."""

    def __init__(
        self,
        n_neighbours: int = 5,
        signal: Signal | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.signal = signal
        self.random_state = random_state

    def needs(self) -> Needs:
        """Ask for the space of signal, unless it is a parameter."""
        return Needs(signal=self.n_neighbours if self.signal is None else None)

    def edge_scores(self, X: Any) -> Scores:
        """Score rows by the chance that a walk from them meets a known example, as a logarithm.

        Unlike the scores, which come from ranks, these fall steeply where a kind ends.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite, with as many columns as in `fit`.

        Returns
        -------
        (n,) float64
            One score for each row.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        found = self._fitted["signal"] if self._was_fitted_to(rows) else self._among("signal", rows)
        return np.log(np.maximum(found, np.finfo(np.float32).tiny))

    def hidden_scores(self) -> Scores:
        """Return the scores of known examples that were hidden in turn, (h,)."""
        return self.hidden_scores_

    def words(self, n_known: int) -> str:
        """Say which parts were used, and why.

        Parameters
        ----------
        n_known : int
            Makes no difference here.

        Returns
        -------
        str
            `why_`.
        """
        return self.why_

    def advice(self) -> str:
        """Ask for another example where the only one lies at the edge of its kind."""
        alone = not any(len(places) for places in self.hidden_places_.values())
        return AT_THE_EDGE if alone and self.returns_ < ASTRAY else ""

    def _was_fitted_to(self, X: Rows) -> bool:
        return self._fitted_rows is not None and same_rows(X, self._fitted_rows)

    def _check_parameters(self) -> None:
        require_count(self, "n_neighbours")

    def _prepare(self, X: Rows, kept: Kept) -> Prepared | Wide:
        self._check_parameters()
        with one_blas_thread():
            signal = self.signal or kept.signal or signal_of_rows(X, self.n_neighbours)
            if signal.n_rows != len(X):
                raise ValueError(f"signal: it has {signal.n_rows} rows and X has {len(X)}; find it on this X")
            return rows_with(X, signal)

    def _prepare_queries(
        self, ready: Prepared | Wide, queries: Sequence[tuple[Flags, Flags]], n_threads: int
    ) -> Sequence[Begun | Wide]:
        if isinstance(ready, Wide):
            return [ready.afresh() for _ in queries]
        return begin_together(ready, queries, self._draw_seed(), n_threads)

    def _for_another(self, ready: Prepared | Wide) -> Prepared | Wide:
        # the surroundings of one kind are not those of another, even where it has the same examples and more
        return ready.afresh() if isinstance(ready, Wide) else ready

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _learn(self, ready: Prepared | Begun | Wide, X: Rows, known: Flags, refused: Flags) -> None:
        with one_blas_thread():
            if isinstance(ready, Prepared):
                ready = begin_query(ready, known, refused, self._draw_seed())
            self._learn_parts(ready, X, known, refused)

    def _learn_parts(self, begun: Begun | Wide, X: Rows, known: Flags, refused: Flags) -> None:
        ready = begun.query.ready if isinstance(begun, Begun) else begun
        space = ready.space
        self.mean_, self.whitening_, self.noise_ = space.mean, space.whitening, space.noise
        self.usual_reach_ = space.usual_reach
        self.part_whitening_ = space.part_whitening  # not declared above: models of earlier versions have none
        if isinstance(begun, Begun):
            query, parts = begun.query, parts_of(begun)
        else:
            query, parts = wide_parts(begun, known, refused, self._draw_seed())
        hidden = query.ready.X[query.hidden]
        self.directions_, self.hidden_places_ = parts.directions, parts.places
        self.kept_rows_ = {name: kept.rows for name, kept in parts.kept.items()}
        self.kept_scores_ = {name: kept.scores for name, kept in parts.kept.items()}
        self.returns_ = parts.returns
        self._fitted_rows = X
        self.levels_ = {}
        self._fitted = {name: self._along(name, X) for name in self.directions_} | parts.whole
        self._learn_leaning(ready, known, refused)
        unlabelled = np.flatnonzero(~known & ~refused)
        self.weights_ = trust(
            self.hidden_places_, len(unlabelled), space.seen(space.whiten(query.ready.X[query.known]))
        )
        ranks = self._rank_fitted(unlabelled, [name for name, weight in self.weights_.items() if weight > 0])
        del self._fitted["expanded"]  # its ranks are all that is needed, and of ten million rows each array counts
        ranks |= self._learn_from_list(query, X, unlabelled, np.flatnonzero(refused), ranks)
        self._fitted_scores = fuse(ranks, self.weights_, len(unlabelled))
        self.why_ = in_words(self.weights_, self.hidden_places_, self.leaning_)
        self.hidden_scores_ = fuse(self.hidden_places_, self.weights_, self._n_unlabelled) + self._lean_towards_unusual(
            hidden
        )

    def _learn_leaning(self, ready: Prepared | Wide, known: Flags, refused: Flags) -> None:
        self.leaning_, self.unusual_levels_ = 0.0, np.empty(0)
        if refused.any():
            values = self._fitted_unusual = ready.unusual
            self.unusual_levels_ = np.sort(values[~known & ~refused])
            self.leaning_ = leaning(*(rank_from_end(values[rows], self.unusual_levels_) for rows in (known, refused)))

    def _lean_towards_unusual(self, X: Rows) -> Scores:
        """What is added to the scores of rows for being unusual, (n,)."""
        if not self.leaning_:
            return np.zeros(len(X))
        values = self._fitted_unusual if self._was_fitted_to(X) else unusualness(X, self._space)
        return self.leaning_ * rank_from_end(values, self.unusual_levels_)

    def _rank_fitted(self, unlabelled: NDArray[np.intp], parts: Sequence[str]) -> dict[str, Scores]:
        """Ranks of all rows under some parts, among the unlabelled ones, whose levels are kept."""
        ranks = {}
        for name in parts:
            self.levels_[name], ranks[name] = levels_and_ranks(self._fitted[name], unlabelled)
        return ranks

    def _learn_from_list(
        self,
        query: Query,
        X: Rows,
        unlabelled: NDArray[np.intp],
        refused: NDArray[np.intp],
        ranks: Mapping[str, Scores],
    ) -> dict[str, Scores]:
        """Let the list that these ranks make teach a machine; give the ranks of all rows under it, if it counts."""
        # not declared above: models of earlier versions have none
        self.machine_: dict[str, NDArray[np.float64]] = {}
        list_scores = fuse(ranks, self.weights_, len(unlabelled))[unlabelled]
        order = unlabelled[np.argsort(-list_scores, kind="stable")]
        lesson = lesson_of_list(order, {name: self._fitted[name] for name in self.kept_rows_}, refused, query.rng)
        if lesson is None or lesson.weight < NEGLIGIBLE:
            return {}
        rows = query.ready.X
        gamma = resolve_gamma("scale", rows)
        self.hidden_places_["taught"] = _places_when_hidden(query, lesson, X, gamma, len(unlabelled))
        machine = teach(lesson, X, rows[query.known], gamma)
        self.machine_ = machine._asdict()
        self._fitted["taught"] = _judge(machine, X, order[:MAX_JUDGED], order[MAX_JUDGED:])
        weight = lesson.weight * confirm("taught", self.hidden_places_, len(unlabelled))
        self.weights_ = {name: one / (1 + weight) for name, one in (self.weights_ | {"taught": weight}).items()}
        return self._rank_fitted(unlabelled, ["taught"])

    def _scores(self, X: Rows) -> Scores:
        if self._was_fitted_to(X):
            return self._fitted_scores + self._lean_towards_unusual(X)
        ranks = {name: ranks_among(self._score_by(name, X), levels) for name, levels in self.levels_.items()}
        return fuse(ranks, self.weights_, self._n_unlabelled) + self._lean_towards_unusual(X)

    def _score_by(self, name: str, X: Rows) -> Scores:
        if name in self.directions_:
            return self._along(name, X)
        if name in self.kept_rows_:
            return self._among(name, X)
        found = _by_blocks(X, Machine(**self.machine_).scores)
        return np.maximum(found, self.levels_[name][0])  # as rows that it did not judge

    def _along(self, name: str, X: Rows) -> Scores:
        direction = self.directions_[name]
        whitening = getattr(self, "part_whitening_", self.whitening_)
        return _by_blocks(X, lambda rows: along((rows - self.mean_) @ whitening, direction))

    def _among(self, name: str, X: Rows) -> Scores:
        kept = KeptRows(self.kept_rows_[name], self.kept_scores_[name])
        if name == "given":
            return kept.scores_of(X)
        return _by_blocks(X, lambda rows: kept.scores_of(self._space.unit_rows(self._space.all_whitened(rows))))

    @property
    def _n_unlabelled(self) -> int:
        return len(next(iter(self.levels_.values())))

    @property
    def _space(self) -> SignalSpace:
        return SignalSpace(self.mean_, self.whitening_, self.noise_, self.usual_reach_)


def _judge(machine: Machine, X: Rows, first: NDArray[np.intp], left_out: NDArray[np.intp]) -> Scores:
    """Score all rows but those left out; none is below the lowest of the first, and those left out are there."""
    judged = np.ones(len(X), bool)
    judged[left_out] = False
    scores = np.full(len(X), -np.inf)
    scores[judged] = _by_blocks(X[judged] if len(left_out) else X, machine.scores)
    return np.maximum(scores, scores[first].min())


def _places_when_hidden(query: Query, lesson: Lesson, X: Rows, gamma: float, n_unlabelled: int) -> NDArray[np.float64]:
    """Place hidden rows among all unlabelled ones by a machine that knows none of them; the list has seen them."""
    if not len(query.hidden):
        return np.empty(0)
    rows = query.ready.X
    machine = teach(lesson, X, rows[np.setdiff1d(query.known, query.hidden)], gamma)
    places = query.places(_by_blocks(rows[query.compared], machine.scores)[:, None], machine.scores(rows[query.hidden]))
    return 1 + (n_unlabelled / len(query.unlabelled)) * (places - 1)


def _by_blocks(X: Rows, scores_of: Callable[[Rows], Scores]) -> Scores:
    scores = np.empty(len(X))

    def fill(start: int) -> int:
        scores[start : start + BLOCK_ROWS] = scores_of(X[start : start + BLOCK_ROWS])
        return start

    list(in_threads(fill, range(0, len(X), BLOCK_ROWS), None))
    return scores
