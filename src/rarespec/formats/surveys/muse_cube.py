"""MUSE cubes: DATA, its variance STAT, and DQ if it is there; linear wavelengths, in air where CTYPE3 is AWAV."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import missing, stem_of
from rarespec.formats.fits.header import Header
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.cubes import Cube, cube_named
from rarespec.formats.wavelength import Axis
from rarespec.spectrum import DefectError, Reason

SPECTRAL = ("AWAV", "WAVE")
"""How CTYPE3 starts; AWAV is in air."""


def recognises(source: Source) -> bool:
    data = cube_named(source, "DATA")
    return data is not None and data.header.string("CTYPE3").upper().startswith(SPECTRAL)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    data = cube_named(source, "DATA")
    if data is None:
        raise missing("cube DATA", ("DATA",), [hdu.name for hdu in source.hdus])
    wavelength = _wavelength(data.header, data.image_shape[0], options)
    target = source.hdus[0].header.string("OBJECT")
    own = {"object": target} if target else {}
    variance, mask = cube_named(source, "STAT"), cube_named(source, "DQ")
    yield from Cube(source, wavelength, data, stem_of(source.path), "MUSE", own, variance=variance, mask=mask).spaxels()


def _wavelength(header: Header, n_pixels: int, options: ReadOptions) -> NDArray[np.float64]:
    kind = header.string("CTYPE3").upper()
    start, step = header.number("CRVAL3"), header.number("CD3_3") or header.number("CDELT3")
    if start is None or not step or not kind.startswith(SPECTRAL):
        raise DefectError(Reason.LAYOUT, f"{header.label} has no axis of wavelengths (CTYPE3, CRVAL3, CD3_3)")
    reference = header.number("CRPIX3")
    offset = np.arange(1, n_pixels + 1) - (1.0 if reference is None else reference)
    # Equation 5 of Greisen et al. (2006, A&A 446, 747) for a logarithmic axis.
    with np.errstate(over="ignore"):
        values = start * np.exp(step * offset / start) if kind.endswith("-LOG") and start else start + step * offset
    axis = Axis.of(values, unit=header.string("CUNIT3") or "Angstrom", air=options.air or kind.startswith("AWAV"))
    if axis.reverse:
        raise DefectError(Reason.LAYOUT, f"the wavelengths of {header.label} decrease")
    return axis.wavelength


READER = Reader(
    "muse-cube", Container.FITS, recognises, read, "MUSE cube of spectra (DATA, STAT)", on_request="its spaxels"
)
