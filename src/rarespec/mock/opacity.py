"""Everything that absorbs (or, with a negative amount, shines) as curves on one logarithmic grid.

The light of an object is exp(ln B(T) - sum_k amount_k * curve_k): each curve is one species, the amounts are the
object's own. That keeps every object continuous in its parameters, and a block of objects cheap.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.mock import lines as atoms
from rarespec.mock.lines import BANDS, C2_SWAN, Band, Lines, vacuum
from rarespec.spectrum.grid import WavelengthGrid

MODEL_GRID = WavelengthGrid("log", 2.8900, 1e-4, 11600)
"""776 to 11 218 A in SDSS's pixel size: the rest frame of everything from a T dwarf to a quasar at redshift 4."""

RESOLUTION_PIXELS = 1.2
"""1-sigma width of an unresolved line: R about 1500, between SDSS and LAMOST."""

NEGLIGIBLE = 2e-4

Curve = NDArray[np.float64]


class Absorber(NamedTuple):
    """Optical depth per unit amount on the part of the model grid where it is not negligible."""

    start: int
    depth: NDArray[np.float32]


@cache
def absorbers() -> dict[str, Absorber]:
    """All absorbers by name, built once per process."""
    curves = (*_lines(), *_winged_lines(), *_bands(), *_smoothed_swan(), *_forests(), *_continua(), *_quasar())
    return {name: _trim(curve) for name, curve in curves}


def _trim(curve: Curve) -> Absorber:
    used = np.flatnonzero(np.abs(curve) > NEGLIGIBLE)
    return Absorber(int(used[0]), curve[used[0] : used[-1] + 1].astype(np.float32))


