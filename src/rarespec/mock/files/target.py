"""What a survey knows about one row besides its pixels: numbers, position, class in the survey's words."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.spectrum import Spectra, WavelengthGrid
from rarespec.storage.whole_file import name_file

EXTRAGALACTIC = ("QSO", "GALAXY")


@dataclass(frozen=True, slots=True)
class Target:
    """One row of the catalogue, with the numbers of the plate when the catalogue has none.

    `index` is unique over all calls that continue the same directory; every survey number is derived from it.
    `spectral_class` and `subclass` are the words of the SDSS pipeline: STAR, QSO or GALAXY, then `M4` or `Carbon`.
    """

    index: int
    id: str
    ra: float
    dec: float
    z: float
    snr: float
    is_sky: bool
    spectral_class: str
    subclass: str
    plate: int
    mjd: int
    fiberid: int

    @property
    def scramble(self) -> int:
        """A number of 32 bits that depends on the id alone: what varies from file to file varies with it."""
        return zlib.crc32(self.id.encode())


def targets_of(spectra: Spectra, first_index: int) -> list[Target]:
    """One target per row of the stack."""
    return [_target(spectra, row, first_index + row) for row in range(len(spectra))]


def class_words(kind: str, subclass: str) -> tuple[str, str]:
    """CLASS and SUBCLASS as the SDSS pipeline writes them for one of our classes."""
    if kind == "SKY":
        return "GALAXY", ""
    if kind in EXTRAGALACTIC:
        return kind, subclass
    if kind == "CARBON":
        return "STAR", "Carbon"
    return "STAR", subclass or kind


def _target(spectra: Spectra, row: int, index: int) -> Target:
    def value(name: str, otherwise: Any) -> Any:
        column = spectra.catalogue.get(name)
        return otherwise if column is None or column[row] is None else column[row]

    kind = str(value("class", ""))
    spectral_class, subclass = class_words(kind, str(value("subclass", "")))
    plate = int(value("plate", 266 + index // 640))
    return Target(
        index=index,
        id=spectra.ids[row],
        ra=float(value("ra", np.nan)),
        dec=float(value("dec", np.nan)),
        z=float(value("z", np.nan)),
        snr=float(value("snr", np.nan)),
        is_sky=kind == "SKY",
        spectral_class=spectral_class,
        subclass=subclass,
        plate=plate,
        mjd=int(value("mjd", 51600 + plate)),
        fiberid=int(value("fiberid", index % 640 + 1)),
    )


# ---- What a file layout is: the pixels its spectra are sampled on, and how a stack becomes files.


@dataclass(frozen=True, slots=True)
class Layout:
    """One kind of survey file.

    Parameters
    ----------
    grid : WavelengthGrid
        The pixels of these files.
    write : callable
        Takes a stack on `grid`, its targets and a directory; writes files and returns their paths.
    summary : str
        What these files are, in a few words.

    Examples
    --------
    >>> from rarespec.mock.files import LAYOUTS
    >>> LAYOUTS["sdss"].grid.n_pixels > 3000
    True
    """

    grid: WavelengthGrid
    write: Callable[[Spectra, Sequence[Target], Path], list[Path]]
    summary: str


# ---- Files appear under their name only when they are complete.


GZIP_LEVEL = 6


def publish(path: Path, content: bytes) -> Path:
    """Write under a temporary name in the same directory, then rename; `.gz` names are compressed."""
    if path.suffix == ".gz":
        # No time stamp: the same spectrum gives the same bytes.
        content = gzip.compress(content, GZIP_LEVEL, mtime=0)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):  # the first error says more
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            name_file(error, path)
        raise
    return path
