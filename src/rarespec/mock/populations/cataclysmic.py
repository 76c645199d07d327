"""Cataclysmic variables: an accretion disc in emission, in some with the donor star, in some in outburst."""

from __future__ import annotations

import numpy as np

from rarespec.mock.light import Amounts, Light, Population
from rarespec.mock.populations.ladder import add, velocities
from rarespec.mock.populations.red_dwarfs import M_TEFF, M_TYPES, m_photosphere


def draw(rng: np.random.Generator, n: int) -> Population:
    teff = rng.uniform(8500, 22000, n)
    outburst = rng.random(n) < 0.15
    disc = Light(teff, _disc(rng, n, outburst))
    subtype = rng.uniform(2, 6, n)
    donor = Light(np.interp(subtype, M_TYPES, M_TEFF), m_photosphere(rng, subtype))
    share = np.where((rng.random(n) < 0.4) & ~outburst, rng.uniform(0.1, 0.6, n), 0.0)
    kinds = ("CV outburst", "CV+M")
    subclass = np.select([outburst, share > 0], kinds, "CV").tolist()
    redshift = velocities(rng, n, 0.05)
    return Population((disc, donor), (1 - share, share), subclass, np.full(n, np.nan), redshift, snr=0.8)


def _disc(rng: np.random.Generator, n: int, outburst: np.ndarray) -> Amounts:
    strength = rng.uniform(0.25, 1.5, n)
    fast = rng.random(n) < 0.35
    helium = strength * rng.uniform(0.15, 0.55, n)
    helium_2 = np.where(rng.random(n) < 0.3, rng.uniform(0.2, 0.9, n), rng.uniform(0, 0.1, n)) * strength
    amounts: Amounts = {}
    for name, amount in (("balmer_disc", strength), ("he1_disc", helium), ("he2_disc", helium_2)):
        amounts[name] = -np.where(fast, 0, amount)
        amounts[f"{name}_fast"] = -np.where(fast, 0.75 * amount, 0)
    for name in ("balmer_disc", "he1_disc"):
        amounts[name] = np.where(outburst, 0.15, amounts[name])  # an optically thick disc absorbs
    add(amounts, balmer=np.where(outburst, -0.2, 0), ca_triplet_disc=-np.where(rng.random(n) < 0.2, 0.2, 0.0))
    add(amounts, slope=rng.normal(-0.15, 0.12, n), curve=rng.normal(0, 0.05, n), balmer_jump=-rng.uniform(0, 0.5, n))
    return amounts