def _seed(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


def gaussians(lines: Lines, sigma_pixels: float) -> Curve:
    pixel = np.arange(MODEL_GRID.n_pixels)
    curve = np.zeros(MODEL_GRID.n_pixels)
    for wavelength, strength in lines:
        centre = MODEL_GRID.pixel_of(vacuum(wavelength))
        near = slice(max(0, int(centre - 6 * sigma_pixels)), int(centre + 6 * sigma_pixels) + 2)
        curve[near] += strength * np.exp(-0.5 * ((pixel[near] - centre) / sigma_pixels) ** 2)
    return curve


def lorentzians(lines: Lines, half_width: float) -> Curve:
    """Pressure-broadened lines, half width at half maximum in Angstrom; the far wing is cut off smoothly."""
    wavelength = MODEL_GRID.wavelength
    curve = np.zeros(MODEL_GRID.n_pixels)
    for air, strength in lines:
        distance = (wavelength - vacuum(air)) / half_width
        curve += strength / (1 + distance**2) * np.exp(-((distance / 12) ** 2))
    return curve


def band_curve(band: Band, name: str) -> Curve:
    from scipy.special import erfc

    wavelength = MODEL_GRID.wavelength
    curve = np.zeros(MODEL_GRID.n_pixels)
    for air, strength in band.heads:
        inside = band.degrades * (wavelength - vacuum(air))
        edge = 0.5 * erfc(-inside / band.softness / np.sqrt(2))
        curve += strength * edge * np.exp(-np.maximum(inside, 0) / band.reach)
    return curve * np.maximum(1 + band.grass * rough(name), 0)


def rough(name: str, sigma_pixels: float = RESOLUTION_PIXELS) -> Curve:
    """Unresolved rotational structure: smooth noise of zero mean and unit rms, always the same for one name."""
    from scipy.ndimage import gaussian_filter1d

    noise = gaussian_filter1d(_seed(name).normal(size=MODEL_GRID.n_pixels), sigma_pixels)
    return noise / noise.std()


def smooth_curve(curve: Curve, sigma_pixels: float) -> Curve:
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(curve, sigma_pixels)


def _lines() -> Iterator[tuple[str, Curve]]:
    narrow = {
        "balmer": atoms.BALMER, "paschen": atoms.PASCHEN, "he1": atoms.HELIUM_1, "he2": atoms.HELIUM_2,
        "ca_hk": atoms.CALCIUM_HK, "ca_triplet": atoms.CALCIUM_TRIPLET, "ca_4227": atoms.CALCIUM_4227,
        "ca_1": atoms.CALCIUM_1, "mg_b": atoms.MAGNESIUM_B, "mg_1": atoms.MAGNESIUM_1, "na_d": atoms.SODIUM_D,
        "na_8190": atoms.SODIUM_8190, "k_7665": atoms.POTASSIUM, "rb": atoms.RUBIDIUM, "cs": atoms.CAESIUM,
        "li": atoms.LITHIUM, "o_7774": atoms.OXYGEN_7774, "s_process": atoms.S_PROCESS,
        "ionised_metals": atoms.IONISED_METALS, "iron": atoms.IRON, "balmer_decrement": atoms.BALMER_DECREMENT,
        **atoms.GALAXY_EMISSION,
    }  # fmt: skip
    for name, lines in narrow.items():
        yield name, gaussians(lines, RESOLUTION_PIXELS)


def _winged_lines() -> Iterator[tuple[str, Curve]]:
    wings = {
        "balmer_wing": (atoms.BALMER, 9.0), "balmer_wide": (atoms.BALMER, 28.0), "paschen_wing": (atoms.PASCHEN, 9.0),
        "he1_wing": (atoms.HELIUM_1, 14.0), "ca_hk_wing": (atoms.CALCIUM_HK, 9.0),
        "ca_hk_wide": (atoms.CALCIUM_HK, 45.0), "ca_4227_wing": (atoms.CALCIUM_4227, 12.0),
        "ca_triplet_wing": (atoms.CALCIUM_TRIPLET, 4.0), "mg_b_wing": (atoms.MAGNESIUM_B, 16.0),
        "na_d_wing": (atoms.SODIUM_D, 18.0), "na_d_wide": (atoms.SODIUM_D, 90.0),
        "na_8190_wing": (atoms.SODIUM_8190, 4.0), "k_wing": (atoms.POTASSIUM, 18.0), "k_wide": (atoms.POTASSIUM, 75.0),
        "iron_wide": (atoms.IRON, 11.0),
    }  # fmt: skip
    for name, (lines, half_width) in wings.items():
        yield name, lorentzians(lines, half_width)
    rapid = {"balmer_disc": atoms.BALMER, "he1_disc": atoms.HELIUM_1, "he2_disc": atoms.HELIUM_2,
             "ca_triplet_disc": atoms.CALCIUM_TRIPLET}  # fmt: skip
    for name, lines in rapid.items():
        yield name, gaussians(lines, 11.0)
        yield f"{name}_fast", gaussians(lines, 22.0)


def _bands() -> Iterator[tuple[str, Curve]]:
    for name, band in BANDS.items():
        yield name, band_curve(band, name)


def _smoothed_swan() -> Iterator[tuple[str, Curve]]:
    """C2 at the pressure of a white dwarf: rounded, and in the peculiar ones pushed to the blue."""
    shift = {"c2_4383": 90, "c2_4737": 95, "c2_5165": 75, "c2_5636": 60, "c2_6191": 60}
    for name, band in C2_SWAN.items():
        curve = band_curve(Band(band.heads, band.degrades, 1.15 * band.reach, 0.0), name)
        yield f"wd_{name}", smooth_curve(curve, 12.0)
        yield f"peculiar_{name}", np.roll(smooth_curve(curve, 22.0), -shift[name])


def _forests() -> Iterator[tuple[str, Curve]]:
    """Lines too weak and too many to list. Metals crowd towards the blue; carbon molecules fill the red."""
    wavelength = MODEL_GRID.wavelength
    texture = np.exp(0.8 * rough("metals")) * 0.7
    edges = ((0, 4000), (4000, 4450), (4450, 5000), (5000, 5600), (5600, 20000))
    for (low, high), name in zip(edges, ("3900", "4200", "4700", "5300", "6000"), strict=True):
        window = _step(wavelength - low, 40) * _step(high - wavelength, 40)
        fade = np.exp(-np.maximum(wavelength - 5600, 0) / 1500)
        yield f"metals_{name}", window * texture * fade
    yield "carbon_grass", _step(wavelength - 5700, 60) * np.clip(1 + 0.6 * rough("carbon_grass"), 0, 2.5)
    yield "dust_grass", _step(wavelength - 6900, 300) * np.clip(1 + 0.5 * rough("dust_grass"), 0, 2.5)


def _step(x: Curve, width: float) -> Curve:
    return 1 / (1 + np.exp(-np.clip(x / width, -60, 60)))


def _continua() -> Iterator[tuple[str, Curve]]:
    wavelength = MODEL_GRID.wavelength
    x = np.clip(np.log(wavelength / 5926) / np.log(8974 / 5926), -4, 2)
    yield "power", np.log(wavelength / 5500)
    yield "slope", x
    yield "curve", np.minimum(x**2 - 1 / 3, 3)
    yield "balmer_jump", _step(3690 - wavelength, 25)
    yield "paschen_jump", _step(8250 - wavelength, 40)
    yield "violet_4000", _step(4000 - wavelength, 40)
    yield "violet_4400", _step(4380 - wavelength, 90)
    yield "violet_5200", _step(5150 - wavelength, 150)
    yield "break_4000", _step(3990 - wavelength, 12)


def _hump(centre: float, sigma: float) -> Curve:
    return np.exp(-0.5 * ((MODEL_GRID.wavelength - centre) / sigma) ** 2)


def _quasar() -> Iterator[tuple[str, Curve]]:
    wavelength = MODEL_GRID.wavelength
    for name, (lines, width) in atoms.QUASAR_LINES.items():
        pixels = width / np.log(10) / MODEL_GRID.step
        yield name, 0.7 * gaussians(lines, 0.5 * pixels) + 0.5 * gaussians(lines, 1.4 * pixels)
    yield "iron_uv", _hump(2500, 170) + 0.4 * _hump(2950, 120)
    optical = _hump(4570, 60) + _hump(5270, 80)
    yield "iron_optical", smooth_curve(optical * np.maximum(1 + 0.25 * rough("iron_optical", 12), 0), 4)
    yield "small_bump", _hump(3100, 450)
    forest = np.exp(1.2 * rough("lyman_forest"))
    yield "lyman_forest", _step(1212 - wavelength, 2) * forest
    yield "lyman_limit", _step(912 - wavelength, 3)
