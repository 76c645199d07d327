"""Carbon stars: more carbon than oxygen in a star of any temperature, from weak CH stars to the N type."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.light import Amounts, Light, Population
from rarespec.mock.populations import white_dwarfs
from rarespec.mock.populations.ladder import Values, add, climb, scale, sometimes, vary, velocities

TEFF = (2500, 3000, 3500, 3900, 4300, 4700, 5200, 5700)
LADDER = {
    "c2_4383":        (0.30, 0.35, 0.42, 0.42, 0.38, 0.34, 0.30, 0.27),
    "c2_4737":        (0.60, 0.66, 0.70, 0.68, 0.60, 0.50, 0.44, 0.39),
    "c2_5165":        (0.85, 0.95, 1.00, 0.95, 0.80, 0.64, 0.53, 0.45),
    "c2_5636":        (0.55, 0.54, 0.54, 0.51, 0.44, 0.35, 0.29, 0.25),
    "c2_6191":        (0.20, 0.20, 0.22, 0.22, 0.18, 0.14, 0.12, 0.10),
    "cn_4216":        (0.22, 0.22, 0.22, 0.20, 0.18, 0.14, 0.08, 0.03),
    "cn_5730":        (0.18, 0.12, 0.06, 0.04, 0.03, 0.02, 0.02, 0.01),
    "cn_6332":        (0.36, 0.45, 0.25, 0.14, 0.10, 0.06, 0.04, 0.03),
    "cn_6926":        (0.58, 0.70, 0.42, 0.20, 0.16, 0.10, 0.05, 0.03),
    "cn_7876":        (0.74, 0.85, 0.50, 0.25, 0.20, 0.14, 0.08, 0.04),
    "sic2":           (1.20, 0.75, 0.20, 0.04, 0.02, 0.02, 0.02, 0.02),
    "ch_4300":        (0.10, 0.20, 0.45, 0.52, 0.50, 0.46, 0.48, 0.49),
    "ch_wide":        (0.05, 0.05, 0.06, 0.06, 0.06, 0.06, 0.04, 0.02),
    "violet_4400":    (0.80, 0.80, 0.75, 0.72, 0.62, 0.52, 0.52, 0.50),
    "violet_5200":    (0.80, 0.85, 0.40, 0.32, 0.24, 0.18, 0.15, 0.14),
    "violet_4000":    (0.30, 0.30, 0.30, 0.30, 0.20, 0.15, 0.15, 0.18),
    "ca_hk":          (0.00, 0.00, 0.10, 0.15, 0.30, 0.45, 0.60, 0.64),
    "ca_hk_wing":     (0.10, 0.10, 0.20, 0.25, 0.35, 0.40, 0.35, 0.28),
    "ca_4227":        (0.10, 0.20, 0.30, 0.35, 0.36, 0.30, 0.20, 0.08),
    "ca_1":           (0.18, 0.14, 0.09, 0.08, 0.09, 0.08, 0.04, 0.02),
    "mg_b":           (0.06, 0.06, 0.05, 0.06, 0.14, 0.18, 0.12, 0.07),
    "na_d":           (0.30, 0.30, 0.36, 0.42, 0.44, 0.36, 0.18, 0.10),
    "na_d_wing":      (0.50, 0.25, 0.18, 0.16, 0.08, 0.04, 0.03, 0.03),
    "ca_triplet":     (0.05, 0.05, 0.07, 0.08, 0.08, 0.08, 0.06, 0.05),
    "ca_triplet_wing": (0.02, 0.02, 0.03, 0.05, 0.09, 0.12, 0.14, 0.15),
    "iron":           (0.06, 0.08, 0.11, 0.11, 0.13, 0.13, 0.09, 0.07),
    "s_process":      (0.10, 0.10, 0.10, 0.10, 0.14, 0.14, 0.09, 0.06),
    "mgh_5211":       (0.45, 0.25, 0.15, 0.13, 0.09, 0.06, 0.02, 0.00),
    "balmer":         (0.00, 0.00, 0.00, 0.02, 0.04, 0.06, 0.09, 0.12),
    "balmer_wing":    (0.00, 0.00, 0.00, 0.00, 0.01, 0.02, 0.04, 0.06),
    "carbon_grass":   (0.05, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01, 0.01),
    "metals_4200":    (0.05, 0.05, 0.06, 0.06, 0.06, 0.06, 0.05, 0.04),
    "metals_4700":    (0.05, 0.05, 0.05, 0.05, 0.05, 0.04, 0.04, 0.03),
    "metals_5300":    (0.05, 0.05, 0.05, 0.05, 0.05, 0.04, 0.03, 0.02),
    "slope":          (-1.10, -.50, -.05, -.02, 0.00, 0.02, -.05, -.12),
    "curve":          (0.30, 0.00, 0.00, 0.00, -.06, -.12, -.08, -.04),
}  # fmt: skip
"""A carbon star of normal strength at each temperature."""

SWAN = ("c2_4383", "c2_4737", "c2_5165", "c2_5636", "c2_6191")
CYANOGEN = ("cn_4216", "cn_5730", "cn_6332", "cn_6926", "cn_7876")
METHYLIDYNE = ("ch_4300", "ch_wide")
VIOLET = ("violet_4000", "violet_4400", "violet_5200")
ATOMS = ("ca_4227", "ca_1", "mg_b", "na_d", "na_d_wing", "iron", "s_process", "ca_hk", "ca_hk_wing")

FAMILIES = {"dC": 0.46, "CH": 0.18, "R": 0.26, "N": 0.05, "dC+WD": 0.05}
TEMPERATURES = {"dC": (3700, 5000), "CH": (4200, 5400), "R": (3600, 4600), "N": (2500, 3500), "dC+WD": (3700, 5200)}
STRENGTHS = {
    "dC": ((0.45, 1.30), (0.1, 1.0)), "CH": ((0.30, 0.90), (0.3, 1.3)), "R": ((0.6, 1.3), (0.6, 1.5)),
    "N": ((0.7, 1.3), (0.7, 1.25)), "dC+WD": ((0.35, 1.3), (0.1, 0.9)),
}  # fmt: skip
"""Range of the strength of C2 and of CN in each family, 1 being the ladder's."""


