"""Candidates as a HATS catalogue."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from rarespec.errors import UsageError
from rarespec.hats.ranking import HatsRanking
from rarespec.searching.crossmatch import is_position
from rarespec.searching.export.values import (
    LONE_SURROGATES,
    PlainColumn,
    Provenance,
    escape_columns,
    pattern_of,
    plain_columns,
    plain_provenance,
    to_json,
)
from rarespec.searching.ranking import Ranking

if TYPE_CHECKING:
    import pandas as pd
    from astropy.table import Table


# ---- A HATS catalogue, for LSDB: a directory of Parquet files by place on the sky, which crossmatches with others.


FORBIDDEN = pattern_of(LONE_SURROGATES)
PROVENANCE = "rarespec.json"
MARKS = ("hats.properties", "collection.properties", PROVENANCE)
"""A directory with one of these files may be replaced."""
MARGIN_ARCSEC = 60.0
"""Crossmatches with radii up to this miss nothing at the edges of partitions.

LSDB lists all pixels of about this size along the edges: with the 5 arcsec of its own choice that takes seconds.
"""


def write(columns: Sequence[PlainColumn], path: Path, provenance: Provenance) -> None:
    """Write a table as a HATS catalogue, which appears whole or not at all.

    Parameters
    ----------
    columns : sequence of PlainColumn
        The columns, with `ra` and `dec` in degrees. Rows without a position are left out, with a warning.
    path : Path
        The directory. A HATS catalogue there is replaced; any other directory is left alone.
    provenance : dict
        Written beside the catalogue as JSON.

    Raises
    ------
    UsageError
        If something else is there, no row has a position, or LSDB is not installed.
    """
    if path.exists() and not any((path / name).is_file() for name in MARKS):
        raise UsageError(f"{path}: already exists and is not a HATS catalogue; choose another name")
    frame = _keep_placed(_frame(escape_columns(columns, FORBIDDEN, path)), path)
    beside = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        _write(frame, beside, path.stem)
        (beside / PROVENANCE).write_text(to_json(provenance))
        _replace(path, beside)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _replace(path: Path, new: Path) -> None:
    # A directory cannot be replaced in one step: the old one is moved aside first, and stays if we die in between.
    old = new.with_suffix(".old")
    if path.exists():
        path.rename(old)
    new.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def _write(frame: pd.DataFrame, path: Path, name: str) -> None:
    try:
        import lsdb
    except ImportError as error:
        raise UsageError(f"{name}: a HATS catalogue needs LSDB: pip install 'rarespec[hats]' ({error})") from None
    catalogue = lsdb.from_dataframe(
        frame, ra_column="ra", dec_column="dec", catalog_name=name, margin_threshold=MARGIN_ARCSEC
    )
    catalogue.write_catalog(path, catalog_name=name, progress_bar=False)


def _frame(columns: Sequence[PlainColumn]) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    table = pa.table({column.name: _array(column) for column in columns})
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _array(column: PlainColumn) -> Any:
    import pyarrow as pa

    return pa.array(column.values, mask=column.missing, from_pandas=False)


def _keep_placed(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Keep the rows with a position, by which HATS sorts them; warn of the others."""
    missing = {"ra", "dec"} - set(frame.columns)
    if missing:
        raise UsageError(
            f"{path}: HATS orders objects by position, but the table has no column {' and '.join(missing)}"
        )
    placed = is_position(*(_numbers(frame[name]) for name in ("ra", "dec")))
    if not placed.any():
        raise UsageError(f"{path}: HATS orders objects by position, but none has one; choose .ecsv or .fits")
    if not placed.all():
        warnings.warn(f"{path}: left out {int((~placed).sum())} rows without a position", stacklevel=5)
    return frame[placed].reset_index(drop=True)


def _numbers(column: pd.Series) -> Any:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def provenance_in(path: Path) -> Provenance | None:
    kept = path / PROVENANCE
    return json.loads(kept.read_text()) if kept.is_file() else None


def write_hats(
    candidates: Ranking | HatsRanking | Table,
    path: str | os.PathLike[str],
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write candidates as a HATS catalogue, which `lsdb.open_catalog` opens and crossmatches.

    The directory appears whole or not at all; a HATS catalogue that is there is replaced. Rows without a position are
    left out, with a warning.

    Parameters
    ----------
    candidates : Ranking, HatsRanking or astropy.table.Table
        The candidates, with `ra` and `dec` in degrees.
    path : path or str
        The directory of the catalogue; any name will do.
    provenance : mapping, optional
        What the table depends on; by default that of the ranking.

    Returns
    -------
    Path
        The directory.

    Raises
    ------
    UsageError
        If the parent directory does not exist, or something else is there.

    Examples
    --------
    >>> from astropy.table import Table
    >>> from rarespec import write_hats
    >>> write_hats(Table({"id": ["a"], "ra": [150.1], "dec": [2.2]}), "found.hats")  # doctest: +SKIP
    PosixPath('found.hats')
    """
    is_ranking = isinstance(candidates, Ranking | HatsRanking)
    table = candidates.table if is_ranking else candidates
    place = Path(path)
    if not place.parent.is_dir():
        raise UsageError(f"{place}: the directory {place.parent} does not exist; create it first")
    told = provenance or (candidates.provenance if is_ranking else {})
    write(plain_columns(table), place, plain_provenance(told))
    return place
