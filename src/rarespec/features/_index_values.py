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
from rarespec.features.index_definitions import IndexDefinition

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
    """Mean over one window.

    columns : of the strip in which the window lies
    weights : u, (n, columns)
    usable  : (n, 1), True where enough of the window is covered
    """

    columns: slice
    weights: Array
    usable: Array

    def of(self, values: Array, xp: Any) -> Array:
        """(n, 1) mean of what the (n, k) or (1, k) values are in the window."""
        return xp.sum(self.weights * values[:, self.columns], axis=1, keepdims=True)


Gradient = list[tuple[Mean, Array]]
"""dq / dF as a sum: what to add, (n, columns), in the columns of each window."""


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
    means = [_mean(definition, strip, light, i, xp) for i in range(len(definition.windows))]
    relative = _ratio if definition.kind == "ratio" else _against_line
    q, gradient, usable = relative(definition, means, strip, light, xp)
    for mean in means:
        usable = usable & mean.usable
    value, factor = _of_kind(definition, q, xp)
    nothing = xp.full_like(q, xp.nan)
    value = xp.where(usable, value, nothing)
    if light.variance is None:
        return value, nothing
    spread = _variance(gradient, light.variance, xp)
    # A value without a number has no error either, a logarithm of a negative flux for one.
    return value, xp.where(xp.isnan(value), nothing, xp.abs(factor) * xp.sqrt(spread))


def _mean(definition: IndexDefinition, strip: Strip, light: Light, i: int, xp: Any) -> Mean:
    low, high = definition.windows[i]
    weights = strip.overlap[i] * light.good[:, strip.places[i]]
    covered = xp.sum(weights, axis=1, keepdims=True)
    usable = covered >= MIN_COVERED * (high - low)
    return Mean(strip.places[i], weights / xp.where(usable, covered, xp.ones_like(covered)), usable)


def _variance(gradient: Gradient, variance: Array, xp: Any) -> Array:
    total = xp.zeros_like(variance)
    for mean, part in gradient:
        total[:, mean.columns] += part
    return xp.sum(xp.where(total != 0, total**2 * variance, xp.zeros_like(total)), axis=1, keepdims=True)


def _ratio(
    definition: IndexDefinition, means: list[Mean], strip: Strip, light: Light, xp: Any
) -> tuple[Array, Gradient, Array]:
    """q, its gradient, and where it exists."""
    features, continua = means[: len(definition.feature)], means[len(definition.feature) :]
    level = sum(mean.of(light.flux, xp) for mean in continua) / len(continua)
    usable = level > 0
    level = xp.where(usable, level, xp.ones_like(level))
    q = sum(mean.of(light.flux, xp) for mean in features) / len(features) / level
    if light.variance is None:
        return q, [], usable
    up = [(mean, mean.weights / (len(features) * level)) for mean in features]
    down = [(mean, mean.weights * (-q / (len(continua) * level))) for mean in continua]
    return q, up + down, usable


def _against_line(
    definition: IndexDefinition, means: list[Mean], strip: Strip, light: Light, xp: Any
) -> tuple[Array, Gradient, Array]:
    """q, its gradient, and where it exists: where the continuum is positive in its windows and across the feature."""
    feature, blue, red = means
    B, R = blue.of(light.flux, xp), red.of(light.flux, xp)
    at_blue, at_red = blue.of(strip.middle, xp), red.of(strip.middle, xp)
    apart = at_red - at_blue
    t = (strip.middle[:, feature.columns] - at_blue) / xp.where(apart > 0, apart, xp.ones_like(apart))
    C = B + t * (R - B)
    positive = (C > 0) | (feature.weights == 0)
    usable = (B > 0) & (R > 0) & (apart > 0) & xp.all(positive, axis=1, keepdims=True)
    C = xp.where(C > 0, C, xp.ones_like(C))
    share = feature.weights / C
    relative = share * light.flux[:, feature.columns]
    q = xp.sum(relative, axis=1, keepdims=True)
    if light.variance is None:
        return q, [], usable
    to_red = xp.sum(relative * t / C, axis=1, keepdims=True)
    to_blue = xp.sum(relative / C, axis=1, keepdims=True) - to_red
    return q, [(feature, share), (blue, -to_blue * blue.weights), (red, -to_red * red.weights)], usable


def _of_kind(definition: IndexDefinition, q: Array, xp: Any) -> tuple[Array, Array]:
    """The index and its derivative with respect to q."""
    if definition.kind == "width":
        return definition.width * (1.0 - q), xp.full_like(q, -definition.width)
    if definition.kind == "magnitude":
        positive = xp.where(q > 0, q, xp.full_like(q, xp.nan))
        return -2.5 * xp.log10(positive), -2.5 / math.log(10.0) / positive
    return q, xp.ones_like(q)
