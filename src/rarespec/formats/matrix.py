"""From named columns to stacks of spectra: what every generic format shares.

A file is a set of named columns. From it to spectra in four steps, each usable on its own:

`Roles.among(names)`     which column is flux, wavelength, inverse variance, error, mask; case does not matter
`Axis.of(values, ...)`   wavelengths in vacuum Angstrom, increasing; knows whether the pixels must be reversed
`catalogue_of(...)`      the common columns and the file's own, as Python values
`stack_of(axis, ...)`    a `Spectra`: bad where the mask is not 0, ivar <= 0, or flux or ivar is not finite

`stacks_of_rows` does all four for a block of rows, each with its own wavelengths if need be, and `read_matrix` for
whole arrays that can be sliced by rows (npz, HDF5, Zarr). Errors become inverse variances: ivar = 1 / error^2.

Columns used under a common name are not repeated under their own; one whose name is already taken becomes `file_NAME`.
Rows without an id are called `<stem>-<row>` (row from 0, six digits or more), a single spectrum `<stem>`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.pixels import bad_pixels
from rarespec.formats.reader import MAX_ROWS, ReadOptions
from rarespec.formats.source import Source
from rarespec.spectrum import Defect, DefectError, Reason, Spectra
from rarespec.spectrum.spectra import Catalogue

FLUX = ("flux", "flam", "f_lambda", "flux_density")
WAVELENGTH = ("wavelength", "lambda", "wave", "lam", "wavelengths")
LOG_WAVELENGTH = ("loglam", "log_wavelength", "log_lambda", "loglambda")
IVAR = ("ivar", "inverse_variance", "invvar")
ERROR = ("err", "error", "sigma", "flux_err", "flux_error", "fluxerr", "e_flux", "uncertainty")
MASK = ("mask", "bad", "badpix")

IDS = ("id", "object_id", "objectid", "objid", "targetid", "specobjid", "spec_id", "obsid", "source_id", "name")
NUMBERS = {
    "ra": ("ra", "ra_deg", "raj2000", "ra_icrs", "ra_j2000", "target_ra", "plug_ra"),
    "dec": ("dec", "dec_deg", "dej2000", "decj2000", "de_icrs", "dec_icrs", "dec_j2000", "target_dec", "plug_dec"),
    "z": ("z", "redshift", "z_best", "z_spec"),
    "snr": ("snr", "sn", "s_n", "snr_median", "sn_median_all"),
}
TEXTS = {"class": ("class", "spectype", "cls"), "subclass": ("subclass", "subtype"), "survey": ("survey",)}

BLOCK_BYTES = 64 << 20
"""Flux of one block of rows stays below this, also when a single spectrum has millions of pixels."""

EXACT_IN_FLOAT = 2**53
"""Whole numbers from here on are rounded by float64: an id stored that way is not the object's id."""

Column = NDArray[Any] | list[Any]
"""One value per row: a 1-D or 2-D array, or a list, whose elements may be vectors of different lengths."""


# --- which column is what


def find(names: Iterable[str], wanted: tuple[str, ...]) -> str | None:
    """The file's name for the first of the wanted columns that is there."""
    by_lower: dict[str, str] = {}
    for name in names:
        by_lower.setdefault(name.lower(), name)
    return next((by_lower[name] for name in wanted if name in by_lower), None)


def missing(what: str, looked_for: Iterable[str], names: Iterable[str]) -> DefectError:
    there = ", ".join(sorted(names)[:12]) or "nothing"
    return DefectError(Reason.MISSING_COLUMN, f"no {what}: looked for {', '.join(looked_for)}; there is {there}")


@dataclass(frozen=True, slots=True)
class Roles:
    """The file's own names of the columns that make a spectrum; None for what it does not have."""

    flux: str
    wavelength: str | None = None
    log: bool = False
    ivar: str | None = None
    error: str | None = None
    mask: str | None = None

    @classmethod
    def among(cls, names: Iterable[str]) -> Roles:
        names = list(names)
        flux = find(names, FLUX)
        if flux is None:
            raise missing("flux", FLUX, names)
        wavelength = find(names, WAVELENGTH)
        log = wavelength is None
        ivar = find(names, IVAR)
        return cls(
            flux,
            find(names, LOG_WAVELENGTH) if log else wavelength,
            log,
            ivar,
            None if ivar else find(names, ERROR),
            find(names, MASK),
        )

    @property
    def on_pixels(self) -> list[str]:
        """Columns with the shape of the flux."""
        return [name for name in (self.flux, self.ivar, self.error, self.mask) if name]

    @property
    def used(self) -> list[str]:
        return self.on_pixels + ([self.wavelength] if self.wavelength else [])


