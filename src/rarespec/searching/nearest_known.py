"""The known example that each candidate is most like."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.linear_map import LinearMap, whitening
from rarespec.rankers.rows import BLOCK_ROWS, Rows, require_finite


class Nearest(NamedTuple):
    """For each candidate the number of the nearest known example, (k,) intp, and the cosine to it, (k,) float64."""

    known: NDArray[np.intp]
    cosine: NDArray[np.float64]


def nearest_known(candidates: Rows, known: Rows, unlabelled: Rows) -> Nearest:
    """The known example in whose direction each candidate differs from the survey: the largest cosine after whitening.

    As `MatchedFilter(method="cosine")`, with every known example by itself instead of their mean. Of equally near ones
    the first is taken.

    Parameters
    ----------
    candidates : (k, d) features
    known : (m, d) features of the known examples, m >= 1
    unlabelled : (n, d) features of the survey, from which mean and covariance are learned
    """
    if not len(known):
        raise ValueError("there are no known examples")
    for rows in (candidates, known, unlabelled):
        require_finite(rows)
    return nearest_after(whitening(unlabelled), candidates, known)


def nearest_after(
    to_white: LinearMap, candidates: Rows, known: Rows, is_same: NDArray[np.bool_] | None = None
) -> Nearest:
    """As `nearest_known`, after a whitening that is there already.

    is_same : (k, m) where a candidate is a known example itself, which is then not the nearest; the cosine is -inf when
        there is no other
    """
    directions = _directions(to_white, known)
    nearest = Nearest(np.empty(len(candidates), np.intp), np.empty(len(candidates)))
    for start in range(0, len(candidates), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        cosines = _directions(to_white, candidates[block]) @ directions.T
        if is_same is not None:
            cosines[is_same[block]] = -np.inf
        nearest.known[block] = cosines.argmax(axis=1)
        nearest.cosine[block] = cosines.max(axis=1)
    return nearest


def _directions(to_white: LinearMap, rows: Rows) -> NDArray[np.float64]:
    """Whitened rows of length 1; a row at the very centre of the survey has no direction and stays 0."""
    white = to_white.apply(rows)
    lengths = np.linalg.norm(white, axis=1, keepdims=True)
    return white / np.where(lengths > 0, lengths, 1.0)
