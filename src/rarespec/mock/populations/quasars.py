"""Quasars: a power law, broad lines, iron, and the hydrogen between them and us."""

from __future__ import annotations

import numpy as np

from rarespec.mock.light import Amounts, Light, Population
from rarespec.mock.populations.ladder import add

HIGHEST_REDSHIFT = 3.4
STRENGTHS = {
    "lyman_alpha": 1.25, "silicon_4": 0.30, "carbon_4": 0.85, "carbon_3": 0.45, "magnesium_2": 0.50,
    "broad_balmer": 0.75,
}  # fmt: skip


def draw(rng: np.random.Generator, n: int) -> Population:
    redshift = np.clip(rng.gamma(4.5, 0.42, n), 0.12, HIGHEST_REDSHIFT)
    common = np.exp(rng.normal(0, 0.3, n))
    amounts: Amounts = {name: -size * common * np.exp(rng.normal(0, 0.25, n)) for name, size in STRENGTHS.items()}
    iron = np.exp(rng.normal(0, 0.5, n))
    add(
        amounts,
        power=rng.normal(1.45, 0.35, n),
        iron_uv=-0.22 * iron,
        iron_optical=-0.16 * iron,
        small_bump=-rng.uniform(0.05, 0.25, n),
        oxygen_3=-rng.uniform(0, 0.9, n),
        oxygen_2=-rng.uniform(0, 0.2, n),
        lyman_forest=np.clip(0.0028 * (1 + redshift) ** 3.4, 0, 1.5) * rng.uniform(0.7, 1.3, n),
        lyman_limit=np.full(n, 2.5),
    )
    subclass = np.where(rng.random(n) < 0.8, "BROADLINE", "").tolist()
    light = Light(np.full(n, np.inf), amounts)
    return Population((light,), (np.ones(n),), subclass, np.full(n, np.nan), redshift, snr=0.55)
