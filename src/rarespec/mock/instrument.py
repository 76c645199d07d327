"""The telescope's view of a block of objects: dust, calibration error, noise, sky residuals, cosmic rays, masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.mock import noise

Flux = NDArray[np.float32]
Values = NDArray[np.float64]

DARK_SKY_NOISE = 0.8
"""Median noise per pixel from the sky alone, 1e-17 erg/s/cm2/A."""
PHOTON_NOISE = 0.03
"""Variance per unit of flux from the object's own photons, same unit."""
SNR_SPREAD = 0.75
CAUGHT_COSMIC_RAYS, MISSED_COSMIC_RAYS = 2.5, 0.8


@dataclass(frozen=True, slots=True)
class Observed:
    """flux, ivar : (n, p) float32, 1e-17 erg/s/cm2/A and its inverse variance; bad : (n, p) bool; snr : (n,)."""

    flux: Flux
    ivar: Flux
    bad: NDArray[np.bool_]
    snr: NDArray[np.float32]


class Instrument:
    """Curves over wavelength that all observations share, evaluated once."""

    def __init__(self, wavelength: Values) -> None:
        self.wavelength = wavelength
        self.log_extinction = _log_extinction(wavelength)
        self.response_variance = (noise.inverse_response(wavelength) ** 2).astype(np.float32)
        self.sky_variance = noise.sky_brightness(wavelength).astype(np.float32)
        self.residuals = _residual_patterns(wavelength)
        self.errors = _calibration_patterns(wavelength)

    def observe(self, emitted: Flux, ebv: Values, snr: Values, rng: np.random.Generator) -> Observed:
        """Observe objects of these colour excesses at these S/N; rows of zeros are sky fibres."""
        flux = emitted * np.exp(ebv.astype(np.float32)[:, None] * self.log_extinction)
        flux *= np.exp(_mixture(self.errors, rng.normal(0, 1, (len(self.errors), len(flux)))))
        sky = DARK_SKY_NOISE * np.exp(rng.normal(0, 0.2, len(flux)))
        flux *= _brightness(flux, snr, sky).astype(np.float32)[:, None]
        variance = self._variance(flux, sky)
        self._add_noise(flux, variance, sky, rng)
        bad = self._add_cosmic_rays(flux, variance, rng)
        _lose_stretches(bad, rng)
        ivar = np.where(bad, np.float32(0), 1 / variance)
        return Observed(flux, ivar, bad, median_snr(flux, ivar, bad))

    def _variance(self, flux: Flux, sky: Values) -> Flux:
        variance = np.maximum(flux, 0) * np.float32(PHOTON_NOISE)
        variance += (sky**2).astype(np.float32)[:, None] * self.sky_variance
        variance *= self.response_variance
        return variance

    def _add_noise(self, flux: Flux, variance: Flux, sky: Values, rng: np.random.Generator) -> None:
        noise_unit = rng.standard_normal(flux.shape, dtype=np.float32)
        noise_unit *= np.sqrt(variance)
        flux += noise_unit
        # Most fibres subtract well, some badly.
        shape = len(self.residuals), len(flux)
        flux += _mixture(self.residuals, sky * rng.normal(0, 1, shape) * np.exp(rng.normal(-0.8, 0.6, shape)))

    def _add_cosmic_rays(self, flux: Flux, variance: Flux, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Hits of one to three pixels; most are caught and masked, a few stay in the spectrum unnoticed."""
        bad = np.zeros(flux.shape, bool)
        for mean, caught in ((CAUGHT_COSMIC_RAYS, True), (MISSED_COSMIC_RAYS, False)):
            row = np.repeat(np.arange(len(flux)), rng.poisson(mean, len(flux)))
            first = rng.integers(0, flux.shape[1], len(row))
            height = rng.exponential(30.0 if caught else 9.0, len(row)) + 3
            for step in range(3):
                hit = rng.random(len(row)) < (1.0, 0.6, 0.3)[step]
                at = row[hit], np.minimum(first[hit] + step, flux.shape[1] - 1)
                flux[at] += (height[hit] * np.sqrt(variance[at])).astype(np.float32)
                bad[at] |= caught
        return bad


def _mixture(patterns: NDArray[np.float32], amounts: Values) -> Flux:
    """Sum of patterns (k, p) in these amounts (k, n); in a fixed order, since a matrix product's rounding is not."""
    total = amounts[0].astype(np.float32)[:, None] * patterns[0]
    for pattern, amount in zip(patterns[1:], amounts[1:], strict=True):
        total += amount.astype(np.float32)[:, None] * pattern
    return total


def _log_extinction(wavelength: Values) -> NDArray[np.float32]:
    """ln of the transmission per unit of E(B-V)."""
    import astropy.units as u
    from dust_extinction.parameter_averages import F99

    law = F99(Rv=3.1)
    return (-0.4 * np.log(10) * law.Rv * law(wavelength * u.AA)).astype(np.float32)


def _residual_patterns(wavelength: Values) -> NDArray[np.float32]:
    """What stays of the sky after subtraction: too much or too little of a family of lines, or a shift of them."""
    families = (noise.OXYGEN_5577, noise.OXYGEN_AND_CITY, noise.HYDROXYL)
    roots = [noise.sky_lines(wavelength, tuple((at, np.sqrt(size)) for at, size in family)) for family in families]
    shifts = [np.gradient(root) for root in roots]
    return np.array([1.6 * roots[0], 0.6 * roots[1], 0.5 * roots[2], shifts[0], 0.9 * shifts[2]], dtype=np.float32)


def _calibration_patterns(wavelength: Values) -> NDArray[np.float32]:
    """ln of one standard deviation of each calibration error: tilt, bend, blue end, arm step, oxygen bands, ripple."""
    x = np.log(wavelength / 5926) / np.log(8974 / 5926)
    blue = np.exp(-(wavelength - 3900) / 250)
    arm = 1 / (1 + np.exp(-(wavelength - 5950) / 40))
    oxygen = noise.oxygen_absorption(wavelength)
    smooth = [0.05 * x, 0.03 * (x**2 - 1 / 3), 0.05 * blue, 0.012 * arm, 0.05 * oxygen]
    ripple = [0.008 * np.sin(9 * x), 0.008 * np.cos(9 * x)]
    return np.array(smooth + ripple, dtype=np.float32)


def _brightness(flux: Flux, snr: Values, sky: Values) -> Values:
    """The factor that gives a flux of mean F the S/N asked for: F^2 / snr^2 = sky^2 + PHOTON_NOISE * F."""
    mean = flux.mean(axis=1, dtype=np.float64)
    photons = PHOTON_NOISE * snr**2
    level = 0.5 * (photons + np.sqrt(photons**2 + 4 * (snr * sky) ** 2))
    return np.divide(level, mean, out=np.zeros(len(mean)), where=mean > 0)


def _lose_stretches(bad: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """One spectrum in forty lacks a stretch of pixels, a few lose them at an end."""
    n, p = bad.shape
    for row in np.flatnonzero(rng.random(n) < 0.025):
        length = int(rng.integers(5, max(6, p // 20)))
        start = int(rng.choice([0, p - length, int(rng.integers(0, p - length))]))
        bad[row, start : start + length] = True


def median_snr(flux: Flux, ivar: Flux, bad: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Median of flux * sqrt(ivar) over the good pixels of each row."""
    ratio = flux * np.sqrt(ivar)
    medians = np.median(ratio, axis=1)
    for row in np.flatnonzero(bad.any(axis=1)):
        medians[row] = np.median(ratio[row, ~bad[row]])
    return medians
