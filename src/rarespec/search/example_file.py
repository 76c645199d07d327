"""A file that a person gave: a table of examples, or spectra, told by its structure and never by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from rarespec.formats import Container, Source, read, reader_for
from rarespec.formats.catalogue import is_catalogue
from rarespec.formats.column_roles import ANY_WAVELENGTH, FLUX, find
from rarespec.formats.fits import Hdu
from rarespec.formats.library_faults import faults_of
from rarespec.formats.wide_columns import HEADERLESS_COLUMNS, Wide
from rarespec.search.example_table import WANTED, ExampleTable, names_objects, used_columns
from rarespec.spectrum import Defect, DefectError, Reason, Skipped, Spectra
from rarespec.spectrum.printable import printable


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something given that is no example, in one line."""

    problem: str
    count: int = 1


Given = ExampleTable | Spectra | Unusable


def examples_in(path: str | os.PathLike[str]) -> Iterator[Given]:
    """What one file holds, in its order; a bad one yields its reason, never raises."""
    try:
        with Source(path) as source, faults_of("table"):
            table = None if _holds_spectra(source) else _table_in(source)
    except DefectError as error:
        yield Unusable(f"{printable(os.fspath(path))}: {error.reason}: {error.detail}")
        return
    if table is not None:
        yield table
    else:
        yield from map(_given, read(path))


def _given(found: Spectra | Defect | Skipped) -> Given:
    if isinstance(found, Spectra):
        return found
    if isinstance(found, Skipped):
        return Unusable(f"{found.source}: {found.count} left out ({found.reason})", 0)
    named = f" ({found.id})" if found.id else ""
    return Unusable(f"{found.source}{named}: {found.reason}: {found.detail}")


# --- spectra or a table


def _holds_spectra(source: Source) -> bool:
    if source.container == Container.FITS:
        return not is_catalogue(source) and _has_reader(source)
    if source.container == Container.PARQUET:
        return _parquet_holds_spectra(source)
    return source.container != Container.TEXT or _text_holds_spectra(source)


def _has_reader(source: Source) -> bool:
    try:
        reader = reader_for(source)
    except DefectError:
        return False
    return reader.name != "fits-table" or any(map(_hdu_holds_spectra, source.hdus))


def _hdu_holds_spectra(hdu: Hdu) -> bool:
    flux = find(hdu.columns, FLUX)
    is_vector = flux is not None and hdu.n_rows > 0 and hdu.table(0, 1)[flux].dtype.shape + hdu.table(0, 1)[flux].shape[1:] != ()
    return _are_of_spectra(hdu.columns, is_vector)


def _are_of_spectra(names: tuple[str, ...] | list[str], flux_is_vector: bool) -> bool:
    """A flux alone is a measurement; with wavelengths, or many of them in a row, it is a spectrum."""
    return find(names, FLUX) is not None and (flux_is_vector or find(names, ANY_WAVELENGTH) is not None)


def _is_wide(names: list[str]) -> bool:
    """Whether there is a column for each wavelength."""
    try:
        return len(Wide.among(names).columns["flux"]) >= HEADERLESS_COLUMNS
    except DefectError:
        return False


def _parquet_holds_spectra(source: Source) -> bool:
    from rarespec.formats.parquet_matrix import is_vector, open_parquet

    if reader_for(source).name == "mmu-parquet":
        return True
    schema = open_parquet(source).schema_arrow
    flux = find(schema.names, FLUX)
    return _are_of_spectra(schema.names, flux is not None and is_vector(schema.field(flux).type))


def _text_holds_spectra(source: Source) -> bool:
    from rarespec.formats.memory_table import is_vector

    if _is_marked_up(source):
        columns = _marked_up(source).columns
        flux = find(columns, FLUX)
        return _are_of_spectra(list(columns), flux is not None and is_vector(columns[flux])) or _is_wide(list(columns))
