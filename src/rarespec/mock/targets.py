"""Names and places: which plate, night and fibre each row of the survey is, and where on the sky."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FIBRES = 1000
FIRST_PLATE = 1000
FIRST_NIGHT, NIGHTS = 51600, 7000
PLATE_RADIUS = 1.49
FOOTPRINT = ((110.0, 260.0, -2.0, 65.0), (-40.0, 60.0, -10.0, 18.0))
"""The two galactic caps as an SDSS-like survey sees them: right ascension and declination from, to (degrees)."""
NORTHERN_SHARE = 0.75


def targets(rows: NDArray[np.int64], seed: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """Catalogue columns id, ra, dec, plate, mjd, fiberid of these rows of the survey."""
    plate, fibre = FIRST_PLATE + rows // FIBRES, rows % FIBRES + 1
    mjd = FIRST_NIGHT + (plate * 37 + seed * 101) % NIGHTS
    ra, dec = _positions(plate, seed, rng)
    names = [f"{p:04d}-{m:05d}-{f:04d}" for p, m, f in zip(plate, mjd, fibre, strict=True)]
    columns = {"ra": ra, "dec": dec, "plate": plate, "mjd": mjd, "fiberid": fibre}
    return {"id": names, **{name: values.tolist() for name, values in columns.items()}}


def _positions(
    plate: NDArray[np.int64], seed: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Evenly over the disc of each plate, to a precision that a catalogue would print."""
    centres = {int(number): _centre(int(number), seed) for number in np.unique(plate)}
    ra, dec = np.array([centres[int(number)] for number in plate]).T
    distance = PLATE_RADIUS * np.sqrt(rng.random(len(plate)))
    angle = rng.uniform(0, 2 * np.pi, len(plate))
    dec = dec + distance * np.cos(angle)
    ra = ra + distance * np.sin(angle) / np.cos(np.radians(dec))
    return np.round(ra % 360, 6), np.round(dec, 6)


def _centre(plate: int, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, plate)))
    west, east, south, north = FOOTPRINT[int(rng.random() > NORTHERN_SHARE)]
    sine = rng.uniform(*np.sin(np.radians([south, north])))
    return float(rng.uniform(west, east)), float(np.degrees(np.arcsin(sine)))
