"""The catalogue of a survey: one Parquet file per block, of which only the rows and columns asked for are read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import Here
from rarespec.errors import SurveyError, UsageError
from rarespec.survey.store.joined_columns import JoinedColumns, open_columns
from rarespec.survey.store.location import content_of, is_remote, open_to_read
from rarespec.survey.store.manifest import Manifest, block_file
from rarespec.survey.store.row_numbers import is_row_number, row_number, row_numbers

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from astropy.table import Table


REQUESTS = 16
"""Blocks that are fetched from a store at the same time."""
LARGEST_BLOCK = 1 << 30
"""Bytes of a block's catalogue, unpacked: half a megabyte for each of its rows."""
TEXT_COLUMNS = ("id", "class", "subclass", "survey", "source")
"""Columns that hold text even while nothing is known in them."""


class Catalogue:
    """The catalogue of a survey, one row per spectrum: it reads what you ask for, and no more.

    `catalogue["z"]` is a column as a NumPy array, `catalogue[0]` a row as a dictionary. Slices, masks and lists of row
    numbers give a catalogue of these rows, a list of names one of these columns; nothing is read before you look at
    it. Missing numbers are NaN and missing text is empty.

    Parameters
    ----------
    root : Path
        The directory of the survey.
    manifest : Manifest
        The state of the survey to read. `survey.catalogue` is made with both.
    rows : (n,) intp array, optional
        Which rows of the survey it shows; by default all.
    columns : list of str, optional
        Which columns it shows; by default all.
    whole : Catalogue, optional
        The catalogue of which it shows a part, and from which it was made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from rarespec import PAPER_GRID, Spectra, Survey
    >>> flux = np.ones((2, PAPER_GRID.n_pixels), np.float32)
    >>> spectra = Spectra(PAPER_GRID.wavelength, flux, flux, flux < 0, {"id": ["a", "b"], "z": [0.1, None]})
    >>> with TemporaryDirectory() as folder:
    ...     survey = Survey.create(f"{folder}/two.survey")
    ...     report = survey.append(spectra)
    ...     print("z" in survey.catalogue, survey.catalogue["z"].tolist())
    ...     survey.catalogue[["id", "z"]]
    True [0.1, nan]
    <Catalogue: 2 rows, 2 columns>
    id        z
    a   0.10000
    b
    """

    def __init__(
        self,
        root: Path,
        manifest: Manifest,
        rows: NDArray[np.intp] | None = None,
        columns: list[str] | None = None,
        whole: Catalogue | None = None,
    ) -> None:
        self._root = root
        self._manifest = manifest
        self._rows = rows
        self._columns = columns
        self._whole = self if whole is None else whole

    @cached_property
    def joined(self) -> JoinedColumns | None:
        """The columns that a large survey keeps in one file, where they have been joined."""
        return open_columns(self._root, self._manifest) if self._whole is self else self._whole.joined

    def forget_joined(self) -> None:
        """Look again for joined columns when they are next needed."""
        vars(self._whole).pop("joined", None)

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return list(self._manifest.columns if self._columns is None else self._columns)

    @property
    def colnames(self) -> list[str]:
        """The names of all columns, as astropy calls them."""
        return self.columns

    def __len__(self) -> int:
        return self._manifest.n_rows if self._rows is None else len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    @overload
    def __getitem__(self, which: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, which: int | np.integer) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, which: slice | list[Any] | tuple[Any, ...] | NDArray[Any]) -> Catalogue: ...
    def __getitem__(self, which: Any) -> Any:
        """One column, one row, or a catalogue of fewer; `arrow` tells missing from empty text."""
        if isinstance(which, str):
            return self._values(which, self.arrow([which]).column(0))
        if is_row_number(which):
            (row,) = self.take(np.array([row_number(which, len(self))])).arrow().to_pylist()
            return row
        if isinstance(which, list | tuple) and which and all(isinstance(name, str) for name in which):
            self._schema(list(which))
            return Catalogue(self._root, self._manifest, self._rows, list(which), self._whole)
        return self.take(row_numbers(which, len(self)))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Row by row, as dictionaries; memory holds one block at a time."""
        size = self._manifest.block_rows
        for start in range(0, len(self), size):
            yield from self[start : start + size].arrow().to_pylist()

    def take(self, rows: NDArray[np.intp]) -> Catalogue:
        """Show only these rows.

        Parameters
        ----------
        rows : (n,) intp array
            Row numbers of this catalogue, from 0, in any order.

        Returns
        -------
        Catalogue
            The same columns; nothing is read yet.
        """
        own = rows if self._rows is None else self._rows[rows]
        return Catalogue(self._root, self._manifest, own, self._columns, self._whole)

    def __repr__(self) -> str:
        from rarespec.survey.store.catalogue_view import catalogue_text

        return catalogue_text(self)

    def _repr_html_(self) -> str:
        from rarespec.survey.store.catalogue_view import catalogue_html

        return catalogue_html(self)

    def arrow(self, columns: list[str] | None = None) -> pa.Table:
        """Read columns as an Arrow table, where missing and empty text differ.

        Parameters
        ----------
        columns : list of str, optional
            Which columns; by default all.

        Returns
        -------
        pyarrow.Table
            One row per spectrum.
        """
        import pyarrow as pa

        wanted = self.columns if columns is None else columns
        if self.joined is not None and set(wanted) <= set(self.joined.names):
            return self._from_joined(self.joined, wanted)
        parts = list(self.blocks(wanted) if self._rows is None else self._parts(wanted))
        found = pa.concat_tables(parts) if parts else self._schema(wanted).empty_table()
        return found if self._rows is None else found.take(np.argsort(np.argsort(self._rows, kind="stable")))

    def _from_joined(self, joined: JoinedColumns, columns: list[str]) -> pa.Table:
        import pyarrow as pa

        try:
            whole = pa.Table.from_arrays([joined.column(name) for name in columns], schema=self._schema(columns))
        except (ValueError, pa.ArrowException) as error:
            warnings.warn(f"{self._root}: its joined columns cannot be used ({error})", stacklevel=3)
            vars(self._whole)["joined"] = None
            vars(self)["joined"] = None
            return self.arrow(columns)
        return whole if self._rows is None else whole.take(self._rows)

    def _parts(self, columns: list[str]) -> Iterator[pa.Table]:
        """Read the rows shown, in the order of the survey; only the blocks that hold them are read."""
        assert self._rows is not None
        rows, size = np.sort(self._rows), self._manifest.block_rows
        blocks, starts = np.unique(rows // size, return_index=True)
        for block, inside in zip(blocks.tolist(), np.split(rows, starts[1:]), strict=bool(len(rows))):
            yield self.block(block, columns).take(inside - block * size)

    def to_table(self, columns: list[str] | None = None) -> Table:
        """Read columns as an astropy Table.

        Parameters
        ----------
        columns : list of str, optional
            Which columns; by default all.

        Returns
        -------
        astropy.table.Table
            One row per spectrum. Unknown numbers are NaN, unknown text is empty.
        """
        from astropy.table import Table

        arrow = self.arrow(columns)
        values = {name: self._values(name, arrow[name]) for name in arrow.column_names}
        # text of fixed width, which every format of astropy can write
        return Table({name: found.astype(str) if found.dtype.kind == "O" else found for name, found in values.items()})

    def to_pandas(self, columns: list[str] | None = None) -> pd.DataFrame:
        """Read columns as a pandas DataFrame; pandas must be installed.

        Parameters
        ----------
        columns : list of str, optional
            Which columns; by default all.

        Returns
        -------
        pandas.DataFrame
            One row per spectrum. Unknown numbers are NaN, unknown text is None.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            return self.arrow(columns).to_pandas()
        except ModuleNotFoundError as error:
            raise ImportError("pandas is needed for this: pip install pandas") from error

    def _values(self, name: str, column: pa.ChunkedArray) -> NDArray[Any]:
        if name in TEXT_COLUMNS and self._manifest.columns[name] == "null":
            return np.full(len(column), "", object)
        return _to_numpy(column)

    def block(self, i: int, columns: list[str] | None = None) -> pa.Table:
        """Read the rows of one block of the survey.

        Parameters
        ----------
        i : int
            Number of the block, from 0.
        columns : list of str, optional
            Which columns; by default all.

        Returns
        -------
        pyarrow.Table
            Columns that the file of this block does not have are null.

        Raises
        ------
        SurveyError
            If the file is missing or damaged.
        """
        import pyarrow as pa

        schema, path = self._schema(columns), self._root / block_file(i)
        try:
            return self._read_block(i, schema)
        except FileNotFoundError:
            raise SurveyError(f"{path}: missing; run `rarespec verify`") from None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise SurveyError(f"{path}: cannot be read ({error}); run `rarespec verify`") from None

    def _read_block(self, i: int, schema: pa.Schema) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # A column that had no value yet may have got a type since.
        known = [field.name for field in schema if not pa.types.is_null(field.type)]
        with self._open_block(i) as content:
            about = pq.read_metadata(content)
            _check_size(about, self._manifest.block_rows)
            kinds = {field.name: field.type for field in about.schema.to_arrow_schema()}
            present = [name for name in known if name in kinds]
            # As dictionaries: text that is stored once and meant in every row would get a copy in each.
            texts = [name for name in present if pa.types.is_string(kinds[name])]
            with pq.ParquetFile(content, metadata=about, read_dictionary=texts) as file:
                stored = file.read(columns=present)
        for column in stored.columns:
            _check_text(column)
        rows = self._manifest.blocks[i].rows
        stored = stored.slice(0, rows)  # the file may have grown since; its first rows are the same
        arrays = [
            stored[field.name].cast(field.type).combine_chunks()
            if field.name in present
            else pa.nulls(rows, field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def block_of_columns(self, columns: list[str] | None, i: int) -> pa.Table:
        """Read the rows of one block; as `block`, with the arguments in the order that an engine passes them.

        Parameters
        ----------
        columns : list of str or None
            Which columns; None for all.
        i : int
            Number of the block, from 0.

        Returns
        -------
        pyarrow.Table
            The rows.
        """
        return self.block(i, columns)

    def _open_block(self, i: int) -> Any:
        """Open a block for Arrow: on a store its content, as a block is small and every request takes time."""
        import pyarrow as pa

        path = self._root / block_file(i)
        if is_remote(path):
            return pa.BufferReader(content_of(path))
        open_to_read(path).close()  # a pipe in its place would be waited for
        return pa.OSFile(str(path))

    def blocks(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Read all rows of the survey block by block; from an object store, several at the same time.

        Parameters
        ----------
        columns : list of str, optional
            Which columns; by default all.

        Yields
        ------
        pyarrow.Table
            The rows of the next block.
        """
        numbers = range(len(self._manifest.blocks))
        if is_remote(self._root):
            return Here(REQUESTS).map(self.block_of_columns, columns, numbers)
        return (self.block(i, columns) for i in numbers)

    def _schema(self, columns: list[str] | None) -> pa.Schema:
        import pyarrow as pa

        known = self._manifest.columns
        for name in columns or ():
            if name not in known:
                raise UsageError(f"{self._root}: there is no catalogue column {name!r}; choose from {', '.join(known)}")
        return pa.schema([(name, type_named(known[name])) for name in (self.columns if columns is None else columns)])


def _check_size(about: Any, block_rows: int) -> None:
    """A ValueError for a file that no survey writes, before it is unpacked: a few bytes may stand for terabytes.

    Arrow is not asked about single columns: on damaged metadata it would end the process.
    """
    if about.num_rows > block_rows:
        raise ValueError(f"{about.num_rows} rows in a block of at most {block_rows}")
    n_bytes = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if n_bytes > LARGEST_BLOCK:
        raise ValueError(f"it unpacks to {n_bytes >> 20} MiB")


def _check_text(column: pa.ChunkedArray) -> None:
    """A ValueError for text that is far longer in all its rows than where it is stored."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return
    lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    n_bytes = sum(pc.sum(some.cast(pa.int64())).as_py() or 0 for some in lengths)
    if n_bytes > LARGEST_BLOCK:
        raise ValueError(f"one of its columns unpacks to {n_bytes >> 20} MiB")


def type_named(name: str) -> pa.DataType:
    import pyarrow as pa

    return {
        "null": pa.null(),
        "bool": pa.bool_(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
    }[name]


def merge_types(one: str, other: str) -> str:
    """Choose the type that holds the values of both: a column may be integer in one survey and text in another."""
    kinds = {one, other} - {"null"}
    if len(kinds) <= 1:
        return kinds.pop() if kinds else "null"
    return "double" if kinds == {"int64", "double"} else "string"


def fits_a_double(column: pa.Array | pa.ChunkedArray) -> bool:
    """Say whether these integers keep every digit as double-precision numbers."""
    import pyarrow.compute as pc

    extremes = pc.min_max(column).as_py()
    return all(value is None or abs(value) <= 2**53 for value in extremes.values())


def as_column(values: list[Any]) -> pa.Array:
    """Bring Python values to one of the five types that a catalogue knows; mixed kinds become text."""
    import pyarrow as pa

    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    kind = "null"
    for value_type in {type(value) for value in values}:
        kind = merge_types(kind, _KINDS.get(value_type, "string"))
    if kind == "string":
        values = [None if value is None else str(value) for value in values]
    try:
        return pa.array(values, type_named(kind))
    except (OverflowError, pa.ArrowInvalid):  # an integer beyond 64 bits, or not exact as a double: keep every digit
        return pa.array([None if value is None else str(value) for value in values], pa.string())


_KINDS = {type(None): "null", bool: "bool", int: "int64", float: "double", str: "string"}


def _to_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_string(column.type):
        return column.fill_null("").to_numpy()
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(column.type):
        return column.fill_null(False).to_numpy()
    return column.to_numpy()
