"""Spectra on their way to a file: what a writer must know before the first, and the spectra stack by stack."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, ERROR, FLUX, IVAR, MASK
from rarespec.spectrum import Spectra
from rarespec.storage.text import printable

PIXELS = frozenset((*FLUX, *ANY_WAVELENGTH, *IVAR, *ERROR, *MASK))
"""Names that mean pixels: a catalogue column of such a name would be taken for them."""


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """What a catalogue column holds.

    Parameters
    ----------
    kind : str
        "string", "int64", "double" or "bool".
    width : int
        Bytes of its longest text.
    gaps : bool
        Whether a value is missing.
    exact : bool
        Whether its whole numbers keep every digit as double-precision numbers.
    """

    kind: str
    width: int = 0
    gaps: bool = False
    exact: bool = True

    @property
    def stored(self) -> str:
        """How a format without missing values keeps it: whole numbers and truth values with gaps as numbers or text."""
        if self.kind in ("int64", "bool") and self.gaps:
            return "double" if self.exact else "string"
        return self.kind


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Spectra that share their wavelengths, to be written.

    Parameters
    ----------
    wavelength : (p,) float64 array
        Vacuum Angstrom.
    n : int
        How many spectra come.
    columns : mapping of str to ColumnKind
        The catalogue, `id` among it.
    has_errors : bool
        Whether the spectra have an inverse variance.
    unit : str
        Unit of the flux as astropy writes it; empty if it is not known.
    stacks : iterator of Spectra
        The spectra, in order.
    """

    wavelength: NDArray[np.float64]
    n: int
    columns: Mapping[str, ColumnKind]
    has_errors: bool
    unit: str
    stacks: Iterator[Spectra]


@dataclass(frozen=True, slots=True)
class Writer:
    """One format.

    Parameters
    ----------
    name : str
        What the command line calls it.
    suffix : str
        How the name of its file ends; empty for a folder of files.
    write : callable
        Takes the spectra and the place, a file or a folder that does not exist yet.
    summary : str
        What is written, in a few words.
    needs_errors : bool
        Whether spectra without errors cannot be written.
    ascii_ids : bool
        Whether ids must be ASCII text.
    """

    name: str
    suffix: str
    write: Callable[[Outgoing, Path], None]
    summary: str
    needs_errors: bool = False
    ascii_ids: bool = True

    @property
    def is_folder(self) -> bool:
        """Whether each spectrum gets a file of its own."""
        return not self.suffix


def column_names(columns: Mapping[str, Any]) -> dict[str, str]:
    """Name in the catalogue -> name in a file, where names of pixels and letters that steer a terminal cannot be."""
    names: dict[str, str] = {}
    for name in columns:
        plain = printable(name).encode("ascii", "backslashreplace").decode()[:60]
        free = f"file_{plain}" if plain.lower() in PIXELS else plain
        number = 2
        while free.lower() in {taken.lower() for taken in names.values()}:
            free, number = f"{plain}_{number}", number + 1
        names[name] = free
    return names


def errors_of(spectra: Spectra) -> NDArray[np.float64]:
    """Standard deviations, (n, p), also of pixels that are bad; NaN where they are not known."""
    assert spectra.ivar is not None
    known = np.isfinite(spectra.ivar) & (spectra.ivar > 0)
    with np.errstate(divide="ignore"):
        return np.where(known, 1.0 / np.sqrt(np.where(known, spectra.ivar, 1.0).astype(np.float64)), np.nan)


class FileNames:
    """A file name for each id: letters that a file system may refuse are replaced, and no name is given twice."""

    LONGEST = 120

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, id: str) -> str:
        stem = re.sub(r"[^A-Za-z0-9._+-]", "_", id)[: self.LONGEST]
        free, number = stem, 2
        while free.lower() in self._taken:
            free, number = f"{stem}_{number}", number + 1
        self._taken.add(free.lower())
        return f"spec-{free}.fits"
