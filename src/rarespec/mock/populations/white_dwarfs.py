"""White dwarfs: DA, DB and DC; DQ with carbon; DZ with metals; and those with a red dwarf beside them."""

from __future__ import annotations

import numpy as np

from rarespec.mock.light import Amounts, Light, Population
from rarespec.mock.populations.ladder import SPEED_OF_LIGHT, Values, add, climb, scale, vary, velocities
from rarespec.mock.populations.red_dwarfs import M_TEFF, M_TYPES, m_photosphere

HYDROGEN_TEFF = (5500, 6500, 8000, 10000, 12500, 16000, 22000, 32000, 50000, 80000)
HYDROGEN_LADDER = {
    "balmer":      (0.16, 0.18, 0.16, 0.15, 0.14, 0.14, 0.14, 0.12, 0.09, 0.06),
    "balmer_wing": (0.06, 0.18, 0.32, 0.42, 0.45, 0.40, 0.32, 0.22, 0.13, 0.08),
    "balmer_wide": (0.00, 0.04, 0.22, 0.44, 0.50, 0.44, 0.32, 0.18, 0.08, 0.05),
    "slope":       (0.02, 0.05, 0.10, 0.16, 0.18, 0.12, 0.08, 0.05, 0.04, 0.03),
    "curve":       (-.02, -.04, -.08, -.14, -.14, -.10, -.06, -.05, -.04, -.03),
}  # fmt: skip

HELIUM_TEFF = (11000, 14000, 18000, 25000, 40000)
HELIUM_LADDER = {
    "he1_wing": (0.06, 0.20, 0.38, 0.36, 0.12),
    "he1":      (0.03, 0.12, 0.20, 0.20, 0.10),
    "slope":    (0.02, 0.02, 0.02, 0.02, 0.02),
}  # fmt: skip
SWAN_OF_DQ = {"4383": 0.35, "4737": 0.85, "5165": 1.0, "5636": 0.50, "6191": 0.16}
GRAVITATIONAL_REDSHIFT = 32.0 / SPEED_OF_LIGHT


def draw(rng: np.random.Generator, n: int) -> Population:
    kind = rng.choice(["DA", "DB", "DC"], n, p=[0.82, 0.11, 0.07])
    temperatures = [_hydrogen_temperatures(rng, n), rng.uniform(11500, 35000, n)]
    teff = np.select([kind == "DA", kind == "DB"], temperatures, rng.uniform(5000, 10500, n))
    light = hydrogen_photosphere(rng, teff)
    scale(light.amounts, ("balmer", "balmer_wing", "balmer_wide"), (kind == "DA").astype(float))
    helium = climb(teff, HELIUM_TEFF, HELIUM_LADDER)
    vary(rng, helium, ("he1_wing", "he1"), 0.15)
    add(light.amounts, **{name: amount * (kind == "DB") for name, amount in helium.items()})
    return _alone(rng, light, kind.tolist())


def _hydrogen_temperatures(rng: np.random.Generator, n: int) -> Values:
    return np.clip(np.exp(rng.normal(np.log(14500), 0.5, n)), 5800, 75000)


def hydrogen_photosphere(rng: np.random.Generator, teff: Values) -> Light:
    """DA: the wings widen with gravity."""
    n = len(teff)
    amounts: Amounts = climb(teff, HYDROGEN_TEFF, HYDROGEN_LADDER)
    gravity = rng.normal(0, 0.2, n)
    scale(amounts, ("balmer_wide",), np.exp(gravity))
    scale(amounts, ("balmer",), np.exp(-gravity))
    vary(rng, amounts, ("balmer", "balmer_wing", "balmer_wide"), 0.08)
    add(amounts, slope=rng.normal(0, 0.03, n))
    return Light(teff, amounts)


def _alone(rng: np.random.Generator, light: Light, subclass: list[str]) -> Population:
    n = len(light)
    redshift = velocities(rng, n, 0.1) + GRAVITATIONAL_REDSHIFT
    return Population((light,), (np.ones(n),), subclass, light.temperature, redshift, snr=0.8)


def draw_dq(rng: np.random.Generator, n: int) -> Population:
    """Swan bands rounded by pressure; in the coolest they are pushed to the blue (peculiar DQ)."""
    teff = rng.uniform(5500, 10500, n)
    peculiar = teff < 6400
    strength = np.exp(rng.normal(-0.25, 0.55, n))
    amounts: Amounts = {}
    for head, relative in SWAN_OF_DQ.items():
        amount = strength * relative * np.exp(rng.normal(0, 0.12, n))
        amounts[f"wd_c2_{head}"] = 0.7 * amount * ~peculiar
        amounts[f"peculiar_c2_{head}"] = 0.8 * amount * peculiar
    add(amounts, slope=rng.normal(0.05, 0.05, n), curve=rng.normal(-0.02, 0.03, n))
    subclass = np.where(peculiar, "DQpec", "DQ").tolist()
    return _alone(rng, Light(teff, amounts), subclass)


def draw_dz(rng: np.random.Generator, n: int) -> Population:
    """Calcium first, then magnesium, iron and sodium in the cool and heavily polluted ones."""
    teff = rng.uniform(4800, 11500, n)
    cool = np.clip((9000 - teff) / 4000, 0, 1)
    pollution = np.exp(rng.normal(-0.1, 0.55, n))
    amounts: Amounts = {
        "ca_hk_wing": pollution * rng.uniform(0.8, 1.8, n),
        "ca_hk_wide": pollution * cool * rng.uniform(0.3, 1.6, n),
        "ca_4227_wing": pollution * cool * rng.uniform(0.2, 0.9, n),
        "mg_b_wing": pollution * cool * rng.uniform(0.1, 0.7, n),
        "mg_1": pollution * cool * rng.uniform(0.0, 0.2, n),
        "iron_wide": pollution * cool * rng.uniform(0.0, 0.10, n),
        "na_d_wing": pollution * cool * rng.uniform(0.0, 0.6, n),
        "ca_triplet_wing": pollution * cool * rng.uniform(0.05, 0.4, n),
        "balmer": np.where(rng.random(n) < 0.2, rng.uniform(0.05, 0.25, n), 0.0),
    }
    subclass = np.where(amounts["balmer"] > 0, "DZA", "DZ").tolist()
    add(amounts, slope=rng.normal(0.08, 0.04, n), curve=rng.normal(-0.05, 0.03, n))
    return _alone(rng, Light(teff, amounts), subclass)


def draw_binary(rng: np.random.Generator, n: int) -> Population:
    """A DA and an M dwarf in one fibre."""
    teff = _hydrogen_temperatures(rng, n)
    subtype = rng.uniform(1, 6.5, n)
    red = Light(np.interp(subtype, M_TYPES, M_TEFF), m_photosphere(rng, subtype))
    share = rng.uniform(0.25, 0.8, n)
    subclass = [f"DA+M{round(value)}" for value in subtype]
    lights = (hydrogen_photosphere(rng, teff), red)
    return Population(lights, (1 - share, share), subclass, teff, velocities(rng, n, 0.05), snr=0.8)
