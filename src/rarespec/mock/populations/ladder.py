"""Amounts of absorbers along a sequence of spectral types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.light import Amounts

SPEED_OF_LIGHT = 299792.458
Values = NDArray[np.float64]


def climb(at: Values, rungs: Sequence[float], ladder: Mapping[str, Sequence[float]]) -> Amounts:
    """Interpolate the amount of each absorber along a sequence of spectral types, linearly between rungs.

    Parameters
    ----------
    at : (n,) float64 array
        Positions on the sequence: temperatures or subtypes.
    rungs : sequence of float
        Positions of the rungs, ascending.
    ladder : mapping
        Absorber -> its amount at each rung.

    Returns
    -------
    dict
        Absorber -> (n,) float64 amounts.
    """
    return {name: np.interp(at, rungs, amounts) for name, amounts in ladder.items()}


def vary(rng: np.random.Generator, amounts: Amounts, names: Iterable[str], scatter: float) -> None:
    """Multiply each named amount by a log-normal scatter of its own, in place: no two stars have the same abundances.

    Parameters
    ----------
    rng : numpy.random.Generator
        Gives the scatter.
    amounts : dict
        Absorber -> (n,) amounts; changed.
    names : iterable of str
        Absorbers to vary; all must be among the amounts.
    scatter : float
        Standard deviation of ln(amount).
    """
    for name in names:
        amounts[name] = amounts[name] * np.exp(rng.normal(0, scatter, len(amounts[name])))


def scale(amounts: Amounts, names: Iterable[str], factor: Values | float) -> None:
    """Multiply each named amount by a factor, in place.

    Parameters
    ----------
    amounts : dict
        Absorber -> (n,) amounts; changed.
    names : iterable of str
        Absorbers to scale; all must be among the amounts.
    factor : float or (n,) float64 array
        The factor, one for all stars or one for each.
    """
    for name in names:
        amounts[name] = amounts[name] * factor


def add(amounts: Amounts, **more: Values | float) -> None:
    """Add to these amounts, starting from none."""
    size = len(next(iter(amounts.values())))
    for name, amount in more.items():
        amounts[name] = amounts.get(name, np.zeros(size)) + amount


def velocities(rng: np.random.Generator, n: int, halo: float | Values = 0.1) -> Values:
    """Draw the redshifts of stars of the disc (35 km/s) and of the halo (130 km/s).

    Parameters
    ----------
    rng : numpy.random.Generator
        Gives the velocities.
    n : int
        How many stars.
    halo : float or (n,) float64 array
        Probability that a star belongs to the halo.

    Returns
    -------
    (n,) float64 array
        Redshifts: radial velocity over the speed of light.
    """
    spread = np.where(rng.random(n) < halo, 130.0, 35.0)
    return rng.normal(0, 1, n) * spread / SPEED_OF_LIGHT


def sometimes(rng: np.random.Generator, n: int, probability: float | Values, low: float, high: float) -> Values:
    """Draw zero or, with some probability, a uniform amount.

    Parameters
    ----------
    rng : numpy.random.Generator
        Gives the amounts.
    n : int
        How many.
    probability : float or (n,) float64 array
        Of an amount other than zero.
    low : float
        Least amount.
    high : float
        Largest amount.

    Returns
    -------
    (n,) float64 array
        The amounts.
    """
    return np.where(rng.random(n) < probability, rng.uniform(low, high, n), 0.0)


def types(letter: str, at: Values, rungs: Sequence[float], numbers: Sequence[float]) -> list[str]:
    """Name the spectral type at each position: `G3` and the like.

    Parameters
    ----------
    letter : str
        The class.
    at : (n,) float64 array
        Positions on the sequence, such as temperatures.
    rungs : sequence of float
        Positions of the rungs, ascending.
    numbers : sequence of float
        The subtype at each rung.

    Returns
    -------
    list of str
        The types.
    """
    return [f"{letter}{round(number)}" for number in np.interp(at, rungs, numbers)]
