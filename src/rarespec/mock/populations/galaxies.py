"""Galaxies: an old and a young population, gas in emission, lines broadened by the motion of the stars."""

from __future__ import annotations

import numpy as np

from rarespec.mock.light import Light, Population
from rarespec.mock.populations.ladder import Values, add, scale
from rarespec.mock.populations.stars import photosphere

BLUR_PIXELS = 2.4
"""About 170 km/s."""


def draw(rng: np.random.Generator, n: int) -> Population:
    young = np.clip(rng.beta(0.9, 1.4, n), 0, 0.95)
    redshift = np.clip(np.where(young < 0.3, rng.gamma(5, 0.06, n), rng.gamma(3, 0.05, n)), 0.005, 0.75)
    old_teff, young_teff = rng.normal(4700, 120, n), rng.uniform(7500, 12000, n)
    old, hot = _stars(rng, old_teff), _stars(rng, young_teff)
    _add_gas(rng, old, young)
    _add_gas(rng, hot, young)
    add(old.amounts, break_4000=0.25)
    dust = 0.5 * rng.random(n) * (young > 0.2)
    for light in (old, hot):
        add(light.amounts, slope=-dust)
    subclass = np.select([young > 0.6, young > 0.3], ["STARBURST", "STARFORMING"], "").tolist()
    return Population((old, hot), (1 - young, young), subclass, np.full(n, np.nan), redshift, snr=0.6, blur=BLUR_PIXELS)


def _stars(rng: np.random.Generator, teff: Values) -> Light:
    n = len(teff)
    amounts = photosphere(rng, teff, rng.normal(0, 0.2, n), rng.uniform(0.2, 0.6, n))
    scale(amounts, ("balmer_decrement",), 0.0)
    return Light(teff, amounts)


def _add_gas(rng: np.random.Generator, light: Light, young: Values) -> None:
    n = len(young)
    gas = np.clip(young - 0.15, 0, 1) * np.exp(rng.normal(0.6, 0.4, n))
    add(
        light.amounts,
        balmer_decrement=-1.6 * gas,
        oxygen_2=-1.3 * gas,
        oxygen_3=-gas * np.exp(rng.normal(-0.2, 0.6, n)),
        nitrogen_2=-0.7 * gas * rng.uniform(0.3, 1.2, n) - np.where(rng.random(n) < 0.2, 0.3, 0.0),
        sulphur_2=-0.5 * gas,
    )
