"""A survey on disk: flux on one grid and a catalogue, row by row the same spectra, known by their ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.spectrum import PAPER_GRID, Defect, Spectra, Spectrum, WavelengthGrid
from rarespec.survey.store import arrays
from rarespec.survey.store.accounts import load_defects
from rarespec.survey.store.catalogue import Catalogue
from rarespec.survey.store.commit import LOCK, STAGING, recover
from rarespec.survey.store.location import location
from rarespec.survey.store.manifest import ARRAYS, Manifest
from rarespec.survey.store.manifest import NAME as MANIFEST

if TYPE_CHECKING:
    import pyarrow as pa
    from astropy.table import Table

    from rarespec.features import Recipe
    from rarespec.rankers import NeighbourGraph
    from rarespec.survey.features.feature_set import FeatureSet
    from rarespec.survey.store.accounts import IngestReport
    from rarespec.survey.verify import Verification


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring rows of a survey: ids, flux and ivar (n, pixels) float32, bad (n, pixels) bool."""

    ids: list[str]
    flux: NDArray[np.float32]
    ivar: NDArray[np.float32]
    bad: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)


class Survey:
    """Spectra on disk. An open survey shows one published state, whatever is appended meanwhile.

    `survey[id]` is one spectrum, `len(survey)` how many there are, and `id in survey` whether this one is there.

    path      : its directory
    catalogue : its columns, `survey.catalogue["z"]`, each read when it is asked for
    grid      : the wavelengths that all its spectra share
    manifest  : what it consists of, with a digest of every file
    """

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.path = root
        self._show(manifest)

    def _show(self, manifest: Manifest) -> None:
        """This published state, and nothing that was read of an earlier one."""
        self.manifest = manifest
        self.catalogue = Catalogue(self.path, manifest)
        for name, value in vars(Survey).items():
            if isinstance(value, cached_property):
                vars(self).pop(name, None)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Survey:
        """The survey in this directory, or under this URL (s3://bucket/x.survey).

        What an interrupted writer left behind in a directory is cleared away first.
        """
        root = location(path)
        recover(root)
        return cls(root, Manifest.load(root))

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], grid: WavelengthGrid = PAPER_GRID, rest_frame: bool = False
    ) -> Survey:
        """A new, empty survey in this directory, which must be absent or empty.

        What an interrupted try to make it left there is no hindrance.
        """
        from rarespec.survey.store.writer import SurveyWriter

        root = location(path)
        if _is_in_use(root):
            raise UsageError(f"{root}: already exists and is not empty; open it, or choose another directory")
        with SurveyWriter(root, grid, rest_frame) as writer:
            if not writer.manifest.generation:
                writer.commit()
        return cls.open(root)

    @property
    def grid(self) -> WavelengthGrid:
        return self.manifest.grid

    def __len__(self) -> int:
        return self.manifest.n_rows

    def __repr__(self) -> str:
        return f"<Survey {self.path}: {len(self)} spectra on {self.grid}>"

    def _repr_html_(self) -> str:
        from rarespec.survey.summary import survey_html

        return survey_html(self)

    def to_table(self, columns: list[str] | None = None) -> Table:
        """These columns (all by default) of the catalogue as an astropy Table; numbers unknown are NaN, text empty."""
        table = self.catalogue.table(columns)
        for name in table.colnames:
            if table[name].dtype.kind == "O":  # text of fixed width, which every format of astropy can write
                table[name] = table[name].astype(str)
        return table

    @cached_property
    def ids(self) -> NDArray[Any]:
        """Ids of all spectra, (n,) object array of str."""
        return self.catalogue["id"] if len(self) else np.empty(0, object)

    @cached_property
    def _id_column(self) -> pa.ChunkedArray:
        # Arrow text takes a third of the memory of Python strings, and is searched without building a dictionary.
        return self.catalogue.arrow(["id"]).column(0)

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.intp]:
        """Rows of these ids; -1 for one that is not in the survey."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not len(self):
            return np.full(len(ids), -1)
        wanted = pa.array(list(dict.fromkeys(ids)), pa.string())
        found = pc.index_in(self._id_column, value_set=wanted).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(~np.isnan(found))
        row_of = dict(zip(wanted.take(found[rows].astype(np.intp)).to_pylist(), rows.tolist(), strict=True))
        return np.array([row_of.get(id, -1) for id in ids], dtype=np.intp)

    def __contains__(self, id: str) -> bool:
        return bool(self.rows_of([id])[0] >= 0)

    def __getitem__(self, id: str) -> Spectrum:
        return self.select([id])[0]

    def select(self, ids: Sequence[str]) -> Spectra:
        """The spectra with these ids, in this order, with all their catalogue columns."""
        rows = self.rows_of(ids)
        missing = [id for id, row in zip(ids, rows, strict=True) if row < 0]
        if missing:
            raise KeyError(f"{self.path}: no spectrum has the id {', '.join(map(repr, missing[:5]))}")
        return self.at(rows)

    def at(self, rows: NDArray[np.intp]) -> Spectra:
        """The spectra in these rows, in this order, with all their catalogue columns."""
        flux, ivar, mask = (
            arrays.some_rows(self.path, name, rows, self.manifest.block_rows, self.grid) for name in ARRAYS
        )
        bad = arrays.unpack(mask, self.grid.n_pixels)
        return Spectra(self.grid.wavelength, flux, ivar, bad, self.catalogue_at(rows))

    def catalogue_at(self, rows: NDArray[np.intp], columns: list[str] | None = None) -> dict[str, list[Any]]:
        """These columns (all by default) of these rows; reads only the blocks in which they are."""
        import pyarrow as pa

        if not len(rows):
            return {name: [] for name in columns or self.catalogue.columns}
        order = np.argsort(rows, kind="stable")
        block_of = rows[order] // self.manifest.block_rows
        blocks, starts = np.unique(block_of, return_index=True)
        parts = [
            self.catalogue.block(int(block), columns).take(rows[places] - block * self.manifest.block_rows)
            for block, places in zip(blocks, np.split(order, starts[1:]), strict=True)
        ]
        return pa.concat_tables(parts).take(np.argsort(order)).to_pydict()

    def blocks(self) -> Iterator[Block]:
        """All spectra, block by block; memory holds one block at a time."""
        for i in range(len(self.manifest.blocks)):
            yield self.block(i)

    @property
    def n_blocks(self) -> int:
        return len(self.manifest.blocks)

    def block(self, i: int) -> Block:
        ids = self.catalogue.block(i, ["id"]).column(0).to_pylist()
        flux, ivar, mask = (self.block_of(name, i) for name in ARRAYS)
        return Block(ids, flux, ivar, arrays.unpack(mask, self.grid.n_pixels))

    def block_of(self, name: str, i: int) -> NDArray[Any]:
        """The rows of one block of flux, ivar or (packed) mask alone.

        A chunk that was cut short is an error, never stale memory.
        """
        rows = arrays.whole_block(self.path, name, i, self.manifest.block_rows, self.grid)
        return rows[: self.manifest.blocks[i].rows]

    def masked_flux(self, i: int) -> NDArray[np.float32]:
        """Flux of a block with NaN where a pixel is bad, (rows, pixels); errors are not read."""
        flux = self.block_of("flux", i)
        flux[arrays.unpack(self.block_of("mask", i), self.grid.n_pixels)] = np.nan
        return flux

    def append(self, spectra: Spectra | Iterable[Spectra]) -> IngestReport:
        """Add spectra, put on the grid if they are not; returns how many were stored, repeated and defective.

        This object then shows the survey with the new spectra in it.
        """
        from rarespec.survey.store.intake import append_to

        report = append_to(self, [spectra] if isinstance(spectra, Spectra) else spectra)
        self._show(Survey.open(self.path).manifest)
        return report

    @property
    def defects(self) -> list[Defect]:
        """What ingest could not store, with reasons."""
        return load_defects(self.path)

    def features(self, recipe: Recipe | None = None, **settings: Any) -> FeatureSet:
        """Features of every spectrum, kept with the survey; by default the paper's. See `rarespec.features_of`."""
        from rarespec.features import PaperFeatures
        from rarespec.survey.features.computing import features_of

        return features_of(self, PaperFeatures() if recipe is None else recipe, **settings)

    def neighbours(self, k: int = 5, recipe: Recipe | None = None, **settings: Any) -> NeighbourGraph:
        """The k nearest neighbours of every spectrum, kept with the survey. See `rarespec.graph_of`."""
        from rarespec.survey.features.neighbours import graph_of

        return graph_of(self.features(recipe), k, **settings)

    def verify(self) -> Verification:
        """Check every file against its digest, and the contents against each other."""
        from rarespec.survey.verify import verify

        return verify(self.path)


def _is_in_use(root: Path) -> bool:
    """Whether there is more than the traces of a survey that was about to be made."""
    if not root.exists():
        return False
    recover(root)
    is_empty_survey = (root / MANIFEST).exists() and not Manifest.load(root).n_rows
    return not is_empty_survey and any(path.name not in (LOCK, STAGING) for path in root.iterdir())
