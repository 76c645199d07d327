"""GALAH: one file for each star and arm of HERMES; a primary image with the spectrum, extensions with errors.

In DR3 `input_sigma` is relative to the flux. In the older layout, which has `normalised_sigma` too, it is not.
Wavelengths are linear, and in air. The sobject_id of a star and the number of the arm (1 blue to 4 infrared) are
nowhere but in the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from rarespec.formats.columns import catalogue_of, missing, one_row, own_cards, stem_of
from rarespec.formats.fits.wcs import has_wavelength_wcs, wcs_axis
from rarespec.formats.pixels import ivar_of_error, numbers
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import stack_of
from rarespec.formats.wavelength import is_air_unless_said
from rarespec.spectrum import DefectError, Reason

SIGMA, OLD_SIGMA = "INPUT_SIGMA", "NORMALISED_SIGMA"
LEAST_HDUS = 4
"""The spectrum, its errors, and both before the sky was subtracted."""
NAME = re.compile(r"(\d{15})([1-4])")
"""sobject_id and arm."""


def recognises(source: Source) -> bool:
    return any(hdu.name == SIGMA and hdu.is_image for hdu in source.hdus)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    primary = source.hdus[0]
    if len(source.hdus) < LEAST_HDUS:
        raise DefectError(Reason.TRUNCATED, f"{len(source.hdus)} HDUs instead of {LEAST_HDUS} or more; fetch it again")
    by_name = {hdu.name: hdu for hdu in reversed(source.hdus)}
    sigma = by_name.get(SIGMA)
    if sigma is None:
        raise missing("errors", (SIGMA.lower(),), by_name)
    if not primary.is_image or len(primary.image_shape) != 1 or not has_wavelength_wcs(primary.header):
        raise DefectError(Reason.LAYOUT, "the primary HDU is not a spectrum with CRVAL1 and CDELT1")
    if not sigma.is_image or sigma.image_shape != primary.image_shape:
        raise DefectError(Reason.LAYOUT, f"{sigma.label} does not have the shape {primary.image_shape} of the spectrum")
    flux, error = numbers(primary.image(), "flux"), numbers(sigma.image(), "sigma")
    if OLD_SIGMA not in by_name:
        error = np.abs(error * flux)
    axis = wcs_axis(primary.header, len(flux), is_air_unless_said(primary.header, options))
    yield from noted(source, axis.note)
    yield stack_of(axis, flux[None], one_row(_catalogue(source)), ivar=ivar_of_error(error)[None])


def _catalogue(source: Source) -> dict[str, Any]:
    header, stem = source.hdus[0].header, stem_of(source.path)
    own = own_cards(header)
    if match := NAME.fullmatch(stem):
        own |= {"sobject_id": match[1], "arm": int(match[2])}
    common = {
        "id": stem,
        "ra": header.number_or_none("RA"),
        "dec": header.number_or_none("DEC"),
        "survey": "GALAH",
        "source": source.name,
    }
    return catalogue_of(common, own)


READER = Reader("galah", Container.FITS, recognises, read, "GALAH, one arm of a star")
