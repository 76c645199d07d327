"""The table of readers, and the edge of this room: whatever goes wrong in a file comes out as a `Defect`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.storable import storable
from rarespec.spectrum import Defect, DefectError, Noted, Reason, Skipped, Spectra
from rarespec.storage.text import choose_from, printable

# ---- How much text may stand beside a spectrum: a few packed bytes can say the same megabyte for every row.


MOST_TEXT = 1 << 18
"""Characters, of all columns of one spectrum: a header of three thousand cards. A survey holds 2048 rows in memory."""


def text_beside(spectra: Spectra) -> int:
    """Count the characters in the catalogue of these spectra."""
    return _characters(spectra.catalogue.values())


def _characters(columns: Iterable[list[Any]]) -> int:
    return sum([len(value) for column in columns for value in column if isinstance(value, str)])


def within_text_limit(spectra: Spectra, source: str) -> Iterator[Spectra | Defect]:
    """Yield a defect for each spectrum with more text than a survey takes, then the others."""
    if text_beside(spectra) <= MOST_TEXT:
        yield spectra
        return
    rows = zip(*spectra.catalogue.values(), strict=True)
    lengths = np.array([_characters([list(row)]) for row in rows])
    for i in np.flatnonzero(lengths > MOST_TEXT).tolist():
        detail = f"{lengths[i]} characters of text with the spectrum; the limit is {MOST_TEXT}"
        yield Defect(source, Reason.TOO_LARGE, detail, spectra.ids[i][:200])
    kept = np.flatnonzero(lengths <= MOST_TEXT)
    if len(kept):
        yield spectra if len(kept) == len(spectra) else spectra.take(kept)


READERS: dict[str, str] = {
    "sdss-spec": "surveys.sdss",
    "sdss-v": "surveys.sdss_v",
    "sdss-spplate": "surveys.sdss_spplate",
    "sdss-spspec": "surveys.sdss_spspec",
    "lamost-medium": "surveys.lamost_medium",
    "lamost-exposures": "surveys.lamost_exposures",
    "lamost-image": "surveys.lamost_image",
    "lamost-table": "surveys.lamost_table",
    "desi-coadd": "surveys.desi",
    "6df": "surveys.sixdf",
    "galah": "surveys.galah",
    "weave-l1": "surveys.weave",
    "4most-l1": "surveys.four_most",
    "manga-cube": "surveys.manga_cube",
    "muse-cube": "surveys.muse_cube",
    "gaia-fits": "surveys.gaia_fits",
    "gaia-text": "surveys.gaia_text",
    "gaia-parquet": "surveys.gaia_parquet",
    "jwst-x1d": "surveys.jwst",
    "hst-x1d": "surveys.hst",
    "eso-sdp": "surveys.eso",
    "iraf-multispec": "fits.multispec",
    "nested-parquet": "matrices.nested_spectra",
    "mmu-parquet": "matrices.multimodal_universe",
    "fits-table": "fits.table",
    "fits-rows": "fits.rows",
    "fits-wcs1d": "fits.wcs",
    "text-table": "tables.text",
    "numpy": "matrices.numpy",
    "hdf5": "matrices.hdf5",
    "parquet": "matrices.parquet",
    "zarr": "matrices.zarr",
}
"""Name for `--format` -> module of this package that holds its `READER`; the particular before the general."""

FALLBACK = "specutils"
"""Reader of what none of these recognises; its loaders cover other FITS files, and it need not be installed."""

NOT_FITS: dict[str, Container] = {
    "gaia-text": Container.TEXT,
    "gaia-parquet": Container.PARQUET,
    "nested-parquet": Container.PARQUET,
    "mmu-parquet": Container.PARQUET,
    "text-table": Container.TEXT,
    "numpy": Container.NUMPY,
    "hdf5": Container.HDF5,
    "parquet": Container.PARQUET,
    "zarr": Container.ZARR,
}
"""Containers of the readers that do not read FITS, so that only modules that may be needed are imported."""


PLAIN_LAYOUTS = ("sdss-spec", "sdss-v", "sdss-spspec", "lamost-image", "lamost-table")
"""One spectrum in a FITS file whose structure never varies, read by NumPy alone."""
PLAIN_BYTES = 4 << 20
"""Of such a file, inflated: more than any of them has, and little enough to be harmless whatever it holds."""


@cache
def reader_by_name(name: str) -> Reader:
    """Return the reader with this name.

    Parameters
    ----------
    name : str
        One of `READERS`, or "specutils".

    Returns
    -------
    Reader
        The reader.

    Raises
    ------
    ValueError
        If there is no such reader.

    Examples
    --------
    >>> from rarespec.formats import reader_by_name
    >>> reader_by_name("numpy").name
    'numpy'
    """
    if name == FALLBACK:
        return import_module("rarespec.formats.by_specutils").READER
    if name not in READERS:
        raise ValueError(f"there is no reader {name!r}; {choose_from(READERS, name)}")
    return import_module(f"rarespec.formats.{READERS[name]}").READER


def reader_for(source: Source) -> Reader:
    """Return the first reader that recognises the structure of this source.

    Parameters
    ----------
    source : Source
        An open file.

    Returns
    -------
    Reader
        The reader.

    Raises
    ------
    DefectError
        If no reader recognises it, or only one that must be named.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rarespec.formats import Source, reader_for
    >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
    ...     np.savez(file, wavelength=np.arange(4000.0, 4010.0), flux=np.ones((2, 10)))
    ...     file.flush()
    ...     with Source(file.name) as source:
    ...         print(reader_for(source).name)
    numpy
    """
    for name in READERS:
        if NOT_FITS.get(name, Container.FITS) == source.container:
            reader = reader_by_name(name)
            if reader.recognises(source):
                return _unless_on_request(reader)
    fallback = reader_by_name(FALLBACK)
    if fallback.recognises(source):
        return fallback
    raise DefectError(Reason.UNRECOGNISED, f"a {source.container} file with a layout that no reader recognises")


def _unless_on_request(reader: Reader) -> Reader:
    if reader.on_request:
        detail = f"{reader.summary}; to read {reader.on_request}, use --format {reader.name}"
        raise DefectError(Reason.UNRECOGNISED, detail)
    return reader


def read_here(
    path: str | os.PathLike[str], format: str | None = None, options: ReadOptions | None = None
) -> Iterator[Found]:
    """Read the spectra of one file, in this process.

    It never raises, but what a file does to a library it does to this process; see `rarespec.formats.read`.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : str, optional
        Name of a reader, one of `READERS`. By default the structure of the file decides.
    options : ReadOptions, optional
        What to do about wavelengths in air and about flags.

    Yields
    ------
    Spectra, Defect or Skipped
        Stacks of spectra, things that are wrong, and counts of rows without a target, in the order of the file.

    Examples
    --------
    >>> from rarespec.formats import read_here
    >>> [defect] = read_here("no-such-file.fits")
    >>> print(defect.reason)
    unreadable
    """
    name = printable(os.fspath(path))
    with closing(_find_reader(path, format, options or ReadOptions())) as found:
        while (item := _next_or_defect(found, name)) is not None:
            yield item


def read_plain(path: str, format: str | None, options: ReadOptions) -> list[Found] | None:
    """Read a small file of a fixed layout in this process; None for a file that needs a process of its own.

    That is any file with something unusual about it, also one that is only damaged. No library but NumPy and zlib sees
    a byte of the file here, and no length in it is believed before it is compared with the length of the file.

    Parameters
    ----------
    path : str
        The file.
    format : str or None
        Name of a reader; None if the structure of the file decides.
    options : ReadOptions
        What to do about wavelengths in air and about flags.

    Returns
    -------
    list or None
        What is in the file, if it is sound.
    """
    try:
        if os.path.getsize(path) > PLAIN_BYTES:
            return None
        with Source(path) as source, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = _plain_reader(source, format)
            if reader is None:
                return None
            found = list(reader.read(source, options))
            is_long = source.length > MOST_TEXT  # text in a shorter one cannot be too much
    except Exception:  # whatever is wrong, the reader in its own process says it
        return None
    spectra = [item for item in found if isinstance(item, Spectra)]
    if is_long and any(text_beside(item) > MOST_TEXT for item in spectra):
        return None
    if any(isinstance(part, Noted) for item in spectra for part in storable(item, path)):
        return None  # something has to be decided and said
    return found


def _plain_reader(source: Source, format: str | None) -> Reader | None:
    if source.container != Container.FITS or source.length > PLAIN_BYTES:
        return None
    if not all(hdu.is_plain for hdu in source.hdus):
        return None
    readers = (reader_by_name(name) for name in PLAIN_LAYOUTS if format in (None, name))
    return next((reader for reader in readers if format or reader.recognises(source)), None)


def _next_or_defect(found: Iterator[Found], name: str) -> Found | None:
    try:
        return _next_without_warnings(found)
    except DefectError as error:
        return error.at(name)
    except MemoryError:
        return Defect(name, Reason.TOO_MUCH_MEMORY, "more than the memory limit; allow more with --memory-limit")
    except OSError as error:
        if error.errno is None:  # what a library says about a file that it could read
            return Defect(name, Reason.CORRUPT, _message(error))
        return Defect(name, Reason.UNREADABLE, f"{error.strerror}; check the disk and try again")
    except (RecursionError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Defect(name, Reason.CORRUPT, _message(error))
    except Exception as error:  # the edge of the room: no file may stop a batch, whatever a library raises
        return Defect(name, Reason.READER_CRASHED, _message(error))


def _find_reader(
    path: str | os.PathLike[str], format: str | None, options: ReadOptions
) -> Generator[Found, None, None]:
    from rarespec.formats.catalogue import is_catalogue

    with Source(path) as source:
        if format is None and is_catalogue(source):
            yield Skipped(source.name, "catalogue without spectra, for --join", 1)
            return
        reader = reader_by_name(format) if format else reader_for(source)
        for item in reader.read(source, options):
            if isinstance(item, Spectra):
                for part in storable(item, source.name):
                    yield from within_text_limit(part, source.name) if isinstance(part, Spectra) else (part,)
            else:
                yield item


def _next_without_warnings(found: Iterator[Found]) -> Found | None:
    """The next item, or None at the end. The filter is set only while the reader runs, never while it waits.

    Warnings would be printed thousands of times; what matters about a file is in its defect.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return next(found, None)


def _message(error: Exception) -> str:
    detail = str(error).splitlines()[0] if str(error) else "no message"
    return f"{type(error).__name__}: {detail}"
