"""A simulated survey, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import python_values
from rarespec.mock.classes import CLASSES, MIX, common_mix, draw, rare_classes
from rarespec.mock.instrument import SNR_SPREAD, Instrument
from rarespec.mock.light import emit_light
from rarespec.spectrum import PAPER_GRID, Spectra
from rarespec.spectrum.spectra import Catalogue

# ---- Names and places: which plate, night and fibre each row of the survey is, and where on the sky.


FIBRES = 1000
FIRST_PLATE = 1000
FIRST_NIGHT, NIGHTS = 51600, 7000
PLATE_RADIUS = 1.49
FOOTPRINT = ((110.0, 260.0, -2.0, 65.0), (-40.0, 60.0, -10.0, 18.0))
"""The two galactic caps as an SDSS-like survey sees them: right ascension and declination from, to (degrees)."""
NORTHERN_SHARE = 0.75


def targets(rows: NDArray[np.int64], seed: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """Name and place the objects of some rows of the survey.

    Parameters
    ----------
    rows : (n,) int64 array
        Row numbers, which decide plate and fibre.
    seed : int
        Of the survey; decides where the plates are and when they were observed.
    rng : numpy.random.Generator
        Of the block; places the objects on their plates.

    Returns
    -------
    dict
        The catalogue columns id, ra, dec (degrees), plate, mjd and fiberid, each a list of n.
    """
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
    # Uniform in the sine of the declination: evenly over the area of the sky.
    sine = rng.uniform(*np.sin(np.radians([south, north])))
    return float(rng.uniform(west, east)), float(np.degrees(np.arcsin(sine)))


__all__ = ["CLASSES", "MockSky"]

SHORTEST, LONGEST = 3500.0, 10900.0
"""Wavelengths the models reach at every redshift, vacuum Angstrom."""
EXTRAGALACTIC = ("QSO", "GALAXY")


class MockSky:
    """A simulated survey: n common objects in the mix of a real survey, with rare ones scattered among them.

    Iterate over it to get stacks of spectra. A block depends only on the arguments and its own number: in any order,
    with any number of workers, the survey is the same.

    Parameters
    ----------
    n : int
        Common objects.
    rare : mapping, optional
        Class -> how many rare objects of it; the names are in `rarespec.mock.CLASSES`. A rare object is never first.
    seed : int
        Same seed, same survey.
    wavelength : (p,) float64 array, optional
        Pixel centres in vacuum Angstrom, from 3500 to 10900; by default the paper's grid.
    median_snr : float
        Median signal-to-noise ratio.
    block_rows : int
        Spectra in each block.

    Raises
    ------
    ValueError
        If a class does not exist, or the wavelengths cannot be simulated.

    Examples
    --------
    >>> import rarespec
    >>> sky = rarespec.MockSky(20, {"carbon": 2}, seed=1)
    >>> len(sky), sky.n_blocks
    (22, 1)
    >>> sky.block(0).flux.shape
    (22, 3601)
    """

    def __init__(
        self,
        n: int,
        rare: Mapping[str, int] | None = None,
        seed: int = 0,
        wavelength: NDArray[np.float64] | None = None,
        median_snr: float = 12.0,
        block_rows: int = 512,
    ) -> None:
        self.rare = rare_classes(rare or {})
        self.n = n
        self.seed = seed
        self.wavelength = PAPER_GRID.wavelength if wavelength is None else np.asarray(wavelength, dtype=np.float64)
        self.median_snr = median_snr
        self.block_rows = block_rows
        self._mix = common_mix(self.rare)
        self._refuse_nonsense()

    def _refuse_nonsense(self) -> None:
        if self.n < 0 or self.block_rows < 1 or self.seed < 0 or not self.median_snr > 0:
            raise ValueError("a mock sky needs n >= 0, block_rows >= 1, seed >= 0 and a positive median S/N")
        grid = self.wavelength
        if grid.ndim != 1 or len(grid) < 100 or not (np.diff(grid) > 0).all():
            raise ValueError("wavelengths must be an increasing vector of at least 100 pixels")
        if grid[0] < SHORTEST or grid[-1] > LONGEST:
            asked = f"{grid[0]:g} to {grid[-1]:g}"
            raise ValueError(f"the mock sky covers {SHORTEST:g} to {LONGEST:g} A, not {asked}")

    def __len__(self) -> int:
        return self.n + sum(self.rare.values())

    @property
    def n_blocks(self) -> int:
        """How many blocks the survey has."""
        return -(-len(self) // self.block_rows)

    def __iter__(self) -> Iterator[Spectra]:
        return (self.block(i) for i in range(self.n_blocks))

    def block(self, i: int) -> Spectra:
        """Simulate one block.

        Parameters
        ----------
        i : int
            Its number, from 0.

        Returns
        -------
        Spectra
            Rows i * block_rows and following.

        Raises
        ------
        IndexError
            If there is no such block.
        """
        if not 0 <= i < self.n_blocks:
            raise IndexError(f"block {i} of {self.n_blocks}")
        rows = np.arange(i * self.block_rows, min((i + 1) * self.block_rows, len(self)))
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(1, i)))
        classes = self._classes(rows, rng)
        flux, columns = self._objects(classes, rng)
        ebv = np.round(rng.exponential(np.where(np.isin(classes, EXTRAGALACTIC), 0.03, 0.08)), 4)
        wanted = np.exp(rng.normal(np.log(self.median_snr), SNR_SPREAD, len(rows))) * columns.pop("brightness")
        observed = self._instrument.observe(flux, ebv, np.clip(wanted, 0.6, 150), rng)
        catalogue: Catalogue = targets(rows, self.seed, rng)
        catalogue |= {name: python_values(values) for name, values in columns.items()}
        catalogue |= {"class": classes.tolist(), "snr": observed.snr.tolist(), "ebv": ebv.tolist()}
        catalogue |= {"survey": ["mock"] * len(rows), "source": [f"mock:seed={self.seed}"] * len(rows)}
        return Spectra(self.wavelength, observed.flux, observed.ivar, observed.bad, catalogue)

    @cached_property
    def _instrument(self) -> Instrument:
        return Instrument(self.wavelength)

    @cached_property
    def _rare_rows(self) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
        """Rows of the rare objects in ascending order, and the class of each."""
        names = np.repeat(np.array(list(self.rare), dtype="U8"), list(self.rare.values()))
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(0,)))
        first = 1 if self.n else 0  # without common objects the first row is rare, there being nothing else
        rows = first + rng.choice(len(self) - first, len(names), replace=False) if len(names) else np.empty(0, np.int64)
        return np.sort(rows), rng.permutation(names)

    def _classes(self, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.str_]:
        classes = rng.choice(np.array(list(self._mix), dtype="U8"), len(rows), p=list(self._mix.values()))
        rare_rows, rare_names = self._rare_rows
        inside = slice(*np.searchsorted(rare_rows, [rows[0], rows[-1] + 1]))
        classes[rare_rows[inside] - rows[0]] = rare_names[inside]
        return classes

    def _objects(
        self, classes: NDArray[np.str_], rng: np.random.Generator
    ) -> tuple[NDArray[np.float32], dict[str, NDArray]]:
        """Emitted flux at the survey's wavelengths and what the catalogue says of each object."""
        n = len(classes)
        flux = np.zeros((n, len(self.wavelength)), np.float32)
        columns = {"z": np.zeros(n), "teff": np.full(n, np.nan)}
        columns |= {"subclass": np.full(n, "", "U16"), "brightness": np.ones(n)}
        for name in MIX:
            at = np.flatnonzero(classes == name)
            if len(at):
                population = draw(name, rng, len(at))
                flux[at] = emit_light(population, self.wavelength)
                columns["z"][at], columns["teff"][at] = population.redshift, np.round(population.teff)
                columns["subclass"][at], columns["brightness"][at] = population.subclass, population.snr
        return flux, columns
