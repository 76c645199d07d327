"""Features for real skies: distances in units of what dust, calibration, motion and noise do to the same object."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rarespec.engines.here import one_blas_thread
from rarespec.features.nuisance import FluxNoise, Nuisance, noise_of
from rarespec.features.pca.sky_components import SkyComponents
from rarespec.features.recipe import Recipe, spread_rows
from rarespec.features.steps.rescaling import MinMax
from rarespec.features.steps.running_mean import MeanFilter
from rarespec.spectrum import PAPER_GRID, WavelengthGrid


class SkyFeatures(Recipe):
    """Running mean, each spectrum to [0, 1], and components measured against what does not matter.

    Some of the survey's own spectra are reddened, tilted, bent and shifted, and their noise is followed. The features
    are those combinations of principal components in which the survey varies most compared with these changes; see
    `SkyComponents`.

    Parameters
    ----------
    n_components : int, optional
        Features.
    n_followed : int, optional
        Principal components among which they are looked for.
    width_angstrom : float, optional
        Width of the running mean.
    every : int, optional
        The mean is taken around every second pixel, or around fewer.
    grid : WavelengthGrid, optional
        Wavelength grid of the flux. By default the paper's, which has 3601 pixels.
    reddening, tilt, bend, velocity, noise, other : float, optional
        Strength of the changes; see `Nuisance`. Give `velocity=0` where shifts matter.
    n_changed : int, optional
        Spectra that are changed.
    n_learned : int, optional
        Spectra, spread over the survey, from which the principal components are learned.
    solver : {"auto", "exact", "randomised"}, optional
        How the principal components are found; see `StreamingPCA`.
    min_good : float, optional
        Share of good pixels that a spectrum needs.
    random_state : int, optional
        Seed of the randomised solver.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import SkyFeatures
    >>> flux = np.random.default_rng(0).normal(1.0, 0.1, (60, 3601))
    >>> SkyFeatures(n_components=3, n_followed=10).fit_transform(flux).shape
    (60, 3)
    """

    def __init__(
        self,
        n_components: int = 50,
        n_followed: int = 250,
        width_angstrom: float = 6.0,
        every: int = 2,
        grid: WavelengthGrid | None = None,
        reddening: float = 0.05,
        tilt: float = 0.025,
        bend: float = 0.015,
        velocity: float = 90.0,
        noise: float = 0.3,
        other: float = 4e-6,
        n_changed: int = 4000,
        n_learned: int = 16_384,
        solver: str = "auto",
        min_good: float = 0.5,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_followed = n_followed
        self.width_angstrom = width_angstrom
        self.every = every
        self.grid = grid
        self.reddening = reddening
        self.tilt = tilt
        self.bend = bend
        self.velocity = velocity
        self.noise = noise
        self.other = other
        self.n_changed = n_changed
        self.n_learned = n_learned
        self.solver = solver
        self.min_good = min_good
        self.random_state = random_state

    def _chain(self) -> list[Any]:
        return [
            MeanFilter(self.grid, self.width_angstrom, min_good=self.min_good, every=self.every),
            MinMax(copy=False),  # the filter's result is ours to overwrite
            SkyComponents(
                self.n_components,
                self.n_followed,
                Nuisance(self.reddening, self.tilt, self.bend, self.velocity, self.noise, self.other),
                self.n_changed,
                self.n_learned,
                solver=self.solver,
                random_state=self.random_state,
            ),
        ]

    @property
    def n_sample(self) -> int:
        """Spectra to learn from."""
        return max(self.n_learned, self.n_changed)

    def fit_sample(self, X: NDArray[np.floating]) -> Self:
        """Learn the components from spectra of the survey, then see how some of them change with nuisance.

        Parameters
        ----------
        X : ndarray
            `n_sample` spectra of the survey, (n, pixels), NaN where a pixel is bad.

        Returns
        -------
        SkyFeatures
            Itself.
        """
        self.fit_preparation(X[:1])
        some = spread_rows(np.arange(len(X)), self.n_changed)
        flux, prepared = X[some], self.prepare(X)[0]
        del X  # these are the largest arrays of a search: from here on there is one of them
        components = clone(self._chain()[-1])
        with ThreadPoolExecutor(1) as beside:
            changed = beside.submit(self._change, flux, components.nuisance)
            components.fit(spread_rows(prepared, self.n_learned))
        prepared = prepared[some]
        with one_blas_thread():  # products are too small for several
            self.steps_.append(components.measure_changes(prepared, changed.result(), self._noise_of(flux, components)))
        return self

    def _change(self, flux: NDArray[np.floating], nuisance: Nuisance) -> list[NDArray[np.floating]]:
        """Spectra after each kind of change, prepared, (n, p) each."""
        return [self.prepare(changed)[0] for changed in nuisance.change(flux, self.grid or PAPER_GRID)]

    def _noise_of(self, flux: NDArray[np.floating], components: SkyComponents) -> FluxNoise:
        """How noise moves spectra along the principal components, by the filter and the scale that each of them has."""
        mean_filter = self.steps_[0]
        filtered = mean_filter.transform(flux)
        scale = filtered.max(axis=1, keepdims=True) - filtered.min(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = (self.noise * noise_of(flux) / scale.astype(np.float64)) ** 2
        return FluxNoise(variance, mean_filter.transpose(components.components_.T, flux.shape[1]))
