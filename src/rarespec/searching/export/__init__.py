"""Candidate tables as files: ECSV, CSV, FITS, VOTable, Parquet, each with its provenance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rarespec.errors import UsageError
from rarespec.searching.export.values import plain_columns, plain_provenance, unescape_text
from rarespec.storage.text import choose_from

if TYPE_CHECKING:
    from astropy.table import Table

__all__ = ["SUFFIXES", "check_table_path", "read_provenance", "unescape_text", "write_table"]

SUFFIXES = {
    ".ecsv": "ecsv",
    ".csv": "comma_separated",
    ".fits": "fits",
    ".fit": "fits",
    ".fits.gz": "fits",
    ".vot": "votable",
    ".xml": "votable",
    ".votable": "votable",
    ".parquet": "parquet",
}
"""How a file's name ends -> the module of this package that writes it."""


def write_table(table: Table, path: str | os.PathLike[str], provenance: Mapping[str, Any]) -> Path:
    r"""Write a table of candidates to a file; the end of its name says the format.

    The file appears whole or not at all and replaces one of the same name. Columns of a ranking get their units, UCDs
    and descriptions, other columns are written as they are; of the table's own `meta` nothing is written. A missing
    real number is NaN, missing text is empty. Text that a format cannot hold is written as \uXXXX, with a warning.

    Parameters
    ----------
    table : astropy.table.Table
        Numbers, booleans and text, one value per row.
    path : path or str
        The file; its name ends in one of `SUFFIXES`.
    provenance : mapping
        What the table depends on; text, numbers, lists and mappings.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UsageError
        If the format is not known, or the directory does not exist.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from astropy.table import Table
    >>> from rarespec.searching import read_provenance, write_table
    >>> with TemporaryDirectory() as folder:
    ...     path = write_table(Table({"rank": [1], "id": ["a"]}), f"{folder}/found.csv", {"seed": 3})
    ...     print(read_provenance(path)["seed"])
    3
    """
    path = check_table_path(path)
    _format_of(path).write(plain_columns(table), path, plain_provenance(provenance))
    return path


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """Make sure that a table can be written there, before it is computed.

    Parameters
    ----------
    path : path or str
        The file.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UsageError
        If the format is not known, or the directory does not exist.
    """
    path = Path(path)
    _format_of(path)
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the directory {path.parent} does not exist; create it first")
    if path.is_dir():
        raise UsageError(f"{path}: this is a directory; give a file name")
    return path


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a table of candidates depends on.

    Parameters
    ----------
    path : path or str
        A file that `write_table` or `Ranking.write` wrote.

    Returns
    -------
    dict
        The provenance.

    Raises
    ------
    UsageError
        If the file is missing or damaged, or has no provenance.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from astropy.table import Table
    >>> from rarespec.searching import read_provenance, write_table
    >>> with TemporaryDirectory() as folder:
    ...     path = write_table(Table({"rank": [1], "id": ["a"]}), f"{folder}/found.ecsv", {"known_ids": ["b", "c"]})
    ...     print(read_provenance(path)["known_ids"])
    ['b', 'c']
    """
    path = Path(path)
    form = _format_of(path)
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    try:
        found = form.provenance_in(path)
    except Exception as error:  # every library has its own for a damaged file
        raise UsageError(f"{path}: cannot be read ({error!r}); the file is damaged or in another format") from None
    if found is None:
        raise UsageError(
            f"{path}: has no provenance; either rarespec did not write this table, or another program saved it since"
        )
    return found


def _format_of(path: Path) -> ModuleType:
    name = path.name.lower()
    for suffix, module in SUFFIXES.items():
        if name.endswith(suffix):
            return import_module(f"{__name__}.{module}")
    raise UsageError(f"{path}: unknown file format; {choose_from(SUFFIXES, path.suffix, 'use a name that ends in')}")
