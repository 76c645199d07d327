"""Rows of named columns to stacks of spectra: what every generic format shares.

`Roles` says which column is flux, wavelength and so on, `Axis` makes vacuum wavelengths, `generic_catalogue` the common
columns, and `stack_of` a `Spectra`: bad where the mask is not 0, ivar <= 0, or flux or ivar is not finite.
`stacks_of_rows` does all four for a block of rows, each with its own wavelengths if need be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import Column, Roles, generic_catalogue, number_ids, stem_of
from rarespec.formats.flux_units import NOTE as PER_FREQUENCY
from rarespec.formats.flux_units import janskys_per, per_wavelength
from rarespec.formats.further_columns import further_notes, marks_bad, marks_good, told_by_units, usual_arrays
from rarespec.formats.pixels import bad_pixels, filled_pixels, flags, ivar_of_error, ivar_of_variance, numbers
from rarespec.formats.reader import MAX_ROWS, Found, ReadOptions, noted
from rarespec.formats.source import Source
from rarespec.formats.wavelength import Axis
from rarespec.spectrum import Defect, DefectError, Reason, Spectra
from rarespec.spectrum.spectra import Catalogue

BLOCK_BYTES = 64 << 20
"""Flux of one block of rows stays below this, also when a single spectrum has millions of pixels."""

MOST_PIXELS = 1 << 24
"""Of one spectrum. Those of the highest resolution have some millions; a header may declare any number."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, and how the user wants them read."""

    source: Source
    options: ReadOptions
    single: bool = False
    """The file holds one spectrum only."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units of the columns of its catalogue, as far as it names them."""
    not_used: str = ""
    """A sentence for the account about columns on pixels that were left out."""

    def spare_ids(self, first: int, n: int) -> list[str]:
        return number_ids(stem_of(self.source.path), first, n, self.single)


def stacks_of_rows(
    block: Mapping[str, Column],
    roles: Roles,
    origin: Origin,
    first: int,
    axis: Axis | None = None,
    unit: str | None = None,
) -> Iterator[Found]:
    """Yield stacks of consecutive rows that share their wavelengths; a row that cannot be used becomes a defect.

    Parameters
    ----------
    block : mapping of str to column
        Columns of some rows of the file.
    roles : Roles
        Which column is the flux, which the error, and so on.
    origin : Origin
        Where the rows come from, and how the user wants them read.
    first : int
        Number of the block's first row in the file.
    axis : Axis, optional
        Wavelengths of all rows. By default each row brings its own.
    unit : str, optional
        Unit of the wavelengths that rows bring.

    Yields
    ------
    Spectra, Defect or Noted
        In the order of the file; what was decided about the wavelengths of a stack comes before it.
    """
    own = {name: column for name, column in block.items() if name not in roles.used}
    roles = told_by_units(roles, origin.units)
    if roles.good and not all(marks_good(row) for row in block[roles.good]):
        yield from noted(origin.source, f"columns not used: {roles.good}, which holds more than 0 and 1")
        roles = replace(roles, good=None)
    if roles.flag and not all(marks_bad(row) for row in block[roles.flag] if row is not None):
        why = "which flags most pixels, or is no flag"
        yield from noted(origin.source, f"columns not used: {roles.flag.strip('<>')}, {why}")
        roles = replace(roles, flag=None)
    n = len(block[roles.flux])
    catalogue = generic_catalogue(own, origin.source.name, origin.spare_ids(first, n), origin.units)
    names = roles.on_pixels if axis else roles.used
    for start, stop in runs_of_rows(block, roles, by_wavelength=axis is None):
        part = {name: values[start:stop] for name, values in catalogue.items()}
        try:
            run = {name: block[name][start:stop] for name in names}
            run, unfilled = (run, "") if axis else _filled_pixels(run, roles)
            own_axis = axis or _axis_of_run(run, roles, origin.options, unit)
            janskys = janskys_per(origin.units.get(roles.flux, ""))
            stack = _stack_of_run(run, roles, part, own_axis, janskys)
        except DefectError as error:
            for id in part["id"]:
                yield Defect(origin.source.name, error.reason, error.detail, id)
            continue
        for note in (unfilled, own_axis.note, *further_notes(roles), origin.not_used):
            yield from noted(origin.source, note, len(stack))
        yield from noted(origin.source, "" if janskys is None else PER_FREQUENCY, len(stack))
        yield stack


UNFILLED = "pixels without a wavelength left out"


