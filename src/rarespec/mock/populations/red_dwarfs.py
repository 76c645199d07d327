"""M, L and T: titanium and vanadium oxide, then hydrides and ever broader alkali lines."""

from __future__ import annotations

import numpy as np

from rarespec.mock.light import Amounts, Light, Population
from rarespec.mock.populations.ladder import Values, add, climb, scale, sometimes, vary, velocities

M_TYPES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
M_TEFF = (3850, 3700, 3550, 3400, 3200, 3050, 2850, 2700, 2550, 2400)
M_LADDER = {
    "ca_hk":           (1.16, 1.17, 1.07, 0.51, 0.06, 0.00, 0.00, 0.00, 0.00, 0.00),
    "ca_4227":         (0.95, 0.94, 0.89, 0.80, 0.72, 0.60, 0.50, 0.40, 0.40, 0.30),
    "ca_4227_wing":    (0.77, 0.82, 0.86, 0.88, 0.92, 1.10, 1.40, 1.40, 1.10, 0.80),
    "ca_1":            (0.22, 0.21, 0.21, 0.20, 0.20, 0.21, 0.24, 0.28, 0.30, 0.31),
    "mg_b":            (0.31, 0.27, 0.28, 0.32, 0.36, 0.44, 0.50, 0.48, 0.31, 0.09),
    "na_d":            (0.95, 1.01, 1.06, 1.03, 0.87, 0.65, 0.37, 0.12, 0.02, 0.00),
    "na_d_wing":       (0.07, 0.06, 0.03, 0.01, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "na_8190":         (0.13, 0.15, 0.17, 0.19, 0.22, 0.25, 0.28, 0.33, 0.39, 0.43),
    "na_8190_wing":    (0.02, 0.03, 0.06, 0.10, 0.13, 0.16, 0.19, 0.17, 0.10, 0.02),
    "k_7665":          (0.16, 0.19, 0.24, 0.33, 0.44, 0.60, 0.82, 0.96, 0.96, 0.92),
    "k_wing":          (0.00, 0.00, 0.00, 0.00, 0.00, 0.01, 0.04, 0.14, 0.28, 0.38),
    "ca_triplet":      (0.18, 0.16, 0.14, 0.10, 0.05, 0.01, 0.00, 0.00, 0.00, 0.00),
    "ca_triplet_wing": (0.16, 0.17, 0.16, 0.16, 0.17, 0.16, 0.15, 0.14, 0.15, 0.16),
    "iron":            (0.18, 0.15, 0.13, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12),
    "metals_3900":     (0.36, 0.26, 0.13, 0.03, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "metals_4200":     (0.09, 0.09, 0.08, 0.08, 0.08, 0.08, 0.08, 0.08, 0.08, 0.08),
    "metals_4700":     (0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.04, 0.05, 0.11),
    "metals_5300":     (0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.04, 0.07),
    "metals_6000":     (0.01, 0.01, 0.01, 0.02, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03),
    "rb":              (0.01, 0.02, 0.04, 0.06, 0.08, 0.10, 0.13, 0.18, 0.24, 0.29),
    "cs":              (0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.11, 0.16, 0.22, 0.27),
    "tio_4761":        (0.00, 0.00, 0.00, 0.00, 0.01, 0.03, 0.10, 0.28, 0.40, 0.40),
    "tio_4955":        (0.18, 0.21, 0.24, 0.27, 0.30, 0.33, 0.38, 0.50, 0.60, 0.60),
    "tio_5167":        (0.15, 0.18, 0.22, 0.26, 0.28, 0.31, 0.37, 0.52, 0.60, 0.65),
    "tio_5448":        (0.06, 0.10, 0.16, 0.24, 0.32, 0.42, 0.55, 0.74, 0.93, 1.00),
    "tio_5759":        (0.01, 0.03, 0.08, 0.13, 0.20, 0.28, 0.35, 0.41, 0.43, 0.41),
    "tio_5847":        (0.07, 0.16, 0.31, 0.50, 0.70, 0.89, 1.11, 1.31, 1.32, 1.15),
    "tio_6158":        (0.16, 0.25, 0.40, 0.58, 0.78, 1.00, 1.29, 1.64, 1.92, 2.02),
    "tio_6651":        (0.08, 0.14, 0.22, 0.33, 0.43, 0.54, 0.65, 0.75, 0.80, 0.80),
    "tio_7054":        (0.11, 0.16, 0.24, 0.34, 0.46, 0.60, 0.76, 0.94, 1.06, 1.08),
    "tio_7589":        (0.02, 0.04, 0.07, 0.11, 0.16, 0.22, 0.30, 0.38, 0.46, 0.50),
    "tio_8206":        (0.01, 0.02, 0.05, 0.08, 0.10, 0.12, 0.15, 0.17, 0.18, 0.18),
    "tio_8432":        (0.01, 0.02, 0.05, 0.09, 0.14, 0.19, 0.26, 0.35, 0.45, 0.52),
    "tio_8859":        (0.01, 0.05, 0.12, 0.20, 0.28, 0.35, 0.42, 0.52, 0.65, 0.76),
    "vo_5737":         (0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.01, 0.05, 0.13, 0.16),
    "vo_7865":         (0.00, 0.01, 0.03, 0.04, 0.07, 0.10, 0.14, 0.20, 0.29, 0.36),
    "vo_8624":         (0.00, 0.01, 0.03, 0.05, 0.07, 0.08, 0.10, 0.12, 0.15, 0.18),
    "mgh_4780":        (0.35, 0.39, 0.41, 0.42, 0.43, 0.43, 0.42, 0.48, 0.48, 0.31),
    "mgh_5211":        (0.29, 0.27, 0.24, 0.19, 0.16, 0.12, 0.09, 0.07, 0.06, 0.08),
    "cah_6382":        (0.00, 0.01, 0.02, 0.03, 0.04, 0.06, 0.10, 0.17, 0.29, 0.38),
    "cah_6800":        (0.21, 0.26, 0.32, 0.38, 0.42, 0.46, 0.54, 0.65, 0.73, 0.72),
    "caoh_5550":       (0.00, 0.00, 0.00, 0.02, 0.08, 0.19, 0.34, 0.50, 0.46, 0.21),
    "feh_8692":        (0.02, 0.05, 0.10, 0.15, 0.19, 0.23, 0.28, 0.36, 0.46, 0.54),
    "crh_8611":        (0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.01, 0.02, 0.03),
    "na_d_wide":       (0.00, 0.00, 0.00, 0.00, 0.00, 0.01, 0.04, 0.09, 0.17, 0.28),
    "dust_grass":      (0.00, 0.00, 0.01, 0.01, 0.02, 0.02, 0.03, 0.03, 0.04, 0.05),
    "slope":           (-.15, -.26, -.39, -.47, -.53, -.64, -.78, -.89, -.82, -.59),
    "curve":           (0.10, 0.09, 0.05, -.02, -.10, -.12, -.13, -.26, -.61, -1.02),
}  # fmt: skip

ULTRACOOL_TYPES = (10, 13, 15, 18, 20, 22, 26)
"""Subtypes counted from M0: 10 is L0, 20 is T0."""
ULTRACOOL_TEFF = (2250, 1950, 1700, 1450, 1350, 1250, 950)
ULTRACOOL_LADDER = {
    "na_d_wide":  (0.40, 1.00, 1.60, 2.20, 2.60, 2.90, 3.20),
    "na_8190":    (0.28, 0.25, 0.20, 0.10, 0.05, 0.02, 0.00),
    "k_7665":     (0.60, 0.55, 0.50, 0.30, 0.20, 0.10, 0.00),
    "k_wing":     (0.45, 0.70, 0.85, 0.90, 0.70, 0.60, 0.50),
    "k_wide":     (0.15, 0.60, 1.00, 1.60, 2.20, 2.60, 3.20),
    "rb":         (0.35, 0.60, 0.70, 0.90, 0.90, 0.90, 0.80),
    "cs":         (0.40, 0.55, 0.65, 0.80, 0.90, 0.90, 0.80),
    "tio_7054":   (0.75, 0.12, 0.04, 0.00, 0.00, 0.00, 0.00),
    "tio_7589":   (0.31, 0.15, 0.05, 0.00, 0.00, 0.00, 0.00),
    "tio_6158":   (1.40, 0.35, 0.15, 0.00, 0.00, 0.00, 0.00),
    "tio_6651":   (0.50, 0.10, 0.03, 0.00, 0.00, 0.00, 0.00),
    "tio_8432":   (0.60, 0.38, 0.20, 0.08, 0.00, 0.00, 0.00),
    "tio_8859":   (1.25, 1.05, 0.90, 0.60, 0.40, 0.20, 0.10),
    "vo_7865":    (0.24, 0.16, 0.08, 0.02, 0.00, 0.00, 0.00),
    "vo_8624":    (0.40, 0.30, 0.22, 0.10, 0.00, 0.00, 0.00),
    "cah_6800":   (0.22, 0.20, 0.10, 0.00, 0.00, 0.00, 0.00),
    "feh_8692":   (1.15, 1.10, 0.95, 0.60, 0.35, 0.20, 0.10),
    "crh_8611":   (0.22, 0.35, 0.45, 0.40, 0.30, 0.20, 0.10),
    "water":      (0.10, 0.15, 0.20, 0.30, 0.45, 0.60, 1.00),
    "dust_grass": (0.08, 0.08, 0.10, 0.12, 0.12, 0.12, 0.12),
    "slope":      (-.10, -.15, -.20, -.30, -.40, -.50, -.60),
    "curve":      (-2.2, -1.9, -1.7, -1.5, -1.4, -1.4, -1.4),
}  # fmt: skip

BANDS = tuple(name for name in M_LADDER if name.startswith(("tio", "vo", "cah", "mgh", "caoh", "feh", "crh")))
TITANIUM = tuple(name for name in M_LADDER if name.startswith("tio"))


def draw_m(rng: np.random.Generator, n: int) -> Population:
    subtype = np.clip(rng.beta(1.9, 3.2, n) * 9.6 - 0.3, -0.3, 9.4)
    amounts = m_photosphere(rng, subtype)
    teff = np.interp(subtype, M_TYPES, M_TEFF) * (1 + rng.normal(0, 0.015, n))
    subclass = [f"M{max(round(value), 0)}" for value in subtype]
    return Population((Light(teff, amounts),), (np.ones(n),), subclass, teff, velocities(rng, n, 0.06), snr=0.85)


def m_photosphere(rng: np.random.Generator, subtype: Values) -> Amounts:
    n = len(subtype)
    amounts = climb(subtype, M_TYPES, M_LADDER)
    poor = np.where(rng.random(n) < 0.08, rng.uniform(0.2, 0.8, n), rng.normal(0, 0.08, n))
    scale(amounts, TITANIUM, np.clip(1 - poor, 0.1, 1.3))
    scale(amounts, ("cah_6800", "cah_6382", "mgh_5211"), 1 + 0.6 * poor)
    scale(amounts, BANDS, np.exp(rng.normal(0, 0.10, n)))
    vary(rng, amounts, BANDS, 0.06)
    vary(rng, amounts, ("na_d", "na_8190", "k_7665", "ca_triplet_wing", "iron"), 0.15)
    active = np.interp(subtype, (0, 3, 5, 7, 9), (0.02, 0.15, 0.45, 0.8, 0.9))
    add(amounts, balmer_decrement=-sometimes(rng, n, active, 0.2, 1.3), ca_hk=-sometimes(rng, n, active, 0, 1.2))
    add(amounts, slope=rng.normal(0, 0.08, n), curve=rng.normal(0, 0.05, n))
    return amounts


def draw_l(rng: np.random.Generator, n: int) -> Population:
    return _draw_ultracool(rng, 10 + 9.4 * rng.beta(1.0, 2.2, n), "L", 10)


def draw_t(rng: np.random.Generator, n: int) -> Population:
    return _draw_ultracool(rng, 20 + 6.4 * rng.random(n), "T", 20)


def _draw_ultracool(rng: np.random.Generator, subtype: Values, letter: str, first: int) -> Population:
    n = len(subtype)
    amounts = climb(subtype, ULTRACOOL_TYPES, ULTRACOOL_LADDER)
    vary(rng, amounts, [name for name in amounts if name not in ("slope", "curve")], 0.12)
    add(amounts, slope=rng.normal(0, 0.2, n), curve=rng.normal(0, 0.1, n), li=sometimes(rng, n, 0.15, 0.2, 0.8))
    add(amounts, balmer_decrement=-sometimes(rng, n, np.clip((14 - subtype) / 5, 0, 0.6), 0.3, 1.5))
    teff = np.interp(subtype, ULTRACOOL_TYPES, ULTRACOOL_TEFF)
    subclass = [f"{letter}{min(int(value - first), 9)}" for value in subtype]
    return Population((Light(teff, amounts),), (np.ones(n),), subclass, teff, velocities(rng, n, 0.03), snr=0.5)
