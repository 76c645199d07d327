"""A table in memory, out of any text format, and the spectra in it: one, one per row, or one column per wavelength."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, FLUX, Column, Roles, find, missing
from rarespec.formats.further_columns import columns_not_used, further_roles
from rarespec.formats.reader import Found, ReadOptions
from rarespec.formats.source import Source
from rarespec.formats.stacks import Origin, blocks, stacks_of_rows
from rarespec.formats.wavelength import Axis
from rarespec.spectrum import DefectError, Reason

# ---- Text tables with one column per pixel, named by its wavelength (4000.5, flux_4000.5) or numbered (flux_0001).


HEADERLESS_COLUMNS = 10
"""A first line of fewer numbers than this is taken for data without a header, not for wavelengths."""

NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d+)?"
PIXEL_COLUMN = re.compile(rf"(?:(flux|ivar|flux_err|err|error|sigma|mask)_)?({NUMBER})", re.IGNORECASE)
ROLE_OF_PREFIX = {"flux": "flux", "ivar": "ivar", "mask": "mask"}


@dataclass(frozen=True)
class Wide:
    """Names of the columns on pixels, by role; and the wavelengths that the flux columns are named by."""

    columns: dict[str, list[str]]
    wavelength: NDArray[np.float64] | None

    @classmethod
    def among(cls, names: Sequence[str]) -> Wide:
        found = {name: match for name in names if (match := PIXEL_COLUMN.fullmatch(name.strip()))}
        bare = [name for name, match in found.items() if match[1] is None]
        columns: dict[str, list[str]] = {"flux": bare} if len(bare) > 1 else {}
        for name, match in found.items():
            role = ROLE_OF_PREFIX.get((match[1] or "").lower(), "error")
            if match[1] and not (role == "flux" and bare):
                columns.setdefault(role, []).append(name)
        flux = columns.get("flux", [])
        if len(flux) < 2 or (len(bare) == len(names) and len(bare) < HEADERLESS_COLUMNS):
            raise missing("flux", (*FLUX, "columns named by their wavelength"), names)
        pixels = [found[name][2] for name in flux]
        if any([found[name][2] for name in group] != pixels for group in columns.values()):
            raise DefectError(Reason.LAYOUT, "the columns of flux, ivar, error and mask do not have the same pixels")
        return cls(columns, None if _are_row_numbers(pixels) else np.array(pixels, dtype=np.float64))

    @cached_property
    def names(self) -> set[str]:
        return {name for group in self.columns.values() for name in group}

    @property
    def roles(self) -> Roles:
        """Names in angle brackets, which no file uses, for the matrices put together from many columns."""
        ivar, error, mask = (f"<{role}>" if role in self.columns else None for role in ("ivar", "error", "mask"))
        return Roles("<flux>", ivar=ivar, error=None if ivar else error, mask=mask)

    def axis(self, meta: Mapping[str, Any], options: ReadOptions, names: Iterable[str]) -> Axis:
        """Find the wavelengths: in the metadata, else in the names of the columns.

        Parameters
        ----------
        meta : mapping
            What the header of the table says; `wavelength_unit` is the unit of the names too.
        options : ReadOptions
            How the user wants wavelengths read.
        names : iterable of str
            Columns of the table, for the message if there are no wavelengths.

        Returns
        -------
        Axis
            In vacuum Angstrom.

        Raises
        ------
        DefectError
            If columns are only numbered and the metadata have no wavelengths, or these make no sense.
        """
        if find(meta, ANY_WAVELENGTH) or self.wavelength is None:
            return Axis.in_metadata(meta, options, names)
        unit = meta.get("wavelength_unit")
        return Axis.of(self.wavelength, unit=unit, air=options.air, spare_unit=options.wavelength_unit)


def _are_row_numbers(pixels: list[str]) -> bool:
    """0, 1, 2 ... or 1, 2, 3 ...: numbers of pixels, not wavelengths."""
    return [float(pixel) for pixel in pixels] in ([float(i + j) for i in range(len(pixels))] for j in (0, 1))


# ---- memory table


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory: columns, their units, and what its header says."""

    columns: dict[str, Column]
    units: dict[str, str] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    not_read: list[str] = field(default_factory=list)
    """Names of further columns."""

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values()), []))


