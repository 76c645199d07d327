"""Amounts of absorbers along a sequence of spectral types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.light import Amounts

SPEED_OF_LIGHT = 299792.458
Values = NDArray[np.float64]


def climb(at: Values, rungs: Sequence[float], ladder: Mapping[str, Sequence[float]]) -> Amounts:
    """Each absorber's amount at these positions of the sequence, linear between rungs."""
    return {name: np.interp(at, rungs, amounts) for name, amounts in ladder.items()}


def vary(rng: np.random.Generator, amounts: Amounts, names: Iterable[str], scatter: float) -> None:
    """Multiply each named amount by its own log-normal scatter: no two stars have the same abundances."""
    for name in names:
        amounts[name] = amounts[name] * np.exp(rng.normal(0, scatter, len(amounts[name])))


def scale(amounts: Amounts, names: Iterable[str], factor: Values | float) -> None:
    for name in names:
        amounts[name] = amounts[name] * factor


def add(amounts: Amounts, **more: Values | float) -> None:
    """Add to these amounts, starting from none."""
    size = len(next(iter(amounts.values())))
    for name, amount in more.items():
        amounts[name] = amounts.get(name, np.zeros(size)) + amount


def velocities(rng: np.random.Generator, n: int, halo: float | Values = 0.1) -> Values:
    """Redshifts of stars of the disc (35 km/s) and, with this probability, of the halo (130 km/s)."""
    spread = np.where(rng.random(n) < halo, 130.0, 35.0)
    return rng.normal(0, 1, n) * spread / SPEED_OF_LIGHT


def sometimes(rng: np.random.Generator, n: int, probability: float | Values, low: float, high: float) -> Values:
    """Zero, or with this probability a uniform amount."""
    return np.where(rng.random(n) < probability, rng.uniform(low, high, n), 0.0)


def types(letter: str, at: Values, rungs: Sequence[float], numbers: Sequence[float]) -> list[str]:
    """`G3` and the like; `rungs` ascending, `numbers` the subtype at each."""
    return [f"{letter}{round(number)}" for number in np.interp(at, rungs, numbers)]
