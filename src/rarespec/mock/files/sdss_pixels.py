"""The pixel columns that SDSS files of every era share: masks, dispersion, sky and a best-fit model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.files.target import Target
from rarespec.spectrum import Spectra

WHOPPER = 1 << 9
"""A flag of the whole fibre, set in good pixels of good stars."""
BRIGHTSKY = 1 << 23
COMBINEREJ = 1 << 25
"""A flag of one pixel: rejected when the exposures were combined."""
MODEL_WIDTH = 31
SKY_LINES = (5578.9, 5891.6, 6302.0, 6365.5, 7278.3, 7342.9, 7752.6, 7823.3, 8346.6, 8401.5, 8829.5, 8888.8, 8960.1)


def pixel_columns(spectra: Spectra, row: int, target: Target, keep: slice) -> dict[str, NDArray[Any]]:
    """Take the pixels of one spectrum as SDSS stores them.

    Parameters
    ----------
    spectra : Spectra
        Spectra on the grid of the layout, with inverse variances.
    row : int
        Which of them.
    target : Target
        Decides whether the fibre is flagged.
    keep : slice
        Pixels that the file holds, from `varying_ends`.

    Returns
    -------
    dict
        flux, loglam, ivar, and_mask, or_mask, wdisp, sky and model, each (p,).
    """
    wavelength, flux, bad = spectra.wavelength[keep], spectra.flux[row, keep], spectra.bad[row, keep]
    and_mask, or_mask = masks(bad, wavelength, target)
    return {
        "flux": flux,
        "loglam": np.log10(wavelength).astype(np.float32),
        "ivar": np.where(bad, 0.0, inverse_variance(spectra)[row, keep]),
        "and_mask": and_mask,
        "or_mask": or_mask,
        "wdisp": dispersion(len(wavelength)),
        "sky": sky(spectra.wavelength)[keep],
        "model": smooth_flux(flux, bad),
    }


def inverse_variance(spectra: Spectra) -> NDArray[np.floating]:
    if spectra.ivar is None:
        raise ValueError("survey files need an inverse variance; these spectra have none")
    return spectra.ivar


def varying_ends(n_pixels: int, target: Target) -> slice:
    """Choose the pixels of a file: real ones lose a few at either end, each another number."""
    return slice(target.scramble % 13, n_pixels - (target.scramble >> 8) % 13)


def masks(
    bad: NDArray[np.bool_], wavelength: NDArray[np.float64], target: Target
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Make the masks of one spectrum.

    Bad pixels have a bit of 16 and up. In a third of the spectra, good pixels have a bit about the whole fibre.

    Parameters
    ----------
    bad : (p,) bool array
        Bad pixels.
    wavelength : (p,) float64 array
        Vacuum Angstrom.
    target : Target
        Decides whether the fibre is flagged.

    Returns
    -------
    and_mask : (p,) int32 array
        Bits that all exposures have.
    or_mask : (p,) int32 array
        Bits that any exposure has: the same, and bright sky.
    """
    and_mask = np.where(bad, COMBINEREJ, 0).astype(np.int32)
    if target.scramble % 3 == 0:
        and_mask[wavelength > 6000.0] |= WHOPPER
    or_mask = and_mask | np.where(sky(wavelength) > 20.0, BRIGHTSKY, 0).astype(np.int32)
    return and_mask, or_mask


def smooth_flux(flux: NDArray[np.floating], bad: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Average over the good pixels around each, in place of the pipeline's best fit; 0 where there are none."""
    good = ~bad & np.isfinite(flux)
    total = _running_sum(np.where(good, flux, 0.0))
    count = _running_sum(good.astype(np.float64))
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0.5).astype(np.float32)


def _running_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    half = MODEL_WIDTH // 2
    upto = np.cumsum(values)
    upto = np.concatenate([np.zeros(half + 1), upto, np.full(half, upto[-1])])
    return upto[MODEL_WIDTH:] - upto[:-MODEL_WIDTH]


@lru_cache(maxsize=64)
def dispersion(n_pixels: int) -> NDArray[np.float32]:
    """wdisp, (n_pixels,): about 1.1 pixels, with the bump where the two cameras meet."""
    x = np.linspace(-1.0, 1.0, n_pixels)
    return (1.05 + 0.1 * x**2 + 0.05 * np.exp(-((x + 0.1) ** 2) / 0.01)).astype(np.float32)


def sky(wavelength: NDArray[np.float64]) -> NDArray[np.float32]:
    """Sky flux of a dark night, the same for every fibre."""
    return _sky(float(wavelength[0]), float(wavelength[-1]), len(wavelength))


@lru_cache(maxsize=512)
def _sky(first: float, last: float, n_pixels: int) -> NDArray[np.float32]:
    wavelength = np.geomspace(first, last, n_pixels)
    continuum = 4.0 + 4.0 * (wavelength / 9000.0) ** 3
    lines = sum(60.0 * np.exp(-0.5 * ((wavelength - line) / 2.0) ** 2) for line in SKY_LINES)
    return (continuum + lines).astype(np.float32)
