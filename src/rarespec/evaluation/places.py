"""Where the relevant objects stand in the ranked lists of many trials, and every metric from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rarespec.evaluation import metrics
from rarespec.evaluation.metrics import FloatArray


@dataclass(frozen=True, eq=False)
class Places:
    """The places of r relevant objects in each of the ranked lists of several trials.

    They say all there is to say about a list: 450 numbers instead of 100 000 flags.

    Parameters
    ----------
    places : (trials, r) whole numbers, from 1 (best), ascending in each row; stored as int64.
    n_listed : length of each list.
    """

    places: NDArray[np.int64]
    n_listed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", _checked(np.asarray(self.places), self.n_listed))

    @classmethod
    def of_scores(cls, scores: ArrayLike, rare: ArrayLike) -> Self:
        """Of lists in the order of falling score; ties in the worst order, as in `relevance_in_order`.

        Parameters
        ----------
        scores : (n,) or (trials, n) floats, the higher the better.
        rare : (n,) bool or 0/1, the same for all trials, or (trials, n) with as many rare ones in each.
        """
        values, flags = metrics.checked_scores(scores, rare)
        values, flags = np.atleast_2d(values), np.atleast_2d(flags)
        _same_number(flags)
        return cls(np.stack([_of_one(*one) for one in zip(values, flags, strict=True)]), values.shape[1])

    def precision(self, k: ArrayLike) -> FloatArray:
        """P@k: (trials,) for one depth, (trials, K) for an array of depths."""
        depths = metrics.checked_depths(k)
        return metrics.precision_of_places(self._ranked, depths).reshape(len(self.places), *depths.shape)

    def recall(self, k: ArrayLike) -> FloatArray:
        """R@k: (trials,) for one depth, (trials, K) for an array of depths."""
        depths = metrics.checked_depths(k)
        return metrics.recall_of_places(self._ranked, depths).reshape(len(self.places), *depths.shape)

    def average_precision(self, k: ArrayLike | None = None) -> FloatArray:
        """AP@k: (trials,) for one depth or the whole list (None), (trials, K) for an array of depths."""
        depths = metrics.checked_depths(self.n_listed if k is None else k)
        return metrics.average_precision_of_places(self._ranked, depths).reshape(len(self.places), *depths.shape)

    def top_loss(self) -> FloatArray:
        """Equation 1 of the paper, (trials,): share of the relevant that do not stand before all others."""
        return metrics.top_loss_of_places(self._ranked)

    def auc(self) -> FloatArray:
        """Area under the ROC curve of the order, in which there are no ties, (trials,)."""
        if self.places.shape[1] == self.n_listed:
            raise ValueError(f"all {self.n_listed} places are relevant, so the value is undefined")
        return metrics.roc_auc_of_places(self._ranked)

    @property
    def _ranked(self) -> metrics.Ranked:
        trials, r = self.places.shape
        return metrics.Ranked(self.places, np.full((trials, 1), r), self.n_listed)


def _of_one(values: FloatArray, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Places of the rare ones of one list, (r,), without sorting the others.

    Before each rare one stand the others that score as much or more, and the rare ones that are better.
    """
    rare = np.sort(values[flags])
    reached = np.bincount(np.searchsorted(rare, values[~flags], side="right"), minlength=len(rare) + 1)
    others_before = np.cumsum(reached[:0:-1])  # from the best of the rare down
    return np.arange(1, len(rare) + 1) + others_before


def _same_number(flags: NDArray[np.bool_]) -> None:
    numbers = flags.sum(axis=1)
    if numbers.min() != numbers.max():
        raise ValueError(
            f"every trial must have the same number of relevant objects, not {numbers.min()} to {numbers.max()}"
        )


def _checked(places: NDArray[np.generic], n_listed: int) -> NDArray[np.int64]:
    if places.ndim != 2 or places.size == 0 or places.dtype.kind not in "iu":
        raise ValueError(
            f"places must be whole numbers, one row for each trial and at least one in each, "
            f"not {places.dtype} of shape {places.shape}"
        )
    whole = places.astype(np.int64)
    if whole.min() < 1 or whole.max() > n_listed:
        raise ValueError(f"places must be from 1 to {n_listed}, not from {whole.min()} to {whole.max()}")
    if (np.diff(whole, axis=1) < 1).any():
        raise ValueError("places must increase in each row: no two objects share a place")
    return whole
