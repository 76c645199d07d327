"""Generic FITS images whose first axis is a wavelength: one spectrum, or one per row of the image.

Errors and masks come from image extensions of the same shape called IVAR, ERR, ERROR, SIGMA, MASK and the like.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.column_roles import ERROR, IVAR, MASK, find
from rarespec.formats.fits import Hdu
from rarespec.formats.fits_wcs import has_wavelength_wcs, wcs_axis
from rarespec.formats.generic_catalogue import generic_catalogue, numbered_ids, stem_of
from rarespec.formats.own_columns import own_cards
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import blocks, stack_of
from rarespec.formats.wavelength import is_air
from rarespec.spectrum import DefectError, Reason, Spectra
from rarespec.spectrum.spectra import Catalogue


def recognises(source: Source) -> bool:
    return _flux_image(source) is not None


def _flux_image(source: Source) -> Hdu | None:
    """The first image on a wavelength axis; cubes and pictures of the sky are none."""
    images = (hdu for hdu in source.hdus if hdu.is_image and has_wavelength_wcs(hdu.header))
    return next((hdu for hdu in images if len(_long_axes(hdu)) <= 2), None)


def _long_axes(hdu: Hdu) -> tuple[int, ...]:
    """The shape without leading axes of length 1, which IRAF likes to write."""
    shape = hdu.image_shape
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    return shape


def read(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    hdu = _flux_image(source)
    if hdu is None:
        raise DefectError(Reason.LAYOUT, "contains no image with one or two axes, CRVAL1, and CD1_1 or CDELT1")
    n_pixels = hdu.image_shape[-1]
    n = int(np.prod(_long_axes(hdu)[:-1]))
    axis = wcs_axis(hdu.header, n_pixels, is_air(hdu.header, options))
    beside = _images_beside(source, hdu)
    for first, last in blocks(n, n_pixels):
        parts = {role: _rows(image, first, last) for role, image in beside.items()}
        catalogue = _catalogue(source, hdu, first, last, single=n == 1)
        yield stack_of(axis, _rows(hdu, first, last), catalogue, **parts)


def _rows(hdu: Hdu, first: int, last: int) -> NDArray[Any]:
    if len(_long_axes(hdu)) == 1:
        return hdu.image().reshape(1, -1)
    if len(hdu.image_shape) > 2:
        return hdu.image().reshape(_long_axes(hdu))[first:last]
    return hdu.image(first, last)


def _images_beside(source: Source, flux: Hdu) -> dict[str, Hdu]:
    """ivar or error, and mask, by role."""
    images = {hdu.name: hdu for hdu in source.hdus if hdu.is_image and hdu is not flux}
    images = {name: hdu for name, hdu in images.items() if _long_axes(hdu) == _long_axes(flux)}
    names = {"ivar": find(images, IVAR), "error": find(images, ERROR), "mask": find(images, MASK)}
    if names["ivar"]:
        names["error"] = None
    return {role: images[name] for role, name in names.items() if name}


def _catalogue(source: Source, hdu: Hdu, first: int, last: int, single: bool) -> Catalogue:
    """Cards of the headers. In a file of many spectra they are about the file, so an id among them is not used."""
    cards = {**own_cards(source.hdus[0].header), **own_cards(hdu.header)}
    spare = numbered_ids(stem_of(source.path), first, last - first, single)
    columns = {name: [value] * (last - first) for name, value in cards.items()}
    catalogue = generic_catalogue(columns, source.name, spare)
    return catalogue if single else {**catalogue, "id": spare}


READER = Reader("fits-wcs1d", Container.FITS, recognises, read, "FITS image with a wavelength axis (CRVAL1, CDELT1)")
