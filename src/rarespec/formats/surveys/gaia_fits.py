"""Gaia XP sampled spectra in a FITS table: a row for each source; GaiaXPy states the sampling in its header."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarespec.formats.columns import Column, scalar_columns
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Origin, blocks
from rarespec.formats.surveys.gaia import SAMPLING, axis_of, columns_of, has_columns, spectra_of_rows
from rarespec.spectrum import DefectError, Reason


def recognises(source: Source) -> bool:
    return _table(source) is not None


def _table(source: Source) -> Hdu | None:
    return next((hdu for hdu in source.hdus if hdu.is_table and has_columns(hdu.columns)), None)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    hdu = _table(source) or next((hdu for hdu in source.hdus if hdu.is_table), None)
    if hdu is None:
        raise DefectError(Reason.TRUNCATED, "the table of the spectra is missing; fetch it again")
    names = columns_of(hdu.columns)
    if hdu.n_rows == 0:
        raise DefectError(Reason.EMPTY, f"{hdu.label} has no rows")
    n_pixels = len(np.atleast_1d(hdu.table(0, 1)[names["flux"]][0]))
    axis = axis_of(source, hdu.header.get(SAMPLING.upper()), n_pixels)
    origin = Origin(source, options, single=hdu.n_rows == 1)
    for first, last in blocks(hdu.n_rows, n_pixels):
        table = hdu.table(first, last)
        columns: dict[str, Column] = dict(scalar_columns(table))
        for name in ("flux", "flux_error"):
            values = table[names[name]]
            columns[name] = list(values) if values.dtype.kind == "O" else values.reshape(len(table), -1)
        yield from spectra_of_rows(columns, origin, first, axis)


READER = Reader("gaia-fits", Container.FITS, recognises, read, "Gaia XP sampled spectra, a FITS table of GaiaXPy")
