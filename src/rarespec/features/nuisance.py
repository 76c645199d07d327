"""What dust, the instrument, motion and noise do to a spectrum without making it another kind of object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import WavelengthGrid

SPEED_OF_LIGHT = 299_792.458
"""km/s. SciPy has it too, and takes longer to load than the rest of what stores a spectrum."""
R_V = 3.1
NORMAL_MEDIAN = 0.6745
"""Median of |x| for a normal x of unit variance."""


@dataclass(frozen=True)
class Nuisance:
    """How strongly spectra of the same object differ; each number but the last is a standard deviation.

    Parameters
    ----------
    reddening : float
        E(B-V) in magnitudes. Dust is added or taken away.
    tilt : float
        Error of the flux calibration that is linear in wavelength, as a fraction at the ends of the grid.
    bend : float
        The same, quadratic in wavelength.
    velocity : float
        Shift along the line of sight, km/s.
    noise : float
        Noise, in units of the noise that each spectrum has.
    other : float
        Changes of any other kind, alike in all directions, as a variance: a share of the survey's. Without it, features
        are those that dust, motion and noise change least, however little the survey varies there; with much of it
        they are principal components, and the broad shape of the spectrum decides. Kinds of stars are found by the
        former, quasars by the latter (2e-5 finds more of them, and fewer carbon stars); the default is a compromise.
    """

    reddening: float = 0.05
    tilt: float = 0.025
    bend: float = 0.015
    velocity: float = 90.0
    noise: float = 0.3
    other: float = 4e-6

    def change(self, flux: NDArray[np.floating], grid: WavelengthGrid) -> Iterator[NDArray[np.floating]]:
        """Yield the spectra once more for each kind of change: with less dust, tilted, bent, shifted.

        Each by one standard deviation. Nothing is drawn: means of squares over all amounts would be the same, and need
        many more spectra. Nor do some spectra change one way and some the other, which would have to depend on the
        order of the rows. What has no strength is left out.

        Parameters
        ----------
        flux : ndarray
            (n, pixels), NaN where a pixel is bad.
        grid : WavelengthGrid
            The wavelengths of the pixels.

        Yields
        ------
        ndarray
            (n, pixels), NaN where a bad pixel takes part.
        """
        wavelength = grid.wavelength
        position = 2 * (wavelength - wavelength[0]) / (wavelength[-1] - wavelength[0]) - 1
        dust = -0.4 * np.log(10) * extinction(wavelength) if self.reddening else position
        for strength, curve in ((self.reddening, dust), (self.tilt, position), (self.bend, position**2)):
            if strength:
                yield flux / np.exp(strength * curve).astype(flux.dtype)
        if self.velocity:
            yield shift(flux, grid, np.full(len(flux), self.velocity))


class FluxNoise(NamedTuple):
    """The noise of spectra, and how a weighted sum of their rescaled pixels depends on it.

    Attributes
    ----------
    variance : (n, stretches) float64
        Of the noise in each stretch of pixels, in units of the squared scale of the spectrum; 0 where unknown.
    weights : (pixels, k) float64
        Weights of the pixels in k sums.
    """

    variance: NDArray[np.float64]
    weights: NDArray[np.float64]

    def sums_of_squares(self) -> NDArray[np.float64]:
        """Compute the expected sum of squares, over all k, of what noise adds to the sums of each spectrum, (n,)."""
        squares = (self.weights**2).sum(axis=1)
        return self.variance @ np.add.reduceat(squares, np.arange(0, len(squares), STRETCH))

    def covariance(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the covariance, (k, k), of what noise adds to the sums; spectra count by their shares, (n,)."""
        of_pixels = np.repeat(shares @ self.variance, STRETCH)[: len(self.weights)]
        return (self.weights * of_pixels[:, None]).T @ self.weights


STRETCH = 50
"""Pixels over which noise is taken as constant."""
FEWEST_CHANGES = 3
"""Second differences from which noise is judged."""
SECOND_DIFFERENCE = 6**0.5
"""Standard deviation of a second difference, y[i-1] - 2 y[i] + y[i+1], of independent noise."""


def noise_of(flux: NDArray[np.floating]) -> NDArray[np.float64]:
    """Estimate the noise of each stretch of STRETCH pixels from the spectrum itself.

    The second difference of neighbouring pixels has little of the object in it, and a few narrow lines do not move the
    median of a stretch.

    Parameters
    ----------
    flux : ndarray
        (n, pixels), NaN where a pixel is bad.

    Returns
    -------
    ndarray
        (n, stretches), standard deviations; 0 where too few pixels of a stretch are good to tell.
    """
    sigma = scatter_of(flux, STRETCH)
    return np.where(np.isfinite(sigma), sigma, 0.0)


def scatter_of(flux: NDArray[np.floating], stretch: int) -> NDArray[np.float64]:
    """Estimate the noise of each stretch of pixels from how much neighbours differ.

    Parameters
    ----------
    flux : ndarray
        (n, pixels), NaN where a pixel is bad.
    stretch : int
        Pixels over which noise is taken as constant.

    Returns
    -------
    ndarray
        (n, stretches), standard deviations; infinite where too few pixels are good to tell.
    """
    n, n_pixels = flux.shape
    n_stretches = -(-n_pixels // stretch)
    changes = np.full((n, n_stretches * stretch), np.inf, flux.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        np.abs(np.diff(flux, 2, axis=1), out=changes[:, 1 : n_pixels - 1])
    changes[np.isnan(changes)] = np.inf
    ordered = np.sort(changes.reshape(n, n_stretches, stretch), axis=2)
    n_known = np.isfinite(ordered).sum(axis=2)
    around = np.maximum(n_known - 1, 0) // 2, np.minimum(n_known // 2, stretch - 1)
    low, high = (np.take_along_axis(ordered, place[:, :, None], axis=2)[:, :, 0] for place in around)
    typical = np.where(n_known < FEWEST_CHANGES, np.inf, (low.astype(np.float64) + high) / 2)
    return typical / (NORMAL_MEDIAN * SECOND_DIFFERENCE)


def extinction(wavelength: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the extinction for E(B-V) = 1, in magnitudes, by the mean law of the Milky Way.

    Parameters
    ----------
    wavelength : (p,) float64
        Angstrom. Beyond the range of the law (912 Angstrom to 32 micron) its last value holds.

    Returns
    -------
    (p,) float64
        A(lambda) / E(B-V).
    """
    from astropy import units
    from dust_extinction.parameter_averages import G23

    law = G23(Rv=R_V)
    wavenumber = np.clip(1e4 / wavelength, *law.x_range) / units.micron
    return R_V * np.asarray(law(wavenumber), dtype=np.float64)


def shift(flux: NDArray[np.floating], grid: WavelengthGrid, velocity: NDArray[np.float64]) -> NDArray[np.floating]:
    """Shift each spectrum by its velocity, with linear interpolation between pixels.

    Parameters
    ----------
    flux : ndarray
        (n, pixels), NaN where a pixel is bad; the shifted row has NaN wherever such a pixel would take part.
    grid : WavelengthGrid
        The wavelengths of the pixels.
    velocity : (n,) float64
        km/s, positive away from us.

    Returns
    -------
    ndarray
        (n, pixels); at the ends, where nothing was observed, the last pixel is repeated.
    """
    wavelength, pixels = grid.wavelength, np.arange(grid.n_pixels)
    shifted = np.empty_like(flux)
    for row, one, v in zip(shifted, flux, velocity, strict=True):
        emitted = wavelength / (1 + v / SPEED_OF_LIGHT)
        row[:] = np.interp(np.interp(emitted, wavelength, pixels), pixels, one)
    return shifted
