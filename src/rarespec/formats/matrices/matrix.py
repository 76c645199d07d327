"""Whole arrays that can be sliced by rows (npz, HDF5, Zarr) to stacks of spectra."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, Roles, find, missing
from rarespec.formats.further_columns import columns_not_used, further_roles, is_telling
from rarespec.formats.reader import Found, ReadOptions
from rarespec.formats.source import Source
from rarespec.formats.stacks import Origin, axis_of, blocks, stacks_of_rows
from rarespec.spectrum import DefectError, Reason

MOST_ARRAYS = 4096
"""Arrays that one file may hold: each is opened, and becomes a column of the catalogue if it has a value per row."""


class Sliceable(Protocol):
    """An array on disk: rows are read when it is sliced. A scalar has shape (1,)."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


@dataclass(frozen=True, slots=True)
class Lazy:
    """A `Sliceable` out of a shape and a way to read rows."""

    shape: tuple[int, ...]
    dtype: Any
    read: Callable[[slice], NDArray[Any]]

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        return self.read(rows)

    @classmethod
    def field(cls, table: Sliceable, name: str) -> Lazy:
        dtype = table.dtype[name]
        return cls((*table.shape, *dtype.shape), dtype.base, lambda rows: table[rows][name])

    @classmethod
    def one_row(cls, array: Sliceable) -> Lazy:
        """Make a vector of pixels the only row of a matrix."""
        return cls((1, *array.shape), array.dtype, lambda rows: np.asarray(array[: array.shape[0]])[np.newaxis][rows])


def with_fields(arrays: Mapping[str, Sliceable]) -> dict[str, Sliceable]:
    """Replace structured arrays by their fields."""
    flat: dict[str, Sliceable] = {}
    for name, array in arrays.items():
        for field in getattr(array.dtype, "names", None) or ():
            flat.setdefault(field, Lazy.field(array, field))
        if not getattr(array.dtype, "names", None):
            flat[name] = array
    return flat


def read_matrix(
    arrays: Mapping[str, Sliceable],
    source: Source,
    options: ReadOptions,
    unit: str | None = None,
    not_read: Collection[str] = (),
) -> Iterator[Found]:
    """Yield stacks out of arrays that are called `flux`, and `wavelength` or `loglam`.

    Parameters
    ----------
    arrays : mapping of str to array
        Flux (n, p), wavelengths (p,) or (n, p); or both (p,): one spectrum.
    source : Source
        The file.
    options : ReadOptions
        What to do about wavelengths in air and about flags.
    unit : str, optional
        Unit of the wavelengths.
    not_read : collection of str, optional
        Further columns of the file.

    Yields
    ------
    Spectra or Defect
        In the order of the file.
    """
    arrays = with_fields(arrays)
    roles = Roles.among(arrays)
    roles = further_roles(roles, _on_pixels(arrays, roles))
    if roles.wavelength is None:
        raise missing("wavelength", ANY_WAVELENGTH, arrays)
    wavelength = arrays[roles.wavelength]
    if len(arrays[roles.flux].shape) == 1:
        arrays = arrays | {name: Lazy.one_row(arrays[name]) for name in roles.on_pixels}
    n, p = _check_shape(arrays, roles, wavelength.shape)
    spans = blocks(n, p)
    axis = None
    if len(wavelength.shape) == 1:
        axis = axis_of(wavelength[:p], roles, options, unit)
    columns = [name for name, array in arrays.items() if array.shape == (n,) and name not in roles.used]
    names = [*roles.on_pixels, *columns, *([] if axis else [roles.wavelength])]
    others = [name for name, array in arrays.items() if array.shape and name not in columns]
    not_used = columns_not_used(roles, [*others, *not_read], "columns" if not_read else "arrays")
    origin = Origin(source, options, single=n == 1, not_used=not_used)
    for first, last in spans:
        block = {name: arrays[name][first:last] for name in names}
        yield from stacks_of_rows(block, roles, origin, first, axis, unit)


def _on_pixels(arrays: Mapping[str, Sliceable], roles: Roles) -> list[str]:
    """Arrays of the shape of the flux, and of its wavelengths."""
    shape = arrays[roles.flux].shape
    return [name for name, array in arrays.items() if array.shape == shape or _may_be_axis(name, array, shape)]


def _may_be_axis(name: str, array: Sliceable, shape: tuple[int, ...]) -> bool:
    return is_telling(name) and array.shape == shape[-1:]


def _check_shape(arrays: Mapping[str, Sliceable], roles: Roles, wavelength: tuple[int, ...]) -> tuple[int, int]:
    shape = arrays[roles.flux].shape
    if len(shape) != 2:
        raise DefectError(Reason.LAYOUT, f"{roles.flux} has shape {shape}; it must have one spectrum per row")
    if shape[0] == 0 or shape[1] == 0:
        raise DefectError(Reason.EMPTY, f"{roles.flux} has shape {shape}")
    if wavelength not in (shape[1:], shape):
        hint = "; transpose it, one spectrum per row" if wavelength == shape[:1] else ""
        raise DefectError(Reason.LAYOUT, f"{roles.flux} has shape {shape}, {roles.wavelength} {wavelength}{hint}")
    for name in roles.on_pixels:
        if arrays[name].shape != shape:
            raise DefectError(Reason.LAYOUT, f"{name} has shape {arrays[name].shape}, {roles.flux} {shape}")
    return shape


def wavelength_unit(arrays: Mapping[str, Any]) -> str | None:
    """Read the unit of the wavelengths from the attributes `units` or `unit` of their array (HDF5, Zarr)."""
    name = find(arrays, ANY_WAVELENGTH)
    if name is None:
        return None
    attributes = arrays[name].attrs
    key = find(attributes, ("units", "unit"))
    unit = None if key is None else attributes[key]
    return unit.decode() if isinstance(unit, bytes) else None if unit is None else str(unit)
