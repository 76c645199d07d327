"""LAMOST DR9 and later: a COADD table with one row of vectors; the empty primary carries the header."""

from __future__ import annotations

from collections.abc import Iterator

from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.lamost_header import is_lamost, lamost_spectrum
from rarespec.spectrum import DefectError, Reason, Spectra


def recognises(source: Source) -> bool:
    primary = source.hdus[0]
    return not primary.is_image and is_lamost(primary.header)


def read(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    hdu = _coadd(source)
    names = [hdu.column_named(name) for name in ("FLUX", "IVAR", "ANDMASK")]
    row = hdu.table()[0]
    flux, ivar, andmask = (row[name] for name in names)
    if not flux.shape == ivar.shape == andmask.shape or flux.ndim != 1:
        raise DefectError(Reason.LAYOUT, f"{hdu.label}: FLUX, IVAR and ANDMASK differ in length")
    yield lamost_spectrum(source, flux, ivar, andmask, options)


def _coadd(source: Source) -> Hdu:
    tables = [hdu for hdu in source.hdus if hdu.is_table]
    named = [hdu for hdu in tables if hdu.name == "COADD"] or tables[:1]
    if not named:
        raise DefectError(Reason.TRUNCATED, "the COADD table (HDU 1) is missing; fetch it again")
    if named[0].n_rows != 1:
        raise DefectError(Reason.LAYOUT, f"{named[0].label} has {named[0].n_rows} rows instead of one")
    return named[0]


READER = Reader("lamost-table", Container.FITS, recognises, read, "LAMOST low resolution DR9 and later")
