"""The contract of a ranker: feature vectors and known examples in, one score for each row out, higher = more alike.

`Ranker` is what a contributor subclasses. Callers need to know no more than this:

    preparation = ranker.prepare(X, kept)       # what depends on the rows alone, once
    fit = preparation.fit(known, refused)       # as often as you like
    fit.scores, fit.edge_scores, fit.hidden_scores, fit.words

Nobody has to ask a ranker what it is. What it can do is declared on the class, and every question has an answer that
holds for a ranker which does nothing special.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from rarespec.engines.here import compute_ahead, one_blas_thread
from rarespec.rankers.other_arrays import Array, as_numpy, check_other_rows, is_other_array, like
from rarespec.rankers.rows import BLOCK_ROWS, Rows, check_known, check_rows, split_marks

if TYPE_CHECKING:
    from rarespec.rankers.auto.signal import Signal
    from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph


Scores = NDArray[np.float64]
"""One score for each row, (n,)."""

Flags = NDArray[np.bool_]
"""(n,)."""

TOGETHER = 16
"""Queries that are prepared together: more no longer fit into the caches of a processor."""


@dataclass(frozen=True)
class Needs:
    """What a ranker finds from the rows alone, and can be given by a caller who keeps it with the rows.

    Parameters
    ----------
    graph : int, optional
        Nearest neighbours of each row that it wants; None for no graph.
    signal : int, optional
        Neighbours between which noise is measured, for the space of signal; None for none.
    rows_on_device : bool, optional
        Whether it learns faster from a copy of the rows on a GPU, where there is one.

    Examples
    --------
    >>> from rarespec.rankers import LabelPropagation
    >>> LabelPropagation(n_neighbours=7).needs().graph
    7
    """

    graph: int | None = None
    signal: int | None = None
    rows_on_device: bool = False


@dataclass(frozen=True, eq=False)
class Kept:
    """What a caller has of a ranker's needs; the ranker finds the rest by itself, with the same scores.

    Parameters
    ----------
    graph : NeighbourGraph, optional
        The nearest neighbours of each row.
    signal : Signal, optional
        The space of signal.
    rows_on_device : array, optional
        A copy of the rows on a GPU.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import Kept, LabelPropagation, build_neighbours
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> kept = Kept(graph=build_neighbours(X, 2))
    >>> preparation = LabelPropagation(n_neighbours=2).prepare(X, kept)
    >>> preparation.fit([True, False, False, False]).scores.shape
    (4,)
    """

    graph: NeighbourGraph | None = None
    signal: Signal | None = None
    rows_on_device: Any = None


NOTHING_KEPT = Kept()


class Ranker(BaseEstimator, ABC):
    """A scikit-learn estimator with `fit(X, y)`, `decision_function(X)` and `rank(X)`.

    y marks each row: 1 = known example, 0 = unlabelled (not: negative). What `fit` learns is kept in attributes whose
    names end in `_` and which hold arrays and plain values only, so that a model file can hold any ranker.

    A subclass writes `_fit` and `_scores`. One that does much work that depends on the rows alone is a
    `PreparingRanker` instead. All else has a default.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import Ranker
    >>> class Nearest(Ranker):
    ...     def _fit(self, X, known):
    ...         self.centre_ = X[known].mean(axis=0)
    ...
    ...     def _scores(self, X):
    ...         return -np.linalg.norm(X - self.centre_, axis=1)
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> Nearest().fit(X, [0, 0, 0, 1]).rank(X).tolist()
    [3, 2, 1, 0]
    >>> preparation = Nearest().prepare(X)
    >>> preparation.fit(known=[True, False, False, False]).scores.tolist()
    [-0.0, -1.0, -5.0, -6.0]
    """

    learns_from_non_members: ClassVar[bool] = False
    """Whether `fit` takes y = -1 for rows that are known not to be of the kind."""
    prepares_rows: ClassVar[bool] = False
    """Whether `prepare` does work that is saved when several queries are asked of the same rows."""
    answers_together: ClassVar[bool] = False
    """Whether several queries on the same rows cost less together than one by one."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from feature vectors and known examples.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite.
        y : (n,) array
            1 = known, 0 = unlabelled; -1 = known not to be so, for a ranker that learns from these. Where y holds two
            values, the larger marks the known and the other the unlabelled.

        Returns
        -------
        Ranker
            Itself.
        """
        rows = check_rows(self, X, reset=True)
        known, refused = self._known_and_refused(rows, y)
        self._learn(self._prepare(rows, NOTHING_KEPT), rows, known, refused)
        return self

    def prepare(self, X: Any, kept: Kept = NOTHING_KEPT) -> Preparation:
        """Do once what depends on the rows alone, for several fits to these rows. The ranker itself stays as it is.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite.
        kept : Kept, optional
            What is there already of what the ranker `needs`.

        Returns
        -------
        Preparation
            What can be fitted.
        """
        ranker = self._copy_unfitted()
        rows = check_rows(ranker, X, reset=True)
        return Preparation(ranker, rows, ranker._prepare(rows, kept))

    def needs(self) -> Needs:
        """Say what `prepare` would rather be given than find.

        Returns
        -------
        Needs
            Nothing, for most rankers.
        """
        return Needs()

    def decision_function(self, X: Any) -> Scores:
        """Score rows: the higher, the more like the known examples.

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
        return self._scores(check_rows(self, X, reset=False))

    def rank(self, X: Any) -> NDArray[np.intp]:
        """Return the row numbers of X, best first; rows of equal score stay in the order of X.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite, with as many columns as in `fit`.

        Returns
        -------
        (n,) int
            Row numbers.
        """
        return best_first(self.decision_function(X))

    def edge_scores(self, X: Any) -> Scores | None:
        """Score rows on a scale that falls steeply where a kind ends.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite, with as many columns as in `fit`.

        Returns
        -------
        (n,) float64 or None
            None when the scores themselves are on such a scale.
        """
        return None

    def hidden_scores(self) -> Scores | None:
        """Return scores, (h,), of known examples that `fit` has hidden in turn; None when it has hidden none itself."""
        return None

    def words(self, n_known: int) -> str:
        """Say in one sentence, for the user, what the ranker did.

        Parameters
        ----------
        n_known : int
            How many known examples it was fitted to.

        Returns
        -------
        str
            The sentence.
        """
        return f"ranked by {type(self).__name__} from {n_known} known examples"

    def advice(self) -> str:
        """Say what would make the ranking better, as a sentence; empty when there is nothing to say."""
        return ""

    def feature_weights(self) -> NDArray[np.float64] | None:
        """Return the weights, (d,), of a score that is a weighted sum of the features plus a constant, else None."""
        return None

    @abstractmethod
    def _fit(self, X: Rows, known: Flags) -> None:
        """X is finite, (n, d) float32 or float64; known is (n,) bool with at least one of each."""

    @abstractmethod
    def _scores(self, X: Rows) -> Scores:
        """X is finite, (n, d) float32 or float64, with as many columns as in fit."""

    def _prepare(self, X: Rows, kept: Kept) -> Any:
        """What depends on the rows alone, for `_learn`."""
        return None

    def _learn(self, ready: Any, X: Rows, known: Flags, refused: Flags) -> None:
        """Fit to rows of which `ready` has been prepared."""
        self._fit(X, known)

    def _prepare_queries(self, ready: Any, queries: Sequence[tuple[Flags, Flags]], n_threads: int) -> Sequence[Any]:
        """For each query what `_learn` is to be given as `ready`: with what several queries can find together."""
        return [self._for_another(ready) for _ in queries]

    def _for_another(self, ready: Any) -> Any:
        """What was prepared, without what one query left in it for the next ones of its kind."""
        return ready

    def _solve_together(self, ready: Any, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores (n, q) of queries Y, (n, q), of a ranker that answers together."""
        raise NotImplementedError(f"{type(self).__name__} answers one query at a time")

    def _check_parameters(self) -> None:
        """A ValueError for a parameter that cannot be used. A model file is checked with it too."""

    def _known_and_refused(self, X: Rows, y: Any) -> tuple[Flags, Flags]:
        if self.learns_from_non_members:
            return split_marks(X, y)
        return check_known(X, y), np.zeros(len(X), bool)

    def _copy_unfitted(self) -> Self:
        """With the same parameters, which are not copied: scikit-learn's `clone` would copy a graph."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)  # y has two values; there is no `predict`
        return tags


class PreparingRanker(Ranker):
    """A ranker whose fit is two steps: what depends on the rows alone, and what depends on the known examples.

    A subclass writes `_prepare`, `_learn` and `_scores`.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import PreparingRanker
    >>> class NearestInUnits(PreparingRanker):
    ...     def _prepare(self, X, kept):
    ...         self.unit_ = X.std(axis=0)
    ...         return X / self.unit_
    ...
    ...     def _learn(self, ready, X, known, refused):
    ...         self.centre_ = ready[known].mean(axis=0)
    ...
    ...     def _scores(self, X):
    ...         return -np.linalg.norm(X / self.unit_ - self.centre_, axis=1)
    >>> preparation = NearestInUnits().prepare(np.array([[0.0], [1.0], [5.0]]))
    >>> [int(preparation.fit(known).scores.argmin()) for known in ([True, False, False], [False, False, True])]
    [2, 0]
    """

    prepares_rows = True

    @abstractmethod
    def _prepare(self, X: Rows, kept: Kept) -> Any:
        """What depends on the rows alone, for `_learn`; attributes that it sets are those of every fit."""

    @abstractmethod
    def _learn(self, ready: Any, X: Rows, known: Flags, refused: Flags) -> None:
        """`ready` is what `_prepare` made of X, and must stay as it is: other fits use it too."""

    def _fit(self, X: Rows, known: Flags) -> None:
        self._learn(self._prepare(X, NOTHING_KEPT), X, known, np.zeros(len(X), bool))


@dataclass(frozen=True, eq=False)
class Preparation:
    """A ranker on rows to which it can be fitted many times; no fit changes another.

    For most rankers nothing is prepared, and each fit is a whole one.

    Parameters
    ----------
    ranker : Ranker
        The ranker, not fitted.
    X : (n, d) array
        The rows.
    ready : object
        What the ranker made of the rows; only the ranker knows what it is.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import MatchedFilter
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> preparation = MatchedFilter().prepare(X)
    >>> fit = preparation.fit(np.arange(50) < 2)
    >>> fit.scores.shape, fit.n_known
    ((50,), 2)
    """

    ranker: Ranker
    X: Rows
    ready: Any

    def fit(self, known: Any, refused: Any = None, *, random_state: Any = None) -> Fit:
        """Fit to these known examples.

        Parameters
        ----------
        known : (n,) bool
            Which rows are known examples; some are, and some are not.
        refused : (n,) bool, optional
            Which rows are known not to be of the kind. A ranker that does not learn from these takes them as
            unlabelled.
        random_state : int, optional
            Of this fit, instead of the ranker's own.

        Returns
        -------
        Fit
            With a ranker of its own.

        Raises
        ------
        ValueError
            When nothing is known, or everything is, or a row is both known and refused.
        """
        is_known = check_known(self.X, known)
        is_refused = np.zeros(len(self.X), bool) if refused is None else np.asarray(refused, bool)
        if is_refused.shape != is_known.shape:
            raise ValueError(f"refused has the shape {is_refused.shape}: it must be ({len(self.X)},)")
        if (is_known & is_refused).any():
            raise ValueError(f"{np.sum(is_known & is_refused)} rows are both known and refused")
        taken = is_refused if self.ranker.learns_from_non_members else np.zeros(len(self.X), bool)
        return self._fit(self.ready, is_known, taken, random_state)

    def fit_each(self, queries: Sequence[tuple[Flags, Flags]], n_threads: int = 1) -> Iterator[Fit]:
        """Fit to one query after the other, with the results of `fit`; what queries can do together is done together.

        Parameters
        ----------
        queries : sequence of pairs of (n,) bool
            The known and the refused rows of each query, as for `fit`.
        n_threads : int, optional
            So many fits run at the same time, each with one thread of BLAS.

        Yields
        ------
        Fit
            One for each query, in their order.
        """
        none = np.zeros(len(self.X), bool)
        learns = self.ranker.learns_from_non_members
        taken = [(check_known(self.X, known), refused if learns else none) for known, refused in queries]

        def fit(one: tuple[Any, tuple[Flags, Flags]]) -> Fit:
            return self._fit(one[0], *one[1])

        with one_blas_thread():  # threads of BLAS would wait for each other
            for start in range(0, len(taken), TOGETHER):
                some = taken[start : start + TOGETHER]
                ready = self._for_one_fit(None)._prepare_queries(self.ready, some, n_threads)
                yield from compute_ahead(fit, zip(ready, some, strict=True), n_threads)

    def for_another(self) -> Preparation:
        """Give the same rows to another search; nothing that one search finds on the way changes the other."""
        return replace(self, ready=self.ranker._for_another(self.ready))

    def _fit(self, ready: Any, known: Flags, refused: Flags, random_state: Any = None) -> Fit:
        ranker = self._for_one_fit(random_state)
        ranker._learn(ready, self.X, known, refused)
        # a ranker that has hidden examples itself is not fitted again for that; what it prepared may be large
        again = self if ranker.hidden_scores() is None else None
        return Fit(ranker, self.X, int(known.sum()), again)

    def scores_for(self, Y: Any, n_threads: int | None = None) -> NDArray[np.float64]:
        """Scores of the prepared rows for one or many queries.

        Parameters
        ----------
        Y : (n,) or (n, q) array
            As y of `Ranker.fit`. A `GraphRanker` takes weights: unlabelled is 0 and nothing else, and -1 says that a
            row is unlike what is looked for.
        n_threads : int, optional
            So many fits run at the same time, each with one thread of BLAS; by default one after the other. A ranker
            that answers together has no use for it.

        Returns
        -------
        array of float64
            Of the shape of Y.

        Raises
        ------
        ValueError
            When Y is not of these rows, or holds what is no finite number.
        """
        queries = np.asarray(Y)
        if queries.ndim not in (1, 2) or len(queries) != len(self.X):
            n = len(self.X)
            raise ValueError(f"Y has the shape {queries.shape}: it must be ({n},) or ({n}, number of queries)")
        if queries.dtype.kind not in "biuf" or not np.isfinite(queries).all():
            raise ValueError("Y contains NaN, inf or text: it must be 1 = known, 0 = unlabelled, or finite weights")
        columns = queries.reshape(len(queries), -1)
        if self.ranker.answers_together:
            found = self.ranker._solve_together(self.ready, columns.astype(np.float64))
        else:
            found = np.empty(columns.shape)
            for column, scores in zip(found.T, self._scores_one_by_one(columns.T, n_threads), strict=True):
                column[:] = scores
        return found.reshape(queries.shape)

    def _scores_one_by_one(self, queries: NDArray[Any], n_threads: int | None) -> Iterable[Scores]:
        def scores(y: NDArray[Any]) -> Scores:
            return self.fit(*self.ranker._known_and_refused(self.X, y)).scores

        if n_threads is None:
            yield from map(scores, queries)
        else:
            with one_blas_thread():  # threads of BLAS would wait for each other
                yield from compute_ahead(scores, queries, n_threads)

    def _for_one_fit(self, random_state: Any) -> Ranker:
        """A copy, as an earlier fit is still explained by its own ranker."""
        ranker = copy(self.ranker)
        params = ranker.get_params(deep=False)
        if "random_state" in params:
            # each fit draws as the first would: a generator that moved on would let one fit change the next
            ranker.set_params(random_state=deepcopy(params["random_state"]) if random_state is None else random_state)
        return ranker


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fitted ranker says of rows.

    Parameters
    ----------
    ranker : Ranker
        The ranker, fitted; it scores other rows too.
    X : (n, d) array
        The rows.
    n_known : int
        How many known examples it learned from.
    preparation : Preparation, optional
        For further fits to the same rows. None when the ranker was fitted elsewhere, or has hidden examples itself.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import MatchedFilter
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> fit = MatchedFilter().prepare(X).fit(np.arange(50) < 2)
    >>> fit.words
    'ranked by MatchedFilter from 2 known examples'
    """

    ranker: Ranker
    X: Rows
    n_known: int
    preparation: Preparation | None = None

    @cached_property
    def scores(self) -> Scores:
        """(n,) float64: the higher, the more like the known examples."""
        return self.ranker.decision_function(self.X)

    @cached_property
    def edge_scores(self) -> Scores:
        """(n,) float64, on a scale on which the end of a kind shows; the scores themselves for most rankers."""
        found = self.ranker.edge_scores(self.X)
        return self.scores if found is None else found

    @property
    def hidden_scores(self) -> Scores | None:
        """(h,) of known examples that the ranker hid in turn; None when it hid none by itself."""
        return self.ranker.hidden_scores()

    @property
    def words(self) -> str:
        """What the ranker did, for the user."""
        return self.ranker.words(self.n_known)


def best_first(scores: Scores) -> NDArray[np.intp]:
    """Positions in order of falling score; ties stay in their order."""
    order = np.argsort(-scores)
    in_order = scores[order]
    if (in_order[1:] == in_order[:-1]).any():  # the plain sort is twice as fast, but shuffles ties
        return np.argsort(-scores, kind="stable")
    return order


def best_of(scores: Scores, n: int) -> NDArray[np.intp]:
    """Positions of the n highest scores, in order of falling score: the first n of `best_first`, found faster."""
    if n >= len(scores):
        return best_first(scores)
    least = np.partition(scores, len(scores) - n)[len(scores) - n]
    high = np.flatnonzero(scores >= least)
    return high[best_first(scores[high])][:n]


# ---- Rankers whose score is one weighted sum of the features.


ROWS_AT_ONCE = 1 << 18
"""Rows of arrays of other libraries converted at a time: enough to keep a GPU busy."""


class LinearRanker(Ranker):
    """A ranker whose score is the weighted sum X . coef_; the weights refer to X as given, whatever scaling is inside.

    A subclass writes `_fit`, which sets `coef_`.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import LinearRanker
    >>> class TowardsKnown(LinearRanker):
    ...     def _fit(self, X, known):
    ...         self.coef_ = X[known].mean(axis=0) - X[~known].mean(axis=0)
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> TowardsKnown().fit(X, [0, 0, 1]).feature_weights()
    array([3., 0.])
    """

    coef_: NDArray[np.float64]
    """(d,) float64."""

    def decision_function(self, X: Any) -> Any:
        """Score rows: the higher, the more like the known examples.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite, of any array API library.

        Returns
        -------
        (n,) float64
            One score for each row, in the library of X.
        """
        if not is_other_array(X):
            return super().decision_function(X)
        check_is_fitted(self)
        return weighted_sums(check_other_rows(self, X, reset=False), self.coef_)

    def rank(self, X: Any) -> NDArray[np.intp]:
        """Return the row numbers of X, best first; rows of equal score stay in the order of X.

        Parameters
        ----------
        X : (n, d) array
            Feature vectors, all finite, of any array API library.

        Returns
        -------
        (n,) int
            Row numbers, as a NumPy array.
        """
        return best_first(as_numpy(self.decision_function(X)))

    def feature_weights(self) -> NDArray[np.float64] | None:
        """Return `coef_`, (d,)."""
        return self.coef_

    def _scores(self, X: Rows) -> Scores:
        return weighted_sums(X, self.coef_)


def weighted_sums(X: Rows, coef: NDArray[np.float64]) -> Scores:
    """X . coef in double precision, whatever the precision of X; in its library."""
    if is_other_array(X):
        return _weighted_sums_there(X, coef)
    scores = np.empty(len(X))
    for start in range(0, len(X), BLOCK_ROWS):
        block = X[start : start + BLOCK_ROWS]
        np.matmul(block.astype(np.float64, copy=False), coef, out=scores[start : start + BLOCK_ROWS])
    return scores


def _weighted_sums_there(X: Array, coef: NDArray[np.float64]) -> Array:
    xp, weights = array_namespace(X), like(X, coef)
    parts = [slice(i, min(i + ROWS_AT_ONCE, X.shape[0])) for i in range(0, max(X.shape[0], 1), ROWS_AT_ONCE)]
    return xp.concat([xp.astype(X[part, :], weights.dtype) @ weights for part in parts])