# --- wavelengths

ANGSTROMS = {
    "": 1.0, "a": 1.0, "å": 1.0, "aa": 1.0, "ang": 1.0, "angstrom": 1.0, "angstroms": 1.0, "0.1nm": 1.0,
    "nm": 10.0, "nanometer": 10.0, "nanometers": 10.0, "nanometre": 10.0,
    "um": 1e4, "µm": 1e4, "μm": 1e4, "micron": 1e4, "microns": 1e4, "micrometer": 1e4, "micrometre": 1e4,
    "m": 1e10,
}  # fmt: skip
"""Angstrom per unit, by the unit's name in lower case without spaces."""


def angstroms_per(unit: str | None) -> float:
    """Angstrom per unit; none given means Angstrom. `log10(nm)` and `dex(nm)` count as nm."""
    text = (unit or "").lower().replace(" ", "").replace("ångström", "angstrom")
    for wrapper in ("log10", "log", "dex", "(", ")", "[", "]"):
        text = text.replace(wrapper, "")
    if text not in ANGSTROMS:
        raise DefectError(Reason.LAYOUT, f"wavelengths in {unit!r}; Angstrom, nm, um and m are understood")
    return ANGSTROMS[text]


def wavelength_unit(arrays: Mapping[str, Any]) -> str | None:
    """What the attributes `units` or `unit` of the wavelength array say (HDF5, Zarr)."""
    name = find(arrays, WAVELENGTH) or find(arrays, LOG_WAVELENGTH)
    if name is None:
        return None
    attributes = {key.lower(): value for key, value in arrays[name].attrs.items()}
    unit = attributes.get("units", attributes.get("unit"))
    return unit.decode() if isinstance(unit, bytes) else None if unit is None else str(unit)


@dataclass(frozen=True, slots=True)
class Axis:
    """Wavelengths, (p,) float64 vacuum Angstrom increasing; `reverse` when the file lists them the other way."""

    wavelength: NDArray[np.float64]
    reverse: bool

    @classmethod
    def of(cls, values: Any, log: bool = False, unit: str | None = None, air: bool = False) -> Axis:
        given = numbers(values, "wavelength").astype(np.float64)
        with np.errstate(over="ignore"):
            wavelength = (10.0**given if log else given) * angstroms_per(unit)
        _check_wavelength(wavelength)
        reverse = bool(wavelength[0] > wavelength[-1])
        if reverse:
            wavelength = np.ascontiguousarray(wavelength[::-1])
        if air:
            from rarespec.spectrum.air import air_to_vacuum

            wavelength = air_to_vacuum(wavelength)
        return cls(wavelength, reverse)


def _check_wavelength(wavelength: NDArray[np.float64]) -> None:
    if wavelength.ndim != 1 or len(wavelength) < 2:
        raise DefectError(Reason.LAYOUT, f"wavelength has shape {wavelength.shape}; a vector of 2 or more is needed")
    if not np.isfinite(wavelength).all() or wavelength.min() <= 0:
        raise DefectError(Reason.LAYOUT, "wavelengths that are not finite and positive")
    steps = np.diff(wavelength)
    if not ((steps > 0).all() or (steps < 0).all()):
        first = int(np.argmax(np.sign(steps) != np.sign(steps[0])))
        raise DefectError(Reason.LAYOUT, f"wavelengths do not increase steadily (pixels {first} and {first + 1})")


# --- numbers on pixels


def numbers(values: Any, name: str) -> NDArray[np.floating]:
    """float32 or float64 in native byte order, contiguous; masked elements are NaN."""
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise DefectError(Reason.LAYOUT, f"{name} holds {array.dtype}, not numbers")
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    dtype: type[np.floating] = np.float32 if single else np.float64
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(dtype), np.nan)
    return np.ascontiguousarray(array, dtype=dtype)


