"""Directions in which a survey varies much more than dust, calibration, motion and noise can explain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from rarespec.features.nuisance import FluxNoise, Nuisance
from rarespec.features.pca.components import StreamingPCA, TooFewRowsError, _signs
from rarespec.features.rows import finite_rows

LONGEST_CHANGE = 3.0
"""Times the median length. Spectra that change more count less: a few noisy ones must not define what is nuisance."""


class SkyComponents(StreamingPCA):
    """Principal components, turned and scaled so that distances are in units of what the same object may do.

    With C the covariance of the first `n_followed` principal components of some of the survey's spectra, and N that of
    how they change with nuisance, the features are the leading generalised eigenvectors, C u = w N u. Nuisance has unit
    variance along each of them, and w is the variance of the survey. N also has a little of every other change.

    `fit` alone gives principal components; `measure_changes` turns them.

    Parameters
    ----------
    n_components : int
        Features kept.
    n_followed : int
        Principal components among which they are looked for.
    nuisance : Nuisance, optional
        What does not matter.
    n_changed : int
        Rows from which the effect of nuisance is learned.
    n_learned : int
        Rows from which the principal components are learned.
    solver : {"auto", "exact", "randomised"}, optional
        How the principal components are found; see `StreamingPCA`.
    random_state : int, optional
        Seed of the randomised solver.
    n_passes : int, optional
        Passes of the randomised solver.

    Attributes
    ----------
    components_ : ndarray of float64
        (k, p): features are (x - mean) @ components_.T. Not orthonormal.
    patterns_ : ndarray of float64
        (k, p), what one unit of each feature looks like in a row.
    """

    def __init__(
        self,
        n_components: int = 50,
        n_followed: int = 250,
        nuisance: Nuisance | None = None,
        n_changed: int = 4000,
        n_learned: int = 16_384,
        solver: str = "auto",
        random_state: int = 0,
        n_passes: int = 3,
    ) -> None:
        super().__init__(n_components, solver=solver, random_state=random_state, n_passes=n_passes)
        self.n_followed = n_followed
        # SkyFeatures chooses the rows and makes the changes; here these are part of what identifies the recipe.
        self.nuisance = nuisance
        self.n_changed = n_changed
        self.n_learned = n_learned

    def measure_changes(
        self, rows: NDArray[np.floating], changed: Iterable[NDArray[np.floating]], noise: FluxNoise
    ) -> Self:
        """Learn what does not matter from rows, changed copies of them, and their noise; then turn the components.

        Parameters
        ----------
        rows : ndarray
            (m, p). Rows that are not finite are left out.
        changed : iterable of ndarray
            The same rows after each kind of change, (m, p) each; one that is not finite counts as unchanged.
        noise : FluxNoise
            The noise of the same m rows, in sums weighted by the principal components.

        Returns
        -------
        SkyComponents
            Itself.

        Raises
        ------
        TooFewRowsError
            If no row is finite.
        """
        check_is_fitted(self, "components_")
        usable = finite_rows(rows)
        if not usable.any():
            raise TooFewRowsError("none of the spectra that were to be changed has features; add better ones")
        rows, noise = rows[usable], noise._replace(variance=noise.variance[usable])
        changes = [self._follow_change(rows, after[usable]) for after in changed]
        shares = _weigh(noise.sums_of_squares() + sum((change**2).sum(axis=1) for change in changes))
        # Both with the same weights: noise that counts less as nuisance must count less as variance of the survey too.
        followed = (rows - self.mean_) @ self.components_.T
        survey = _covariance(followed - shares @ followed, shares)
        nuisance, other = noise.covariance(shares), (self.nuisance or Nuisance()).other
        nuisance += sum(_covariance(change, shares) for change in changes)
        nuisance += other * np.trace(survey) * np.eye(len(survey))
        w, directions = _solve(survey, nuisance, min(self.n_components or 0, len(survey)))
        components = directions.T @ self.components_
        # E[x | z] = mean + C U w^-1 z: the best linear guess of a row from its features
        patterns = (survey @ directions / w).T @ self.components_
        self._publish_turned(components, patterns, w)
        return self

    def _follow_change(self, before: NDArray[np.floating], after: NDArray[np.floating]) -> NDArray[np.float64]:
        """Change of each row along the principal components, (m, k)."""
        change = after - before
        change[~finite_rows(change)] = 0
        return (change @ self.components_.T.astype(change.dtype)).astype(np.float64)

    def _publish_turned(self, components: NDArray[Any], patterns: NDArray[Any], w: NDArray[Any]) -> None:
        signs = _signs(components)[:, None]
        self.components_, self.patterns_ = components * signs, patterns * signs
        self._projections = {}
        self.n_components_ = len(components)
        self.explained_variance_ = w
        self.explained_variance_ratio_ = w / w.sum()
        self.singular_values_ = np.sqrt(w * max(self.n_samples_seen_ - 1, 0))

    def _patterns(self) -> NDArray[np.float64]:
        """As they most likely look: other rows have these features too."""
        return self.patterns_

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, as a dictionary of arrays."""
        arrays = super().state()
        for name in ("basis", "scatter", "total"):  # of the principal components, which are not needed any more
            arrays.pop(name, None)
        return arrays | {"patterns": self.patterns_}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Become fitted as the model was whose `state` this is.

        Parameters
        ----------
        state : mapping of str to ndarray
            What `state` returned.

        Returns
        -------
        SkyComponents
            Itself.

        Raises
        ------
        ValueError
            If no model can have this state.
        """
        super().restore(state)
        patterns = state["patterns"]
        if patterns.shape != self.components_.shape or not np.isfinite(patterns).all():
            raise ValueError("not the state of sky components: patterns has the wrong shape or is not finite")
        self.patterns_ = patterns
        return self

    @property
    def _n_sought(self) -> int:
        return self.n_followed


def _weigh(sums_of_squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each row, (m,): no change counts for more than one of `LONGEST_CHANGE` times the median length."""
    lengths = np.sqrt(sums_of_squares)
    longest = LONGEST_CHANGE * np.median(lengths)
    weights = np.minimum(1, longest / np.maximum(lengths, np.finfo(float).tiny)) ** 2
    return np.asarray(weights / weights.sum())


def _covariance(rows: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of rows (m, k) around zero, (k, k); shares add up to 1."""
    return np.asarray((rows * shares[:, None]).T @ rows)


def _solve(
    survey: NDArray[np.float64], nuisance: NDArray[np.float64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find the k largest w and their u, (n, k), in survey u = w nuisance u."""
    n = len(survey)
    w, directions = eigh(survey, nuisance, subset_by_index=[n - k, n - 1])
    return w[::-1], directions[:, ::-1]
