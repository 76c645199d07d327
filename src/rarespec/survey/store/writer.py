"""Appending spectra to a survey: rows gather in a buffer, full blocks are staged, a commit publishes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from rarespec.errors import SurveyError, UsageError
from rarespec.spectrum import PAPER_GRID, Spectra, WavelengthGrid
from rarespec.spectrum.spectra import Catalogue
from rarespec.survey.store import arrays
from rarespec.survey.store.catalogue import Catalogue as StoredCatalogue
from rarespec.survey.store.catalogue import as_column, fits_a_double, merge_types, type_named
from rarespec.survey.store.commit import (
    JOURNAL,
    LOCK,
    STAGING,
    Commit,
    recover_locked,
    refuse_links_out,
    sha256_of,
    writer_lock,
)
from rarespec.survey.store.location import refuse_remote
from rarespec.survey.store.manifest import (
    BLOCK_ROWS,
    UNDECIDED,
    BlockRecord,
    Manifest,
    block_file,
    check_block_size,
    files_of_block,
    metadata_file,
)
from rarespec.survey.store.manifest import NAME as MANIFEST
from rarespec.survey.store.precision import Precision, Stored
from rarespec.versions import versions_with

if TYPE_CHECKING:
    import pyarrow as pa


class SurveyWriter:
    """The one writer of a survey; nothing it adds is visible before `commit`.

    Parameters
    ----------
    root : Path
        Directory of the survey, made if it does not exist.
    grid : WavelengthGrid or None
        The wavelengths of a new survey; an existing one must have the same. None for those of the existing one; a new
        one then has none before `decide_grid`.
    rest_frame : bool
        Whether its spectra are at rest; an existing survey must have the same.
    block_rows : int
        Spectra in each block of a new survey.
    precision : Precision, optional
        In which steps a new survey stores its spectra, of their noise by default; an existing one must have the same.

    Raises
    ------
    BusyError
        If another process is writing to this survey.
    UsageError
        If the directory holds something else, or a survey with another grid or frame.
    """

    def __init__(
        self,
        root: Path,
        grid: WavelengthGrid | None,
        rest_frame: bool = False,
        block_rows: int = BLOCK_ROWS,
        precision: Precision | None = None,
    ) -> None:
        self.root = root
        self._exit = ExitStack()
        refuse_other_directories(root)
        root.mkdir(parents=True, exist_ok=True)
        self._exit.enter_context(writer_lock(root))
        try:
            recover_locked(root)
            refuse_links_out(root)
            self.manifest, self.has_grid = _manifest_for(root, grid, rest_frame, block_rows, precision)
            self._start_buffer()
        except BaseException:
            self._exit.close()
            raise

    def __enter__(self) -> SurveyWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._exit.close()

    def decide_grid(self, grid: WavelengthGrid) -> None:
        """Give a survey without spectra the wavelengths that it will have."""
        _check_grid(self.root, grid, self.manifest.block_rows)
        self.manifest, self.has_grid = replace(self.manifest, grid=grid), True
        self._start_buffer()

    def _start_buffer(self) -> None:
        """Start with an empty block, or with the last one of the survey if it still has room."""
        rows, precision = self.manifest.block_rows, self.manifest.precision
        # Rows wait as they will be stored: packing what was unpacked would round it a second time.
        self._buffer: Stored = {
            name: np.zeros((rows, width), precision.dtypes[name])
            for name, width in precision.widths(self.manifest.grid.n_pixels).items()
        }
        self._values: Catalogue = {}
        self._beyond_doubles: set[str] = set()
        self._commit: Commit | None = None
        self._zarr: dict[str, Any] | None = None
        self._staged: dict[int, BlockRecord] = {}
        self._columns = dict(self.manifest.columns)
        self._block = len(self.manifest.blocks)
        self._filled = 0
        if self.manifest.blocks and self.manifest.blocks[-1].rows < rows:
            self._load_last_block()

    def _load_last_block(self) -> None:
        """Load the last block into the buffer once its digests match: rewriting must not make damage look sound."""
        for name, digest in self.manifest.blocks[-1].digests.items():
            if not (self.root / name).exists() or sha256_of(self.root / name) != digest:
                raise SurveyError(f"{self.root / name}: changed since it was written; run `rarespec verify`")
        self._block -= 1
        self._filled = self.manifest.blocks[-1].rows
        for name in self._buffer:
            rows = arrays.stored_block(self.root, name, self._block, self.manifest)
            self._buffer[name][: self._filled] = rows[: self._filled]
        self._values = StoredCatalogue(self.root, self.manifest).block(self._block).to_pydict()

    def add(self, spectra: Spectra, on_full_block: Callable[[], None] | None = None) -> None:
        """Take these spectra, which lie on the survey's grid; full blocks are written to the staging area."""
        if not np.array_equal(spectra.wavelength, self.manifest.grid.wavelength):
            raise ValueError("spectra are not on the survey's grid; use rarespec.spectrum.resample first")
        self.has_grid = True
        start = 0
        while start < len(spectra):
            stop = min(len(spectra), start + self.manifest.block_rows - self._filled)
            self._fill(spectra, start, stop)
            start = stop
            if self._filled == self.manifest.block_rows:
                self._close_block()
                if on_full_block:
                    on_full_block()

    def _fill(self, spectra: Spectra, start: int, stop: int) -> None:
        flux = np.asarray(spectra.flux[start:stop], np.float32)
        ivar = np.zeros_like(flux) if spectra.ivar is None else np.asarray(spectra.ivar[start:stop], np.float32)
        packed = self.manifest.precision.pack(flux, ivar, spectra.bad[start:stop], self._filled)
        self._fill_packed(packed, {name: values[start:stop] for name, values in spectra.catalogue.items()})

    def _fill_packed(self, packed: Stored, catalogue: Catalogue) -> None:
        into = slice(self._filled, self._filled + len(packed["flux"]))
        for name, rows in packed.items():
            self._buffer[name][into] = rows
        for name, values in catalogue.items():
            column = self._values.setdefault(name, [])
            column.extend([None] * (self._filled - len(column)))  # rows before that did not have this column
            column.extend(values)
        self._filled = into.stop

    def add_packed_block(self, packed: Stored, catalogue: Catalogue) -> None:
        """Take a whole block of spectra that are packed already, as those of another survey of the same kind are.

        Parameters
        ----------
        packed : dict
            `block_rows` rows of each array, as they are stored.
        catalogue : dict
            Column -> values of these rows.
        """
        if self._filled or len(packed["flux"]) != self.manifest.block_rows:
            raise ValueError("packed spectra are taken in whole blocks, after whole blocks")
        self.has_grid = True
        self._fill_packed(packed, catalogue)
        self._close_block()

    def _close_block(self) -> None:
        """Stage the block, which is full, and begin the next one."""
        self._stage_block()
        self._block, self._filled, self._values = self._block + 1, 0, {}

    def commit(
        self,
        files: dict[str, bytes] | None = None,
        unfinished: tuple[str, ...] = (),
        provenance: tuple[dict[str, Any], ...] | None = None,
        partial: bool = True,
    ) -> Manifest:
        """Publish all that was added.

        Parameters
        ----------
        files : dict, optional
            Name -> content of other files to publish with it.
        unfinished : tuple of str
            Input files of which not all is stored yet.
        provenance : tuple of dict, optional
            How the survey came to be; by default as before.
        partial : bool
            Publish a last block that is not full; otherwise it waits for the next commit.

        Returns
        -------
        Manifest
            The new state.
        """
        if partial and self._filled > self._rows_on_disk():
            self._stage_block()
        commit = self._staging()
        other = dict(self.manifest.files)
        for name, content in (files or {}).items():
            commit.path(name).write_bytes(content)
            other[name] = commit.digest(name)
        blocks = self._all_blocks()
        arrays.resize(self._arrays(), sum(block.rows for block in blocks))
        # The metadata of the arrays holds their length: it must appear together with the rows that it counts.
        other |= {name: commit.digest(name) for name in map(metadata_file, self._buffer)}
        self.manifest = replace(
            self.manifest,
            generation=self.manifest.generation + 1,
            blocks=blocks,
            columns=dict(self._columns),
            files=other,
            unfinished=unfinished,
            provenance=self._with_grid(self.manifest.provenance if provenance is None else provenance),
        )
        commit.publish(self.manifest)
        self._staged, self._commit, self._zarr = {}, None, None
        return self.manifest

    def _with_grid(self, provenance: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        """Let the last entry say that the grid is still to come, or no longer say so."""
        if not self.has_grid:
            entries = provenance or (provenance_entry("create"),)
            return (*entries[:-1], entries[-1] | {"grid": UNDECIDED})
        if provenance and provenance[-1].get("grid") == UNDECIDED:
            return (*provenance, provenance_entry("create", grid=str(self.manifest.grid)))
        return provenance

    def _rows_on_disk(self) -> int:
        """Rows of the current block that are already part of the published survey."""
        return self.manifest.blocks[self._block].rows if self._block < len(self.manifest.blocks) else 0

    def _all_blocks(self) -> tuple[BlockRecord, ...]:
        blocks = dict(enumerate(self.manifest.blocks)) | self._staged
        return tuple(blocks[i] for i in range(len(blocks)))

    def _staging(self) -> Commit:
        if self._commit is None:
            self._commit = Commit(self.root)
        return self._commit

    def _arrays(self) -> dict[str, Any]:
        if self._zarr is None:
            self._zarr = arrays.create(self._staging().staging, self.manifest)
        return self._zarr

    def _stage_block(self) -> None:
        """Write the buffer as the files of its block."""
        commit, start = self._staging(), self._block * self.manifest.block_rows
        staged = self._arrays()
        arrays.resize(staged, start + self._filled)
        for name in self._buffer:
            staged[name][start : start + self._filled] = self._buffer[name][: self._filled]
        self._write_catalogue(commit)
        digests = {name: commit.digest(name) for name in files_of_block(self._block, self.manifest.precision)}
        self._staged[self._block] = BlockRecord(self._filled, digests)

    def _write_catalogue(self, commit: Commit) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # Kept as Python values until here: a block is turned into Arrow columns once, not spectrum by spectrum.
        found = {
            name: as_column(values + [None] * (self._filled - len(values))) for name, values in self._values.items()
        }
        for name, column in found.items():
            self._columns[name] = self._type_with(name, column)
        columns = {
            name: found[name].cast(type_named(kind)) if name in found else pa.nulls(self._filled, type_named(kind))
            for name, kind in self._columns.items()
        }
        pq.write_table(pa.table(columns), commit.path(block_file(self._block)), compression="zstd")

    def _type_with(self, name: str, column: pa.Array) -> str:
        """The type of this catalogue column once it also holds these values."""
        old, new = self._columns.get(name, "null"), str(column.type)
        if new == "int64" and not fits_a_double(column):
            self._beyond_doubles.add(name)
        kind = merge_types(old, new)
        if kind == "double" and "int64" in (old, new) and self._has_large_integers(name):
            return "string"
        return kind

    def _has_large_integers(self, name: str) -> bool:
        """Look up, when the type of a column changes, whether a whole number in it would lose digits as a double."""
        if name in self._beyond_doubles:
            return True
        if self.manifest.columns.get(name) != "int64":
            return False
        return not fits_a_double(StoredCatalogue(self.root, self.manifest).arrow([name]).column(0))


def refuse_other_directories(root: Path) -> None:
    """Before anything is written: a survey grows where one is, or begins where nothing is.

    One that was interrupted while its first files moved into place has a journal, and no manifest yet.

    Parameters
    ----------
    root : Path
        Where a survey shall be.

    Raises
    ------
    UsageError
        If something else is there, or the place is an object store.
    """
    refuse_remote(root)
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root}: is a file; a survey is a directory")
    is_survey = (root / MANIFEST).exists() or os.path.lexists(root / JOURNAL)
    if root.is_dir() and not is_survey and any(path.name not in (LOCK, STAGING) for path in root.iterdir()):
        raise UsageError(f"{root}: already exists and is not a survey; choose another directory")


