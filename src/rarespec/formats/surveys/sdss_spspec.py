"""SDSS DR1-7 spSpec-MJD-PLATE-FIBER.fit: one image whose rows are flux, continuum-subtracted flux, sigma, mask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rarespec.formats.columns import catalogue_of, one_row, own_cards
from rarespec.formats.pixels import bad_pixels, has_bits, ivar_of_error, native
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.sdss import plate_mjd_fiber
from rarespec.formats.wavelength import coefficients, is_air, log_linear, vacuum
from rarespec.spectrum import DefectError, Reason, Spectra

FLUX, SIGMA, MASK = 0, 2, 3
"""Rows of the image."""

CLASSES = {1: "STAR", 2: "GALAXY", 3: "QSO", 4: "QSO", 5: "SKY", 6: "STAR", 7: "GALAXY"}
"""SPEC_CLN -> class; 4 is a distant quasar, 6 a late-type star, 7 an emission-line galaxy. 0 is unknown."""


def recognises(source: Source) -> bool:
    primary = source.hdus[0]
    header = primary.header
    is_spectrum = primary.is_image and len(primary.image_shape) == 2 and "COEFF0" in header
    return is_spectrum and "FIBERID" in header and "PLATEID" in header and primary.n_rows <= 5


def read(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    primary = source.hdus[0]
    if primary.n_rows <= MASK:
        raise DefectError(Reason.LAYOUT, f"an image of {primary.n_rows} rows: flux, sigma and mask need {MASK + 1}")
    image = primary.image()
    flux, ivar = native(image[FLUX])[None], ivar_of_error(native(image[SIGMA]))[None]
    bad = bad_pixels(flux, ivar, has_bits(image[MASK], options.sdss_bad_bits)[None])
    wavelength = log_linear(*coefficients(primary.header), flux.shape[1])
    air = is_air(primary.header, options)
    yield Spectra(vacuum(wavelength, air, primary.label), flux, ivar, bad, one_row(_catalogue(source)))


def _catalogue(source: Source) -> dict[str, Any]:
    header = source.hdus[0].header
    own = own_cards(header)
    common = {
        "id": plate_mjd_fiber(header.integer("PLATEID"), header.integer("MJD"), header.integer("FIBERID")),
        "ra": header.number("RAOBJ"),
        "dec": header.number("DECOBJ"),
        "z": header.number("Z"),
        "class": CLASSES.get(header.get("SPEC_CLN", 0)),
        "survey": "SDSS",
        "source": source.name,
    }
    return catalogue_of(common, own, ("z",))


READER = Reader("sdss-spspec", Container.FITS, recognises, read, "SDSS DR1-7 spSpec-MJD-PLATE-FIBER.fit")