def flags(values: Any) -> NDArray[np.bool_]:
    """True where the mask is set, not finite, or itself masked."""
    array = np.asarray(np.ma.getdata(values))
    if array.dtype.kind not in "fiub":
        raise DefectError(Reason.LAYOUT, f"mask holds {array.dtype}, not flags")
    return (array != 0) | np.ma.getmaskarray(values)


def ivar_of_error(error: NDArray[np.floating]) -> NDArray[np.float64]:
    """1 / error^2, and 0 where the error is not finite and positive."""
    error = error.astype(np.float64)
    usable = np.isfinite(error) & (error > 0)
    with np.errstate(over="ignore", under="ignore"):
        ivar = np.square(1.0 / np.where(usable, error, np.inf))
    return np.where(np.isfinite(ivar), ivar, 0.0)


def stack_of(
    axis: Axis, flux: Any, catalogue: Catalogue, ivar: Any = None, error: Any = None, mask: Any = None
) -> Spectra:
    """A stack out of (n, p) arrays on the pixels of `axis`, in the order of the file."""
    flux = numbers(flux, "flux")
    if flux.ndim != 2 or flux.shape[1] != len(axis.wavelength):
        raise DefectError(Reason.LAYOUT, f"flux of shape {flux.shape} for {len(axis.wavelength)} wavelengths")
    if ivar is not None:
        ivar = numbers(ivar, "ivar")
    elif error is not None:
        ivar = ivar_of_error(numbers(error, "error"))
    for name, values in (("ivar", ivar), ("mask", mask)):
        if values is not None and np.shape(values) != flux.shape:
            raise DefectError(Reason.LAYOUT, f"{name} has shape {np.shape(values)}, flux {flux.shape}")
    bad = bad_pixels(flux, ivar, None if mask is None else flags(mask))
    if axis.reverse:
        flux, bad = np.ascontiguousarray(flux[:, ::-1]), np.ascontiguousarray(bad[:, ::-1])
        ivar = None if ivar is None else np.ascontiguousarray(ivar[:, ::-1])
    return Spectra(axis.wavelength, flux, ivar, bad, catalogue)


# --- the catalogue


def python_values(column: Any) -> list[Any]:
    """Plain Python values: whole numbers stay exact, text is decoded and stripped, NaN and masked are None."""
    if isinstance(column, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(column)
        values = python_values(np.asarray(column.data))
        return [None if hide else value for value, hide in zip(values, hidden, strict=True)]
    if isinstance(column, np.ndarray) and column.dtype.kind in "Mm":
        column = [None if np.isnat(value) else str(value) for value in column]
    if isinstance(column, np.ndarray):
        column = column.tolist()
    return [_python_value(value) for value in column]


def _python_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="backslashreplace")
    if isinstance(value, str):
        return value.strip().rstrip("\0")
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int) else str(value)


def ids_of(values: list[Any], otherwise: list[str]) -> list[str]:
    """Ids as text, never through a float that would round them; the other where there is none."""
    return [_id(value) or spare for value, spare in zip(values, otherwise, strict=True)]


