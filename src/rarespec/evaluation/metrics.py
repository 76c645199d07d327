"""How good a ranked list is: P@k, R@k, AP@k and the area under the ROC curve.

The list is given as relevance flags in ranked order, best first: True (or 1) where the object at that place is one that
was looked for. The known examples that the ranker learned from are not part of the list.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Flags = NDArray[np.bool_]
"""Relevance of each place of a ranked list, (n,), best first."""

Depths = NDArray[np.int64]
"""Depths k, (K,) or (), each at least 1."""


@overload
def precision_at_k(relevant: ArrayLike, k: int) -> float: ...
@overload
def precision_at_k(relevant: ArrayLike, k: ArrayLike) -> float | NDArray[np.float64]: ...
def precision_at_k(relevant: ArrayLike, k: ArrayLike) -> float | NDArray[np.float64]:
    """Share of the first k places that hold something relevant.

    Parameters
    ----------
    relevant : (n,) bool or 0/1, in ranked order, best first.
    k : a depth, or an array of depths; each at least 1. Places beyond the end of the list count as not relevant, so
        that the precision of a list with one relevant object of one is 1/2 at k = 2.

    Returns
    -------
    A float for one depth, a float64 array of the shape of k for several. 0 when nothing in the list is relevant.
    """
    depths = _checked_depths(k)
    return _plain(_hits_at(checked_flags(relevant), depths) / depths)


@overload
def recall_at_k(relevant: ArrayLike, k: int) -> float: ...
@overload
def recall_at_k(relevant: ArrayLike, k: ArrayLike) -> float | NDArray[np.float64]: ...
def recall_at_k(relevant: ArrayLike, k: ArrayLike) -> float | NDArray[np.float64]:
    """Share of the relevant objects that the first k places hold; 1 where k reaches beyond the end of the list.

    Parameters
    ----------
    relevant : (n,) bool or 0/1, in ranked order, best first. At least one is relevant.
    k : a depth, or an array of depths; each at least 1.
    """
    flags = checked_flags(relevant)
    return _plain(_hits_at(flags, _checked_depths(k)) / _n_relevant(flags))


@overload
def average_precision_at_k(relevant: ArrayLike, k: int | None = None) -> float: ...
@overload
def average_precision_at_k(relevant: ArrayLike, k: ArrayLike) -> float | NDArray[np.float64]: ...
def average_precision_at_k(relevant: ArrayLike, k: ArrayLike | None = None) -> float | NDArray[np.float64]:
    """AP@k: the precision at the place of each relevant object among the first k, summed, over min(relevant, k).

    AP@k = sum_{l <= k} I(x_l relevant) P@l / min(|U_r|, k), as in Du et al. (2016). It is 1 when the first
    min(|U_r|, k) places are all relevant.

    Parameters
    ----------
    relevant : (n,) bool or 0/1, in ranked order, best first. At least one is relevant.
    k : a depth, or an array of depths, each at least 1; None for the whole list. Beyond the end of the list nothing is
        relevant, so a larger k changes nothing.
    """
    flags = checked_flags(relevant)
    n_relevant = _n_relevant(flags)
    depths = _checked_depths(len(flags) if k is None else k)
    places = np.flatnonzero(flags) + 1  # of the relevant objects, from 1
    precision_there = np.arange(1, n_relevant + 1) / places
    sums = np.concatenate([[0.0], np.cumsum(precision_there)])
    return _plain(sums[np.searchsorted(places, depths, side="right")] / np.minimum(n_relevant, depths))


def roc_auc(relevant: ArrayLike) -> float:
    """Area under the ROC curve: how often a relevant object stands before one that is not.

    Parameters
    ----------
    relevant : (n,) bool or 0/1, in ranked order, best first; at least one is relevant and one is not. An order has no
        ties; `roc_auc_of_scores` counts those of scores as one half.
    """
    flags = checked_flags(relevant)
    n_relevant, n_other = _n_relevant(flags), _n_other(flags)
    others_before = np.flatnonzero(flags) - np.arange(n_relevant)
    return 1.0 - int(others_before.sum()) / (n_relevant * n_other)


def roc_auc_of_scores(scores: ArrayLike, rare: ArrayLike) -> float:
    """Area under the ROC curve of scores; a rare and another object of equal score count one half.

    Parameters
    ----------
    scores : (n,) floats, the higher the better.
    rare : (n,) bool or 0/1, in the same order as the scores; at least one of each.
    """
    values, flags = _checked_scores(scores, rare)
    n_rare, n_other = _n_relevant(flags), _n_other(flags)
    others = np.sort(values[~flags])
    twice_below = sum(int(np.searchsorted(others, values[flags], side).sum()) for side in ("left", "right"))
    return twice_below / (2 * n_rare * n_other)


def relevance_in_order(
    scores: ArrayLike, rare: ArrayLike, ties: Literal["worst", "best"] = "worst"
) -> NDArray[np.bool_]:
    """Relevance flags in the order of falling score.

    The order of equal scores must not depend on the order of the rows, which often has the rare ones together. So ties
    are put in the order that is worst for the method: nothing is gained by not deciding. `ties="best"` gives the other
    end; the two bound what any order of the ties would give.

    Parameters
    ----------
    scores : (n,) floats, the higher the better.
    rare : (n,) bool or 0/1, in the same order as the scores.
    ties : "worst" (rare ones last among equal scores) or "best" (first).
    """
    values, flags = _checked_scores(scores, rare)
    if ties not in ("worst", "best"):
        raise ValueError(f"ties must be 'worst' or 'best', not {ties!r}")
    return flags[np.lexsort((flags if ties == "worst" else ~flags, -values))]


def checked_flags(relevant: ArrayLike) -> Flags:
    """Relevance flags as (n,) bool, n >= 1."""
    flags = np.asarray(relevant)
    if flags.ndim != 1 or len(flags) == 0:
        raise ValueError(f"relevance flags must be one list of at least one flag, not of shape {flags.shape}")
    if flags.dtype == bool:
        return flags
    if flags.dtype.kind not in "iuf" or not ((flags == 0) | (flags == 1)).all():
        raise ValueError("relevance flags must be True/False or 1/0 only")
    return flags.astype(bool)


def _checked_scores(scores: ArrayLike, rare: ArrayLike) -> tuple[NDArray[np.float64], Flags]:
    values, flags = np.asarray(scores, dtype=np.float64), checked_flags(rare)
    if values.shape != flags.shape:
        raise ValueError(f"scores of shape {values.shape} and {len(flags)} flags: one score is needed for each row")
    if np.isnan(values).any():
        raise ValueError(f"{np.isnan(values).sum()} of {len(values)} scores are NaN: they have no place in an order")
    return values, flags


def _checked_depths(k: ArrayLike) -> Depths:
    depths = np.asarray(k)
    if depths.dtype.kind not in "iu" or depths.ndim > 1 or (depths < 1).any():
        raise ValueError(f"k must be a whole number of at least 1, or a list of such numbers, not {k!r}")
    return depths.astype(np.int64)


def _n_relevant(flags: Flags) -> int:
    if not flags.any():
        raise ValueError(
            f"none of the {len(flags)} flags is relevant: there is nothing to find, so no value is defined"
        )
    return int(flags.sum())


def _n_other(flags: Flags) -> int:
    if flags.all():
        raise ValueError(f"all {len(flags)} flags are relevant: there is nothing to tell them from")
    return int(len(flags) - flags.sum())


def _hits_at(flags: Flags, depths: Depths) -> NDArray[np.int64]:
    """How many of the first k places are relevant, for each k."""
    return np.asarray(np.searchsorted(np.flatnonzero(flags), depths, side="left"))


def _plain(value: Any) -> float | NDArray[np.float64]:
    return float(value) if np.ndim(value) == 0 else value
