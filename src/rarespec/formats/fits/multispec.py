"""IRAF's multispec images: a spectrum for each aperture, its wavelengths described in the WAT2 cards.

The dispersion functions are those of "The IRAF/NOAO Spectral World Coordinate Systems" (Valdes 1993): linear,
log-linear, Chebyshev, Legendre, cubic and linear spline, and tables of wavelengths. A third axis holds bands, of which
the first is the flux and the one called sigma the error. Apertures that are the orders of an echelle become one
spectrum; those on the same wavelengths are the fibres of several objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import generic_catalogue, number_ids, own_cards, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.fits.header import Header
from rarespec.formats.fits.wcs import has_wavelength_wcs, wcs_axis
from rarespec.formats.orders import JOINED, Pixels, are_orders, join_rows
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import MOST_PIXELS, Arrays, spectrum_on
from rarespec.formats.wavelength import Axis, is_air, unit_in_header
from rarespec.spectrum import Defect, DefectError, Reason

MOST_APERTURES = 10_000
MOST_COEFFICIENTS = 1 << 16

Numbers = NDArray[np.float64]

# ---- Dispersion functions: wavelengths at physical pixels p, from the parameters that follow the type's number.


def _polynomial(evaluate: Callable[..., Any]) -> Callable[[Numbers, Numbers], tuple[Numbers, int]]:
    def compute(p: Numbers, given: Numbers) -> tuple[Numbers, int]:
        order, low, high = _whole(given[0]), given[1], given[2]
        x = (p - (high + low) / 2) / ((high - low) / 2)
        return evaluate(x, _take(given, 3, order)), 3 + order

    return compute


def _cubic_spline(p: Numbers, given: Numbers) -> tuple[Numbers, int]:
    pieces = _whole(given[0])
    c = _take(given, 3, pieces + 3)
    j, a, b = _piece(p, given[1], given[2], pieces)
    terms = (a**3, 1 + 3 * a * (1 + a * b), 1 + 3 * b * (1 + a * b), b**3)
    return np.sum([c[j + i] * term for i, term in enumerate(terms)], axis=0), 3 + pieces + 3


def _linear_spline(p: Numbers, given: Numbers) -> tuple[Numbers, int]:
    pieces = _whole(given[0])
    c = _take(given, 3, pieces + 1)
    j, a, b = _piece(p, given[1], given[2], pieces)
    return c[j] * a + c[j + 1] * b, 3 + pieces + 1


def _piece(p: Numbers, low: float, high: float, pieces: int) -> tuple[NDArray[np.intp], Numbers, Numbers]:
    s = np.nan_to_num((p - low) / (high - low) * pieces)
    j = np.clip(np.floor(s), 0, pieces - 1).astype(np.intp)
    return j, j + 1 - s, s - j


def _pixel_table(p: Numbers, given: Numbers) -> tuple[Numbers, int]:
    n = _whole(given[0])
    return np.interp(p, np.arange(1, n + 1), _take(given, 1, n)), 1 + n


def _sampled_table(p: Numbers, given: Numbers) -> tuple[Numbers, int]:
    n = _whole(given[0])
    pairs = _take(given, 1, 2 * n).reshape(n, 2)
    return np.interp(p, pairs[:, 0], pairs[:, 1]), 1 + 2 * n


FUNCTIONS: dict[int, Callable[[Numbers, Numbers], tuple[Numbers, int]]] = {
    1: _polynomial(np.polynomial.chebyshev.chebval),
    2: _polynomial(np.polynomial.legendre.legval),
    3: _cubic_spline,
    4: _linear_spline,
    5: _pixel_table,
    6: _sampled_table,
}
"""Number of the type -> (pixels, what follows the number) to (wavelengths, how many numbers it took)."""


def _whole(value: float) -> int:
    if not (1 <= value <= MOST_COEFFICIENTS and value == int(value)):
        raise DefectError(Reason.LAYOUT, f"a dispersion function of order {value:g}")
    return int(value)


def _take(given: Numbers, start: int, n: int) -> Numbers:
    if len(given) < start + n:
        raise DefectError(Reason.LAYOUT, f"a dispersion function with {len(given) - start} of its {n} coefficients")
    return given[start : start + n]


def dispersion(words: list[str], pixels: Numbers) -> Numbers:
    """Compute the wavelengths of one aperture.

    Parameters
    ----------
    words : list of str
        What its `specN` says: aperture, beam, type, first wavelength, step, pixels, redshift, two limits, functions.
    pixels : (p,) array
        Physical pixels, the first of which is 1.

    Returns
    -------
    (p,) float64 array
        In the unit of the file.

    Raises
    ------
    DefectError
        If the description is incomplete, or of a type that IRAF does not have.
    """
    try:
        given = np.array([float(word) for word in words])
    except ValueError:
        raise DefectError(Reason.LAYOUT, f"a dispersion of {' '.join(words)[:60]!r}") from None
    if len(given) < 7:
        raise DefectError(Reason.LAYOUT, f"a dispersion of {len(given)} numbers; 9 and more are needed")
    kind, start, step, z = given[2], given[3], given[4], given[6]
    with np.errstate(all="ignore"):
        if kind in (0, 1):
            linear = start + step * (pixels - 1)
            return (10.0**linear if kind == 1 else linear) / (1 + z)
        if kind == 2:
            return _sum_of_functions(given[9:], pixels) / (1 + z)
    raise DefectError(Reason.LAYOUT, f"no dispersion (type {kind:g}): the spectrum is in pixels, not in wavelengths")


def _sum_of_functions(given: Numbers, pixels: Numbers) -> Numbers:
    total, at = np.zeros(len(pixels)), 0
    while at < len(given):
        weight, zero, kind = _take(given, at, 3)
        if kind not in FUNCTIONS:
            raise DefectError(Reason.LAYOUT, f"a dispersion function of type {kind:g}; IRAF has 1 to 6")
        if len(given) < at + 6:
            raise DefectError(Reason.LAYOUT, "a dispersion function without its coefficients")
        values, used = FUNCTIONS[int(kind)](pixels, given[at + 3 :])
        total += weight * (zero + values)
        at += 3 + used
    if not at:
        raise DefectError(Reason.LAYOUT, "a nonlinear dispersion without a function")
    return total


# ---- What the header says: the WAT cards joined, the apertures, the bands.


def attributes(header: Header, axis: int) -> str:
    """Join the WAT cards of an axis: each holds 68 characters, and a word may be cut between two of them."""
    parts: list[str] = []
    while (key := f"WAT{axis}_{len(parts) + 1:03d}") in header:
        parts.append(str(header.get(key) or "").ljust(68))
    return "".join(parts)


def apertures(header: Header) -> list[list[str]]:
    """Split what the header says about each aperture, in the order of the image's rows, into words."""
    found = re.findall(r"spec(\d+)\s*=\s*\"([^\"]*)\"", attributes(header, 2))
    by_row = {int(number): _words(text) for number, text in found[:MOST_APERTURES]}
    return [by_row[row] for row in sorted(by_row)]


