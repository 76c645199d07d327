"""The numbers behind an index: flux relative to the continuum, its variance, and what each kind makes of them.

Notation, per spectrum
----------------------
F_i, v_i  flux of pixel i and its variance
u_i       weight of pixel i in a window: good Angstrom of the pixel in the window, over all of them; sum u_i = 1
B, R      mean flux of the blue and the red continuum window, at their mean wavelengths
C_i       the line through B and R at the middle of pixel i: C_i = (1 - t_i) B + t_i R
q         mean of F / C over the feature's window; for a ratio, mean flux of the feature over that of the continuum
g_i       dq / dF_i; the variance of q is sum g_i^2 v_i, which counts pixels that lie in two windows correctly

A spectrum linear in wavelength has q = 1 exactly, whatever pixels are missing: B, R and C refer to the pixels used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rarespec.features._index_pixels import Array, Strip
from rarespec.features.index_definitions import IndexDefinition, Window

MIN_COVERED = 0.8
"""Share of each window that good pixels must cover."""


@dataclass(frozen=True, slots=True)
class Light:
    """Spectra in the pixels of one strip.

    flux     : (n, k) float64, 0 where bad
    good     : (n, k) float64, 1 where the flux is a number
    variance : (n, k) float64, NaN where there is none; or None
    """

    flux: Array
    good: Array
    variance: Array | None


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean over one window: weights u (n, k) and usable (n, 1), True where enough of the window is covered."""

    weights: Array
    usable: Array

    def of(self, values: Array, xp: Any) -> Array:
        return xp.sum(self.weights * values, axis=1, keepdims=True)


def light_in(strip: Strip, flux: Array, ivar: Array | None, xp: Any) -> Light:
    """What these (n, p) spectra show in the strip."""
    values = strip.values_of(flux, xp)
    good = xp.isfinite(values)
    variance = None
    if ivar is not None:
        weight = strip.values_of(ivar, xp)
        known = xp.isfinite(weight) & (weight > 0)
        variance = xp.where(known, 1.0 / xp.where(known, weight, xp.ones_like(weight)), xp.full_like(weight, xp.nan))
    return Light(xp.where(good, values, xp.zeros_like(values)), xp.astype(good, xp.float64), variance)


def value_and_error(definition: IndexDefinition, strip: Strip, light: Light, xp: Any) -> tuple[Array, Array]:
    """The index of each spectrum and its standard error, (n, 1) float64; NaN where it cannot be measured."""
    means = [
        _mean(window, overlap, light, xp) for window, overlap in zip(definition.windows, strip.overlap, strict=True)
    ]
    relative = _ratio if definition.kind == "ratio" else _against_line
    q, gradient, usable = relative(definition, means, strip, light, xp)
    for mean in means:
        usable = usable & mean.usable
    value, factor = _of_kind(definition, q, xp)
    nothing = xp.full_like(q, xp.nan)
    value = xp.where(usable, value, nothing)
    if light.variance is None:
        return value, nothing
    used = gradient != 0
    spread = xp.sum(xp.where(used, gradient**2 * light.variance, xp.zeros_like(gradient)), axis=1, keepdims=True)
    # A value without a number has no error either, a logarithm of a negative flux for one.
    return value, xp.where(xp.isnan(value), nothing, xp.abs(factor) * xp.sqrt(spread))


def _mean(window: Window, overlap: Array, light: Light, xp: Any) -> Mean:
    weights = overlap * light.good
    covered = xp.sum(weights, axis=1, keepdims=True)
    usable = covered >= MIN_COVERED * (window[1] - window[0])
    return Mean(weights / xp.where(usable, covered, xp.ones_like(covered)), usable)


def _ratio(
    definition: IndexDefinition, means: list[Mean], strip: Strip, light: Light, xp: Any
) -> tuple[Array, Array, Array]:
    """q, its gradient, and where it exists."""
    split = len(definition.feature)
    feature = sum(mean.weights for mean in means[:split]) / split
    continuum = sum(mean.weights for mean in means[split:]) / (len(means) - split)
    level = xp.sum(continuum * light.flux, axis=1, keepdims=True)
    usable = level > 0
    level = xp.where(usable, level, xp.ones_like(level))
    q = xp.sum(feature * light.flux, axis=1, keepdims=True) / level
    return q, (feature - q * continuum) / level, usable


def _against_line(
    definition: IndexDefinition, means: list[Mean], strip: Strip, light: Light, xp: Any
) -> tuple[Array, Array, Array]:
    """q, its gradient, and where it exists: where the continuum is positive in its windows and below the feature."""
    feature, blue, red = means
    B, R = blue.of(light.flux, xp), red.of(light.flux, xp)
    at_blue, at_red = blue.of(strip.middle, xp), red.of(strip.middle, xp)
    apart = at_red - at_blue
    t = (strip.middle - at_blue) / xp.where(apart > 0, apart, xp.ones_like(apart))
    C = B + t * (R - B)
    in_feature = feature.weights > 0
    below = in_feature & (C <= 0)
    usable = (B > 0) & (R > 0) & (apart > 0) & ~xp.any(below, axis=1, keepdims=True)
    share = feature.weights / xp.where(in_feature & ~below, C, xp.ones_like(C))
    q = xp.sum(share * light.flux, axis=1, keepdims=True)
    pull = share * light.flux / xp.where(in_feature & ~below, C, xp.ones_like(C))
    to_red = xp.sum(pull * t, axis=1, keepdims=True)
    to_blue = xp.sum(pull, axis=1, keepdims=True) - to_red
    return q, share - to_blue * blue.weights - to_red * red.weights, usable


def _of_kind(definition: IndexDefinition, q: Array, xp: Any) -> tuple[Array, Array]:
    """The index and its derivative with respect to q."""
    if definition.kind == "width":
        return definition.width * (1.0 - q), xp.full_like(q, -definition.width)
    if definition.kind == "magnitude":
        positive = xp.where(q > 0, q, xp.full_like(q, xp.nan))
        return -2.5 * xp.log10(positive), -2.5 / math.log(10.0) / positive
    return q, xp.ones_like(q)
