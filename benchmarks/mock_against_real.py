"""Mock next to real: how far the simulated sky looks like the observed one.

    python benchmarks/mock_against_real.py --out mock_against_real.png

Left: real templates (black) with the nearest of 400 mock models of the same class (red) and three random ones (grey).
Right: noisy mock spectra, one class after the other, and real observations of similar S/N where there are any.
Prints the residual of the nearest mock relative to the template's mean flux, class by class.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from rarespec.mock import MockSky
from rarespec.mock.classes import draw
from rarespec.mock.light import emit_light
from rarespec.spectrum import PAPER_GRID

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
WAVELENGTH = PAPER_GRID.wavelength
TEMPLATES = (
    ("CARBON", "dCG"), ("CARBON", "dCK"), ("CARBON", "dCM"), ("CARBON", "Carbon"), ("CARBON", "Carbon_lines"),
    ("CARBON", "C-rich AGB bin1"), ("CARBON", "C-rich AGB bin3"), ("CARBON", "C-rich AGB bin5"),
    ("M", "M0_+0.0_Dwarf"), ("M", "M2_+0.0_Dwarf"), ("M", "M4_+0.0_Dwarf"), ("M", "M6_+0.0_Dwarf"), ("M", "m8"),
    ("M", "M9"), ("A", "A1"), ("F", "F5_+0.0_Dwarf"), ("F", "F5_-2.0_Dwarf"), ("G", "G5_+0.0_Dwarf"),
    ("K", "K0_+0.0_Dwarf"), ("K", "K5_+0.0_Dwarf"), ("K", "K3III"), ("B", "B3"), ("O", "O7"), ("WD", "WD"),
    ("WD", "DA5.5"), ("DQ", "Carbon_DQ"), ("DQ", "Carbon_DQred"), ("DZ", "CalciumWD"), ("CV", "CV"), ("L", "L0"),
    ("L", "L5"), ("T", "T2"),
)  # fmt: skip
NOISY = ("CARBON", "CARBON", "M", "M", "F", "G", "K", "A", "WD", "QSO", "GALAXY", "CV", "L", "SKY", "DQ", "DZ")

Flux = NDArray[np.float64]


def models(name: str, n: int = 400) -> Flux:
    return emit_light(draw(name, np.random.default_rng(5), n), WAVELENGTH).astype(float)


def scaled(flux: Flux) -> Flux:
    return flux / np.abs(flux).mean(axis=-1, keepdims=True)


def load(stem: str) -> tuple[dict[str, NDArray], list[dict[str, str]]]:
    with open(DATA / f"{stem}.csv") as table:
        rows = list(csv.DictReader(table))
    return dict(np.load(DATA / f"{stem}.npz")), rows


def pairs() -> list[tuple[str, Flux | None, Flux]]:
    """Title, real template when the data is present, mock models."""
    bank = {name: scaled(models(name)) for name in {name for name, _ in TEMPLATES}}
    if not (DATA / "templates.npz").exists():
        return [(name, None, bank[name]) for name in dict.fromkeys(name for name, _ in TEMPLATES)]
    arrays, rows = load("templates")
    row_of = {(row["class"], row["subclass"]): i for i, row in reversed(list(enumerate(rows)))}
    real = scaled(arrays["flux"].astype(float))
    return [(f"{name} {subclass}", real[row_of[name, subclass]], bank[name]) for name, subclass in TEMPLATES]


def draw_pair(axis: plt.Axes, title: str, real: Flux | None, bank: Flux) -> None:
    for model in bank[:3]:
        axis.plot(WAVELENGTH, model, color="0.75", lw=0.4)
    if real is not None:
        residual = np.sqrt(((bank - real) ** 2).mean(axis=1))
        axis.plot(WAVELENGTH, real, color="k", lw=0.6)
        axis.plot(WAVELENGTH, bank[residual.argmin()], color="r", lw=0.5)
        title += f"  nearest mock: rms {residual.min():.3f} of the mean"
        print(title)
    top = np.percentile(bank[0] if real is None else real, 99.7)
    axis.set(ylim=(0, 1.15 * top), xlim=(WAVELENGTH[0], WAVELENGTH[-1]))
    axis.set_title(title, fontsize=8)


def mock_of(name: str) -> tuple[str, Flux]:
    block = MockSky(1, {name: 40}, seed=11).block(0)
    nearest = min((abs(snr - 14), i) for i, snr in enumerate(block.catalogue["snr"]) if i)[1]
    snr, subclass = block.catalogue["snr"][nearest], block.catalogue["subclass"][nearest]
    return f"mock {name} {subclass} S/N {snr:.0f}", block.flux[nearest].astype(float)


def real_of(name: str, arrays: dict[str, NDArray], rows: list[dict[str, str]]) -> tuple[str, Flux] | None:
    found = [(abs(float(row["snr_pix"] or 0) - 14), i) for i, row in enumerate(rows) if row["class"] == name]
    if not found:
        return None
    best = min(found)[1]
    return f"real {name} {rows[best]['subclass']} S/N {rows[best]['snr_pix']}", arrays["flux"][best].astype(float)


def draw_noisy(axis: plt.Axes, title: str, flux: Flux, colour: str) -> None:
    axis.plot(WAVELENGTH, flux, color=colour, lw=0.4)
    low, high = np.percentile(flux, [0.5, 99.5])
    axis.set(ylim=(low - 0.15 * (high - low), high + 0.25 * (high - low)), xlim=(WAVELENGTH[0], WAVELENGTH[-1]))
    axis.set_title(title, fontsize=8)


def noisy() -> list[tuple[str, Flux, str]]:
    panels = [(*mock_of(name), "r") for name in dict.fromkeys(NOISY)]
    if (DATA / "observed.npz").exists():
        arrays, rows = load("observed")
        real = [real_of(name, arrays, rows) for name in dict.fromkeys((*NOISY, "CEMP"))]
        panels += [(*found, "k") for found in real if found]
    return sorted(panels, key=lambda panel: panel[0].split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="mock_against_real.png", type=Path)
    out = parser.parse_args().out
    left, right = pairs(), noisy()
    n_rows = -(-max(len(left), len(right)) // 2)
    figure, axes = plt.subplots(n_rows, 4, figsize=(30, 2.4 * n_rows), squeeze=False)
    for axis, panel in zip(axes[:, :2].T.ravel(), left, strict=False):
        draw_pair(axis, *panel)
    for axis, spectrum in zip(axes[:, 2:].T.ravel(), right, strict=False):
        draw_noisy(axis, *spectrum)
    for axis in axes.ravel():
        axis.set_visible(axis.has_data())
    figure.tight_layout()
    figure.savefig(out, dpi=60)
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
