"""MaNGA LOGCUBE and LINCUBE: cubes FLUX, IVAR and MASK, and the vector WAVE, in vacuum."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarespec.formats.columns import missing, own_cards, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.cubes import Cube, cube_named
from rarespec.formats.wavelength import is_air, vacuum
from rarespec.spectrum import DefectError, Reason

DO_NOT_USE = 1 << 10
"""Bit DONOTUSE of MANGA_DRP3PIXMASK; the others say why, or that a star stands in front."""
CARDS = ("plateifu", "mangaid", "objra", "objdec")
"""Cards of the primary header that every spaxel gets."""


def recognises(source: Source) -> bool:
    return cube_named(source, "FLUX") is not None and any(hdu.name == "WAVE" for hdu in source.hdus)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    primary = source.hdus[0].header
    flux, ivar, mask = (_cube(source, name) for name in ("FLUX", "IVAR", "MASK"))
    wave = _vector(source)
    wavelength = vacuum(wave.image().astype(np.float64), is_air(primary, options), wave.label)
    own = {name: value for name, value in own_cards(primary).items() if name in CARDS}
    stem = primary.string("PLATEIFU") or stem_of(source.path)
    yield from Cube(source, wavelength, flux, stem, "MaNGA", own, ivar=ivar, mask=mask, bits=DO_NOT_USE).spaxels()


def _cube(source: Source, name: str) -> Hdu:
    hdu = cube_named(source, name)
    if hdu is None:
        raise missing(f"cube {name}", (name,), [hdu.name for hdu in source.hdus])
    return hdu


def _vector(source: Source) -> Hdu:
    wave = next((hdu for hdu in source.hdus if hdu.name == "WAVE"), None)
    if wave is None:
        raise missing("wavelengths", ("WAVE",), [hdu.name for hdu in source.hdus])
    if not wave.is_image or len(wave.image_shape) != 1:
        raise DefectError(Reason.LAYOUT, f"{wave.label} is not a vector of wavelengths")
    return wave


READER = Reader(
    "manga-cube", Container.FITS, recognises, read, "MaNGA cube of spectra (LOGCUBE, LINCUBE)", on_request="its spaxels"
)
