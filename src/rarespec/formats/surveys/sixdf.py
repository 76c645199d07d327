"""6dF Galaxy Survey: images of 3 or 4 rows: flux, variance, sky and, in the combined VR spectrum, wavelength.

The file of a target has thumbnails, then three spectra for each observation: V, R and VR, spliced from both. The VR
spectrum is read. Data Central gives them out one by one, as the primary image of a file. Wavelengths are linear, and
in air as 2dfdr makes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rarespec.formats.columns import catalogue_of, one_row, own_cards, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.fits.header import Header
from rarespec.formats.fits.wcs import has_wavelength_wcs, wcs_axis
from rarespec.formats.pixels import ivar_of_variance, numbers
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import stack_of
from rarespec.formats.wavelength import is_air_unless_said
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.defect import Skipped

FLUX, VARIANCE = 0, 1
"""Rows of the image."""
CARDS = ("OBSRA", "OBSDEC", "Z_HELIO", "QUALITY")
"""Cards that every spectrum has."""
FRAMES = 3
"""Spectra of one observation: V, R, VR."""


def recognises(source: Source) -> bool:
    return any(_is_spectrum(hdu) for hdu in source.hdus)


def _is_spectrum(hdu: Hdu) -> bool:
    return hdu.is_image and all(card in hdu.header for card in CARDS) and has_wavelength_wcs(hdu.header)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    spectra = [hdu for hdu in source.hdus if _is_spectrum(hdu)]
    if not spectra:
        raise DefectError(Reason.LAYOUT, f"contains no spectrum of 6dF, an image with the cards {', '.join(CARDS)}")
    if spectra == source.hdus:
        yield from _spectrum(source, spectra[0], options, "")
        return
    if len(spectra) % FRAMES:
        raise DefectError(Reason.TRUNCATED, f"{len(spectra)} spectra, not three (V, R, VR) for each observation")
    combined = spectra[FRAMES - 1 :: FRAMES]
    for number, hdu in enumerate(combined, 1):
        yield from _spectrum(source, hdu, options, "" if len(combined) == 1 else f"-{number}")
    yield Skipped(source.name, "V or R spectrum, part of the combined one", len(spectra) - len(combined))


def _spectrum(source: Source, hdu: Hdu, options: ReadOptions, ending: str) -> Iterator[Found]:
    shape = hdu.image_shape
    if len(shape) != 2 or shape[0] not in (3, 4):
        raise DefectError(Reason.LAYOUT, f"{hdu.label} has the shape {shape} instead of 3 or 4 rows of pixels")
    rows = hdu.image()
    axis = wcs_axis(hdu.header, shape[1], is_air_unless_said(hdu.header, options))
    ivar = ivar_of_variance(numbers(rows[VARIANCE], "variance"))
    yield from noted(source, axis.note)
    yield stack_of(axis, rows[FLUX][None], one_row(_catalogue(source, hdu.header, ending)), ivar=ivar[None])


def _catalogue(source: Source, header: Header, ending: str) -> dict[str, Any]:
    own = {**own_cards(source.hdus[0].header), **own_cards(header)}
    target = next((str(own[key]) for key in ("targetname", "targname", "target") if own.get(key)), stem_of(source.path))
    common = {
        "id": f"{target}{ending}",
        "ra": header.number_or_none("OBSRA"),
        "dec": header.number_or_none("OBSDEC"),
        "z": header.number_or_none("Z_HELIO"),
        "survey": "6dFGS",
        "source": source.name,
    }
    return catalogue_of(common, own)


READER = Reader("6df", Container.FITS, recognises, read, "6dF Galaxy Survey, the combined spectrum of each observation")