def _words(text: str) -> list[str]:
    """Split at blanks, and where IRAF leaves out the blank: 1.5E-40.25 is 1.5E-4 and 0.25."""
    return re.sub(r"([eE][+-]?\d+?)(0\.)", r"\1 \2", text).split()


def recognises(source: Source) -> bool:
    return _image(source) is not None


def _image(source: Source) -> Hdu | None:
    return next((hdu for hdu in source.hdus if hdu.is_image and _is_multispec(hdu)), None)


def _is_multispec(hdu: Hdu) -> bool:
    kind = hdu.header.string("CTYPE1").upper()
    if kind.startswith("MULTISPE") or "system=multispec" in hdu.header.string("WAT0_001"):
        return bool(apertures(hdu.header)) and len(hdu.image_shape) <= 3
    # IRAF also writes bands of spectra that share a linear dispersion.
    return len(hdu.image_shape) == 3 and "BANDID1" in hdu.header and has_wavelength_wcs(hdu.header)


def _sigma_band(header: Header, n_bands: int) -> int | None:
    """The band called sigma; without names the last of three or four, as IRAF's apall writes them."""
    named = [header.string(f"BANDID{band}").lower() for band in range(1, min(n_bands, 99) + 1)]
    if any(named):
        return next((band for band, name in enumerate(named) if name.startswith(("sigma", "error"))), None)
    return n_bands - 1 if n_bands in (3, 4) else None


