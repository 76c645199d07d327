"""MatchedFilter: the mean of the known examples against the covariance of the survey."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.covariance import shrunk_covariance
from rarespec.rankers.linear_map import LinearMap, whitening_of
from rarespec.rankers.parameters import is_from_0_to_1, require, require_one_of
from rarespec.rankers.ranker import LinearRanker, Scores
from rarespec.rankers.rows import BLOCK_ROWS, Rows


class MatchedFilter(LinearRanker):
    """Shrinkage discriminant or whitened mean cosine: simple, with nothing to tune, and strong from one example up.

    Both measure against the unlabelled rows, of which there are so many that their mean and covariance S are known
    almost without error; only the direction of the known examples has to be learned, and a mean learns it with the
    least variance of all. A direction in which the survey varies much is discounted, one in which it hardly varies
    counts, however small it is in flux: that is the matched filter for a signal in correlated noise.

    - "lda": score = x . S^-1 (mean of the known - mean of the unlabelled). Linear: `coef_`. A row that goes further in
      the same direction scores higher.
    - "cosine": the cosine between S^-1/2 (x - mean of the unlabelled) and the mean direction of the known, from -1
      to 1. It asks for the same kind of difference, however strong; faint and strong members score alike, and a known
      example that lies far out counts no more than another.

    Where they fail: a rare class of several unlike families (cataclysmic variables with and without emission lines) has
    a mean that is like none of them, and a survey that is far from one ellipsoid has a covariance that says little.

    Parameters
    ----------
    method : "lda" (default) or "cosine"
        Which of the two scores.
    shrinkage : "ledoit-wolf" (default) or float
        How far S is pulled towards a sphere of the same mean variance. A number from 0 (not at all) to 1 (S is a
        sphere: the plain difference of means, the plain cosine). With 0, directions without variance are left out.

    Attributes
    ----------
    coef_ : (d,) float64 or None
        The weights; None with "cosine", which is not a weighted sum.
    mean_ : (d,) float64
        Mean of the unlabelled rows.
    shrinkage_ : float
        The shrinkage used.
    whitening_ : (d, d) float64, (d,) for a diagonal, or None
        S^-1/2, with "cosine" only.
    direction_ : (d,) float64 or None
        Mean direction of the known after whitening, of length 1 (0 if they cancel out), with "cosine" only.

    Notes
    -----
    Not the matched filter of one fixed template: the template is learned, and refers to the features as given. If the
    unlabelled rows are all the same, S is taken as a sphere.

    References
    ----------
    O. Ledoit, M. Wolf (2004), J. Multivariate Analysis 88, 365: the shrinkage.
    R. A. Fisher (1936), Annals of Eugenics 7, 179: the discriminant.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.rankers import MatchedFilter
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:4] += 6.0  # four rare rows, of which two are known
    >>> y = np.zeros(60, int)
    >>> y[:2] = 1
    >>> sorted(MatchedFilter().fit(X, y).rank(X)[:4].tolist())
    [0, 1, 2, 3]
    """

    coef_: Any
    mean_: NDArray[np.float64]
    shrinkage_: float
    whitening_: NDArray[np.float64] | None
    direction_: NDArray[np.float64] | None

    def __init__(
        self, method: Literal["lda", "cosine"] = "lda", shrinkage: float | Literal["ledoit-wolf"] = "ledoit-wolf"
    ):
        self.method = method
        self.shrinkage = shrinkage

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        self._check_parameters()
        self.mean_, covariance, self.shrinkage_ = shrunk_covariance(X, ~known, self.shrinkage)
        whitening = whitening_of(self.mean_, covariance)
        self.coef_ = self.whitening_ = self.direction_ = None
        if self.method == "lda":
            self.coef_ = whitening.weights_of(whitening.apply(X[known]).mean(axis=0))
        else:
            self.whitening_ = whitening.matrix
            self.direction_ = _of_length_one(_of_length_one(whitening.apply(X[known])).mean(axis=0))

    def _check_parameters(self) -> None:
        require_one_of(self, "method", ("lda", "cosine"))
        chosen = isinstance(self.shrinkage, str) and self.shrinkage == "ledoit-wolf"
        fine = chosen or is_from_0_to_1(self.shrinkage)
        require(self, "shrinkage", fine, "'ledoit-wolf' or a number from 0 to 1")

    def _scores(self, X: Rows) -> Scores:
        if self.whitening_ is None or self.direction_ is None:
            return super()._scores(X)
        whitening = LinearMap(self.mean_, self.whitening_)
        scores = np.empty(len(X))
        for start in range(0, len(X), BLOCK_ROWS):
            rows = _of_length_one(whitening.apply(X[start : start + BLOCK_ROWS]))
            scores[start : start + BLOCK_ROWS] = rows @ self.direction_
        return scores


def _of_length_one(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length 1; a row of zeros stays, so a spectrum at the very centre scores 0."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)