def _filled_pixels(run: dict[str, Column], roles: Roles) -> tuple[dict[str, Column], str]:
    """Leave out pixels that were never filled: their wavelengths are 0, negative or not finite. Say so."""
    assert roles.wavelength
    values = run[roles.wavelength][0]
    if values is None or roles.log or len({np.shape(run[name][0]) for name in run}) > 1 or np.ndim(values) != 1:
        return run, ""
    filled = filled_pixels(numbers(values, "wavelength"))
    if filled.all() or filled.sum() < 2:
        return run, ""
    return {name: _at(column, filled) for name, column in run.items()}, UNFILLED


def _at(rows: Column, pixels: NDArray[np.bool_]) -> Column:
    return rows[:, pixels] if isinstance(rows, np.ndarray) else [None if row is None else row[pixels] for row in rows]


def _axis_of_run(run: dict[str, Column], roles: Roles, options: ReadOptions, unit: str | None) -> Axis:
    assert roles.wavelength
    if run[roles.wavelength][0] is None:
        raise DefectError(Reason.LAYOUT, "the row has no wavelengths")
    return axis_of(run[roles.wavelength][0], roles, options, unit)


def axis_of(values: Any, roles: Roles, options: ReadOptions, unit: str | None) -> Axis:
    """Turn the column of wavelengths into an axis.

    Parameters
    ----------
    values : (p,) array
        As the file has them.
    roles : Roles
        What the column's name says.
    options : ReadOptions
        How the user wants wavelengths read.
    unit : str or None
        What the file says about their unit.

    Returns
    -------
    Axis
        In vacuum Angstrom.
    """
    if roles.natural:
        values, unit = numbers(values, "wavelength") / np.log(10), (unit or "").replace("ln", "log10")
    air = options.air or roles.air
    return Axis.of(values, roles.log, unit or roles.usual_unit, air, options.wavelength_unit)


def _stack_of_run(
    run: dict[str, Column], roles: Roles, catalogue: Catalogue, axis: Axis, janskys: float | None
) -> Spectra:
    arrays = {role: _matrix(run[name], role) for role, name in roles.by_role.items()}
    if janskys is not None:
        arrays = per_wavelength(arrays, axis.in_order, janskys)
    return stack_of(axis, catalogue=catalogue, **usual_arrays(arrays))


def _matrix(rows: Column, role: str) -> NDArray[Any]:
    if isinstance(rows, np.ndarray):
        return rows
    if any(row is None for row in rows):
        raise DefectError(Reason.LAYOUT, f"the row has no {role}")
    return np.ma.stack(rows) if any(isinstance(row, np.ma.MaskedArray) for row in rows) else np.stack(rows)


def runs_of_rows(block: Mapping[str, Column], roles: Roles, by_wavelength: bool) -> Iterator[tuple[int, int]]:
    """Find the first and last + 1 of consecutive rows with the same wavelengths and the same lengths."""
    n = len(block[roles.flux])
    breaks = np.zeros(n + 1, dtype=bool)
    breaks[[0, n]] = True
    for name in roles.on_pixels:
        if isinstance(rows := block[name], list):
            breaks[1:n] |= np.array([_length(rows[i]) != _length(rows[i - 1]) for i in range(1, n)], bool)
    if by_wavelength:
        assert roles.wavelength
        breaks[1:n] |= _changes(block[roles.wavelength])
    edges = np.flatnonzero(breaks)
    return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)


def _length(row: Any) -> int | None:
    return None if row is None else len(row)


def _changes(rows: Column) -> NDArray[np.bool_]:
    if isinstance(rows, np.ndarray):
        return (rows[1:] != rows[:-1]).any(axis=1)
    same = [_length(a) == _length(b) and np.array_equal(a, b) for a, b in zip(rows[1:], rows[:-1], strict=True)]
    return ~np.array(same, dtype=bool)


def stack_of(
    axis: Axis,
    flux: Any,
    catalogue: Catalogue,
    ivar: Any = None,
    error: Any = None,
    mask: Any = None,
    variance: Any = None,
) -> Spectra:
    """Make a stack out of arrays in the order of the file.

    Parameters
    ----------
    axis : Axis
        Wavelengths of the p pixels.
    flux : array
        (n, p).
    catalogue : dict of list
        Columns of length n.
    ivar : array, optional
        Inverse variance, (n, p).
    error : array, optional
        Standard deviation, (n, p); used when there is no ivar.
    mask : array, optional
        (n, p), not 0 where a pixel is bad.
    variance : array, optional
        (n, p); used when there is neither ivar nor error.

    Returns
    -------
    Spectra
        The stack, wavelengths increasing.

    Raises
    ------
    DefectError
        If a shape does not match.
    """
    flux = numbers(flux, "flux")
    if flux.ndim != 2 or flux.shape[1] != len(axis.wavelength):
        raise DefectError(Reason.LAYOUT, f"flux of shape {flux.shape} for {len(axis.wavelength)} wavelengths")
    if ivar is not None:
        ivar = numbers(ivar, "ivar")
    elif error is not None:
        ivar = ivar_of_error(numbers(error, "error"))
    elif variance is not None:
        ivar = ivar_of_variance(numbers(variance, "variance"))
    for name, values in (("ivar", ivar), ("mask", mask)):
        if values is not None and np.shape(values) != flux.shape:
            raise DefectError(Reason.LAYOUT, f"{name} has shape {np.shape(values)}, flux {flux.shape}")
    bad = bad_pixels(flux, ivar, None if mask is None else flags(mask))
    if axis.reverse:
        flux, bad = np.ascontiguousarray(flux[:, ::-1]), np.ascontiguousarray(bad[:, ::-1])
        ivar = None if ivar is None else np.ascontiguousarray(ivar[:, ::-1])
    return Spectra(axis.wavelength, flux, ivar, bad, catalogue)


