"""Spectra to files that other programs read, and that rarespec reads again; the table of formats."""

from __future__ import annotations

from rarespec.formats.writing import fits_table, parquet, sdss_lite, specutils_files, zarr
from rarespec.formats.writing.outgoing import ColumnKind, Outgoing, Writer
from rarespec.storage.text import choose_from

__all__ = ["WRITERS", "ColumnKind", "Outgoing", "Writer", "writer_by_name", "writer_for"]

WRITERS = {
    writer.name: writer
    for writer in (specutils_files.WRITER, fits_table.WRITER, sdss_lite.WRITER, parquet.WRITER, zarr.WRITER)
}
"""Name -> what writes this format."""

BY_SUFFIX = {".fits": "fits", ".fit": "fits", ".parquet": "parquet", ".pq": "parquet", ".zarr": "zarr"}


def writer_by_name(name: str) -> Writer:
    """Find a format by its name.

    Parameters
    ----------
    name : str
        One of `WRITERS`.

    Returns
    -------
    Writer
        What writes it.

    Raises
    ------
    ValueError
        If there is no such format; the message names the most similar one.

    Examples
    --------
    >>> from rarespec.formats.writing import writer_by_name
    >>> writer_by_name("parquet").suffix
    '.parquet'
    """
    if name not in WRITERS:
        raise ValueError(f"there is no export format {name!r}; {choose_from(WRITERS, name)}")
    return WRITERS[name]


OTHER_FILES = (".h5", ".hdf5", ".csv", ".ecsv", ".txt", ".dat", ".npz", ".npy", ".vot", ".xml", ".json", ".gz")
"""Ends of names of files that nothing here writes; any other end may be part of a name."""


def writer_for(path_name: str) -> Writer:
    """Choose the format that the end of a name says; a FITS table if it says nothing.

    Parameters
    ----------
    path_name : str
        Name of the output.

    Returns
    -------
    Writer
        What writes it.

    Raises
    ------
    ValueError
        If the end says a format that is not written.

    Examples
    --------
    >>> from rarespec.formats.writing import writer_for
    >>> writer_for("best.parquet").name
    'parquet'
    """
    ending = path_name.lower()
    if ending.endswith(OTHER_FILES):
        ends = ", ".join(BY_SUFFIX)
        raise ValueError(f"{path_name}: no export of this format; use a name that ends in {ends}, or --as")
    return WRITERS[next((name for suffix, name in BY_SUFFIX.items() if ending.endswith(suffix)), "fits")]
