"""Multimodal Universe and HATS Parquet: a column `spectrum`, a struct of lists {flux, ivar, lsf_sigma, lambda, mask}.

What these files do that others do not:
- rows are padded to one length with lambda = -1 and repeated flux; the padding is dropped before anything else;
- DESI's ZWARN is inverted (True: no problem), SDSS's ZWARNING is not; here True always means a problem;
- an SDSS object_id may be the text of a bytes object, "b'1234'";
- the SDSS mask is set by any and_mask bit, also by those that flag the fibre of a good star, so it is used only when
  there is no inverse variance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from rarespec.formats.columns import ANY_WAVELENGTH, Column, Roles, find, missing
from rarespec.formats.matrices.parquet import is_vector, open_parquet, row_batches, scalar_columns, vectors
from rarespec.formats.reader import Found, Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import Origin, stacks_of_rows
from rarespec.spectrum import DefectError, Reason

PADDING = -1.0
TEXT_OF_BYTES = re.compile(r"""b(['"])(.*)\1""", re.DOTALL)


def recognises(source: Source) -> bool:
    try:
        schema = open_parquet(source).schema_arrow
        return "spectrum" in schema.names and pa.types.is_struct(schema.field("spectrum").type)
    except (DefectError, ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError):
        return False


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    parquet = open_parquet(source)
    schema = parquet.schema_arrow
    if parquet.metadata.num_rows == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    layout = Layout.of(schema)
    origin = Origin(source, options, parquet.metadata.num_rows == 1)
    for first, batch in row_batches(parquet, ["spectrum", *layout.scalars]):
        yield from layout.spectra(batch, origin, first)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns of such a table make a spectrum, and which are of its catalogue."""

    survey: str
    roles: Roles
    scalars: list[str]
    column: str = "spectrum"

    @classmethod
    def of(cls, schema: pa.Schema, column: str = "spectrum", named: Mapping[str, str] | None = None) -> Layout:
        survey = survey_of(schema.names)
        roles = _trust(roles_in(schema.field(column).type, column, named), survey)
        return cls(survey, roles, scalar_columns(schema), column)

    @property
    def columns(self) -> list[str]:
        """Columns that hold the spectra."""
        return [self.column]

    def spectra(self, batch: pa.RecordBatch, origin: Origin, first: int) -> Iterator[Found]:
        """Make spectra of some rows of the table.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            The rows, with the column of the spectra and those of `scalars`.
        origin : Origin
            Where the rows come from, and how the user wants them read.
        first : int
            Number of the first of these rows in the table; ids count from it where rows have none.

        Yields
        ------
        Spectra or Defect
            In the order of the rows.
        """
        block = without_padding(vectors_in(batch[self.column], self.column, self.roles.used), self.roles)
        block |= _correct({name: batch[name].to_pylist() for name in self.scalars}, self.survey, len(batch))
        yield from stacks_of_rows(block, self.roles, origin, first)


def survey_of(names: list[str]) -> str:
    if find(names, ("zwarning", "spectroflux_r")):
        return "sdss"
    return "desi" if find(names, ("zwarn",)) else "unknown"


def roles_in(kind: pa.DataType, column: str, named: Mapping[str, str] | None = None) -> Roles:
    """Find which field of a nested column is the flux, which the wavelength, and so on.

    Parameters
    ----------
    kind : pyarrow.DataType
        A struct of lists, or lists of a struct.
    column : str
        Name of the column.
    named : mapping, optional
        Role -> field, for fields with unusual names.

    Returns
    -------
    Roles
        `column.field` of each: the dot keeps fields apart from columns of the table of the same name.

    Raises
    ------
    DefectError
        If there is no flux or no wavelength.
    """
    fields = fields_of(kind)
    found = Roles.among(fields, named)
    if found.wavelength is None:
        raise missing(f"wavelength in {column}", ANY_WAVELENGTH, fields)
    names = (found.flux, found.wavelength, found.ivar, found.error, found.mask, found.variance)
    flux, wavelength, ivar, error, mask, variance = (name and f"{column}.{name}" for name in names)
    assert flux
    return Roles(flux, wavelength, found.log, ivar, error, mask, variance)


def _trust(roles: Roles, survey: str) -> Roles:
    return replace(roles, mask=None) if survey == "sdss" and roles.ivar else roles


def fields_of(kind: pa.DataType) -> list[str]:
    """List the fields of a nested column with a value for each pixel; none of a column of another kind."""
    if is_vector(kind) and pa.types.is_struct(kind.value_type):
        return [field.name for field in kind.value_type if not pa.types.is_nested(field.type)]
    return [field.name for field in kind if is_vector(field.type)] if pa.types.is_struct(kind) else []


def vectors_in(column: pa.Array, name: str, wanted: Iterable[str]) -> dict[str, Column]:
    """Read fields of a nested column, each under `name.field`; None in rows where the column is null."""
    kind = column.type
    if is_vector(kind):
        column = column.take(pa.array(range(len(column))))  # a slice would keep offsets into the whole
        pixels, hidden = column.values, column.is_null()
        lists = [type(column).from_arrays(column.offsets, values, mask=hidden) for values in pixels.flatten()]
        fields = dict(zip((field.name for field in kind.value_type), lists, strict=True))
    else:
        fields = dict(zip((field.name for field in kind), column.flatten(), strict=True))
    return {field: vectors(fields[field.removeprefix(f"{name}.")]) for field in wanted}


def without_padding(block: dict[str, Column], roles: Roles) -> dict[str, Column]:
    """Drop the pixels that only fill rows up to one length: those of wavelength -1."""
    assert roles.wavelength
    wavelength = block[roles.wavelength]
    if isinstance(wavelength, np.ndarray) and not (wavelength == PADDING).any():
        return block
    kept = [None if row is None else np.asarray(row) != PADDING for row in wavelength]
    return {
        name: [keep_pixels(row, keep) for row, keep in zip(rows, kept, strict=True)] for name, rows in block.items()
    }


def keep_pixels(row: Any, keep: Any) -> Any:
    """Keep some pixels of a row."""
    # Rows whose vectors differ in length stay as they are: they become defects of their own.
    return row if row is None or keep is None or len(row) != len(keep) else row[keep]


def _correct(columns: dict[str, Column], survey: str, n: int) -> dict[str, Column]:
    id_name = find(columns, ("object_id",))
    if id_name:
        columns[id_name] = [plain_id(value) for value in columns[id_name]]
    warning = find(columns, ("zwarn",))
    if survey == "desi" and warning:
        # Only the boolean is inverted; a number is the pipeline's own bit mask.
        columns[warning] = [not value if isinstance(value, bool) else value for value in columns[warning]]
    if not find(columns, ("survey",)):
        columns["survey"] = [survey] * n
    return columns


def plain_id(value: Any) -> Any:
    """Undo the text of a bytes object: `b' 1234'` is 1234."""
    match = TEXT_OF_BYTES.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[2].strip() if match else value


READER = Reader(
    "mmu-parquet", Container.PARQUET, recognises, read, "Multimodal Universe or HATS Parquet with a column spectrum"
)
