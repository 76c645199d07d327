"""How good a ranked list is: P@k, R@k, AP@k, the area under the ROC curve, and the loss that TopPush minimises.

The list is given as relevance flags in ranked order, best first: True (or 1) where the object at that place is one that
was looked for. The known examples that the ranker learned from are not part of the list. Several lists of the same
length, one of each trial, are given together as the rows of one array, and give one value each.

Each definition stands here once, in the functions `..._of_places`; `rarespec.evaluation.Places` has the same metrics
for those who keep the places of the relevant objects instead of all flags.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Flags = NDArray[np.bool_]
"""Relevance of each place of a ranked list, best first: (n,), or (trials, n)."""

Depths = NDArray[np.int64]
"""Depths k, (K,) or (), each at least 1."""

FloatArray = NDArray[np.float64]

FloatOrArray: TypeAlias = Any
"""A float for one list and one depth, otherwise a FloatArray: this depends on shapes, which types do not tell."""


class Ranked(NamedTuple):
    """Lists as the places of what is relevant in them, which is far less than all flags.

    Attributes
    ----------
    places : (trials, r) int64
        From 1, ascending in each row; a row with fewer than r ends in n_listed + 1.
    n_relevant : (trials, 1) int64
        How many are relevant in each list.
    n_listed : int
        Length of each list.
    """

    places: NDArray[np.int64]
    n_relevant: NDArray[np.int64]
    n_listed: int


def precision_at_k(relevant: ArrayLike, k: ArrayLike) -> FloatOrArray:
    """Return P@k, the share of the first k places that hold something relevant.

    Parameters
    ----------
    relevant : (n,) or (trials, n) bool or 0/1
        Relevance in ranked order, best first.
    k : int or (K,) int
        Depths, each at least 1. Places beyond the end of the list count as not relevant, so that the precision of a
        list with one relevant object of one is 1/2 at k = 2.

    Returns
    -------
    float or ndarray of float64
        A float for one list and one depth; otherwise (K,), (trials,) or (trials, K). 0 when nothing in the list is
        relevant.

    Raises
    ------
    ValueError
        If the flags are not 0 or 1, or a depth is below 1.

    Examples
    --------
    >>> from rarespec.evaluation import precision_at_k
    >>> precision_at_k([1, 0, 1, 0], [1, 2, 4])
    array([1. , 0.5, 0.5])
    """
    flags, depths = check_lists(relevant), check_depths(k)
    return _drop_axes(precision_of_places(_rank(flags), depths), flags, depths)


def recall_at_k(relevant: ArrayLike, k: ArrayLike) -> FloatOrArray:
    """Return R@k, the share of the relevant objects that the first k places hold.

    Parameters
    ----------
    relevant : (n,) or (trials, n) bool or 0/1
        Relevance in ranked order, best first. At least one of each list is relevant.
    k : int or (K,) int
        Depths, each at least 1. The recall is 1 where k reaches beyond the end of the list.

    Returns
    -------
    float or ndarray of float64
        As `precision_at_k`.

    Raises
    ------
    ValueError
        If the flags are not 0 or 1, nothing is relevant, or a depth is below 1.

    Examples
    --------
    >>> from rarespec.evaluation import recall_at_k
    >>> recall_at_k([1, 0, 1, 0], 2)
    0.5
    """
    flags, depths = _some_relevant(check_lists(relevant)), check_depths(k)
    return _drop_axes(recall_of_places(_rank(flags), depths), flags, depths)


def average_precision_at_k(relevant: ArrayLike, k: ArrayLike | None = None) -> FloatOrArray:
    """Return AP@k: the precision at the place of each relevant object among the first k, summed, over min(relevant, k).

    AP@k = sum_{l <= k} I(x_l relevant) P@l / min(|U_r|, k), as in Du et al. (2016). It is 1 when the first
    min(|U_r|, k) places are all relevant.

    Parameters
    ----------
    relevant : (n,) or (trials, n) bool or 0/1
        Relevance in ranked order, best first. At least one of each list is relevant.
    k : int or (K,) int, optional
        Depths, each at least 1; by default the whole list. Beyond the end of the list nothing is relevant, so a larger
        k changes nothing.

    Returns
    -------
    float or ndarray of float64
        As `precision_at_k`.

    Raises
    ------
    ValueError
        If the flags are not 0 or 1, nothing is relevant, or a depth is below 1.

    Examples
    --------
    >>> from rarespec.evaluation import average_precision_at_k
    >>> average_precision_at_k([1, 0, 0, 1])
    0.75
    """
    flags = _some_relevant(check_lists(relevant))
    depths = check_depths(flags.shape[-1] if k is None else k)
    return _drop_axes(average_precision_of_places(_rank(flags), depths), flags, depths)


def roc_auc(relevant: ArrayLike) -> FloatOrArray:
    """Return the area under the ROC curve: how often a relevant object stands before one that is not.

    Parameters
    ----------
    relevant : (n,) or (trials, n) bool or 0/1
        Relevance in ranked order, best first; at least one of each list is relevant and one is not. An order has no
        ties; `roc_auc_of_scores` counts those of scores as one half.

    Returns
    -------
    float or (trials,) float64
        A float for one list.

    Raises
    ------
    ValueError
        If the flags are not 0 or 1, or all or none is relevant.

    Examples
    --------
    >>> from rarespec.evaluation import roc_auc
    >>> roc_auc([1, 0, 1, 0])
    0.75
    """
    flags = _some_other(_some_relevant(check_lists(relevant)))
    return _unwrap_scalar(roc_auc_of_places(_rank(flags)).reshape(flags.shape[:-1]))


def top_loss(relevant: ArrayLike) -> FloatOrArray:
    """Return the share of the relevant objects that do not stand before everything else.

    It is equation 1 of Du et al. (2016):

    L = 1/m sum_i I(f(x_i) <= max_j f(x_j)), for the m relevant x_i and all others x_j. It is 0 when every relevant
    object stands before the first other one, 1 when the list begins with another.

    Parameters
    ----------
    relevant : (n,) or (trials, n) bool or 0/1
        Relevance in ranked order, best first; at least one of each list is relevant. Of equal scores the relevant come
        last, as `relevance_in_order` has them, since the loss counts f(x_i) = f(x_j).

    Returns
    -------
    float or (trials,) float64
        A float for one list.

    Raises
    ------
    ValueError
        If the flags are not 0 or 1, or nothing is relevant.

    Examples
    --------
    >>> from rarespec.evaluation import top_loss
    >>> top_loss([1, 0, 1, 0])
    0.5
    """
    flags = _some_relevant(check_lists(relevant))
    return _unwrap_scalar(top_loss_of_places(_rank(flags)).reshape(flags.shape[:-1]))


def roc_auc_of_scores(scores: ArrayLike, rare: ArrayLike) -> FloatOrArray:
    """Return the area under the ROC curve of scores; a rare and another object of equal score count one half.

    Parameters
    ----------
    scores : (n,) or (trials, n) float
        The higher the better.
    rare : (n,) or (trials, n) bool or 0/1
        In the order of the scores; (n,) is the same for all trials. At least one of each kind in each list.

    Returns
    -------
    float or (trials,) float64
        A float for one list.

    Raises
    ------
    ValueError
        If shapes differ, a score is NaN, or all or none is rare.

    Examples
    --------
    >>> from rarespec.evaluation import roc_auc_of_scores
    >>> roc_auc_of_scores([3.0, 1.0, 2.0, 1.0], [1, 1, 0, 0])
    0.625
    """
    values, flags = check_scores(scores, rare)
    _some_other(_some_relevant(flags))
    if values.ndim == 1:
        return _area(values, flags)
    return np.array([_area(*one) for one in zip(values, flags, strict=True)])


def relevance_in_order(
    scores: ArrayLike, rare: ArrayLike, ties: Literal["worst", "best"] = "worst"
) -> NDArray[np.bool_]:
    """Return relevance flags in the order of falling score.

    The order of equal scores must not depend on the order of the rows, which often has the rare ones together. So ties
    are put in the order that is worst for the method: nothing is gained by not deciding. `ties="best"` gives the other
    end; the two bound what any order of the ties would give.

    Parameters
    ----------
    scores : (n,) float
        The higher the better.
    rare : (n,) bool or 0/1
        In the order of the scores.
    ties : {"worst", "best"}, optional
        Whether rare ones come last or first among equal scores.

    Returns
    -------
    (n,) bool
        The flags, best score first.

    Raises
    ------
    ValueError
        If shapes differ, a score is NaN, or `ties` is unknown.

    Examples
    --------
    >>> from rarespec.evaluation import relevance_in_order
    >>> relevance_in_order([1.0, 3.0, 3.0], [0, 1, 0])
    array([False,  True, False])
    """
    values, flags = check_scores(scores, check_flags(rare))
    if values.ndim != 1:
        raise ValueError(f"scores must be one-dimensional, not of shape {values.shape}")
    if ties not in ("worst", "best"):
        raise ValueError(f"ties must be 'worst' or 'best', not {ties!r}")
    return flags[np.lexsort((flags if ties == "worst" else ~flags, -values))]


# --- the definitions


def precision_of_places(ranked: Ranked, depths: Depths) -> FloatArray:
    """P@k, (trials, K)."""
    return _hits(ranked, depths) / np.atleast_1d(depths)


def recall_of_places(ranked: Ranked, depths: Depths) -> FloatArray:
    """R@k, (trials, K)."""
    return _hits(ranked, depths) / ranked.n_relevant


def average_precision_of_places(ranked: Ranked, depths: Depths) -> FloatArray:
    """AP@k, (trials, K)."""
    precision_there = np.arange(1, ranked.places.shape[1] + 1) / ranked.places
    sums = np.pad(np.cumsum(precision_there, axis=1), ((0, 0), (1, 0)))  # of the first 0, 1, 2 ... hits
    best = np.minimum(ranked.n_relevant, np.atleast_1d(depths))
    return np.take_along_axis(sums, _hits(ranked, depths), axis=1) / best


def roc_auc_of_places(ranked: Ranked) -> FloatArray:
    """Area under the ROC curve, (trials,)."""
    others_before = ranked.places - np.arange(1, ranked.places.shape[1] + 1)
    others_before[ranked.places > ranked.n_listed] = 0
    n_relevant = ranked.n_relevant[:, 0]
    return 1.0 - others_before.sum(axis=1) / (n_relevant * (ranked.n_listed - n_relevant))


def top_loss_of_places(ranked: Ranked) -> FloatArray:
    """Equation 1, (trials,): the i-th relevant object has nothing else before it where its place is i."""
    before_all = ranked.places == np.arange(1, ranked.places.shape[1] + 1)
    before_all &= ranked.places <= ranked.n_listed
    return 1.0 - before_all.sum(axis=1) / ranked.n_relevant[:, 0]


def _hits(ranked: Ranked, depths: Depths) -> NDArray[np.int64]:
    """How many of the first k places are relevant, for each list and each k, (trials, K).

    The rows are laid end to end, each moved beyond the one before it, so that one search counts for all.
    """
    trials, r = ranked.places.shape
    row = np.arange(trials)[:, None]
    start = row * (ranked.n_listed + 1)
    reach = np.minimum(np.atleast_1d(depths), ranked.n_listed)
    return np.searchsorted((ranked.places + start).ravel(), reach + start, side="right") - row * r


def _area(values: FloatArray, flags: Flags) -> float:
    others, n_rare = np.sort(values[~flags]), int(flags.sum())
    twice_below = sum(int(np.searchsorted(others, values[flags], side).sum()) for side in ("left", "right"))
    return twice_below / (2 * n_rare * len(others))


def _rank(flags: Flags) -> Ranked:
    rows = np.atleast_2d(flags)
    n_relevant = rows.sum(axis=1)
    trial, column = np.nonzero(rows)
    which = np.arange(len(trial)) - np.repeat(np.cumsum(n_relevant) - n_relevant, n_relevant)
    places = np.full((len(rows), n_relevant.max(initial=0)), rows.shape[1] + 1)
    places[trial, which] = column + 1
    return Ranked(places, n_relevant[:, None], rows.shape[1])


# --- what is refused


def check_flags(relevant: ArrayLike) -> Flags:
    """Relevance flags as (n,) bool, n >= 1."""
    flags = np.asarray(relevant)
    if flags.ndim != 1 or len(flags) == 0:
        raise ValueError(f"relevance flags must be one-dimensional with at least one flag, not of shape {flags.shape}")
    return _as_bool(flags)


def check_lists(relevant: ArrayLike) -> Flags:
    """Relevance flags of one list, (n,) bool, or of several, (trials, n) bool; trials and n >= 1."""
    flags = np.asarray(relevant)
    if flags.ndim not in (1, 2) or flags.size == 0:
        raise ValueError(
            f"relevance flags must be one or two-dimensional, with at least one flag, not of shape {flags.shape}"
        )
    return _as_bool(flags)


def _as_bool(flags: NDArray[Any]) -> Flags:
    if flags.dtype == bool:
        return flags
    if flags.dtype.kind not in "iuf" or not ((flags == 0) | (flags == 1)).all():
        raise ValueError("relevance flags must be True/False or 1/0 only")
    return flags.astype(bool)


def check_scores(scores: ArrayLike, rare: ArrayLike) -> tuple[FloatArray, Flags]:
    """Scores and flags of the same shape, (n,) or (trials, n)."""
    values, flags = np.asarray(scores, dtype=np.float64), check_lists(rare)
    if values.ndim == 2 and flags.shape == values.shape[1:]:
        flags = np.broadcast_to(flags, values.shape)
    if values.shape != flags.shape:
        raise ValueError(f"scores of shape {values.shape} and flags of shape {flags.shape}: give one score per row")
    if np.isnan(values).any():
        raise ValueError(f"{np.isnan(values).sum()} of {values.size} scores are NaN and cannot be ordered")
    return values, flags


def check_depths(k: ArrayLike) -> Depths:
    depths = np.asarray(k)
    if depths.dtype.kind not in "iu" or depths.ndim > 1 or (depths < 1).any():
        raise ValueError(f"k must be a whole number of at least 1, or a list of such numbers, not {k!r}")
    return depths.astype(np.int64)


def _some_relevant(flags: Flags) -> Flags:
    empty = ~np.any(flags, axis=-1)
    if np.any(empty):
        where = _of_trial(empty)
        raise ValueError(f"none of the {flags.shape[-1]} flags{where} is relevant, so the value is undefined")
    return flags


def _some_other(flags: Flags) -> Flags:
    full = np.all(flags, axis=-1)
    if np.any(full):
        where = _of_trial(full)
        raise ValueError(f"all {flags.shape[-1]} flags{where} are relevant, so the value is undefined")
    return flags


def _of_trial(refused: Any) -> str:
    return f" of trial {int(np.argmax(refused))}" if np.ndim(refused) else ""


def _drop_axes(values: FloatArray, flags: Flags, depths: Depths) -> FloatOrArray:
    """(trials, K) without the axis that was not asked for."""
    return _unwrap_scalar(values.reshape(flags.shape[:-1] + depths.shape))


def _unwrap_scalar(value: FloatArray) -> FloatOrArray:
    return float(value) if value.ndim == 0 else value
