"""Gaia XP sampled spectra, from the archive or from GaiaXPy, in whatever container: what their readers share.

A row holds source_id, flux and flux_error. The wavelengths are 336 to 1020 nm in steps of 2 nm, in vacuum, unless the
file gives a sampling of its own or one lies beside it, as GaiaXPy writes it. Flux, in W/m2/nm, is brought to the unit
of SDSS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.formats.columns import ANY_WAVELENGTH, Column, Roles, find, missing
from rarespec.formats.pixels import numbers
from rarespec.formats.reader import Found, faults_of
from rarespec.formats.source import Source
from rarespec.formats.stacks import Origin, stacks_of_rows
from rarespec.formats.wavelength import Axis
from rarespec.spectrum import DefectError, Reason

ROLES = Roles("flux", error="flux_error")
NAMES = ("source_id", "flux", "flux_error")
STANDARD = np.arange(336.0, 1021.0, 2.0)
"""nm, of the spectra in the archive and of GaiaXPy by default."""
SCALE = 1e19
"""From W/m2/nm to 1e-17 erg/s/cm2/A."""
BLUEST = 100.0
"""nm. GaiaXPy's `convert` counts pixels from 0 to 60 instead."""
SAMPLING = "sampling"
POSITIONS = "pos"
"""What a file, and the file beside it, call the wavelengths."""

LARGEST_SAMPLING = 1 << 20
"""Bytes of the file beside the spectra."""

_NUMBER = re.compile(r"(?<![\w.])[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?")
"""Not the 64 of np.float64(336.0)."""


def has_columns(names: Iterable[str]) -> bool:
    """Say whether these are the columns of sampled spectra: with a source_id, and without wavelengths."""
    names = list(names)
    return all(find(names, (name,)) for name in NAMES) and find(names, ANY_WAVELENGTH) is None


def columns_of(names: Iterable[str]) -> dict[str, str]:
    """Find the file's own spelling of source_id, flux and flux_error, all of which must be there."""
    names = list(names)
    found = {name: find(names, (name,)) for name in NAMES}
    absent = [name for name, own in found.items() if own is None]
    if absent:
        raise missing(absent[0], absent, names)
    if find(names, ("xp",)):
        detail = "spectra in Gaia's internal units (column xp); make calibrated ones with GaiaXPy's calibrate"
        raise DefectError(Reason.LAYOUT, detail)
    return {name: own for name, own in found.items() if own}


def spectra_of_rows(columns: Mapping[str, Column], origin: Origin, first: int, axis: Axis) -> Iterator[Found]:
    """Make spectra of some rows.

    Parameters
    ----------
    columns : mapping of str to column
        `flux` and `flux_error`, (n, p) or a list of vectors, and the columns of the catalogue.
    origin : Origin
        Where the rows come from.
    first : int
        Number of the first of these rows in the file.
    axis : Axis
        The wavelengths.

    Yields
    ------
    Spectra or Defect
        In the order of the rows.
    """
    block = dict(columns)
    for name in ROLES.on_pixels:
        block[name] = _scaled(block[name], name)
    block["survey"] = ["Gaia"] * len(block["flux"])
    yield from stacks_of_rows(block, ROLES, origin, first, axis)


def _scaled(rows: Column, name: str) -> Column:
    if isinstance(rows, np.ndarray):
        return numbers(rows, name).astype(np.float64) * SCALE
    return [None if row is None else numbers(row, name).astype(np.float64) * SCALE for row in rows]


def axis_of(source: Source, stated: Any, n_pixels: int) -> Axis:
    """Find the wavelengths of spectra of so many pixels.

    Parameters
    ----------
    source : Source
        The file, beside which a sampling may lie.
    stated : array, str or None
        The sampling that the file itself gives, in nm.
    n_pixels : int
        Length of the flux of the first row.

    Returns
    -------
    Axis
        In vacuum Angstrom.

    Raises
    ------
    DefectError
        If there is none, or it is not of wavelengths.
    """
    values = _values(stated) if stated is not None else _sampling_beside(source.path)
    if values is None and n_pixels == len(STANDARD):
        values = STANDARD
    if values is None:
        beside = f"{_stem(source.path)}_sampling.csv"
        raise DefectError(
            Reason.LAYOUT,
            f"flux of {n_pixels} values instead of the {len(STANDARD)} from 336 to 1020 nm, and no sampling; "
            f"put {beside}, which GaiaXPy writes, beside it",
        )
    if len(values) and values[0] < BLUEST:
        raise DefectError(Reason.LAYOUT, f"a sampling that starts at {values[0]:g}: these are not wavelengths in nm")
    return Axis.of(values, unit="nm")


def _values(stated: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    if isinstance(stated, str):
        return np.array(_NUMBER.findall(stated), dtype=np.float64)
    return np.ravel(numbers(np.ma.asarray(stated), SAMPLING)).astype(np.float64)


def _sampling_beside(path: Path) -> Any:
    """Read the file that GaiaXPy writes beside its CSV; None when there is none."""
    for ending in (".csv", ".ecsv"):
        beside = path.with_name(f"{_stem(path)}_sampling{ending}")
        if beside.is_file():
            with Source(beside) as source, faults_of(f"{beside.name} next to it"):
                text = source.read(0, min(source.length, LARGEST_SAMPLING)).decode("utf-8-sig")
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            if not lines or lines[0].strip() != POSITIONS:
                raise missing(f"sampling in {beside.name}", (POSITIONS,), lines[:1])
            return _values(" ".join(lines[1:]))
    return None


def _stem(path: Path) -> str:
    """The file's name up to its first ending."""
    return path.name.split(".", 1)[0]
