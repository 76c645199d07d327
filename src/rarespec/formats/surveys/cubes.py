"""Data cubes of integral-field spectrographs to spectra: one for each spaxel that has a good pixel.

A cube is stored plane by plane, so some rows of all its planes are read at a time and turned into spectra.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import catalogue_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.fits.header import Header
from rarespec.formats.pixels import bad_pixels, has_bits, ivar_of_variance, native
from rarespec.formats.reader import MAX_ROWS, Found
from rarespec.formats.source import Source
from rarespec.formats.stacks import BLOCK_BYTES
from rarespec.spectrum import DefectError, Reason, Spectra
from rarespec.spectrum.defect import Skipped
from rarespec.spectrum.spectra import Catalogue

LARGEST_ROW = 16 * BLOCK_BYTES
"""Bytes of one row of spaxels, which is read whole."""


MOST_WAVELENGTHS = 100_000
"""Planes of a cube, each of which is visited for every few rows; real ones have some thousands."""


def cube_named(source: Source, name: str) -> Hdu | None:
    """Find the extension of this name, if it is a cube; the shape of a compressed one is not looked at."""
    named = (hdu for hdu in source.hdus if hdu.name == name and hdu.is_image)
    return next((hdu for hdu in named if _n_axes(hdu) == 3), None)


def _n_axes(hdu: Hdu) -> Any:
    return hdu.header.get("ZNAXIS", len(hdu.axes))


@dataclass(frozen=True, slots=True)
class Cube:
    """A cube of spectra, (p, y, x): which HDU holds what, and what its spaxels are called.

    `ivar` or `variance` gives the errors; a pixel is bad where `mask` has one of `bits`. `own` goes to every spaxel.
    """

    source: Source
    wavelength: NDArray[np.float64]
    flux: Hdu
    stem: str
    survey: str
    own: dict[str, Any]
    ivar: Hdu | None = None
    variance: Hdu | None = None
    mask: Hdu | None = None
    bits: int = -1

    def spaxels(self) -> Iterator[Found]:
        """Yield the spectra of the spaxels, row by row, then the number of those without a good pixel."""
        n_pixels, n_y, n_x = self._check_shapes()
        row_bytes = 8 * n_pixels * n_x
        if row_bytes > LARGEST_ROW or n_pixels > MOST_WAVELENGTHS:
            size = f"{n_pixels} wavelengths and rows of {row_bytes >> 20} MiB"
            raise DefectError(Reason.TOO_LARGE, f"a cube of {size}; cut it into smaller ones")
        n_empty, rows = 0, max(1, BLOCK_BYTES // row_bytes)
        for first in range(0, n_y, rows):
            slab = self._slab(first, min(first + rows, n_y))
            kept = np.flatnonzero((~slab.bad).any(axis=1))
            n_empty += len(slab) - len(kept)
            yield from (slab.take(kept[at : at + MAX_ROWS]) for at in range(0, len(kept), MAX_ROWS))
        if n_empty:
            yield Skipped(self.source.name, "empty spaxel (no good pixel)", n_empty)

    def _check_shapes(self) -> tuple[int, int, int]:
        shape = self.flux.image_shape
        if len(shape) != 3 or shape[0] != len(self.wavelength):
            raise DefectError(
                Reason.LAYOUT, f"{self.flux.label} has the shape {shape} for {len(self.wavelength)} wavelengths"
            )
        for hdu in (self.ivar, self.variance, self.mask):
            if hdu is not None and hdu.image_shape != shape:
                raise DefectError(Reason.LAYOUT, f"{hdu.label} has the shape {hdu.image_shape} instead of {shape}")
        return shape

    def _slab(self, first: int, last: int) -> Spectra:
        """All spaxels of some rows."""
        flux = native(_as_rows(self.flux, first, last))
        ivar: NDArray[np.floating] | None = None
        if self.ivar is not None:
            ivar = native(_as_rows(self.ivar, first, last))
        elif self.variance is not None:
            ivar = ivar_of_variance(_as_rows(self.variance, first, last))
        masked = None if self.mask is None else has_bits(_as_rows(self.mask, first, last), self.bits)
        bad = bad_pixels(flux, ivar, masked)
        return Spectra(self.wavelength, flux, ivar, bad, self._catalogue(first, last))

    def _catalogue(self, first: int, last: int) -> Catalogue:
        n_x = self.flux.image_shape[2]
        y, x = (grid.ravel() for grid in np.mgrid[first:last, 0:n_x])
        ra, dec = sky_positions(self.flux.header, x, y)
        n = len(x)
        common = {
            "id": [f"{self.stem}-x{i}-y{j}" for i, j in zip(x.tolist(), y.tolist(), strict=True)],
            "ra": ra,
            "dec": dec,
            **{name: [None] * n for name in ("z", "class", "subclass", "snr")},
            "survey": [self.survey] * n,
            "source": [self.source.name] * n,
        }
        own = {"x": x.tolist(), "y": y.tolist(), **{name: [value] * n for name, value in self.own.items()}}
        return catalogue_of(common, own)


def _as_rows(hdu: Hdu, first: int, last: int) -> NDArray[Any]:
    """Some rows of each plane as spectra, one after the other: (rows * columns, p)."""
    planes = hdu.rows_of_planes(first, last)
    return planes.reshape(len(planes), -1).T


def sky_positions(header: Header, x: NDArray[Any], y: NDArray[Any]) -> tuple[list[Any], list[Any]]:
    """Compute right ascension and declination of spaxels.

    Parameters
    ----------
    header : Header
        With the projection of the first two axes.
    x, y : (n,) array
        Spaxels, counted from 0.

    Returns
    -------
    ra, dec : list
        Degrees; None where the header has no sky.
    """
    unknown: list[Any] = [None] * len(x)
    types = [header.string(f"CTYPE{axis}").upper() for axis in (1, 2)]
    at = [header.number(f"{key}{axis}") for key in ("CRVAL", "CRPIX") for axis in (1, 2)]
    matrix = [[_scale(header, i, j) for j in (1, 2)] for i in (1, 2)]
    numbers = [value for value in at if value is not None] + matrix[0] + matrix[1]
    is_sky = types[0].startswith("RA--") and types[1].startswith("DEC-") and len(numbers) == 8
    if not is_sky or not np.isfinite(numbers).all() or np.linalg.matrix_rank(matrix) < 2:
        return unknown, unknown
    # Made of these numbers alone: astropy would look at every card of a header that may be damaged.
    from astropy.wcs import WCS, WcsError

    wcs = WCS(naxis=2)
    wcs.wcs.ctype, wcs.wcs.crval, wcs.wcs.crpix, wcs.wcs.cd = types, numbers[:2], numbers[2:4], matrix
    try:
        ra, dec = wcs.wcs_pix2world(x, y, 0)
    except WcsError:
        return unknown, unknown
    return [[value if np.isfinite(value) else None for value in part.tolist()] for part in (ra, dec)]  # type: ignore[return-value]


def _scale(header: Header, i: int, j: int) -> float:
    """Element of the matrix from pixels to degrees: CDi_j, or CDELTi times PCi_j."""
    if "CD1_1" in header or "CD1_2" in header:
        return header.number(f"CD{i}_{j}") or 0.0
    rotation = header.number(f"PC{i}_{j}")
    step = header.number(f"CDELT{i}")
    return (float(i == j) if rotation is None else rotation) * (0.0 if step is None else step)
