"""SDSS spPlate-PLATE-MJD.fits: all fibres of a plate as images, the cheapest way to ingest SDSS.

There are no classes in it; join a specObj or spZbest catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import catalogue_of, own_columns
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.pixels import bad_pixels, has_bits, native
from rarespec.formats.reader import MAX_ROWS, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.sdss import plate_mjd_fiber, survey_of
from rarespec.formats.wavelength import coefficients, is_air, log_linear, vacuum
from rarespec.spectrum import DefectError, Reason, Spectra
from rarespec.spectrum.spectra import Catalogue


def recognises(source: Source) -> bool:
    """Recognise a primary image of a whole plate: unlike spSpec, it names no fibre."""
    primary = source.hdus[0]
    header = primary.header
    is_plate = primary.is_image and len(primary.image_shape) == 2 and "PLATEID" in header and "FIBERID" not in header
    return is_plate and ("CRVAL1" in header or "COEFF0" in header)


def _plugmap(source: Source) -> Hdu | None:
    tables = (hdu for hdu in source.hdus if hdu.is_table)
    return next((hdu for hdu in tables if hdu.name == "PLUGMAP" or hdu.has_column("FIBERID")), None)


def read(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    flux = source.hdus[0]
    ivar, mask = _image_like(source, 1, "IVAR"), _image_like(source, 2, "ANDMASK")
    plugmap = _plugmap(source)
    n_fibres = flux.n_rows
    if plugmap is None or plugmap.n_rows != n_fibres:
        raise DefectError(Reason.LAYOUT, f"PLUGMAP is missing or does not have a row for each of {n_fibres} fibres")
    wavelength = vacuum(_wavelength(flux), is_air(flux.header, options), flux.label)
    for start in range(0, n_fibres, MAX_ROWS):
        stop = min(start + MAX_ROWS, n_fibres)
        rows = native(flux.image(start, stop))
        weights = native(ivar.image(start, stop))
        bad = bad_pixels(rows, weights, has_bits(mask.image(start, stop), options.sdss_bad_bits))
        yield Spectra(wavelength, rows, weights, bad, _catalogue(source, plugmap.table(start, stop), start))


def _image_like(source: Source, index: int, name: str) -> Hdu:
    """Find the extension of this name, or at its usual place; it must have the shape of the flux."""
    shape = source.hdus[0].image_shape
    named = [hdu for hdu in source.hdus if hdu.name == name]
    hdu = named[0] if named else source.hdus[min(index, len(source.hdus) - 1)]
    if not hdu.is_image or hdu.image_shape != shape:
        raise DefectError(Reason.LAYOUT, f"{hdu.label}, expected to be {name}, is not an image of shape {shape}")
    return hdu


def _wavelength(flux: Hdu) -> NDArray[np.float64]:
    header, n_pixels = flux.header, flux.image_shape[1]
    start, step, reference = (header.number(key) for key in ("CRVAL1", "CD1_1", "CRPIX1"))
    if start is None or step is None:
        return log_linear(*coefficients(header), n_pixels)
    first_pixel = 1 - (1.0 if reference is None else reference)
    return log_linear(start + step * first_pixel, step, n_pixels)


def _catalogue(source: Source, plugmap: NDArray[Any], start: int) -> Catalogue:
    header = source.hdus[0].header
    plate, mjd = header.integer("PLATEID"), header.integer("MJD")
    own = own_columns(plugmap)
    n = len(plugmap)
    nothing = [None] * n
    common = {
        "id": [plate_mjd_fiber(plate, mjd, fiber) for fiber in range(start + 1, start + n + 1)],
        "ra": own.get("ra", nothing),
        "dec": own.get("dec", nothing),
        **dict.fromkeys(("z", "class", "subclass", "snr"), nothing),
        "survey": [survey_of(None, mjd)] * n,
        "source": [source.name] * n,
    }
    return catalogue_of(common, own, ("ra", "dec"))


READER = Reader("sdss-spplate", Container.FITS, recognises, read, "SDSS spPlate-PLATE-MJD.fits, a whole plate")
