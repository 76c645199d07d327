"""A HATS catalogue, for LSDB: a directory of Parquet files by place on the sky, which crossmatches with others."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from rarespec.searching.crossmatch import is_position
from rarespec.searching.export.escaping import LONE_SURROGATES, escaped_columns, pattern_of
from rarespec.searching.export.plain_columns import PlainColumn
from rarespec.searching.export.provenance_json import Provenance, to_json
from rarespec.survey.manifest import WrongUseError

if TYPE_CHECKING:
    import pandas as pd

FORBIDDEN = pattern_of(LONE_SURROGATES)
PROVENANCE = "rarespec.json"
MARKS = ("hats.properties", "collection.properties", PROVENANCE)
"""A directory with one of these may be replaced."""


def write(columns: Sequence[PlainColumn], path: Path, provenance: Provenance) -> None:
    """Written beside and then renamed; a catalogue of the same name is replaced, any other directory is left alone."""
    if path.exists() and not any((path / name).is_file() for name in MARKS):
        raise WrongUseError(f"{path}: already exists and is not a HATS catalogue; choose another name")
    frame = _placed(_frame(escaped_columns(columns, FORBIDDEN, path)), path)
    beside = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        _write(frame, beside, path.stem)
        (beside / PROVENANCE).write_text(to_json(provenance))
        _replace(path, beside)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _replace(path: Path, new: Path) -> None:
    old = new.with_suffix(".old")
    if path.exists():
        path.rename(old)
    new.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def _write(frame: pd.DataFrame, path: Path, name: str) -> None:
    try:
        import lsdb
    except ImportError as error:
        raise WrongUseError(f"{path}: a HATS catalogue needs LSDB: pip install 'rarespec[hats]' ({error})") from None
    catalogue = lsdb.from_dataframe(frame, ra_column="ra", dec_column="dec", catalog_name=name)
    catalogue.write_catalog(path, catalog_name=name, progress_bar=False)


def _frame(columns: Sequence[PlainColumn]) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    table = pa.table({column.name: _array(column) for column in columns})
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _array(column: PlainColumn) -> Any:
    import pyarrow as pa

    return pa.array(column.values, mask=column.missing, from_pandas=False)


def _placed(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The rows that have a place on the sky, by which alone HATS keeps them; the others are told."""
    missing = {"ra", "dec"} - set(frame.columns)
    if missing:
        raise WrongUseError(
            f"{path}: HATS orders objects by position, but the table has no column {' and '.join(missing)}"
        )
    placed = is_position(*(_numbers(frame[name]) for name in ("ra", "dec")))
    if not placed.any():
        raise WrongUseError(f"{path}: HATS orders objects by position, but none has one; choose .ecsv or .fits")
    if not placed.all():
        warnings.warn(f"{path}: left out {int((~placed).sum())} rows without a position", stacklevel=5)
    return frame[placed].reset_index(drop=True)


def _numbers(column: pd.Series) -> Any:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def provenance_in(path: Path) -> Provenance | None:
    kept = path / PROVENANCE
    return json.loads(kept.read_text()) if kept.is_file() else None
