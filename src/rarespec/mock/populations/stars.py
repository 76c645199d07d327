"""Stars from O to K: dwarfs, giants and metal-poor stars."""

from __future__ import annotations

import numpy as np

from rarespec.mock.light import Amounts, Light, Population
from rarespec.mock.populations.ladder import Values, add, climb, scale, sometimes, types, vary, velocities

TEFF = (4050, 4400, 4800, 5250, 5650, 5950, 6500, 7200, 8000, 9200, 11000, 15000, 22000, 32000, 45000)
LADDER = {
    "balmer":          (0.06, 0.12, 0.25, 0.29, 0.30, 0.31, 0.36, 0.32, 0.30, 0.45, 0.42, 0.34, 0.26, 0.18, 0.12),
    "balmer_wing":     (0.00, 0.00, 0.03, 0.06, 0.08, 0.10, 0.20, 0.60, 0.76, 0.82, 0.70, 0.42, 0.22, 0.10, 0.05),
    "paschen_wing":    (0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.03, 0.12, 0.20, 0.25, 0.22, 0.14, 0.08, 0.04, 0.02),
    "balmer_jump":     (0.30, 0.28, 0.25, 0.22, 0.22, 0.25, 0.40, 0.70, 1.00, 1.20, 1.00, 0.60, 0.30, 0.10, 0.00),
    "he1":             (0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.06, 0.17, 0.32, 0.20, 0.06),
    "he2":             (0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.12, 0.26),
    "ca_hk":           (0.40, 0.50, 0.70, 0.90, 0.95, 1.00, 1.10, 0.75, 0.55, 0.20, 0.10, 0.06, 0.05, 0.05, 0.05),
    "ca_hk_wing":      (1.50, 1.55, 1.25, 1.05, 0.95, 0.80, 0.42, 0.12, 0.08, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ca_4227":         (1.20, 1.10, 0.57, 0.50, 0.40, 0.29, 0.13, 0.08, 0.05, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ca_4227_wing":    (0.65, 0.48, 0.12, 0.08, 0.06, 0.04, 0.02, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ca_1":            (0.24, 0.21, 0.12, 0.09, 0.08, 0.06, 0.03, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "mg_b":            (0.44, 0.47, 0.38, 0.34, 0.28, 0.21, 0.11, 0.04, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00),
    "mg_b_wing":       (0.05, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "mg_1":            (0.05, 0.07, 0.07, 0.07, 0.07, 0.06, 0.04, 0.02, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00),
    "na_d":            (0.90, 0.80, 0.36, 0.27, 0.22, 0.17, 0.12, 0.09, 0.06, 0.04, 0.04, 0.05, 0.05, 0.06, 0.06),
    "na_d_wing":       (0.04, 0.02, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "k_7665":          (0.12, 0.11, 0.06, 0.04, 0.03, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "na_8190":         (0.09, 0.07, 0.04, 0.03, 0.02, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ca_triplet":      (0.26, 0.28, 0.26, 0.23, 0.22, 0.18, 0.12, 0.05, 0.02, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ca_triplet_wing": (0.11, 0.10, 0.10, 0.12, 0.13, 0.14, 0.16, 0.16, 0.10, 0.05, 0.00, 0.00, 0.00, 0.00, 0.00),
    "iron":            (0.25, 0.26, 0.18, 0.15, 0.13, 0.10, 0.06, 0.04, 0.02, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "metals_3900":     (0.30, 0.22, 0.12, 0.08, 0.06, 0.05, 0.03, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "metals_4200":     (0.14, 0.13, 0.08, 0.06, 0.05, 0.03, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "metals_4700":     (0.07, 0.06, 0.04, 0.03, 0.03, 0.02, 0.01, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "metals_5300":     (0.06, 0.05, 0.03, 0.03, 0.02, 0.02, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "metals_6000":     (0.03, 0.03, 0.02, 0.02, 0.01, 0.01, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ch_4300":         (0.04, 0.10, 0.26, 0.28, 0.28, 0.25, 0.15, 0.05, 0.02, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ch_wide":         (0.35, 0.32, 0.18, 0.16, 0.13, 0.10, 0.03, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "mgh_5211":        (0.32, 0.24, 0.05, 0.03, 0.02, 0.01, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "mgh_4780":        (0.08, 0.03, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ionised_metals":  (0.00, 0.00, 0.02, 0.03, 0.04, 0.04, 0.06, 0.08, 0.06, 0.04, 0.03, 0.02, 0.02, 0.02, 0.02),
    "s_process":       (0.02, 0.03, 0.05, 0.05, 0.05, 0.05, 0.04, 0.06, 0.03, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00),
    "tio_4955":        (0.11, 0.05, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "tio_5167":        (0.07, 0.08, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "tio_6158":        (0.09, 0.05, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "tio_7054":        (0.07, 0.05, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "cah_6800":        (0.14, 0.10, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "o_7774":          (0.00, 0.00, 0.00, 0.01, 0.02, 0.03, 0.06, 0.12, 0.16, 0.16, 0.14, 0.10, 0.06, 0.03, 0.02),
    "slope":           (-.07, -.02, 0.08, 0.10, 0.08, 0.13, 0.16, 0.21, 0.26, 0.30, 0.30, 0.28, 0.22, 0.18, 0.16),
    "curve":           (0.12, 0.12, 0.04, -.03, 0.00, -.02, -.07, -.16, -.20, -.24, -.24, -.20, -.16, -.12, -.10),
}  # fmt: skip
"""Dwarfs of solar metallicity. Slope and curve bend the Planck curve into the observed continuum."""

METALS = ("ca_hk", "ca_hk_wing", "ca_4227", "ca_4227_wing", "ca_1", "mg_b", "mg_b_wing", "mg_1", "na_d", "na_d_wing",
          "ca_triplet", "ca_triplet_wing", "iron", "metals_3900", "metals_4200", "metals_4700", "metals_5300",
          "metals_6000", "ionised_metals", "s_process", "mgh_5211", "k_7665", "na_8190", "ch_4300", "ch_wide",
          "tio_4955", "tio_5167", "tio_6158", "tio_7054")  # fmt: skip
DWARF_MARKS = ("mg_b", "mg_b_wing", "mgh_5211", "mgh_4780", "na_d", "na_8190", "ca_1", "ca_4227", "ca_4227_wing",
               "iron")  # fmt: skip

RANGES = {
    "O": (29000, 46000), "B": (10200, 28000), "A": (7400, 9900), "F": (6000, 7350),
    "G": (5300, 5990), "K": (3950, 5280),
}  # fmt: skip
SUBTYPE_RUNGS = {
    "O": ((29000, 46000), (9, 5)), "B": ((10200, 28000), (9, 1)), "A": ((7400, 9900), (9, 0)),
    "F": ((6000, 7350), (9, 0)), "G": ((5300, 5990), (9, 0)), "K": ((3950, 4400, 4800, 5280), (7, 5, 3, 0)),
}  # fmt: skip


def draw(rng: np.random.Generator, n: int, letter: str) -> Population:
    """Draw stars of one class: dwarfs, giants and metal-poor stars.

    Parameters
    ----------
    rng : numpy.random.Generator
        Gives everything that varies from star to star.
    n : int
        How many stars.
    letter : str
        The class, from O to K.

    Returns
    -------
    Population
        The stars.
    """
    teff = _temperatures(rng, n, letter)
    metallicity = np.clip(np.where(rng.random(n) < 0.35, rng.normal(-1.5, 0.5, n), rng.normal(-0.3, 0.35, n)), -3, 0.5)
    giant = _giants(rng, n, letter)
    amounts = photosphere(rng, teff, metallicity, giant)
    redshift = velocities(rng, n, np.where(metallicity < -1, 0.9, 0.08))
    subclass = [_name(kind, is_giant, feh) for kind, is_giant, feh in
                zip(types(letter, teff, *SUBTYPE_RUNGS[letter]), giant > 0.5, metallicity, strict=True)]  # fmt: skip
    return Population((Light(teff, amounts),), (np.ones(n),), subclass, teff, redshift)


def _temperatures(rng: np.random.Generator, n: int, letter: str) -> Values:
    low, high = RANGES[letter]
    # Hot stars and turn-off stars: more of the cooler ones. K: all alike.
    lean = {"O": 1.8, "B": 2.0, "A": 1.3, "F": 1.4}.get(letter, 1.0)
    return low + (high - low) * rng.random(n) ** lean


def _giants(rng: np.random.Generator, n: int, letter: str) -> Values:
    """How far each star is from a dwarf (0) to a bright giant (1)."""
    share = {"K": 0.45, "G": 0.2, "F": 0.08}.get(letter, 0.1)
    return np.where(rng.random(n) < share, rng.uniform(0.6, 1.0, n), rng.uniform(0.0, 0.2, n))


def _name(kind: str, giant: bool, metallicity: float) -> str:
    poor = "sd" if metallicity < -1.5 and not giant and kind[0] in "FGK" else ""
    return poor + kind + ("III" if giant else "")


def photosphere(rng: np.random.Generator, teff: Values, metallicity: Values, giant: Values) -> Amounts:
    """Find the absorbers of stars, each with abundances of its own.

    Parameters
    ----------
    rng : numpy.random.Generator
        Gives the scatter of the abundances.
    teff : (n,) float64 array
        Effective temperature in kelvin.
    metallicity : (n,) float64 array
        [Fe/H].
    giant : (n,) float64 array
        From 0, a dwarf, to 1, a bright giant.

    Returns
    -------
    dict
        Absorber -> (n,) float64 amounts.
    """
    n = len(teff)
    amounts = climb(teff, TEFF, LADDER)
    scale(amounts, METALS, 10 ** (0.2 * metallicity))
    scale(amounts, DWARF_MARKS, 1 - 0.6 * giant)
    scale(amounts, ("balmer_wing", "paschen_wing"), 1 - 0.5 * giant)
    scale(amounts, ("ca_triplet", "ca_triplet_wing"), 1 + 0.3 * giant)
    cool = np.clip((5600 - teff) / 1200, 0, 1)
    red_giant = cool * giant
    add(amounts, cn_4216=0.12 * red_giant * rng.uniform(0.2, 1.6, n), cn_7876=0.04 * red_giant * rng.uniform(0, 1.5, n))
    add(amounts, metals_3900=0.15 * red_giant, metals_4200=0.08 * red_giant, ch_wide=0.08 * red_giant)
    vary(rng, amounts, METALS, 0.12)
    vary(rng, amounts, ("balmer", "balmer_wing", "he1"), 0.12)
    add(amounts, slope=rng.normal(0, 0.03, n), curve=rng.normal(0, 0.02, n))
    hot = teff > 10500
    add(amounts, balmer_decrement=-np.where(hot, sometimes(rng, n, 0.12, 0.2, 1.3), 0.0))
    return amounts
