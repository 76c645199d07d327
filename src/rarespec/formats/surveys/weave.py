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
from rarespec.formats.fits.wcs import wcs_axis
from rarespec.formats.pixels import native
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import blocks, stack_of
from rarespec.formats.wavelength import is_air_unless_said
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
    flux, ivar, fibres = images["FLUX"], images["IVAR"], _fibres(source)
    n_fibres, n_pixels = _check_shapes(flux, ivar, fibres)
    scale = _Calibration.of(images.get("SENSFUNC"), flux)
    axis = wcs_axis(flux.header, n_pixels, is_air_unless_said(flux.header, options))
    is_target, skipped = _targets(source, fibres)
    yield from skipped
    yield from noted(source, axis.note, int(is_target.sum()))
    names = _names(fibres)
    for first, last in blocks(n_fibres, n_pixels):
        rows = np.flatnonzero(is_target[first:last])
        if len(rows):
            factor = scale.rows(first, last)
            counts, weights = native(flux.image(first, last)), native(ivar.image(first, last))
            with np.errstate(all="ignore"):  # no sensitivity: not finite, so a bad pixel
                calibrated, errors = counts * factor, weights / factor**2
            catalogue = _catalogue(source, fibres.table(first, last)[rows], [names[first + row] for row in rows])
            yield stack_of(axis, calibrated[rows], catalogue, ivar=errors[rows])


def _fibres(source: Source) -> Hdu:
    fibres = next((hdu for hdu in source.hdus if hdu.name == "FIBTABLE"), None)
    if fibres is None or not fibres.is_table:
        raise DefectError(Reason.TRUNCATED, "the table FIBTABLE is missing; fetch it again")
    return fibres


def _check_shapes(flux: Hdu, ivar: Hdu, fibres: Hdu) -> tuple[int, int]:
    shape = flux.image_shape
    if len(shape) != 2 or ivar.image_shape != shape:
        raise DefectError(Reason.LAYOUT, f"{flux.label} and {ivar.label} have the shapes {shape}, {ivar.image_shape}")
    if fibres.n_rows != shape[0]:
        raise DefectError(Reason.LAYOUT, f"FIBTABLE has {fibres.n_rows} rows, {flux.label} {shape[0]}")
    return shape[0], shape[1]


class _Calibration:
    """What counts are multiplied by: 1 without SENSFUNC, one vector for all fibres, or one for each."""

    def __init__(self, hdu: Hdu | None, per_fibre: bool) -> None:
        self._hdu, self._per_fibre = hdu, per_fibre

    @classmethod
    def of(cls, hdu: Hdu | None, flux: Hdu) -> _Calibration:
        if hdu is not None and hdu.image_shape not in (flux.image_shape, flux.image_shape[1:]):
            raise DefectError(
                Reason.LAYOUT, f"{hdu.label} has the shape {hdu.image_shape}, {flux.label} {flux.image_shape}"
            )
        return cls(hdu, hdu is not None and len(hdu.image_shape) == 2)

    def rows(self, first: int, last: int) -> Any:
        if self._hdu is None:
            return 1.0
        values = native(self._hdu.image(first, last) if self._per_fibre else self._hdu.image()).astype(np.float64)
        return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _targets(source: Source, fibres: Hdu) -> tuple[NDArray[np.bool_], list[Skipped]]:
    """Which fibres are not on the sky, (n,) bool, and how many are."""
    use = own_columns(fibres.table()[[fibres.column_named("TARGUSE")]])["targuse"]
    is_sky = np.array([value == SKY for value in use], dtype=bool)
    n_sky = int(is_sky.sum())
    return ~is_sky, [Skipped(source.name, "sky fibre (TARGUSE is S)", n_sky)] if n_sky else []


def _names(fibres: Hdu) -> list[str]:
    """CNAME; with the number of the row where several fibres share one, as in an integral-field unit."""
    table = fibres.table()
    names = own_columns(table[[fibres.column_named("CNAME")]])["cname"]
    shared = Counter(names)
    return [f"{name}-{row}" if shared[name] > 1 or not name else str(name) for row, name in enumerate(names)]


def _catalogue(source: Source, fibres: NDArray[Any], names: list[str]) -> Catalogue:
    own = own_columns(fibres)
    n = len(fibres)
    nothing = [None] * n
    stem = stem_of(source.path)
    common = {
        "id": [f"{name}-{stem}" for name in names],
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
