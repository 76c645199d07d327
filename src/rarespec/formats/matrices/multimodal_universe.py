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
from collections.abc import Iterator
from dataclasses import dataclass
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

    @classmethod
    def of(cls, schema: pa.Schema) -> Layout:
        survey = survey_of(schema.names)
        return cls(survey, _roles(schema.field("spectrum").type, survey), scalar_columns(schema))

    def spectra(self, batch: pa.RecordBatch, origin: Origin, first: int) -> Iterator[Found]:
        """Make spectra of some rows of the table.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            The rows, with the column `spectrum` and those of `scalars`.
        origin : Origin
            Where the rows come from, and how the user wants them read.
        first : int
            Number of the first of these rows in the table; ids count from it where rows have none.

        Yields
        ------
        Spectra or Defect
            In the order of the rows.
        """
        block = _without_padding(_vectors(batch["spectrum"], self.roles), self.roles)
        block |= _correct({name: batch[name].to_pylist() for name in self.scalars}, self.survey, len(batch))
        yield from stacks_of_rows(block, self.roles, origin, first)


def survey_of(names: list[str]) -> str:
    if find(names, ("zwarning", "spectroflux_r")):
        return "sdss"
    return "desi" if find(names, ("zwarn",)) else "unknown"


def _roles(spectrum: pa.StructType, survey: str) -> Roles:
    fields = [field.name for field in spectrum if is_vector(field.type)]
    prefixed = Roles.among(fields)
    if prefixed.wavelength is None:
        raise missing("wavelength in spectrum", ANY_WAVELENGTH, fields)
    trusts_mask = survey != "sdss" or prefixed.ivar is None
    names = (prefixed.flux, prefixed.wavelength, prefixed.ivar, prefixed.error, prefixed.mask if trusts_mask else None)
    # The dot keeps the struct's fields apart from columns of the table of the same name.
    flux, wavelength, ivar, error, mask = (name and f"spectrum.{name}" for name in names)
    assert flux
    return Roles(flux, wavelength, prefixed.log, ivar, error, mask)


def _vectors(spectrum: pa.StructArray, roles: Roles) -> dict[str, Column]:
    fields = dict(zip((field.name for field in spectrum.type), spectrum.flatten(), strict=True))
    return {name: vectors(fields[name.removeprefix("spectrum.")]) for name in roles.used}


def _without_padding(block: dict[str, Column], roles: Roles) -> dict[str, Column]:
    assert roles.wavelength
    wavelength = block[roles.wavelength]
    if isinstance(wavelength, np.ndarray) and not (wavelength == PADDING).any():
        return block
    kept = [None if row is None else np.asarray(row) != PADDING for row in wavelength]
    return {name: [_keep_rows(row, keep) for row, keep in zip(rows, kept, strict=True)] for name, rows in block.items()}


def _keep_rows(row: Any, keep: Any) -> Any:
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