def _id(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        if abs(value) >= EXACT_IN_FLOAT:
            raise DefectError(Reason.LAYOUT, f"ids stored as floating point have lost digits ({value:.0f})")
        value = int(value)
    return str(value)


def stem_of(path: Path) -> str:
    """The file's name without its endings for format and compression."""
    return path.with_suffix("").stem if path.suffix == ".gz" else path.stem


def numbered_ids(stem: str, first: int, n: int, single: bool = False) -> list[str]:
    return [stem] if single else [f"{stem}-{row:06d}" for row in range(first, first + n)]


def catalogue_of(columns: Mapping[str, Column], source_name: str, spare_ids: list[str]) -> Catalogue:
    """Common columns first, then the file's own in lower case; every list has one value per spare id."""
    left = {name: python_values(column) for name, column in columns.items()}
    n = len(spare_ids)
    catalogue: Catalogue = {"id": ids_of(_taken(left, IDS) or [None] * n, spare_ids)}
    for common, names in NUMBERS.items():
        catalogue[common] = _floats(left, names) or [None] * n
    for common, names in TEXTS.items():
        values = _taken(left, names) or [None] * n
        catalogue[common] = [None if value is None else str(value) for value in values]
    catalogue["survey"] = [value or "unknown" for value in catalogue["survey"]]
    catalogue["source"] = [source_name] * n
    for name, values in left.items():
        catalogue[_free_name(name.lower(), catalogue)] = values
    return catalogue


def _taken(left: dict[str, list[Any]], names: tuple[str, ...]) -> list[Any] | None:
    name = find(left, names)
    return None if name is None else left.pop(name)


def _floats(left: dict[str, list[Any]], names: tuple[str, ...]) -> list[Any] | None:
    # A column of another kind (coordinates as text, say) is not lost: it stays among the file's own.
    name = find(left, names)
    if name is None or not all(value is None or isinstance(value, int | float) for value in left[name]):
        return None
    return [None if value is None else float(value) for value in left.pop(name)]


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name = f"file_{name}"
    return name


# --- rows to stacks


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from, and how the user wants them read."""

    source: Source
    options: ReadOptions
    single: bool = False
    """The file holds one spectrum only."""

    def spare_ids(self, first: int, n: int) -> list[str]:
        return numbered_ids(stem_of(self.source.path), first, n, self.single)


def stacks_of_rows(
    block: Mapping[str, Column],
    roles: Roles,
    origin: Origin,
    first: int,
    axis: Axis | None = None,
    unit: str | None = None,
) -> Iterator[Spectra | Defect]:
    """Stacks of consecutive rows that share their wavelengths; a row that cannot be used becomes a defect.

    Without `axis` each row brings its own wavelengths. `first` is the number of the block's first row in the file.
    """
    own = {name: column for name, column in block.items() if name not in roles.used}
    n = len(block[roles.flux])
    catalogue = catalogue_of(own, origin.source.name, origin.spare_ids(first, n))
    names = roles.on_pixels if axis else roles.used
    for start, stop in _runs(block, roles, by_wavelength=axis is None):
        part = {name: values[start:stop] for name, values in catalogue.items()}
        try:
            yield _stack_of_run({name: block[name][start:stop] for name in names}, roles, origin, part, axis, unit)
        except DefectError as error:
            for id in part["id"]:
                yield Defect(origin.source.name, error.reason, error.detail, id)


def _stack_of_run(
    run: dict[str, Column], roles: Roles, origin: Origin, catalogue: Catalogue, axis: Axis | None, unit: str | None
) -> Spectra:
    if axis is None:
        assert roles.wavelength
        if run[roles.wavelength][0] is None:
            raise DefectError(Reason.LAYOUT, "the row has no wavelengths")
        axis = Axis.of(run[roles.wavelength][0], roles.log, unit, origin.options.air)
    arrays = {
        role: _matrix(run[name], role)
        for role, name in (("flux", roles.flux), ("ivar", roles.ivar), ("error", roles.error), ("mask", roles.mask))
        if name
    }
    return stack_of(axis, catalogue=catalogue, **arrays)


def _matrix(rows: Column, role: str) -> NDArray[Any]:
    if isinstance(rows, np.ndarray):
        return rows
    if any(row is None for row in rows):
        raise DefectError(Reason.LAYOUT, f"the row has no {role}")
    return np.ma.stack(rows) if any(isinstance(row, np.ma.MaskedArray) for row in rows) else np.stack(rows)


def _runs(block: Mapping[str, Column], roles: Roles, by_wavelength: bool) -> Iterator[tuple[int, int]]:
    """First and last + 1 of consecutive rows with the same wavelengths and the same lengths."""
    n = len(block[roles.flux])
    breaks = np.zeros(n + 1, dtype=bool)
    breaks[[0, n]] = True
    for name in roles.on_pixels:
        if isinstance(rows := block[name], list):
            breaks[1:n] |= [_length(rows[i]) != _length(rows[i - 1]) for i in range(1, n)]
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


# --- whole arrays that can be sliced


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
        """A vector of pixels as the only row of a matrix."""
        return cls((1, *array.shape), array.dtype, lambda rows: np.asarray(array[: array.shape[0]])[np.newaxis][rows])


def with_fields(arrays: Mapping[str, Sliceable]) -> dict[str, Sliceable]:
    """Structured arrays replaced by their fields."""
    flat: dict[str, Sliceable] = {}
    for name, array in arrays.items():
        for field in getattr(array.dtype, "names", None) or ():
            flat.setdefault(field, Lazy.field(array, field))
        if not getattr(array.dtype, "names", None):
            flat[name] = array
    return flat


def read_matrix(
    arrays: Mapping[str, Sliceable], source: Source, options: ReadOptions, unit: str | None = None
) -> Iterator[Spectra | Defect]:
    """Stacks out of arrays `flux` (n, p) and `wavelength` or `loglam`, (p,) or (n, p); or (p,) both: one spectrum."""
    arrays = with_fields(arrays)
    roles = Roles.among(arrays)
    if roles.wavelength is None:
        raise missing("wavelength", (*WAVELENGTH, *LOG_WAVELENGTH), arrays)
    wavelength = arrays[roles.wavelength]
    if len(arrays[roles.flux].shape) == 1:
        arrays = arrays | {name: Lazy.one_row(arrays[name]) for name in roles.on_pixels}
    n, p = _checked_shape(arrays, roles, wavelength.shape)
    axis = None
    if len(wavelength.shape) == 1:
        axis = Axis.of(wavelength[:p], roles.log, unit, options.air)
    columns = [name for name, array in arrays.items() if array.shape == (n,) and name not in roles.used]
    names = [*roles.on_pixels, *columns, *([] if axis else [roles.wavelength])]
    origin = Origin(source, options, single=n == 1)
    for first, last in blocks(n, p):
        block = {name: arrays[name][first:last] for name in names}
        yield from stacks_of_rows(block, roles, origin, first, axis, unit)


def _checked_shape(arrays: Mapping[str, Sliceable], roles: Roles, wavelength: tuple[int, ...]) -> tuple[int, int]:
    shape = arrays[roles.flux].shape
    if len(shape) != 2:
        raise DefectError(Reason.LAYOUT, f"{roles.flux} has shape {shape}; rows of spectra are needed")
    if shape[0] == 0 or shape[1] == 0:
        raise DefectError(Reason.EMPTY, f"{roles.flux} has shape {shape}")
    if wavelength not in (shape[1:], shape):
        raise DefectError(Reason.LAYOUT, f"{roles.flux} has shape {shape}, {roles.wavelength} {wavelength}")
    for name in roles.on_pixels:
        if arrays[name].shape != shape:
            raise DefectError(Reason.LAYOUT, f"{name} has shape {arrays[name].shape}, {roles.flux} {shape}")
    return shape


def blocks(n: int, p: int) -> Iterator[tuple[int, int]]:
    """First row and last + 1 of blocks of at most MAX_ROWS rows and BLOCK_BYTES bytes."""
    rows = max(1, min(MAX_ROWS, BLOCK_BYTES // (8 * max(p, 1))))
    return ((first, min(first + rows, n)) for first in range(0, n, rows))


# --- what libraries need from a source


class SourceFile(io.RawIOBase):
    """A source as a seekable file, for libraries that want one; it never reads past the end."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.length}[whence]
        if start + offset < 0:
            raise OSError(f"seek to {start + offset}")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        n = max(0, min(len(view), self._source.length - self._at))
        view[:n] = self._source.read(self._at, n)
        self._at += n
        return n


@contextmanager
def faults_of(library: str) -> Iterator[None]:
    """Whatever a library raises on a damaged file becomes a defect; each has its own zoo of exceptions."""
    try:
        yield
    except (DefectError, MemoryError):
        raise
    except Exception as error:
        detail = (str(error).splitlines() or ["no message"])[0]
        raise DefectError(_reason(detail.lower()), f"{library}: {detail}; fetch it again") from None


def _reason(detail: str) -> Reason:
    if any(word in detail for word in ("checksum", "crc", "fletcher")):
        return Reason.CHECKSUM
    if any(word in detail for word in ("truncated", "unexpected end", "eof", "too short")):
        return Reason.TRUNCATED
    return Reason.CORRUPT
