"""Spectra of typical objects without noise, at rest: what a kind of object looks like, to lay over a real spectrum."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.classes import draw
from rarespec.mock.light import Light, Population, emit_light
from rarespec.mock.opacity import MODEL_GRID

KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "O": ("O", ("O7", "O8", "O9")),
    "B": ("B", ("B4", "B5", "B6")),
    "A": ("A", ("A2", "A3", "A4")),
    "F": ("F", ("F4", "F5", "F6")),
    "G": ("G", ("G1", "G2", "G3")),
    "K": ("K", ("K3", "K4", "K5")),
    "M0": ("M", ("M0",)),
    "M3": ("M", ("M3",)),
    "M6": ("M", ("M6",)),
    "L2": ("L", ("L2",)),
    "L5": ("L", ("L5",)),
    "T2": ("T", ("T2",)),
    "DA": ("WD", ("DA",)),
    "DB": ("WD", ("DB",)),
    "DQ": ("DQ", ("DQ",)),
    "DZ": ("DZ", ("DZ",)),
    "CV": ("CV", ("CV",)),
    "dC": ("CARBON", ("dC",)),
    "carbon giant": ("CARBON", ("N", "R")),
    "CH star": ("CARBON", ("CH",)),
    "old galaxy": ("GALAXY", ("",)),
    "star-forming galaxy": ("GALAXY", ("STARFORMING",)),
    "quasar": ("QSO", ("BROADLINE",)),
}
"""Name of a template -> class of the mock sky, and the subclasses that are averaged."""
DRAWN = 400
"""Objects drawn of a class, of which those of the subclasses are taken."""
AVERAGED = 20
"""Objects in a mean, at most."""
SHORTEST = 2000.0
"""Angstrom. No survey sees a star or galaxy of these below it; quasars are modelled down to 776 Angstrom."""


class MockTemplate(NamedTuple):
    """A simulated spectrum at rest: vacuum Angstrom, (p,) float64, and flux with a mean of 1, (p,) float32."""

    wavelength: NDArray[np.float64]
    flux: NDArray[np.float32]


@cache
def template_named(name: str) -> MockTemplate:
    """Average objects of a kind, a key of `KINDS`, at rest; the same every time."""
    kind, subclasses = KINDS[name]
    drawn = draw(kind, np.random.default_rng(0), DRAWN)
    chosen = [i for i, subclass in enumerate(drawn.subclass) if subclass in subclasses][:AVERAGED]
    wavelength = MODEL_GRID.wavelength if kind == "QSO" else MODEL_GRID.wavelength[MODEL_GRID.wavelength > SHORTEST]
    flux = emit_light(_take_at_rest(drawn, np.array(chosen)), wavelength)
    flux /= flux.mean(axis=1, keepdims=True)
    return MockTemplate(wavelength, flux.mean(axis=0, dtype=np.float64).astype(np.float32))


def _take_at_rest(population: Population, rows: NDArray[np.intp]) -> Population:
    lights = tuple(
        Light(light.temperature[rows], {name: amount[rows] for name, amount in light.amounts.items()})
        for light in population.lights
    )
    return replace(
        population,
        lights=lights,
        shares=tuple(share[rows] for share in population.shares),
        subclass=[population.subclass[i] for i in rows],
        teff=population.teff[rows],
        redshift=np.zeros(len(rows)),
    )
