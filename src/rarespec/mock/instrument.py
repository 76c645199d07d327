"""The telescope's view of a block of objects: dust, calibration error, noise, sky residuals, cosmic rays, masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.mock import instrument as noise

# ---- Noise against wavelength: two spectrograph arms, the dichroic between them, and the night sky's lines.


Curve = NDArray[np.float64]

LINE_WIDTH = 2.0e-4 * np.log(10) * 0.6
"""1-sigma width of a sky line, in ln(wavelength)."""

OXYGEN_5577 = ((5578.9, 80.0),)
OXYGEN_AND_CITY = ((4047.7, 0.7), (4359.6, 1.9), (5462.3, 1.2), (5689.8, 0.4), (5771.7, 0.4), (5891.6, 4.5),
                   (5897.6, 2.5), (6302.0, 7.5), (6365.5, 2.2))  # fmt: skip
HYDROXYL = (
    (6499.8, 0.5), (6534.5, 0.5), (6555.0, 0.6), (6579.2, 0.5), (6831.2, 1.2), (6836.0, 0.8), (6866.0, 1.6),
    (6874.0, 0.8), (6891.3, 0.5), (6915.1, 0.4), (6925.2, 0.9), (6950.9, 1.0), (6980.4, 0.8), (7005.0, 0.4),
    (7050.2, 0.4), (7242.5, 3.0), (7247.0, 2.2), (7278.2, 4.6), (7286.0, 1.0), (7306.0, 0.8), (7318.3, 2.8),
    (7331.4, 1.1), (7343.0, 3.9), (7360.7, 1.1), (7371.5, 3.0), (7404.2, 1.8), (7440.2, 1.0), (7469.0, 0.6),
    (7485.3, 1.0), (7526.6, 2.0), (7574.0, 0.9), (7718.0, 3.2), (7726.0, 1.5), (7752.8, 5.2), (7760.0, 1.2),
    (7782.0, 0.8), (7796.3, 3.0), (7810.5, 1.2), (7823.5, 4.4), (7843.0, 1.0), (7855.5, 4.6), (7872.0, 1.6),
    (7893.0, 2.0), (7916.0, 5.2), (7934.0, 1.2), (7952.0, 0.8), (7967.0, 4.2), (7981.0, 1.8), (7996.0, 4.8),
    (8017.0, 1.0), (8027.9, 4.0), (8064.6, 2.0), (8104.8, 0.9), (8197.9, 0.6), (8284.0, 2.6), (8291.0, 3.0),
    (8300.5, 5.2), (8313.0, 1.6), (8346.8, 12.5), (8355.0, 3.0), (8367.5, 1.0), (8384.7, 2.2), (8401.8, 8.5),
    (8417.5, 3.0), (8432.5, 10.5), (8454.6, 2.8), (8467.7, 8.2), (8495.0, 2.0), (8507.2, 4.8), (8550.9, 1.6),
    (8590.0, 0.8), (8763.0, 5.5), (8770.0, 6.0), (8780.4, 8.5), (8794.0, 2.6), (8829.0, 16.0), (8838.0, 3.0),
    (8853.0, 1.2), (8870.0, 3.2), (8888.1, 13.5), (8906.0, 4.2), (8922.6, 15.5), (8945.6, 3.6), (8960.6, 9.5),
    (8991.0, 7.0), (9002.0, 4.0), (9040.0, 5.0), (9052.0, 5.0), (9105.0, 3.0), (9220.0, 2.5), (9307.0, 6.0),
    (9316.0, 8.0), (9340.0, 7.0), (9378.0, 14.0), (9422.0, 9.0), (9442.0, 14.0), (9461.0, 6.0), (9479.0, 12.0),
    (9505.0, 7.0), (9522.0, 10.0), (9570.0, 7.0), (9623.0, 5.0), (9702.0, 4.0), (9722.0, 5.0), (9794.0, 7.0),
    (9805.0, 5.0), (9874.0, 9.0), (9918.0, 5.0), (9964.0, 3.0), (10012.0, 4.0), (10125.0, 6.0), (10174.0, 6.0),
)  # fmt: skip
"""Emission lines of the night sky: vacuum wavelength, variance added in units of the dark sky's."""

