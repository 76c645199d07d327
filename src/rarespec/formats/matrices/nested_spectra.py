"""Parquet, and partitions of HATS catalogues, with spectra in nested columns, as LSDB and nested-pandas make them.

A nested column is a struct of lists, or lists of a struct, one element for each pixel. A spectrum is
- one such column, of any name, with flux and wavelength (`multimodal_universe` reads it);
- one for each arm of the spectrograph, as LSDB has DESI: spectra_b, spectra_r, spectra_z;
- or one with a field that names the arm of each pixel.
Arms are joined as the cameras of a DESI coadd. An arm may be empty or masked: the column `empty_arms` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, FLUX, Column, Roles, find, generic_catalogue, python_values
from rarespec.formats.matrices.multimodal_universe import (
    Layout,
    fields_of,
    keep_pixels,
    plain_id,
    roles_in,
    vectors_in,
    without_padding,
)
from rarespec.formats.matrices.parquet import open_parquet, row_batches, scalar_columns
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Origin, runs_of_rows, stacks_of_rows
from rarespec.formats.surveys.desi import BAD_FIBRE, NOT_A_TARGET, CameraRows, join_cameras, join_wavelengths
from rarespec.spectrum import Defect, DefectError, Noted, Reason, Skipped, Spectra
from rarespec.spectrum.spectra import Catalogue

ARM = ("arm", "camera", "channel", "band")
"""Fields that may name the arm of a pixel."""
ARM_NAMES = frozenset(
    ("b", "r", "z", "u", "g", "i", "y", "h", "k", "blue", "red", "green", "ir", "nir", "uvb", "uv", "vis", "opt")
)
EMPTY_ARMS = "empty_arms"
"""Column of the catalogue: arms of the spectrum without a good pixel, separated by commas."""
NEGATIVE_TARGET = "not a target (TARGETID is negative)"


# ---- Which columns of a table hold the spectra.


def layout_of(schema: pa.Schema, named: Mapping[str, Any] | None = None) -> Layout | Arms:
    """Find the nested columns that hold the spectra, by their fields.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of the table.
    named : mapping, optional
        What the user names: `spectrum`, a column or all arms of a spectrum; the fields flux, wavelength, ivar, error,
        mask and arm.

    Returns
    -------
    Layout or Arms
        How to read rows of the table.

    Raises
    ------
    DefectError
        If no column holds spectra, a named one does not, or several do that are no arms.
    """
    fields = dict(named or {})
    columns = _as_names(fields.pop("spectrum", ()))
    arm = fields.pop("arm", None)
    for column in columns:
        if column not in schema.names:
            raise DefectError(Reason.MISSING_COLUMN, f"no column {column!r}; there is {_listed(schema.names)}")
        if not fields_of(schema.field(column).type):
            raise DefectError(Reason.LAYOUT, f"{column} is no spectrum: it is {schema.field(column).type}, not nested")
    columns = columns or spectrum_columns(schema, fields)
    if not columns:
        raise _no_spectra(schema)
    if len(columns) > 1:
        return _of_arms(schema, columns, fields, is_named=bool(named and named.get("spectrum")))
    (column,) = columns
    kind = schema.field(column).type
    arm = arm or find(fields_of(kind), ARM)
    if arm is None:
        return Layout.of(schema, column, fields)
    if arm not in fields_of(kind):
        raise DefectError(Reason.MISSING_COLUMN, f"no {arm!r} in {column}; there is {_listed(fields_of(kind))}")
    return Arms({column: _roles(kind, column, fields)}, scalar_columns(schema), f"{column}.{arm}")


def spectrum_columns(schema: pa.Schema, fields: Mapping[str, str] | None = None) -> list[str]:
    """List the nested columns with a flux and a wavelength for each pixel."""
    fields = fields or {}
    flux, wavelength = fields.get("flux", FLUX), fields.get("wavelength", ANY_WAVELENGTH)
    return [
        column.name for column in schema if all(_has(fields_of(column.type), wanted) for wanted in (flux, wavelength))
    ]


def _has(names: list[str], wanted: str | tuple[str, ...]) -> bool:
    return wanted in names if isinstance(wanted, str) else find(names, wanted) is not None


def _as_names(given: str | Sequence[str]) -> list[str]:
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)


def _of_arms(schema: pa.Schema, columns: list[str], fields: Mapping[str, str], is_named: bool) -> Arms:
    names = arm_names(columns)
    if not is_named and not {name.lower() for name in names} <= ARM_NAMES:
        raise DefectError(
            Reason.LAYOUT, f"several columns hold spectra ({_listed(columns)}); name one, or all arms of one spectrum"
        )
    return Arms({name: _roles(schema.field(name).type, name, fields) for name in columns}, scalar_columns(schema))


def arm_names(columns: list[str]) -> list[str]:
    """Shorten names of columns to what tells them apart: spectra_b, spectra_r -> b, r."""
    before = _n_shared(columns)
    after = _n_shared([name[before:][::-1] for name in columns])
    short = [name[before : len(name) - after] for name in columns]
    return short if all(short) else columns


def _n_shared(names: list[str]) -> int:
    """How many characters the names have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def _roles(kind: pa.DataType, column: str, fields: Mapping[str, str]) -> Roles:
    roles = roles_in(kind, column, fields)
    if not (roles.ivar or roles.error or roles.variance):
        raise DefectError(
            Reason.MISSING_COLUMN, f"no ivar or error in {column}; arms are joined by their inverse variance"
        )
    return roles