def spectra_of_table(table: Table, source: Source, options: ReadOptions) -> Iterator[Found]:
    """Find the spectra in a table: one, one per row, or one per row with a column for each wavelength.

    Parameters
    ----------
    table : Table
        The table.
    source : Source
        The file that it was read from.
    options : ReadOptions
        How the user wants it read.

    Yields
    ------
    Spectra or Defect
        In the order of the rows.

    Raises
    ------
    DefectError
        If the table has no rows, no flux or no wavelengths.
    """
    if table.n_rows == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    if find(table.columns, FLUX) is None:
        yield from _columns_per_wavelength(table, source, options)
    elif is_vector(table.columns[Roles.among(table.columns).flux]):
        yield from _vectors_per_row(table, source, options)
    else:
        yield from _one_spectrum(table, source, options)


def _one_spectrum(table: Table, source: Source, options: ReadOptions) -> Iterator[Found]:
    roles = further_roles(Roles.among(table.columns), _numeric(table.columns))
    block: dict[str, Column] = {
        key: [value] for key, value in table.meta.items() if isinstance(value, str | int | float)
    }
    block |= {name: table.columns[name][np.newaxis] for name in roles.used}  # type: ignore[call-overload]
    names = [*table.columns, *table.not_read]
    axis = None if roles.wavelength else Axis.in_metadata(table.meta, options, names)
    unit = table.units.get(roles.wavelength or "", table.meta.get("wavelength_unit"))
    not_used = columns_not_used(roles, names)
    origin = Origin(source, options, True, table.units, not_used)
    yield from stacks_of_rows(block, roles, origin, 0, axis, unit)


def _numeric(columns: Mapping[str, Column]) -> list[str]:
    return [name for name, column in columns.items() if isinstance(column, np.ndarray) and column.dtype.kind in "biuf"]


def _vectors_per_row(table: Table, source: Source, options: ReadOptions) -> Iterator[Found]:
    vectors = [name for name, column in table.columns.items() if is_vector(column)]
    roles = further_roles(Roles.among(table.columns), vectors)
    for name in roles.used:
        if not is_vector(table.columns[name]):
            raise DefectError(Reason.LAYOUT, f"{roles.flux} has vectors, but {name} does not")
    axis = None if roles.wavelength else Axis.in_metadata(table.meta, options, table.columns)
    unit = table.units.get(roles.wavelength or "")
    columns = {name: _rows_of(column) for name, column in table.columns.items()}
    columns = {name: column for name, column in columns.items() if name in roles.used or not is_vector(column)}
    origin = Origin(source, options, table.n_rows == 1, table.units, columns_not_used(roles, vectors))
    yield from _in_blocks(columns, roles, origin, axis, unit)


def _rows_of(column: Column) -> Column:
    if isinstance(column, np.ndarray) or not is_vector(column):
        return column
    return [None if row is None else np.ma.asarray(row) if np.ma.is_masked(row) else np.asarray(row) for row in column]


def _columns_per_wavelength(table: Table, source: Source, options: ReadOptions) -> Iterator[Found]:
    wide = Wide.among(list(table.columns))
    axis = wide.axis(table.meta, options, table.columns)
    columns: dict[str, Column] = {
        f"<{role}>": np.ma.stack([np.ma.asarray(table.columns[name]) for name in names], axis=1)
        for role, names in wide.columns.items()
    }
    columns |= {
        name: column for name, column in table.columns.items() if name not in wide.names and not is_vector(column)
    }
    origin = Origin(source, options, single=table.n_rows == 1, units=table.units)
    yield from _in_blocks(columns, wide.roles, origin, axis)


def _in_blocks(
    columns: Mapping[str, Column], roles: Roles, origin: Origin, axis: Axis | None, unit: str | None = None
) -> Iterator[Found]:
    n = len(columns[roles.flux])
    for first, last in blocks(n, len(axis.wavelength) if axis else 1):
        block = {name: column[first:last] for name, column in columns.items()}
        yield from stacks_of_rows(block, roles, origin, first, axis, unit)


def is_vector(column: Column) -> bool:
    if isinstance(column, np.ndarray):
        return column.ndim == 2
    return any(isinstance(element, np.ndarray | list) for element in column)
