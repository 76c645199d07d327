"""A partition as LSDB hands it out, and the spectra in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rarespec.formats.mmu_parquet import Layout
from rarespec.formats.reader import MAX_ROWS, ReadOptions
from rarespec.formats.source import Source
from rarespec.formats.stacks import Origin
from rarespec.hats.catalogue import SPECTRUM
from rarespec.spectrum import Defect, Spectra, WavelengthGrid
from rarespec.survey.placement import place

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def name_of(pixel: Any) -> str:
    """As the files of a HATS catalogue are named."""
    return f"Norder={pixel.order}/Npix={pixel.pixel}"


def spectra_in(partition: pd.DataFrame, name: str, grid: WavelengthGrid) -> Iterator[Spectra | Defect]:
    """All spectra on this grid as an ingest would store them, and what is wrong with the others."""
    if not len(partition):
        return
    table = _arrow(partition)
    layout = Layout.of(table.schema)
    origin = Origin(cast(Source, _Named(name, Path(name))), ReadOptions())
    for first in range(0, len(table), MAX_ROWS):
        (batch,) = table.slice(first, MAX_ROWS).combine_chunks().to_batches()
        for found in layout.spectra(batch, origin, first):
            if isinstance(found, Spectra):
                yield from place(found, grid)
            else:
                yield found


@dataclass(frozen=True)
class _Named:
    """What stands for a file where spectra say where they are from."""

    name: str
    path: Path


def _arrow(partition: pd.DataFrame) -> pa.Table:
    import pyarrow as pa

    columns = {name: _arrow_column(partition[name]) for name in partition.columns}
    return pa.table({name: column for name, column in columns.items() if _is_used(name, column)})


def _arrow_column(column: pd.Series) -> Any:
    """A nested column of LSDB is a struct of lists, as in its file."""
    import pyarrow as pa

    nested = getattr(column.array, "struct_array", None)
    return pa.array(column, from_pandas=True) if nested is None else nested


def _is_used(name: str, column: Any) -> bool:
    import pyarrow as pa

    return name == SPECTRUM or not pa.types.is_nested(column.type)