# ---- One spectrum out of arrays, for files that say nothing more about it.


@dataclass(frozen=True, slots=True)
class Arrays:
    """Values on the p pixels of one spectrum, in the order of the file, and the unit of its flux."""

    flux: NDArray[Any]
    error: NDArray[Any] | None = None
    mask: NDArray[Any] | None = None
    """Not 0 where a pixel is bad."""
    flux_unit: str = ""


def spectrum_of_arrays(
    source: Source,
    wavelength: NDArray[Any],
    arrays: Arrays,
    catalogue: Catalogue,
    unit: str = "",
    air: bool = False,
    spare_unit: str | None = None,
) -> Iterator[Found]:
    """Yield one spectrum, after notes on what the file does not say. Pixels without a wavelength are left out.

    Parameters
    ----------
    source : Source
        The file.
    wavelength : (p,) array
        As the file has them; pixels that were never filled are 0, negative or not finite.
    arrays : Arrays
        Values on these pixels.
    catalogue : dict of list
        Columns of one value.
    unit : str, optional
        Unit of the wavelengths; nothing if the file does not say it.
    air : bool, optional
        Whether wavelengths are in air.
    spare_unit : str, optional
        Unit of the wavelengths if the file does not say it. By default the one that their size calls for.

    Yields
    ------
    Noted or Spectra
        The spectrum comes last.

    Raises
    ------
    DefectError
        If the wavelengths make no sense, or a shape does not match.
    """
    values = numbers(wavelength, "wavelength")
    filled = filled_pixels(values)
    if not filled.all():
        yield from noted(source, UNFILLED, 1)
        kept = {name: getattr(arrays, name) for name in ("flux", "error", "mask")}
        kept = {name: None if array is None else array[filled] for name, array in kept.items()}
        arrays = replace(arrays, **kept)
    axis = Axis.of(values[filled], unit=unit, air=air, spare_unit=spare_unit)
    yield from spectrum_on(source, axis, arrays, catalogue)


def spectrum_on(source: Source, axis: Axis, arrays: Arrays, catalogue: Catalogue) -> Iterator[Found]:
    """Yield one spectrum on these wavelengths, after notes on what the file does not say.

    Parameters
    ----------
    source : Source
        The file.
    axis : Axis
        Wavelengths of its pixels.
    arrays : Arrays
        Values on these pixels.
    catalogue : dict of list
        Columns of one value.

    Yields
    ------
    Noted or Spectra
        The spectrum comes last.
    """
    yield from noted(source, axis.note)
    flux, error = arrays.flux, arrays.error
    if error is not None and not ivar_of_error(numbers(error, "error")).any():
        yield from noted(source, "errors that are all 0, negative or not finite: read as unknown")
        error = None
    janskys = janskys_per(arrays.flux_unit)
    if janskys is not None:
        yield from noted(source, PER_FREQUENCY)
    given = {"flux": flux, "error": error, "mask": arrays.mask}
    rows = {name: values[np.newaxis] for name, values in given.items() if values is not None}
    if janskys is not None:
        rows = per_wavelength(rows, axis.in_order, janskys)
    yield stack_of(axis, catalogue=catalogue, **rows)


def blocks(n: int, p: int) -> Iterator[tuple[int, int]]:
    """Give the first row and last + 1 of blocks of at most MAX_ROWS rows and BLOCK_BYTES bytes."""
    if p > MOST_PIXELS:
        raise DefectError(Reason.TOO_LARGE, f"spectra of {p} pixels; at most {MOST_PIXELS} are read")
    rows = max(1, min(MAX_ROWS, BLOCK_BYTES // (8 * max(p, 1))))
    return ((first, min(first + rows, n)) for first in range(0, n, rows))
