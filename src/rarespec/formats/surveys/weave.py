"""WEAVE L1: images of counts and inverse variance with a row for each fibre, SENSFUNC, and FIBTABLE; one arm.

The images are called FLUX and IVAR, or DATA and IVAR behind the arm (RED_DATA, RED_IVAR); those before the subtraction
of the sky end in NOSS. Counts times SENSFUNC is the flux. Wavelengths are linear, and in air.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import catalogue_of, missing, own_columns, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.fits.wcs import has_wavelength_wcs, wcs_axis
from rarespec.formats.pixels import native
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import blocks, stack_of
from rarespec.formats.wavelength import Axis, is_air_unless_said
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.defect import Skipped
from rarespec.spectrum.spectra import Catalogue

IMAGE = re.compile(r"(?:(?:BLUE|RED|GREEN)_)?(FLUX|DATA|IVAR|SENSFUNC)")
"""Extensions that make the spectra; the sky is in those that end in _NOSS."""
SKY = "S"
"""TARGUSE of a fibre on the sky."""


def recognises(source: Source) -> bool:
    return any(hdu.name == "FIBTABLE" for hdu in source.hdus) and "IVAR" in _images(source)


def _images(source: Source) -> dict[str, Hdu]:
    """By kind: FLUX, IVAR, SENSFUNC."""
    found: dict[str, Hdu] = {}
    for hdu in source.hdus:
        if (match := IMAGE.fullmatch(hdu.name)) and hdu.is_image:
            found.setdefault("FLUX" if match[1] == "DATA" else match[1], hdu)
    return found


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    images = _images(source)
    for kind in ("FLUX", "IVAR"):
        if kind not in images:
            raise missing(f"image {kind}", (kind, f"RED_{kind}"), [hdu.name for hdu in source.hdus])
    flux, ivar, sensitivity = images["FLUX"], images["IVAR"], images.get("SENSFUNC")
    n_fibres, n_pixels = _check_shapes(flux, ivar, sensitivity)
    axis = _axis(source, flux, n_pixels, options)
    fibres = _fibres(source, n_fibres)
    is_sky = np.array([use == SKY for use in own_columns(fibres)["targuse"]], dtype=bool)
    if is_sky.any():
        yield Skipped(source.name, "sky fibre (TARGUSE is S)", int(is_sky.sum()))
    yield from noted(source, axis.note, int((~is_sky).sum()))
    ids = _ids(source, fibres)
    for first, last in blocks(n_fibres, n_pixels):
        rows = np.flatnonzero(~is_sky[first:last])
        if len(rows):
            factor = _factor(sensitivity, first, last)
            counts, weights = native(flux.image(first, last)), native(ivar.image(first, last))
            with np.errstate(all="ignore"):  # no sensitivity: not finite, so a bad pixel
                calibrated, errors = counts * factor, weights / factor**2
            catalogue = _catalogue(source, fibres[first:last][rows], [ids[first + row] for row in rows])
            yield stack_of(axis, calibrated[rows], catalogue, ivar=errors[rows])


def _check_shapes(flux: Hdu, ivar: Hdu, sensitivity: Hdu | None) -> tuple[int, int]:
    """Number of fibres and of pixels. The sensitivity is one vector for each fibre, or one for all."""
    shape = flux.image_shape
    if len(shape) != 2 or ivar.image_shape != shape:
        raise DefectError(Reason.LAYOUT, f"{flux.label} and {ivar.label} have the shapes {shape}, {ivar.image_shape}")
    if sensitivity is not None and sensitivity.image_shape not in (shape, shape[1:]):
        detail = f"{sensitivity.label} has the shape {sensitivity.image_shape}, {flux.label} {shape}"
        raise DefectError(Reason.LAYOUT, detail)
    return shape[0], shape[1]


def _axis(source: Source, flux: Hdu, n_pixels: int, options: ReadOptions) -> Axis:
    """From the image's own header, or the primary one."""
    headers = (flux.header, source.hdus[0].header)
    header = next(filter(has_wavelength_wcs, headers), flux.header)
    return wcs_axis(header, n_pixels, is_air_unless_said(header, options))


def _factor(sensitivity: Hdu | None, first: int, last: int) -> Any:
    """What the counts of these fibres are multiplied by; NaN where it is not positive."""
    if sensitivity is None:
        return 1.0
    per_fibre = len(sensitivity.image_shape) == 2
    values = native(sensitivity.image(first, last) if per_fibre else sensitivity.image()).astype(np.float64)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _fibres(source: Source, n_fibres: int) -> NDArray[Any]:
    """The rows of FIBTABLE in the order of the images, whose rows NSPEC counts from 1."""
    hdu = next((hdu for hdu in source.hdus if hdu.name == "FIBTABLE" and hdu.is_table), None)
    if hdu is None:
        raise DefectError(Reason.TRUNCATED, "the table FIBTABLE is missing; fetch it again")
    if hdu.n_rows != n_fibres:
        raise DefectError(Reason.LAYOUT, f"{hdu.label} has {hdu.n_rows} rows for {n_fibres} spectra")
    for name in ("CNAME", "TARGUSE"):
        hdu.column_named(name)
    table = hdu.table()
    if not hdu.has_column("NSPEC"):
        return table
    order = np.argsort(table[hdu.column_named("NSPEC")], kind="stable")
    is_count = np.array_equal(table[hdu.column_named("NSPEC")][order], np.arange(1, n_fibres + 1))
    return table[order] if is_count else table


def _ids(source: Source, fibres: NDArray[Any]) -> list[str]:
    """CNAME and file; also the number of the row where several fibres share a name, as in an integral-field unit."""
    names, stem = own_columns(fibres)["cname"], stem_of(source.path)
    shared = Counter(names)
    own = [f"{name}-{row}" if shared[name] > 1 or not name else str(name) for row, name in enumerate(names)]
    return [f"{name}-{stem}" for name in own]


def _catalogue(source: Source, fibres: NDArray[Any], ids: list[str]) -> Catalogue:
    own = own_columns(fibres)
    n = len(fibres)
    nothing = [None] * n
    common = {
        "id": ids,
        "ra": _floats(own, "targra", "fibrera") or nothing,
        "dec": _floats(own, "targdec", "fibredec") or nothing,
        **dict.fromkeys(("z", "class", "subclass", "snr"), nothing),
        "survey": ["WEAVE"] * n,
        "source": [source.name] * n,
    }
    return catalogue_of(common, own)


def _floats(own: Catalogue, *names: str) -> list[float | None] | None:
    name = next((name for name in names if name in own), None)
    if name is None or not all(value is None or isinstance(value, int | float) for value in own[name]):
        return None
    return [None if value is None else float(value) for value in own[name]]


READER = Reader("weave-l1", Container.FITS, recognises, read, "WEAVE L1, all fibres of one arm")