def _manifest_for(
    root: Path, grid: WavelengthGrid | None, rest_frame: bool, block_rows: int, precision: Precision | None
) -> tuple[Manifest, bool]:
    """Load the manifest of the survey that is there, which must have this grid, or make one; say if it has a grid."""
    if not (root / MANIFEST).exists():
        _check_grid(root, grid or PAPER_GRID, block_rows)
        new = Manifest(grid or PAPER_GRID, rest_frame, block_rows, precision=precision or Precision())
        return new, grid is not None
    manifest = Manifest.load(root)
    if grid is not None and not manifest.has_grid:
        _check_grid(root, grid, manifest.block_rows)
        manifest = replace(manifest, grid=grid)
    if grid not in (None, manifest.grid):
        raise UsageError(
            f"{root}: this survey has the grid {manifest.grid}, not {grid}; it keeps its grid. Leave out --grid, or "
            "ingest into a new survey"
        )
    if manifest.rest_frame != rest_frame:
        frame = "rest" if manifest.rest_frame else "observed"
        raise UsageError(f"{root}: this survey is in the {frame} frame; spectra of both frames cannot be mixed")
    if precision not in (None, manifest.precision):
        raise UsageError(
            f"{root}: this survey has the precision {manifest.precision}, not {precision}; leave out --precision, or "
            "change it with `rarespec repack`"
        )
    return manifest, grid is not None or manifest.has_grid


def _check_grid(root: Path, grid: WavelengthGrid, block_rows: int) -> None:
    try:
        check_block_size(block_rows, grid.n_pixels)
    except ValueError as error:
        raise UsageError(f"{root}: {grid} is not a valid grid for a survey ({error})") from None


def provenance_entry(action: str, **details: Any) -> dict[str, Any]:
    """Record how these rows were made: versions, time and choices, for the manifest."""
    return {
        "action": action,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        **versions_with("numpy", "zarr", "pyarrow", "astropy"),
        **details,
    }
