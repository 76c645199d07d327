"""How many planted artefacts are flagged, and how many spectra in which none was planted.

    python benchmarks/flags.py

Artefacts are planted in mock spectra of S/N 8 and more. With the real observations and templates beside the project,
their share of flagged spectra is printed as well: nothing was planted there, but some have artefacts of their own.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarespec.mock import MockSky
from rarespec.searching.flags.artefacts import SKY_LINES
from rarespec.searching.flags.flags import FLAG_MEANINGS, flags_of_spectra
from rarespec.spectrum import PAPER_GRID, Spectra
from timing import timed

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
WAVELENGTH = PAPER_GRID.wavelength
LEAST_SNR = 8.0

Flux = NDArray[np.floating]
Plant = Callable[[Flux, Flux, NDArray[np.bool_], np.random.Generator], None]
"""Changes flux and bad, both (n, p), in place; given sigma (n, p)."""


def plant_gap(flux: Flux, sigma: Flux, bad: NDArray[np.bool_], rng: np.random.Generator) -> None:
    for row, start in enumerate(rng.integers(200, len(WAVELENGTH) - 500, len(flux))):
        bad[row, start : start + 250] = True


def plant_step(size: float) -> Plant:
    def plant(flux: Flux, sigma: Flux, bad: NDArray[np.bool_], rng: np.random.Generator) -> None:
        sizes = size * rng.choice([-1, 1], (len(flux), 1))
        flux *= 1 + sizes / (1 + np.exp(-(WAVELENGTH - 5950) / 10))

    return plant


def plant_sky(flux: Flux, sigma: Flux, bad: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """A residual of a few sigma of either sign at every line."""
    for line in SKY_LINES:
        profile = np.exp(-0.5 * (np.log(WAVELENGTH / line) / 2.8e-4) ** 2)
        flux += rng.normal(0, 5, (len(flux), 1)) * profile * sigma


def plant_spike(flux: Flux, sigma: Flux, bad: NDArray[np.bool_], rng: np.random.Generator) -> None:
    low, high = np.percentile(flux, [1, 99], axis=1)
    for row, pixel in enumerate(rng.integers(0, len(WAVELENGTH), len(flux))):
        flux[row, pixel] += 6 * (high - low)[row] + 15 * sigma[row, pixel]
        bad[row, pixel] = False


def plant_negative(flux: Flux, sigma: Flux, bad: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """Too much sky subtracted in the red."""
    red = 1 / (1 + np.exp(-(WAVELENGTH - 7500) / 150))
    flux -= 1.5 * np.median(flux[:, -1000:], axis=1, keepdims=True) * red


ARTEFACTS: dict[str, tuple[str, Plant]] = {
    "a gap of 250 pixels": ("bad-pixels", plant_gap),
    "a step of 15 % at 5950 A": ("camera-join", plant_step(0.15)),
    "a step of 30 % at 5950 A": ("camera-join", plant_step(0.3)),
    "a step of 60 % at 5950 A": ("camera-join", plant_step(0.6)),
    "residuals of 5 sigma at sky lines": ("sky-residuals", plant_sky),
    "one pixel at 6 times the range": ("spike", plant_spike),
    "the red 1.5 times oversubtracted": ("negative-flux", plant_negative),
}


def with_artefact(spectra: Spectra, plant: Plant) -> Spectra:
    assert spectra.ivar is not None
    flux, bad = spectra.flux.astype(np.float64), spectra.bad.copy()
    sigma = np.where(spectra.ivar > 0, spectra.ivar, np.median(spectra.ivar)) ** -0.5
    plant(flux, sigma, bad, np.random.default_rng(1))
    return Spectra(spectra.wavelength, flux.astype(np.float32), spectra.ivar, bad, spectra.catalogue)


def share(flags: list[tuple[str, ...]], flag: str) -> float:
    return 100 * sum(flag in found for found in flags) / len(flags)


def print_shares(name: str, spectra: Spectra) -> None:
    seconds, flags = timed(lambda: flags_of_spectra(spectra, PAPER_GRID))
    shares = ", ".join(f"{flag} {share(flags, flag):.1f}" for flag in FLAG_MEANINGS)
    print(
        f"{name} ({len(spectra)} spectra, {1000 * seconds / len(spectra):.2f} s for 1000), per cent flagged: {shares}"
    )


def real_observations() -> Spectra:
    with open(DATA / "observed.csv") as table:
        rows = list(csv.DictReader(table))
    arrays = np.load(DATA / "observed.npz")
    good = np.unpackbits(arrays["good"], axis=1)[:, : len(WAVELENGTH)].astype(bool)
    bad = ~good | ~np.isfinite(arrays["flux"]) | ~(arrays["ivar"] > 0)
    catalogue = {
        "id": [row["object_id"] for row in rows],
        "survey": ["LAMOST" if "lamost" in row["source"] else "SDSS" for row in rows],
        "z": [float(row["z"] or "nan") for row in rows],
        "snr": [float(row["snr_pix"] or "nan") for row in rows],
    }
    return Spectra(WAVELENGTH, arrays["flux"], arrays["ivar"], bad, catalogue)


def real_templates(kind: str, snr: float = 30.0) -> Spectra:
    """The templates of a class, with noise."""
    with open(DATA / "templates.csv") as table:
        rows = [i for i, row in enumerate(csv.DictReader(table)) if row["class"] == kind]
    flux = np.load(DATA / "templates.npz")["flux"][rows].astype(np.float64)
    sigma = np.median(np.abs(flux), axis=1, keepdims=True) / snr * np.ones_like(flux)
    noisy = flux + np.random.default_rng(0).normal(0, 1, flux.shape) * sigma
    catalogue = {"id": [str(row) for row in rows], "survey": ["SDSS"] * len(rows)}
    return Spectra(WAVELENGTH, noisy.astype("f4"), (sigma**-2).astype("f4"), np.zeros(flux.shape, bool), catalogue)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2000, help="mock spectra")
    mock = MockSky(parser.parse_args().n, {"carbon": 100}, seed=21, block_rows=10_000).block(0)
    print_shares("mock, nothing planted", mock)
    bright = mock.take(np.flatnonzero(np.array(mock.catalogue["snr"]) >= LEAST_SNR))
    for name, (flag, plant) in ARTEFACTS.items():
        found = share(flags_of_spectra(with_artefact(bright, plant), PAPER_GRID), flag)
        print(f"planted in {len(bright)}: {name}: {found:.0f} % flagged {flag}")
    if DATA.is_dir():
        print_shares("real observations", real_observations())
        for kind in ("CARBON", "M"):
            print_shares(f"real templates of class {kind} with noise", real_templates(kind))


if __name__ == "__main__":
    main()