HYDROXYL_GLOW = 1.5
"""The table of hydroxyl lines is relative; this is their strength on a median night."""

BANDS = ((7602.0, 6.0, 5.0), (7631.0, 10.0, 2.5), (6870.0, 7.0, 0.5), (8632.0, 10.0, 4.0), (8660.0, 14.0, 4.0))
"""Atmospheric oxygen: centre, 1-sigma width, variance added."""


def inverse_response(wavelength: Curve) -> Curve:
    """Compute the noise of a flat spectrum relative to the green; both arms lose light towards their ends."""
    blue = 0.95 + 1.15 * np.exp(-(wavelength - 3900) / 450)
    red = 0.59 + 0.33 * np.exp(-(wavelength - 6050) / 450) + 0.14 * np.clip((wavelength - 7400) / 1500, 0, None) ** 2
    in_blue = 1 / (1 + np.exp((wavelength - 5960) / 45))
    dichroic = 0.13 * np.exp(-0.5 * ((wavelength - 5880) / 80) ** 2)
    return in_blue * blue + (1 - in_blue) * red + dichroic


def sky_lines(wavelength: Curve, lines: tuple[tuple[float, float], ...]) -> Curve:
    """Add up unresolved lines, each with its strength at the centre."""
    curve = np.zeros(len(wavelength))
    for centre, strength in lines:
        curve += strength * np.exp(-0.5 * (np.log(wavelength / centre) / LINE_WIDTH) ** 2)
    return curve


def sky_brightness(wavelength: Curve) -> Curve:
    """Compute the variance from the night sky, 1 between the lines."""
    curve = 1 + sky_lines(wavelength, OXYGEN_5577 + OXYGEN_AND_CITY) + HYDROXYL_GLOW * sky_lines(wavelength, HYDROXYL)
    for centre, width, strength in BANDS:
        curve += strength * np.exp(-0.5 * ((wavelength - centre) / width) ** 2)
    return curve


def oxygen_absorption(wavelength: Curve) -> Curve:
    """Compute the depth of the atmosphere's A and B bands; correction never removes them completely."""
    a_band = np.exp(-0.5 * ((wavelength - 7605) / 9) ** 2) + 0.6 * np.exp(-0.5 * ((wavelength - 7640) / 16) ** 2)
    b_band = 0.45 * np.exp(-0.5 * ((wavelength - 6880) / 14) ** 2)
    return a_band + b_band + 0.25 * np.exp(-0.5 * ((wavelength - 7250) / 60) ** 2)


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
    """n spectra of p pixels as a telescope sees them.

    Parameters
    ----------
    flux : (n, p) float32 array
        1e-17 erg/s/cm2/A.
    ivar : (n, p) float32 array
        Inverse variance of the flux; 0 where a pixel is bad.
    bad : (n, p) bool array
        Bad pixels.
    snr : (n,) float32 array
        Median signal-to-noise ratio per good pixel.
    """

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
        """Observe objects through dust, sky and spectrograph.

        Parameters
        ----------
        emitted : (n, p) float32 array
            Flux before dust, in any unit; a row of zeros is a sky fibre.
        ebv : (n,) float64 array
            Colour excess E(B-V).
        snr : (n,) float64 array
            Signal-to-noise ratio to reach.
        rng : numpy.random.Generator
            Gives noise, cosmic rays and errors of the calibration.

        Returns
        -------
        Observed
            The spectra.
        """
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
    # The positive root of F^2 - photons F - (snr sky)^2 = 0.
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
    """Take the median of flux * sqrt(ivar) over the good pixels of each spectrum.

    Parameters
    ----------
    flux : (n, p) float32 array
        Flux.
    ivar : (n, p) float32 array
        Its inverse variance.
    bad : (n, p) bool array
        Pixels that do not count.

    Returns
    -------
    (n,) float32 array
        Median signal-to-noise ratio per pixel.
    """
    ratio = flux * np.sqrt(ivar)
    medians = np.median(ratio, axis=1)  # much faster for all rows at once; few have bad pixels
    for row in np.flatnonzero(bad.any(axis=1)):
        medians[row] = np.median(ratio[row, ~bad[row]])
    return medians
