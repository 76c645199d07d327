"""The columns of the catalogue that every search reads, of all blocks of a large survey in one file that is mapped.

    SURVEY/columns/STATE.columns

STATE names the catalogue by its contents, so that the file can never be taken for that of another state. Reading some
of a million rows from the files of their blocks takes longer than ranking them.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import SurveyError
from rarespec.storage.mapped_arrays import map_arrays, sweep_beside, write_arrays
from rarespec.survey.store.location import is_remote
from rarespec.survey.store.manifest import Manifest, block_file

if TYPE_CHECKING:
    import pyarrow as pa

    from rarespec.survey.store.catalogue import Catalogue

FOLDER, ENDING = "columns", ".columns"
JOINED = ("id", "ra", "dec", "z", "class", "subclass", "snr", "survey")
"""Columns that are joined, where the survey has them as text or as real numbers."""
JOINED_FROM = 100_000
"""Spectra from which on they are."""
PARTS = ("validity", "offsets", "data")
"""What Arrow makes a column of: a bit for each value that is known, where each text begins, and the values."""
LONGEST_TEXT = 2**31 - 1
"""Bytes of all texts of a column that Arrow can count."""


class JoinedColumns:
    """The columns of one state of a survey.

    Parameters
    ----------
    arrays : dict of arrays
        As `join_columns` wrote them.
    manifest : Manifest
        The state of the survey.
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], manifest: Manifest) -> None:
        self._arrays, self._n = arrays, manifest.n_rows
        self._columns: dict[str, Any] = {}
        self.names = columns_to_join(manifest)
        for name in self.names:
            if f"{name} data" not in arrays:
                raise ValueError(f"no column {name}")

    def column(self, name: str) -> pa.Array:
        """Give a column; raise a ValueError if it cannot be one."""
        if name not in self._columns:
            self._columns[name] = self._make(name)
        return self._columns[name]

    def _make(self, name: str) -> pa.Array:
        import pyarrow as pa

        validity, offsets, data = (self._arrays.get(f"{name} {part}") for part in PARTS)
        is_text = offsets is not None
        lengths = {"validity": -(-self._n // 8), "offsets": self._n + 1} | ({} if is_text else {"data": self._n})
        types = {"validity": np.uint8, "offsets": np.int32, "data": np.uint8 if is_text else np.float64}
        for part, array in zip(PARTS, (validity, offsets, data), strict=True):
            if array is not None and (array.dtype != types[part] or array.shape != (lengths.get(part, array.size),)):
                raise ValueError(f"{part} of {name} is {array.dtype} {array.shape}")
        parts = [validity, offsets, data] if is_text else [validity, data]
        buffers = [None if part is None else pa.py_buffer(part) for part in parts]
        made = pa.Array.from_buffers(pa.string() if is_text else pa.float64(), self._n, buffers)
        made.validate(full=True)  # texts inside the data, and in Unicode
        return made


def columns_to_join(manifest: Manifest) -> list[str]:
    """List the columns that are joined."""
    return [name for name in JOINED if manifest.columns.get(name) in ("string", "double")]


def open_columns(root: Path, manifest: Manifest) -> JoinedColumns | None:
    """Open the columns of this state of a survey.

    Parameters
    ----------
    root : Path
        Directory of the survey.
    manifest : Manifest
        The state.

    Returns
    -------
    JoinedColumns or None
        None if they have not been joined or, with a warning, if the file is damaged.
    """
    if manifest.n_rows < JOINED_FROM or is_remote(root) or (root / FOLDER).is_symlink():
        return None
    path = root / FOLDER / _name_of(manifest)
    try:
        return JoinedColumns(map_arrays(path), manifest)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        warnings.warn(f"{path}: {why}; reading the catalogue of every block instead", stacklevel=4)
        return None


def join_columns(root: Path, manifest: Manifest, catalogue: Catalogue) -> None:
    """Join the columns of a large survey, if that has not been done and is possible.

    Parameters
    ----------
    root : Path
        Directory of the survey.
    manifest : Manifest
        The state.
    catalogue : Catalogue
        Of the whole survey in this state.
    """
    if manifest.n_rows < JOINED_FROM or is_remote(root) or catalogue.joined is not None:
        return
    if not os.access(root, os.W_OK):  # of others, or read-only: the files of the blocks will do
        return
    import pyarrow as pa

    folder = root / FOLDER
    if folder.is_symlink():
        raise SurveyError(f"{folder}: a symbolic link inside a survey; remove it")
    path, table = folder / _name_of(manifest), catalogue.arrow(columns_to_join(manifest)).combine_chunks()
    if any(column.nbytes > LONGEST_TEXT for column in table.columns):
        return
    try:
        folder.mkdir(exist_ok=True)
        with write_arrays(path) as file:
            for name in table.column_names:
                for part, values in _buffers(table[name].combine_chunks()).items():
                    file.add(f"{name} {part}", [values])
    except OSError as error:
        warnings.warn(f"{folder}: could not save columns of the catalogue ({error.strerror or error})", stacklevel=2)
        return
    sweep_beside(path)
    catalogue.forget_joined()
    del table
    pa.default_memory_pool().release_unused()  # Arrow would keep it, and the features are about to need memory


def _buffers(column: pa.Array) -> dict[str, NDArray[Any]]:
    """What a column of text or numbers consists of; a slice of a longer one is copied first."""
    import pyarrow as pa

    column = pa.concat_arrays([column]) if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    buffers, n = column.buffers(), len(column)
    found: dict[str, NDArray[Any]] = {}
    if column.null_count:
        found["validity"] = np.frombuffer(buffers[0], np.uint8, -(-n // 8))
    if pa.types.is_string(column.type):
        found["offsets"] = np.frombuffer(buffers[1], np.int32, n + 1)
        n_bytes = int(found["offsets"][-1])
        found["data"] = np.frombuffer(buffers[2], np.uint8, n_bytes) if n_bytes else np.empty(0, np.uint8)
    else:
        found["data"] = np.frombuffer(buffers[1], np.float64, n)
    return found


def _name_of(manifest: Manifest) -> str:
    digests = [record.digests[block_file(i)] for i, record in enumerate(manifest.blocks)]
    return hashlib.sha256(repr((digests, sorted(manifest.columns.items()))).encode()).hexdigest()[:32] + ENDING
