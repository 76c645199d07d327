"""LAMOST DR1 to DR8: a primary image of five rows.

DR1 has the continuum-subtracted flux in the third row, later releases the wavelength; neither is used.
"""

from __future__ import annotations

from collections.abc import Iterator

from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.lamost_header import is_lamost, lamost_spectrum
from rarespec.spectrum import DefectError, Reason, Spectra

FLUX, IVAR, ANDMASK, N_ROWS = 0, 1, 3, 5
"""Rows of the image."""


def recognises(source: Source) -> bool:
    primary = source.hdus[0]
    return primary.is_image and is_lamost(primary.header)


def read(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    primary = source.hdus[0]
    shape = primary.image_shape
    if len(shape) != 2 or shape[0] != N_ROWS:
        raise DefectError(Reason.LAYOUT, f"the primary image has the shape {shape} instead of {N_ROWS} rows of pixels")
    image = primary.image()
    yield lamost_spectrum(source, image[FLUX], image[IVAR], image[ANDMASK], options)


READER = Reader("lamost-image", Container.FITS, recognises, read, "LAMOST low resolution DR1-DR8, plain or gzipped")
