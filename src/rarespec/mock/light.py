"""From temperatures and amounts of absorbers to light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.opacity import MODEL_GRID, absorbers

ROWS_IN_CACHE = 32
REFERENCE_WAVELENGTH = 6500.0
SECOND_RADIATION_CONSTANT = 1.438777e8
"""hc/k in Angstrom kelvin."""

Amounts = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Light:
    """n photospheres: ln F = ln B(temperature) - sum of amount * absorber.

    Parameters
    ----------
    temperature : (n,) float64 array
        Kelvin; infinity means no thermal continuum (quasars bring their own).
    amounts : mapping
        Absorber -> (n,) float64, negative for emission.
    """

    temperature: NDArray[np.float64]
    amounts: Amounts

    def __len__(self) -> int:
        return len(self.temperature)


@dataclass(frozen=True, slots=True)
class Population:
    """n objects of one class as they leave the star, before anything stands between it and the detector.

    Parameters
    ----------
    lights : tuple of Light
        One or more components per object, each a stack of n.
    shares : tuple of (n,) float64 arrays
        For each component, its share of the mean flux.
    subclass : list of str
        n of them.
    teff : (n,) float64 array
        Kelvin, NaN where it has no meaning.
    redshift : (n,) float64 array
        Velocities included.
    snr : float
        Typical S/N relative to the survey's.
    blur : float
        Pixels of extra Doppler broadening.
    """

    lights: tuple[Light, ...]
    shares: tuple[NDArray[np.float64], ...]
    subclass: list[str]
    teff: NDArray[np.float64]
    redshift: NDArray[np.float64]
    snr: float = 1.0
    blur: float = 0.0


def emit_light(population: Population, wavelength: NDArray[np.float64]) -> NDArray[np.float32]:
    """Compute the flux of each object at these observed wavelengths, mean 1 before shares; (n, p) float32."""
    pixel = MODEL_GRID.pixel_of(wavelength)
    shift = np.log10(1 + population.redshift) / MODEL_GRID.step
    window = _window(pixel, shift)
    total = np.zeros((len(shift), len(pixel)), np.float32)
    for light, share in zip(population.lights, population.shares, strict=True):
        flux = at_pixels(_blur(shine(light, window), population.blur), pixel - window.start, shift)
        total += flux * (share / flux.mean(axis=1, dtype=np.float64))[:, None].astype(np.float32)
    return total


def _window(pixel: NDArray[np.float64], shift: NDArray[np.float64]) -> slice:
    """The part of the model grid that any of these objects needs, with room for interpolation and blur."""
    first = int(np.floor(pixel[0] - shift.max())) - 20
    last = int(np.ceil(pixel[-1] - shift.min())) + 20
    return slice(max(first, 0), min(last, MODEL_GRID.n_pixels))


def _blur(flux: NDArray[np.float32], pixels: float) -> NDArray[np.float32]:
    if not pixels:
        return flux
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(flux, pixels, axis=1, mode="nearest", truncate=3)


def at_pixels(flux: NDArray[np.float32], pixel: NDArray[np.float64], shift: NDArray[np.float64]) -> NDArray[np.float32]:
    """Interpolate each row linearly at its shifted pixels.

    Parameters
    ----------
    flux : (n, m) float32 array
        Flux on m consecutive pixels of the model grid.
    pixel : (p,) float64 array
        Positions in these pixels, which need not be whole numbers.
    shift : (n,) float64 array
        Redshift of each row, in pixels of the model grid.

    Returns
    -------
    (n, p) float32 array
        Flux at `pixel - shift`; beyond the ends, that of the end.
    """
    # A little short of the last pixel, so that there always is one to the right.
    position = np.clip(pixel - shift[:, None], 0, flux.shape[1] - 1.001)
    left = position.astype(np.intp)
    part = (position - left).astype(np.float32)
    below = np.take_along_axis(flux, left, axis=1)
    left += 1
    return below + part * (np.take_along_axis(flux, left, axis=1) - below)


def shine(light: Light, window: slice) -> NDArray[np.float32]:
    """Flux of each photosphere on this part of the model grid, 1 at 6500 A before absorption; (n, pixels) float32.

    Sums run absorber by absorber in a fixed order instead of through a matrix product, whose rounding would depend
    on the number of threads.
    """
    wavelength = MODEL_GRID.wavelength[window].astype(np.float32)
    flux = np.empty((len(light), len(wavelength)), np.float32)
    for start in range(0, len(light), ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        flux[rows] = log_planck(light.temperature[rows], wavelength)
        for name, amount in light.amounts.items():
            _absorb(flux[rows], name, amount[rows], window)
        np.clip(flux[rows], -60, 20, out=flux[rows])
        np.exp(flux[rows], out=flux[rows])
    return flux


def _absorb(log_flux: NDArray[np.float32], name: str, amount: NDArray[np.float64], window: slice) -> None:
    start, depth = absorbers()[name]
    low, high = max(start, window.start), min(start + len(depth), window.stop)
    if low < high and amount.any():
        part = depth[low - start : high - start]
        log_flux[:, low - window.start : high - window.start] -= amount[:, None].astype(np.float32) * part


def log_planck(temperature: NDArray[np.float64], wavelength: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute ln B_lambda(T), zero at the reference wavelength; (n, p)."""
    thermal = np.isfinite(temperature)
    scale = (SECOND_RADIATION_CONSTANT / np.where(thermal, temperature, 5000.0)).astype(np.float32)[:, None]
    reference = np.float32(REFERENCE_WAVELENGTH)
    exponential = np.log(np.exp(scale / reference) - 1) - np.log(np.exp(scale / wavelength) - 1)
    return np.where(thermal[:, None], exponential - 5 * np.log(wavelength / reference), np.float32(0))
