"""Generic FITS images whose first axis is a wavelength, given by keywords of the header or by another image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import (
    ANY_WAVELENGTH,
    ERROR,
    IDS,
    IVAR,
    LOG_WAVELENGTH,
    MASK,
    VARIANCE,
    Column,
    Roles,
    own_cards,
    scalar_columns,
)
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.fits.header import Header
from rarespec.formats.further_columns import FLAGS, MOST_NAMES, further_roles
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Origin, blocks, stacks_of_rows
from rarespec.formats.wavelength import Axis, angstroms_per, is_air, likely_logarithms, unit_in_header
from rarespec.spectrum import DefectError, Reason

# ---- Wavelengths from the keywords of a header: CRVAL1, CD1_1 or CDELT1, CRPIX1; or COEFF0 and COEFF1.


SPECTRAL_TYPES = (
    "",
    "LINEAR",
    "WAVE",
    "AWAV",
    "WAVELENGTH",
    "LAMBDA",
    "LOGLAM",
    "LOG-LINEAR",
    "WAVE-LOG",
    "AWAV-LOG",
    "PIXEL",
)
"""Values of CTYPE1 that may stand for wavelengths; RA---TAN, FREQ, VELO and the like do not."""

UNIT_AS_TYPE = ("ANGSTROM", "ANGSTROMS", "NM", "NANOMETER", "NANOMETERS", "MICRON", "MICRONS", "UM")
"""Units that stand in CTYPE1 instead, as in the spectra of HARPS."""

LARGEST_LOGARITHM = 10.0
"""CRVAL1 below this, with a logarithmic axis and no unit, is a log10 of Angstrom and no wavelength."""


def has_wavelength_wcs(header: Header) -> bool:
    """Say whether the first axis of this header is, or may be, a wavelength."""
    if "COEFF0" in header and "COEFF1" in header:
        return True
    has_axis = "CRVAL1" in header and ("CD1_1" in header or "CDELT1" in header)
    return has_axis and header.string("CTYPE1").upper() in (*SPECTRAL_TYPES, *UNIT_AS_TYPE)


def wcs_axis(header: Header, n_pixels: int, air: bool, spare_unit: str | None = None) -> Axis:
    """Compute wavelengths from the keywords of a header.

    Parameters
    ----------
    header : Header
        With CRVAL1 and CD1_1 or CDELT1 (CRPIX1 is 1 where it is absent), or with COEFF0 and COEFF1.
    n_pixels : int
        How many wavelengths.
    air : bool
        Whether they are in air.
    spare_unit : str, optional
        Their unit if the header does not name it. By default the one that their size calls for.

    Returns
    -------
    Axis
        In vacuum Angstrom.

    Raises
    ------
    DefectError
        If keywords are missing, or the wavelengths make no sense.
    """
    start, step = header.number("CRVAL1"), header.number("CD1_1") or header.number("CDELT1")
    if start is None or step is None:
        start, step = header.number("COEFF0"), header.number("COEFF1")
        if start is None or step is None:
            raise DefectError(Reason.LAYOUT, f"{header.label} has neither CRVAL1 and CDELT1 nor COEFF0 and COEFF1")
        return Axis.of(start + step * np.arange(n_pixels), log=True, unit="Angstrom", air=air)
    reference = header.number("CRPIX1")
    offset = np.arange(1, n_pixels + 1, dtype=np.float64) - (1.0 if reference is None else reference)
    kind = header.string("CTYPE1")
    unit = unit_in_header(header) or (kind if kind.upper() in UNIT_AS_TYPE else "")
    values = start + step * offset
    if _says_logarithm(header) and (base := likely_logarithms(values)):
        # Many write a logarithm and the unit of the wavelength itself: 3.58 and Angstrom.
        return Axis.of(values, unit=f"{base}({unit or spare_unit or 'Angstrom'})", air=air)
    if _is_log10(header, start, unit):
        return Axis.of(values, log=True, unit=unit, air=air, spare_unit=spare_unit)
    if kind.upper().endswith("-LOG"):
        return Axis.of(_logarithmic(start, step, offset), unit=unit, air=air, spare_unit=spare_unit)
    return Axis.of(values, unit=unit, air=air, spare_unit=spare_unit)


def _says_logarithm(header: Header) -> bool:
    kind = header.string("CTYPE1").upper()
    return header.get("DC-FLAG") == 1 or kind in ("LOGLAM", "LOG-LINEAR") or kind.endswith("-LOG")


def _is_log10(header: Header, start: float, unit: str) -> bool:
    """Recognise the convention of IRAF and SDSS. WAVE-LOG with a wavelength as CRVAL1 is that of the FITS standard."""
    if header.get("DC-FLAG") == 1 or header.string("CTYPE1").upper() in ("LOGLAM", "LOG-LINEAR"):
        return True
    is_length = bool(unit) and "log" not in unit.lower() and angstroms_per(unit) > 0
    return header.string("CTYPE1").upper().endswith("-LOG") and not is_length and start < LARGEST_LOGARITHM


def _logarithmic(start: float, step: float, offset: NDArray[np.floating]) -> NDArray[np.floating]:
    """Equation 5 of Greisen et al. (2006, A&A 446, 747): the step is the one at the reference pixel."""
    if start <= 0:
        raise DefectError(Reason.LAYOUT, f"a logarithmic axis that starts at the wavelength {start}")
    with np.errstate(over="ignore"):
        return start * np.exp(step * offset / start)


# ---- Generic FITS images whose first axis is a wavelength: one spectrum, or one per row of the image.
#
# Wavelengths may be in an image called WAVELENGTH or LOGLAM. Errors and masks come from image extensions of the same
# shape called IVAR, ERR, ERROR, SIGMA, VARIANCE, MASK and the like. A table with a row for each spectrum names them.


def recognises(source: Source) -> bool:
    return _flux_image(source) is not None


NOT_FLUX = (*ANY_WAVELENGTH, *IVAR, *ERROR, *VARIANCE, *MASK, *FLAGS)
"""Names of images, in lower case, that stand beside the flux."""


def _flux_image(source: Source) -> Hdu | None:
    """The first image with wavelengths in another one, else on a wavelength axis; cubes and pictures are none."""
    images = [hdu for hdu in source.hdus if hdu.is_image and hdu.image_shape and len(_long_axes(hdu)) <= 2]
    flux = (hdu for hdu in images if hdu.name.lower() not in NOT_FLUX)
    found = next((hdu for hdu in flux if _wavelength_image(source, hdu) is not None), None)
    return found or next((hdu for hdu in images if has_wavelength_wcs(hdu.header)), None)


def _wavelength_image(source: Source, flux: Hdu) -> Hdu | None:
    """An image of wavelengths: for all rows of the flux, or as many rows as it."""
    shapes = (_long_axes(flux), _long_axes(flux)[-1:])
    images = (hdu for hdu in source.hdus if hdu.is_image and hdu.name.lower() in ANY_WAVELENGTH and hdu is not flux)
    return next((hdu for hdu in images if hdu.image_shape and _long_axes(hdu) in shapes), None)


def _long_axes(hdu: Hdu) -> tuple[int, ...]:
    """The shape without leading axes of length 1, which IRAF likes to write."""
    shape = hdu.image_shape
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    return shape


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    hdu = _flux_image(source)
    if hdu is None:
        raise DefectError(Reason.LAYOUT, "contains no image with one or two axes, CRVAL1, and CD1_1 or CDELT1")
    n_pixels = hdu.image_shape[-1]
    n = int(np.prod(_long_axes(hdu)[:-1]))
    images = {"flux": hdu, **_images_beside(source, hdu)}
    axis, unit = None, ""
    wavelength = _wavelength_image(source, hdu)
    if wavelength is None:
        axis = wcs_axis(hdu.header, n_pixels, is_air(hdu.header, options), options.wavelength_unit)
    else:
        options = replace(options, air=is_air(hdu.header, options) or is_air(wavelength.header, options))
        unit = wavelength.header.string("BUNIT") or unit_in_header(wavelength.header)
        images["wavelength"] = wavelength
    yield from noted(source, _left_out(source, images), n)
    # Names in angle brackets, which no header has.
    log = wavelength is not None and wavelength.name.lower() in LOG_WAVELENGTH
    names: dict[str, Any] = {role: f"<{image.name if role == 'flag' else role}>" for role, image in images.items()}
    roles = Roles(**names, log=log)
    table = _table_beside(source, n)
    units = {"<flux>": hdu.header.string("BUNIT"), **(_units(table) if table else {})}
    origin = Origin(source, options, single=n == 1, units=units)
    for first, last in blocks(n, n_pixels):
        block: dict[str, Column] = _cards(source, hdu, last - first, single=n == 1)
        block |= scalar_columns(table.table(first, last)) if table else {}
        block |= {names[role]: _rows(image, first, last) for role, image in images.items() if role != "wavelength"}
        if wavelength is not None:
            values = _rows(wavelength, first, last)
            block["<wavelength>"] = np.broadcast_to(values, (last - first, n_pixels))
        yield from stacks_of_rows(block, roles, origin, first, axis, unit)


def _rows(hdu: Hdu, first: int, last: int) -> NDArray[Any]:
    if len(_long_axes(hdu)) == 1:
        return hdu.image().reshape(1, -1)
    if len(hdu.image_shape) > 2:
        return hdu.image().reshape(_long_axes(hdu))[first:last]
    return hdu.image(first, last)


def _images_beside(source: Source, flux: Hdu) -> dict[str, Hdu]:
    """ivar, error or variance, and mask or flag, by role."""
    images = {hdu.name: hdu for hdu in source.hdus if hdu.is_image and hdu is not flux}
    images = {name: hdu for name, hdu in images.items() if _long_axes(hdu) == _long_axes(flux)}
    beside = ["flux", *(name for name in images if name.lower() in NOT_FLUX)]
    roles = further_roles(Roles.among(beside), beside)
    return {role: images[name] for role, name in roles.by_role.items() if role != "flux"}


def _left_out(source: Source, images: dict[str, Hdu]) -> str:
    """A sentence on images of the shape of the flux that nothing is known of: its errors may be among them."""
    shape, used = _long_axes(images["flux"]), list(images.values())
    others = [hdu for hdu in source.hdus if hdu.is_image and hdu.image_shape and not any(hdu is one for one in used)]
    others = [hdu for hdu in others if _long_axes(hdu) == shape]
    if not others:
        return ""
    which = "another image" if len(others) == 1 else f"{len(others)} other images"
    named = ", ".join(hdu.name[:40] for hdu in others[:MOST_NAMES] if hdu.name)
    named = f" ({named})" if named else ""
    return f"{which} of the same shape left out{named}; call them IVAR, ERROR or MASK if they are that"


def _cards(source: Source, hdu: Hdu, n: int, single: bool) -> dict[str, Column]:
    """Cards of the headers. In a file of many spectra they are about the file, so an id among them is not used."""
    cards = {**own_cards(source.hdus[0].header), **own_cards(hdu.header)}
    return {name: [value] * n for name, value in cards.items() if single or name not in IDS}


def _table_beside(source: Source, n: int) -> Hdu | None:
    """The table that names the spectra of a file: the only one with a row for each of several."""
    tables = [hdu for hdu in source.hdus if hdu.is_table and hdu.n_rows == n > 1]
    return tables[0] if len(tables) == 1 else None


def _units(table: Hdu) -> dict[str, str]:
    return {name.lower(): table.header.string(f"TUNIT{n}") for n, name in enumerate(table.columns, 1)}


READER = Reader(
    "fits-wcs1d", Container.FITS, recognises, read, "FITS image with a wavelength axis: CRVAL1, or an image WAVELENGTH"
)
