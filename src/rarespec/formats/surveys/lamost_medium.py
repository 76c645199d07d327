"""LAMOST medium resolution: tables COADD_B and COADD_R, and B-... and R-... of single exposures, all in vacuum.

The two arms of a spectrum are joined, with a gap between them. Until DR8 a table has a row for each pixel (FLUX, IVAR,
LOGLAM), from DR9 on a single row of vectors (FLUX, IVAR, WAVELENGTH).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, LOG_WAVELENGTH, find, missing, one_row
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.pixels import bad_pixels, numbers
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.lamost_header import is_lamost, lamost_catalogue
from rarespec.formats.wavelength import Axis, is_air
from rarespec.spectrum import DefectError, Reason, Spectra
from rarespec.spectrum.defect import Skipped

COADDS = ("COADD_B", "COADD_R")
MASKS = ("ANDMASK", "PIXMASK", "ORMASK")
"""The first that is there counts: coadds have the first, exposures the second. Not 0 where a pixel is bad."""


def is_exposure(hdu: Hdu) -> bool:
    """Recognise a single exposure of one arm: B-84420148, R-84420148 (minutes of the local Julian day)."""
    return hdu.is_table and hdu.name[:2] in ("B-", "R-")


def recognises(source: Source) -> bool:
    is_medium = any(hdu.name in COADDS or is_exposure(hdu) for hdu in source.hdus)
    return is_medium and is_lamost(source.hdus[0].header)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    coadds = [hdu for hdu in source.hdus if hdu.name in COADDS]
    if not coadds:
        yield from exposures_of(source, options)
        return
    yield joined_arms(source, coadds, options)
    n_exposures = sum(map(is_exposure, source.hdus))
    if n_exposures:
        why = "single exposure of an arm, part of the coadd (--format lamost-exposures reads them)"
        yield Skipped(source.name, why, n_exposures)


def exposures_of(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    """Yield one spectrum for each exposure: the id is that of the file, then the exposure's own number."""
    exposures: dict[str, list[Hdu]] = {}
    for hdu in source.hdus:
        if is_exposure(hdu):
            exposures.setdefault(hdu.name[2:], []).append(hdu)
    if not exposures:
        raise missing("spectra", (*COADDS, "B-...", "R-..."), [hdu.name for hdu in source.hdus])
    for number, arms in exposures.items():
        yield joined_arms(source, arms, options, number)


def joined_arms(source: Source, hdus: list[Hdu], options: ReadOptions, exposure: str = "") -> Spectra:
    """Join the arms of one spectrum.

    Parameters
    ----------
    source : Source
        The open file; its primary header gives the catalogue.
    hdus : list of Hdu
        The tables of the arms.
    options : ReadOptions
        Tells whether the user says that wavelengths are in air.
    exposure : str, optional
        Number of a single exposure, which becomes part of the id.

    Returns
    -------
    Spectra
        A stack of one.

    Raises
    ------
    DefectError
        If a column is missing, or arms overlap.
    """
    header = source.hdus[0].header
    air = is_air(header, options)
    arms = sorted((Arm.of(hdu, air) for hdu in hdus), key=lambda arm: float(arm.wavelength[0]))
    joined = arms[0]
    for arm in arms[1:]:
        joined = joined.then(arm)
    row = lamost_catalogue(source, header)
    row |= {f"snr_{hdu.name.removeprefix('COADD_')[0].lower()}": hdu.header.number_or_none("SNR") for hdu in hdus}
    if exposure:
        row |= {"id": f"{row['id']}-{exposure}", "exposure": exposure}
    return Spectra(joined.wavelength, joined.flux[None], joined.ivar[None], joined.bad[None], one_row(row))


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of a spectrum, wavelengths increasing; all (p,)."""

    wavelength: NDArray[np.float64]
    flux: NDArray[np.floating]
    ivar: NDArray[np.floating]
    bad: NDArray[np.bool_]

    @classmethod
    def of(cls, hdu: Hdu, air: bool) -> Arm:
        names = [hdu.column_named(name) for name in ("FLUX", "IVAR")]
        wavelength, mask = find(hdu.columns, ANY_WAVELENGTH), next(filter(hdu.has_column, MASKS), None)
        if wavelength is None:
            raise missing(f"wavelengths in {hdu.label}", ("LOGLAM", "WAVELENGTH"), hdu.columns)
        if mask is None:
            raise missing(f"mask in {hdu.label}", MASKS, hdu.columns)
        flux, ivar, values, flags = _vectors(hdu, [*names, wavelength, hdu.column_named(mask)])
        axis = Axis.of(values, wavelength.lower() in LOG_WAVELENGTH, "Angstrom", air)
        order = slice(None, None, -1) if axis.reverse else slice(None)
        flux, ivar = numbers(flux[order], "FLUX"), numbers(ivar[order], "IVAR")
        return cls(axis.wavelength, flux, ivar, bad_pixels(flux, ivar, flags[order] != 0))

    def then(self, other: Arm) -> Arm:
        """Join an arm to the red of this one; the gap between them is left open as in any spectrum."""
        if other.wavelength[0] <= self.wavelength[-1]:
            raise DefectError(Reason.LAYOUT, f"the arms overlap near {other.wavelength[0]:.1f} Angstrom")
        parts = ("wavelength", "flux", "ivar", "bad")
        return Arm(*(np.concatenate([getattr(self, part), getattr(other, part)]) for part in parts))


def _vectors(hdu: Hdu, names: list[str]) -> list[NDArray[Any]]:
    """The columns of a table with a row for each pixel, or with one row of vectors."""
    table = hdu.table()
    one_per_pixel = all(table.dtype[name].shape == () for name in names)
    if not one_per_pixel and len(table) != 1:
        raise DefectError(Reason.LAYOUT, f"{hdu.label} has vectors in {len(table)} rows instead of one")
    columns = [table[name] if one_per_pixel else table[name][0] for name in names]
    if len({np.shape(column) for column in columns}) > 1 or np.ndim(columns[0]) != 1:
        raise DefectError(Reason.LAYOUT, f"{hdu.label}: {', '.join(names)} differ in length")
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "fiu":
            raise DefectError(Reason.LAYOUT, f"{hdu.label}: {name} is {column.dtype}, not numbers")
    return columns


READER = Reader("lamost-medium", Container.FITS, recognises, read, "LAMOST medium resolution, both arms of the coadd")