# ---- multispec


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    hdu = _image(source)
    if hdu is None:
        raise DefectError(Reason.LAYOUT, "contains no multispec image: CTYPE1 'MULTISPE' and spec1 in WAT2_001")
    p = hdu.image_shape[-1]
    if p > MOST_PIXELS:
        raise DefectError(Reason.TOO_LARGE, f"spectra of {p} pixels; at most {MOST_PIXELS} are read")
    bands = hdu.image().reshape((-1, *hdu.image_shape)[-3:]) if len(hdu.image_shape) > 1 else hdu.image()[None, None]
    sigma = _sigma_band(hdu.header, len(bands))
    n = bands.shape[1]
    described = apertures(hdu.header)
    air, spare_unit = is_air(hdu.header, options), options.wavelength_unit
    axes = [_axis_or_error(hdu.header, described, row, p, air, spare_unit) for row in range(n)]
    rows = [Arrays(bands[0][row], None if sigma is None else bands[sigma][row]) for row in range(n)]
    good = [axis for axis in axes if isinstance(axis, Axis)]
    if len(good) == n and n * p <= MOST_PIXELS and are_orders([axis.wavelength for axis in good]):
        yield from noted(source, JOINED)
        yield from spectrum_on(source, *_join_orders(good, rows), _catalogue(source, hdu, 0, 1))
        return
    if n > 1:
        yield from noted(source, "apertures stored one by one, since they are no orders of an echelle", n)
    for row, (axis, arrays) in enumerate(zip(axes, rows, strict=True)):
        catalogue = _catalogue(source, hdu, row, n)
        try:
            if isinstance(axis, DefectError):
                raise axis
            yield from spectrum_on(source, axis, arrays, catalogue)
        except DefectError as error:
            yield Defect(source.name, error.reason, error.detail, catalogue["id"][0])


def _join_orders(axes: list[Axis], rows: list[Arrays]) -> tuple[Axis, Arrays]:
    orders: list[Pixels] = []
    for axis, arrays in zip(axes, rows, strict=True):
        values = {"flux": arrays.flux} | ({} if arrays.error is None else {"error": arrays.error})
        step = -1 if axis.reverse else 1
        orders.append({"wavelength": axis.wavelength} | {name: array[::step] for name, array in values.items()})
    joined = join_rows(sorted(orders, key=lambda order: order["wavelength"][0]))
    return Axis(joined["wavelength"], False, axes[0].note), Arrays(joined["flux"], joined.get("error"))


def _axis_or_error(*given: Any) -> Axis | DefectError:
    try:
        return _axis(*given)
    except DefectError as error:
        return error


def _axis(
    header: Header, described: list[list[str]], row: int, n_pixels: int, air: bool, spare_unit: str | None
) -> Axis:
    if not described:
        return wcs_axis(header, n_pixels, air, spare_unit)
    if row >= len(described):
        raise DefectError(Reason.LAYOUT, f"row {row + 1} has no spec{row + 1} in the WAT2 cards")
    scale, shift = header.number("LTM1_1"), header.number("LTV1")
    pixels = (np.arange(1.0, n_pixels + 1) - (shift or 0.0)) / (1.0 if scale is None else scale or np.nan)
    return Axis.of(dispersion(described[row], pixels), unit=_unit(header), air=air, spare_unit=spare_unit)


def _unit(header: Header) -> str:
    named = re.search(r"units=([A-Za-z]+)", attributes(header, 1))
    return named[1] if named else unit_in_header(header)


def _catalogue(source: Source, hdu: Hdu, row: int, n: int) -> dict[str, list[Any]]:
    """Cards of the header; in a file of many spectra they are about the file, so an id among them is not used."""
    cards = {**own_cards(source.hdus[0].header), **own_cards(hdu.header)}
    cards = {key: value for key, value in cards.items() if not re.fullmatch(r"(apnum|apid|bandid)\d+", key)}
    spare = number_ids(stem_of(source.path), row, 1, single=n == 1)
    columns = {key: [value] for key, value in cards.items()} | {"aperture": [hdu.header.string(f"APNUM{row + 1}")]}
    catalogue = generic_catalogue(columns, source.name, spare)
    return catalogue if n == 1 else {**catalogue, "id": spare}


READER = Reader(
    "iraf-multispec",
    Container.FITS,
    recognises,
    read,
    "IRAF multispec image, a spectrum per aperture, or orders of an echelle joined",
)
