"""Spectra divided by their continuum, which leaves lines and bands."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from rarespec.features.steps.bridging import bridge
from rarespec.features.steps.running_median import WIDEST_NETWORK, median_filter
from rarespec.features.steps.step import RowStep
from rarespec.spectrum import WavelengthGrid

ROWS_PER_BLOCK = 512

Array = Any


class ContinuumNormalised(RowStep):
    """Divide each spectrum by its continuum: 1 where there is no line. For objects rich in lines.

    Bad pixels are bridged to find the continuum, and come out as NaN. A spectrum is unusable when it is constant, has
    too few good pixels, or has a continuum that is nowhere above the floor, such as that of an empty sky fibre.

    Parameters
    ----------
    method : {"median", "polynomial"}, optional
        A running median much wider than any line, or a least-squares fit of low degree in log wavelength.
    width_pixels : int, optional
        Width of the running median.
    degree : int, optional
        Degree of the polynomial.
    grid : WavelengthGrid, optional
        Wavelengths of the columns of X, for the polynomial. By default columns are even in log wavelength.
    floor : float, optional
        Lowest continuum, as a share of the mean absolute flux, so that no pixel is divided by almost nothing.
    min_good : float, optional
        Share of good pixels that a spectrum needs.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import ContinuumNormalised
    >>> flux = np.linspace(10.0, 20.0, 200)[None, :]
    >>> flux[0, 100] *= 0.5
    >>> lines = ContinuumNormalised(method="polynomial").fit_transform(flux)
    >>> int(lines[0].argmin()), round(float(lines[0, 100]), 1)
    (100, 0.5)
    """

    why_unusable = "no continuum above the noise, no contrast, or too few good pixels"

    def __init__(
        self,
        method: str = "median",
        width_pixels: int = 301,
        degree: int = 4,
        grid: WavelengthGrid | None = None,
        floor: float = 0.05,
        min_good: float = 0.5,
    ) -> None:
        self.method = method
        self.width_pixels = width_pixels
        self.degree = degree
        self.grid = grid
        self.floor = floor
        self.min_good = min_good

    def _transform_rows(self, X: Array) -> Array:
        xp = array_namespace(X)
        n = X.shape[0]
        starts = range(0, max(n, 1), ROWS_PER_BLOCK)
        blocks = [self._divide_by_continuum(xp, X[start : min(start + ROWS_PER_BLOCK, n), :]) for start in starts]
        return xp.concat(blocks, axis=0)

    def _divide_by_continuum(self, xp: Any, rows: Array) -> Array:
        flux = bridge(rows, min_good=self.min_good).flux
        continuum = self._continuum(xp, flux)
        lowest = self.floor * xp.mean(xp.abs(flux), axis=1, keepdims=True)
        contrast = xp.max(flux, axis=1, keepdims=True) > xp.min(flux, axis=1, keepdims=True)
        usable = contrast & xp.any(continuum > lowest, axis=1, keepdims=True)
        divisor = xp.where(usable, xp.maximum(continuum, lowest), xp.nan)
        return xp.where(xp.isfinite(rows), rows, xp.nan) / divisor

    def _continuum(self, xp: Any, flux: Array) -> Array:
        if self.method == "median":
            return wide_median(flux, self.width_pixels)
        if self.method == "polynomial":
            return self._polynomial(xp, flux)
        raise ValueError(f"method must be 'median' or 'polynomial', not {self.method!r}")

    def _polynomial(self, xp: Any, flux: Array) -> Array:
        n_pixels = flux.shape[1]
        if self.grid is not None and self.grid.n_pixels != n_pixels:
            raise ValueError(f"the grid has {self.grid.n_pixels} pixels but the flux has {n_pixels}")
        basis = xp.asarray(_polynomials(n_pixels, self.degree, self.grid), dtype=flux.dtype, device=device(flux))
        return (flux @ basis) @ basis.T


def wide_median(flux: Array, width_pixels: int) -> Array:
    """Draw a smooth curve close to the running median, at a fraction of its cost.

    It takes means of neighbouring pixels, so many that the window holds at most 31 of them; their exact running median;
    and straight lines between. Beyond the ends the first and the last mean are repeated, which follows the spectrum
    better than repeating single noisy pixels would. Up to 31 pixels wide it is the exact running median.

    Parameters
    ----------
    flux : array
        Finite spectra, (n, p).
    width_pixels : int
        Width of the window.

    Returns
    -------
    array
        The curves, (n, p).
    """
    if width_pixels < 1:
        raise ValueError(f"width_pixels must be at least 1, not {width_pixels}")
    xp = array_namespace(flux)
    bin_size = -(-width_pixels // WIDEST_NETWORK)
    coarse_width = 2 * (width_pixels // bin_size // 2) + 1
    coarse = median_filter(_bin_means(xp, flux, bin_size), width_pixels=coarse_width, min_good=0.0)
    return coarse if bin_size == 1 else _between_bins(xp, coarse, flux.shape[1], bin_size)


def _bin_means(xp: Any, flux: Array, bin_size: int) -> Array:
    """Means of whole bins; the last one holds the pixels that remain, when there are any."""
    n, p = flux.shape
    whole = p - p % bin_size
    means = xp.mean(xp.reshape(flux[:, :whole], (n, whole // bin_size, bin_size)), axis=2)
    return means if whole == p else xp.concat([means, xp.mean(flux[:, whole:], axis=1, keepdims=True)], axis=1)


def _between_bins(xp: Any, coarse: Array, n_pixels: int, bin_size: int) -> Array:
    left, share = _interpolation(n_pixels, bin_size)
    left = xp.asarray(left, device=device(coarse))
    share = xp.asarray(share, dtype=coarse.dtype, device=device(coarse))
    right = xp.clip(left + 1, 0, coarse.shape[1] - 1)
    start = xp.take(coarse, left, axis=1)
    return start + (xp.take(coarse, right, axis=1) - start) * share


@lru_cache(maxsize=16)
def _interpolation(n_pixels: int, bin_size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each pixel the bin whose centre lies before it, and how far it is on the way to the next, from 0 to 1."""
    edges = np.append(np.arange(0, n_pixels, bin_size), n_pixels)
    centres = (edges[:-1] + edges[1:] - 1) / 2
    place = np.interp(np.arange(n_pixels), centres, np.arange(len(centres)))
    left = np.floor(place).astype(np.int64)
    return left, place - left


@lru_cache(maxsize=16)
def _polynomials(n_pixels: int, degree: int, grid: WavelengthGrid | None) -> NDArray[np.float64]:
    """Orthonormal polynomials in log wavelength, (p, degree + 1), or as many as p pixels can tell apart."""
    position = np.arange(n_pixels, dtype=np.float64) if grid is None else np.log(grid.wavelength)
    extent = max(position[-1] - position[0], np.finfo(float).tiny)
    scaled = 2 * (position - position[0]) / extent - 1
    return np.linalg.qr(np.polynomial.legendre.legvander(scaled, min(degree, n_pixels - 1)))[0]