def _no_spectra(schema: pa.Schema) -> DefectError:
    nested = [f"{field.name} ({_listed(fields_of(field.type))})" for field in schema if fields_of(field.type)]
    there = f"nested are {', '.join(nested)}" if nested else f"there is no nested column among {_listed(schema.names)}"
    return DefectError(Reason.MISSING_COLUMN, f"no nested column has both flux and wavelength; {there}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name[:40] for name in names[:12]) + (", ..." if len(names) > 12 else "")


# ---- Spectra in several arms.


@dataclass(frozen=True, slots=True)
class Arms:
    """The nested columns that hold the arms of a spectrum, and the columns of the catalogue."""

    roles: dict[str, Roles]
    """Column -> which of its fields is what."""
    scalars: list[str]
    arm: str | None = None
    """The field, `column.field`, that names the arm of each pixel; None if each arm is a column."""

    @property
    def columns(self) -> list[str]:
        """Columns that hold the spectra."""
        return list(self.roles)

    def spectra(self, batch: pa.RecordBatch, origin: Origin, first: int) -> Iterator[Found]:
        """Make spectra of some rows of the table.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            The rows, with the columns of the spectra and those of `scalars`.
        origin : Origin
            Where the rows come from, and how the user wants them read.
        first : int
            Number of the first of these rows in the table; ids count from it where rows have none.

        Yields
        ------
        Spectra, Defect, Skipped or Noted
            Spectra and defects in the order of the rows; what was decided about spectra comes before them.
        """
        own = {name: python_values(batch[name].to_pylist()) for name in self.scalars}
        is_target, skipped = _targets(own, len(batch), origin.source.name)
        yield from skipped
        catalogue = generic_catalogue(_of_desi(own), origin.source.name, origin.spare_ids(first, len(batch)))
        rows = np.flatnonzero(is_target)
        if len(rows) < len(batch):
            batch = batch.take(pa.array(rows))
            catalogue = {name: [values[i] for i in rows.tolist()] for name, values in catalogue.items()}
        arms = self._arms(batch) if len(batch) else []
        for start, stop in _runs(arms, len(batch)):
            part = {name: values[start:stop] for name, values in catalogue.items()}
            try:
                yield from _join(arms, start, stop, part, origin)
            except DefectError as error:
                yield from (Defect(origin.source.name, error.reason, error.detail, id) for id in part["id"])

    def _arms(self, batch: pa.RecordBatch) -> list[_Arm]:
        if self.arm is None:
            names = zip(arm_names(self.columns), self.roles.items(), strict=True)
            return [
                _Arm(name, without_padding(vectors_in(batch[column], column, roles.used), roles), roles)
                for name, (column, roles) in names
            ]
        ((column, roles),) = self.roles.items()
        block = vectors_in(batch[column], column, [*roles.used, self.arm])
        return list(_split(without_padding(block, roles), roles, self.arm))


@dataclass(frozen=True, slots=True)
class _Arm:
    """One arm of some rows."""

    name: str
    block: dict[str, Column]
    roles: Roles

    def stack(self, start: int, stop: int, origin: Origin) -> tuple[Spectra | None, list[Noted]]:
        """Rows that share their wavelengths, None if they are empty here; and what was decided about them."""
        run = {name: values[start:stop] for name, values in self.block.items()}
        if all(values[0] is None or len(values[0]) == 0 for values in run.values()):
            return None, []
        *notes, found = stacks_of_rows(run, self.roles, origin, 0)
        if isinstance(found, Defect):
            raise DefectError(found.reason, f"arm {self.name}: {found.detail}")
        assert isinstance(found, Spectra)
        return found, [note for note in notes if isinstance(note, Noted)]


def _split(block: dict[str, Column], roles: Roles, arm: str) -> Iterator[_Arm]:
    """One arm for each value of the field that names them."""
    labels = [None if row is None else np.asarray(row) for row in block[arm]]
    values = {str(value): value for row in labels if row is not None for value in set(row.tolist())}
    for name, value in sorted(values.items()):
        chosen = [None if row is None else row == value for row in labels]
        yield _Arm(name, {field: list(map(keep_pixels, block[field], chosen)) for field in roles.used}, roles)


def _runs(arms: list[_Arm], n: int) -> Iterator[tuple[int, int]]:
    """First and last + 1 of consecutive rows that share the wavelengths of every arm."""
    starts = {start for arm in arms for start, _ in runs_of_rows(arm.block, arm.roles, by_wavelength=True)}
    edges = sorted(starts | ({0} if n else set()) | {n})
    return pairwise(edges)


def _join(arms: list[_Arm], start: int, stop: int, catalogue: Catalogue, origin: Origin) -> Iterator[Found]:
    found = {arm.name: arm.stack(start, stop, origin) for arm in arms}
    stacks = {name: stack for name, (stack, _) in found.items()}
    there = sorted((stack for stack in stacks.values() if stack), key=lambda stack: float(stack.wavelength[0]))
    if not there:
        raise DefectError(Reason.NO_GOOD_PIXELS, "every arm is empty")
    wavelength, starts = join_wavelengths([stack.wavelength for stack in there])
    cameras = [CameraRows(stack.flux, stack.ivar, stack.bad) for stack in there if stack.ivar is not None]
    flux, ivar, bad = join_cameras(cameras, starts, len(wavelength))
    empty = {name: _without_good_pixels(stack, stop - start) for name, stack in stacks.items()}
    named = [",".join(name for name in empty if empty[name][i]) for i in range(stop - start)]
    yield from dict.fromkeys(note for _, notes in found.values() for note in notes)  # the same for each arm: told once
    yield Spectra(wavelength, flux, ivar, bad, catalogue | {EMPTY_ARMS: named})


def _without_good_pixels(stack: Spectra | None, n: int) -> NDArray[np.bool_]:
    return np.ones(n, bool) if stack is None else np.asarray(stack.bad.all(axis=1))


# ---- What DESI's own columns say: which rows are targets, and that the survey is DESI.


def _targets(own: dict[str, list[Any]], n: int, source: str) -> tuple[NDArray[np.bool_], list[Skipped]]:
    """Which rows are targets on a good fibre, (n,) bool, as far as DESI's columns say, and how many are not."""
    targetid, objtype = find(own, ("targetid",)), find(own, ("objtype",))
    status = find(own, ("coadd_fiberstatus",))
    is_target, is_good, why = np.ones(n, bool), np.ones(n, bool), NOT_A_TARGET
    if targetid and objtype:
        is_target = np.array([value == "TGT" for value in own[objtype]], bool)
    elif targetid:
        is_target = np.array([not (isinstance(value, int) and value < 0) for value in own[targetid]], bool)
        why = NEGATIVE_TARGET
    if targetid and status:
        is_good = np.array([value == 0 for value in own[status]], bool)
    counts = {why: int((~is_target).sum()), BAD_FIBRE: int((is_target & ~is_good).sum())}
    return is_target & is_good, [Skipped(source, why, count) for why, count in counts.items() if count]


def _of_desi(own: dict[str, list[Any]]) -> dict[str, list[Any]]:
    ids = find(own, ("object_id",))
    own = {name: [plain_id(value) for value in values] if name == ids else values for name, values in own.items()}
    targetid = find(own, ("targetid",))
    if targetid is None:
        return own
    # DESI's own SURVEY is main, sv1 and the like.
    renamed = {f"file_{name.lower()}" if name.lower() == "survey" else name: values for name, values in own.items()}
    return renamed | {"survey": ["DESI"] * len(own[targetid])}


def recognises(source: Source) -> bool:
    """Recognise arms, and a single spectrum column unless it is that of the Multimodal Universe."""
    try:
        layout = layout_of(open_parquet(source).schema_arrow)
    except (DefectError, ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError):
        return False
    return layout.columns != ["spectrum"] or isinstance(layout, Arms)


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    parquet = open_parquet(source)
    layout = layout_of(parquet.schema_arrow)
    if parquet.metadata.num_rows == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    origin = Origin(source, options, parquet.metadata.num_rows == 1)
    for first, batch in row_batches(parquet, [*layout.columns, *layout.scalars]):
        yield from layout.spectra(batch, origin, first)


READER = Reader(
    "nested-parquet",
    Container.PARQUET,
    recognises,
    read,
    "Parquet or HATS with spectra in nested columns, one for each arm (spectra_b, spectra_r, spectra_z) or one for all",
)
