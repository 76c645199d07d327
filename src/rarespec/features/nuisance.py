"""What dust, the instrument and motion do to a spectrum without making it another kind of object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import WavelengthGrid

SPEED_OF_LIGHT = 299_792.458
"""km/s."""
R_V = 3.1


@dataclass(frozen=True)
class Nuisance:
    """How strongly spectra of the same object differ; each number is a standard deviation.

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
    """

    reddening: float = 0.1
    tilt: float = 0.05
    bend: float = 0.03
    velocity: float = 90.0

    def change(
        self, flux: NDArray[np.floating], grid: WavelengthGrid, rng: np.random.Generator
    ) -> NDArray[np.floating]:
        """Draw each spectrum once more, as if seen through other dust, by another instrument, at another velocity.

        Parameters
        ----------
        flux : ndarray
            (n, pixels), NaN where a pixel is bad.
        grid : WavelengthGrid
            The wavelengths of the pixels.
        rng : numpy.random.Generator
            Source of the random numbers.

        Returns
        -------
        ndarray
            (n, pixels), NaN where a pixel is bad or lies beyond what was observed.
        """
        n, wavelength = len(flux), grid.wavelength
        position = 2 * (wavelength - wavelength[0]) / (wavelength[-1] - wavelength[0]) - 1
        amounts = rng.normal(size=(n, 4)) * [self.reddening, self.tilt, self.bend, self.velocity]
        curves = np.stack([-0.4 * np.log(10) * extinction(wavelength), position, position**2])
        factors = np.exp(amounts[:, :3] @ curves).astype(flux.dtype)
        return shift(flux, grid, amounts[:, 3]) * factors


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
