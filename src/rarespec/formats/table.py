"""The table of readers, and the edge of this room: whatever goes wrong in a file comes out as a `Defect`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from importlib import import_module

from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Source
from rarespec.spectrum import Defect, DefectError, Reason, Spectra

READERS: dict[str, str] = {
    "sdss-spec": "sdss_spec",
    "sdss-v": "sdss_v",
    "sdss-spplate": "sdss_spplate",
    "sdss-spspec": "sdss_spspec",
    "lamost-image": "lamost_image",
    "lamost-table": "lamost_table",
    "desi-coadd": "desi_coadd",
    "mmu-parquet": "mmu_parquet",
    "fits-table": "fits_table",
    "fits-wcs1d": "fits_wcs1d",
    "text-table": "text_table",
    "numpy": "numpy_matrix",
    "hdf5": "hdf5_matrix",
    "parquet": "parquet_matrix",
    "zarr": "zarr_matrix",
}
"""Name for `--format` -> module of this package that holds its `READER`; the particular before the general."""


def reader_by_name(name: str) -> Reader:
    """The reader of this name."""
    if name not in READERS:
        raise ValueError(f"no reader is called {name!r}; there are {', '.join(READERS)}")
    return import_module(f"rarespec.formats.{READERS[name]}").READER


def reader_for(source: Source) -> Reader:
    """The first reader that recognises the structure of this source."""
    for name in READERS:
        reader = reader_by_name(name)
        if reader.container == source.container and reader.recognises(source):
            return reader
    raise DefectError(Reason.UNRECOGNISED, f"a {source.container} file whose layout no reader knows")


def read(
    path: str | os.PathLike[str], format: str | None = None, options: ReadOptions | None = None
) -> Iterator[Spectra | Defect]:
    """Stacks of spectra and defects of one file, in the order of the file; a bad file yields a defect, never raises."""
    options = options or ReadOptions()
    name = os.fspath(path)
    try:
        # Warnings would be printed thousands of times; what matters about a file is in its defect.
        with warnings.catch_warnings(), Source(path) as source:
            warnings.simplefilter("ignore")
            reader = reader_by_name(format) if format else reader_for(source)
            yield from reader.read(source, options)
    except DefectError as error:
        yield error.at(name)
    except (OSError, MemoryError, RecursionError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        detail = str(error).splitlines()[0] if str(error) else "no message"
        yield Defect(name, Reason.CORRUPT, f"{type(error).__name__}: {detail}")