def draw(rng: np.random.Generator, n: int) -> Population:
    families = rng.choice(list(FAMILIES), n, p=list(FAMILIES.values()))
    teff = _between(rng, families, TEMPERATURES)
    swan = _between(rng, families, {family: ranges[0] for family, ranges in STRENGTHS.items()})
    cyanogen = _between(rng, families, {family: ranges[1] for family, ranges in STRENGTHS.items()})
    dwarf = np.isin(families, ["dC", "dC+WD"])
    amounts = _photosphere(rng, teff, swan, cyanogen, dwarf)
    companion = white_dwarfs.hydrogen_photosphere(rng, rng.uniform(9000, 28000, n))
    veil = np.where(families == "dC+WD", rng.uniform(0.15, 0.65, n), 0.0)
    lights = (Light(teff, amounts), companion)
    return Population(lights, (1 - veil, veil), families.tolist(), teff, velocities(rng, n, 0.65))


def _between(rng: np.random.Generator, families: np.ndarray, ranges: Mapping[str, tuple[float, float]]) -> Values:
    low, high = np.array([ranges[family] for family in families]).reshape(-1, 2).T
    return rng.uniform(low, high)


def _photosphere(
    rng: np.random.Generator, teff: Values, swan: Values, cyanogen: Values, dwarf: NDArray[np.bool_]
) -> Amounts:
    n = len(teff)
    amounts = climb(teff, TEFF, LADDER)
    scale(amounts, SWAN, swan)
    scale(amounts, CYANOGEN, cyanogen)
    scale(amounts, VIOLET, 0.35 + 0.65 * swan)
    scale(amounts, METHYLIDYNE, rng.uniform(0.6, 1.2, n))
    scale(amounts, ("na_d", "na_d_wing", "mgh_5211"), np.where(dwarf, 1.4, 0.7))
    scale(amounts, ("s_process",), np.where(dwarf, 0.8, 1.3))
    vary(rng, amounts, SWAN + CYANOGEN, 0.12)
    vary(rng, amounts, VIOLET, 0.2)
    vary(rng, amounts, ATOMS, 0.3)
    add(amounts, balmer_decrement=-sometimes(rng, n, np.where(dwarf, 0.15, 0.05), 0.2, 1.2))
    add(amounts, slope=rng.normal(0, 0.06, n), curve=rng.normal(0, 0.05, n))
    return amounts
