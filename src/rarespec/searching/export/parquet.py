"""Parquet, for programs: fast, typed, missing values told from empty ones."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rarespec.searching.export import votable
from rarespec.searching.export.values import (
    LONE_SURROGATES,
    NAME,
    PlainColumn,
    Provenance,
    escape_columns,
    pattern_of,
    to_json,
    with_legal_words,
)
from rarespec.storage.whole_file import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

FORBIDDEN = pattern_of(LONE_SURROGATES)
TYPES = {"int64": "int64", "float64": "float64", "float32": "float32", "bool": "bool", "object": "string"}


def write(columns: Sequence[PlainColumn], path: Path, provenance: Provenance) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = escape_columns(columns, FORBIDDEN, path)
    # Not by Table.write: it writes columns such as `targetid.mask`, of which other readers know nothing, not nulls.
    arrays = [_array(column) for column in columns]
    schema = pa.schema([_field(column) for column in columns], _metadata(columns, provenance))
    content = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), content)
    write_whole(path, content.getvalue())


def _array(column: PlainColumn) -> pa.Array:
    import pyarrow as pa

    return pa.array(column.values, TYPES[column.values.dtype.name], mask=column.missing, from_pandas=False)


def _field(column: PlainColumn) -> pa.Field:
    import pyarrow as pa

    words = {"unit": column.unit, "ucd": column.ucd, "description": column.description}
    told = {name: word for name, word in words.items() if word}
    return pa.field(column.name, TYPES[column.values.dtype.name], metadata=told)


def _metadata(columns: Sequence[PlainColumn], provenance: Provenance) -> dict[str, bytes]:
    """The provenance, and the columns as a VOTable without rows: from that TOPCAT takes units and UCDs (VOParquet)."""
    return {
        NAME: to_json(provenance).encode(),
        "IVOA.VOTable-Parquet.version": b"1.0",
        "IVOA.VOTable-Parquet.content": votable.description(
            [with_legal_words(column, votable.FORBIDDEN) for column in columns]
        ),
    }


def provenance_in(path: Path) -> Provenance | None:
    import pyarrow.parquet as pq

    kept = (pq.read_schema(path).metadata or {}).get(NAME.encode())
    return None if kept is None else json.loads(kept)
