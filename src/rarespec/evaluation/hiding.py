"""The hide-known protocol: some known examples become unlabelled, and a ranker is judged by how it finds them again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rarespec.rankers.rows import check_known

MIN_KNOWN = 2
"""One must stay to learn from while another is hidden."""


@dataclass(frozen=True, eq=False)
class Hiding:
    """One fold: labels with some known examples turned to unlabelled, and which rows these are.

    Parameters
    ----------
    y : (n,) int8
        1 = known, 0 = unlabelled or hidden.
    hidden : (h,) int
        Row numbers in rising order, h >= 1.

    Examples
    --------
    >>> from rarespec.evaluation import hide_known
    >>> fold = next(hide_known([1, 1, 0, 0, 0]))
    >>> len(fold.hidden), int(fold.y.sum())
    (1, 1)
    """

    y: NDArray[np.int8]
    hidden: NDArray[np.intp]

    def select_judged(self, scores: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the rows that the ranker was not told about, and which of these it should find.

        Rare objects that nobody knows yet are judged as common ones: that lowers the figures of all rankers.

        Parameters
        ----------
        scores : (n,) float
            Scores of all rows.

        Returns
        -------
        scores : (n - known,) float
            Of the rows that were not known in this fold.
        wanted : (n - known,) bool
            Which of them were hidden.
        """
        told = self.y == 1
        wanted = np.zeros(len(told), bool)
        wanted[self.hidden] = True
        return scores[~told], wanted[~told]


def hide_known(y: Any, n_splits: int = 5, random_state: Any = 0) -> Iterator[Hiding]:
    """Yield folds in which every known example is hidden exactly once.

    With up to `n_splits` known examples each is hidden alone (leave one out); with more they are dealt at random into
    `n_splits` parts, as equal as possible, and each part is hidden once. Not to be confused with cross-validation of a
    classifier: the unlabelled rows are in every fold, because a ranker always sees the whole survey.

    Parameters
    ----------
    y : (n,) 0/1
        1 = known, 0 = unlabelled; at least two known.
    n_splits : int, optional
        Largest number of folds, at least 2.
    random_state : int, RandomState or None, optional
        Decides which known examples are hidden together.

    Yields
    ------
    Hiding
        One fold.

    Raises
    ------
    ValueError
        If fewer than two are known, or `n_splits` is below 2.

    Examples
    --------
    >>> from rarespec.evaluation import hide_known
    >>> [fold.hidden.tolist() for fold in hide_known([1, 0, 1, 0, 0])]
    [[2], [0]]
    """
    if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer) or n_splits < 2:
        raise ValueError(f"n_splits must be a whole number of at least 2, not {n_splits!r}")
    known = check_known(y, y)
    rows = np.flatnonzero(known)
    if len(rows) < MIN_KNOWN:
        raise ValueError(
            "a single known example cannot be hidden, because none would be left to learn from; give at least 2"
        )
    order = check_random_state(random_state).permutation(rows)
    parts = np.array_split(order, min(n_splits, len(rows)))
    return (_hiding(known, np.sort(part)) for part in parts)


def _hiding(known: NDArray[np.bool_], hidden: NDArray[np.intp]) -> Hiding:
    labels = known.astype(np.int8)
    labels[hidden] = 0
    return Hiding(labels, hidden)
