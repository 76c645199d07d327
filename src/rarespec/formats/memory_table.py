"""A table in memory, out of any text format, and the spectra in it: one, one per row, or one column per wavelength."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rarespec.formats.column_roles import FLUX, Column, Roles, find
from rarespec.formats.reader import ReadOptions
from rarespec.formats.source import Source
from rarespec.formats.stacks import Origin, blocks, stacks_of_rows
from rarespec.formats.wavelength_axis import Axis
from rarespec.formats.wide_columns import Wide
from rarespec.spectrum import Defect, DefectError, Reason, Spectra


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory: columns, their units, and what its header says."""

    columns: dict[str, Column]
    units: dict[str, str] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values()), []))


def spectra_of_table(table: Table, source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    if table.n_rows == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    if find(table.columns, FLUX) is None:
        yield from _columns_per_wavelength(table, source, options)
    elif is_vector(table.columns[Roles.among(table.columns).flux]):
        yield from _vectors_per_row(table, source, options)
    else:
        yield from _one_spectrum(table, source, options)


def _one_spectrum(table: Table, source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    roles = Roles.among(table.columns)
    block: dict[str, Column] = {name: table.columns[name][np.newaxis] for name in roles.used}  # type: ignore[call-overload]
    block |= {key: [value] for key, value in table.meta.items() if isinstance(value, str | int | float)}
    axis = None if roles.wavelength else Axis.in_metadata(table.meta, options.air, table.columns)
    unit = table.units.get(roles.wavelength or "", table.meta.get("wavelength_unit"))
    yield from stacks_of_rows(block, roles, Origin(source, options, single=True), 0, axis, unit)


def _vectors_per_row(table: Table, source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    roles = Roles.among(table.columns)
    for name in roles.used:
        if not is_vector(table.columns[name]):
            raise DefectError(Reason.LAYOUT, f"{roles.flux} has vectors, but {name} does not")
    axis = None if roles.wavelength else Axis.in_metadata(table.meta, options.air, table.columns)
    unit = table.units.get(roles.wavelength or "")
    columns = {name: _rows_of(column) for name, column in table.columns.items()}
    columns = {name: column for name, column in columns.items() if name in roles.used or not is_vector(column)}
    yield from _in_blocks(columns, roles, source, options, axis, unit)


def _rows_of(column: Column) -> Column:
    if isinstance(column, np.ndarray) or not is_vector(column):
        return column
    return [None if row is None else np.ma.asarray(row) if np.ma.is_masked(row) else np.asarray(row) for row in column]


def _columns_per_wavelength(table: Table, source: Source, options: ReadOptions) -> Iterator[Spectra | Defect]:
    wide = Wide.among(list(table.columns))
    axis = wide.axis(table.meta, options.air, table.columns)
    columns: dict[str, Column] = {
        f"<{role}>": np.ma.stack([np.ma.asarray(table.columns[name]) for name in names], axis=1)
        for role, names in wide.columns.items()
    }
    columns |= {
        name: column for name, column in table.columns.items() if name not in wide.names and not is_vector(column)
    }
    yield from _in_blocks(columns, wide.roles, source, options, axis)


def _in_blocks(
    columns: Mapping[str, Column],
    roles: Roles,
    source: Source,
    options: ReadOptions,
    axis: Axis | None,
    unit: str | None = None,
) -> Iterator[Spectra | Defect]:
    n = len(columns[roles.flux])
    origin = Origin(source, options, single=n == 1)
    for first, last in blocks(n, len(axis.wavelength) if axis else 1):
        block = {name: column[first:last] for name, column in columns.items()}
        yield from stacks_of_rows(block, roles, origin, first, axis, unit)


def is_vector(column: Column) -> bool:
    if isinstance(column, np.ndarray):
        return column.ndim == 2
    return any(isinstance(element, np.ndarray | list) for element in column)
