"""A survey on disk: flux on one grid and a catalogue, row by row the same spectra, known by their ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.spectrum import Defect, Resolution, Spectra, Spectrum, WavelengthGrid
from rarespec.survey.store import arrays
from rarespec.survey.store.accounts import load_defects
from rarespec.survey.store.catalogue import Catalogue
from rarespec.survey.store.commit import LOCK, STAGING, recover
from rarespec.survey.store.location import location
from rarespec.survey.store.manifest import NAME as MANIFEST
from rarespec.survey.store.manifest import Manifest
from rarespec.survey.store.precision import Precision
from rarespec.survey.store.row_numbers import is_row_number, row_number, row_numbers

if TYPE_CHECKING:
    import pyarrow as pa
    from astropy.table import Table

    from rarespec.features import Recipe
    from rarespec.rankers import NeighbourGraph
    from rarespec.survey.export import Exported
    from rarespec.survey.features.feature_set import FeatureSet
    from rarespec.survey.store.accounts import IngestReport
    from rarespec.survey.verify import Verification


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring rows of a survey, as `Survey.blocks` reads them.

    Parameters
    ----------
    ids : list of str
        The id of each spectrum.
    flux : (n, pixels) float32 array
        The flux on the survey's grid; 0 in a pixel without data.
    ivar : (n, pixels) float32 array
        The inverse variance of the flux; 0 where the error is not known.
    bad : (n, pixels) bool array
        True where a pixel must not be used.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.survey import Block
    >>> flux = np.ones((2, 3601), np.float32)
    >>> len(Block(["a", "b"], flux, flux, flux < 0))
    2
    """

    ids: list[str]
    flux: NDArray[np.float32]
    ivar: NDArray[np.float32]
    bad: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)


class Survey:
    """Spectra on disk, all on one wavelength grid, with a catalogue row for each.

    An open survey shows the state it had when you opened it, whatever others append meanwhile. `survey[id]` is one
    spectrum, `survey[0]` the first one, and `survey[10:20]`, `survey[mask]` or `survey[ids]` read several into memory.
    `len(survey)` is the number of spectra, `id in survey` says whether this one is there, and a loop over the survey
    reads all of them, block by block.

    Parameters
    ----------
    root : Path
        Its directory. To get a survey, use `Survey.open` or `Survey.create`.
    manifest : Manifest
        What it consists of, with a digest of every file.

    Attributes
    ----------
    path : Path
        Its directory.
    catalogue : Catalogue
        What is known of each spectrum; `survey.catalogue["z"]` is a column, read when you ask for it.
    manifest : Manifest
        What it consists of, with a digest of every file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from rarespec import PAPER_GRID, Spectra, Survey
    >>> flux = np.ones((2, PAPER_GRID.n_pixels), np.float32)
    >>> spectra = Spectra(PAPER_GRID.wavelength, flux, flux, flux < 0, {"id": ["a", "b"], "z": [0.1, 0.2]})
    >>> with TemporaryDirectory() as folder:
    ...     survey = Survey.create(f"{folder}/two.survey")
    ...     report = survey.append(spectra)
    ...     print(len(survey), "a" in survey, survey["b"].flux.shape, survey.catalogue["z"].tolist())
    ...     print(survey[-1].id, survey[survey.catalogue["z"] < 0.15].ids, [spectrum.id for spectrum in survey])
    2 True (3601,) [0.1, 0.2]
    b ['a'] ['a', 'b']
    """

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.path = root
        self._show(manifest)

    def _show(self, manifest: Manifest) -> None:
        """This published state, and nothing that was read of an earlier one."""
        self.manifest = manifest
        self.catalogue = Catalogue(self.path, manifest)
        # Cached properties (ids and their Arrow column) belong to the old state and have one row per old spectrum.
        for name, value in vars(Survey).items():
            if isinstance(value, cached_property):
                vars(self).pop(name, None)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Survey:
        """Open the survey in this directory, or under this URL.

        If a writer was interrupted, its change is finished or undone first.

        Parameters
        ----------
        path : path or str
            The directory, or a URL such as ``s3://bucket/x.survey``.

        Returns
        -------
        Survey
            The survey as it is now.

        Raises
        ------
        UsageError
            If there is no survey.
        SurveyError
            If the survey is damaged.
        """
        root = location(path)
        recover(root)
        return cls(root, Manifest.load(root))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        grid: WavelengthGrid | str | None = None,
        rest_frame: bool = False,
        precision: Precision | str | None = None,
    ) -> Survey:
        """Make a new, empty survey.

        Parameters
        ----------
        path : path or str
            The directory, which must be absent or empty. Traces of an interrupted attempt do not matter.
        grid : WavelengthGrid or str, optional
            The wavelengths on which all spectra are stored, or their text form, such as ``"desi"``. By default the
            first spectra that are added decide; until then `grid` is the paper's.
        rest_frame : bool
            Shift each spectrum to its rest frame by its redshift.
        precision : Precision or str, optional
            ``"noise"``, the default, stores flux in steps of 0.35 of its noise, which adds 1 % to the variance of the
            noise; ``"noise:0.2"`` in steps of 0.2. ``"exact"`` stores float32, which takes about five times the room.

        Returns
        -------
        Survey
            The empty survey; add spectra with `append` or `rarespec.ingest`.

        Raises
        ------
        UsageError
            If something else is in this directory.
        """
        from rarespec.survey.store.writer import SurveyWriter

        root = location(path)
        if _is_in_use(root):
            raise UsageError(f"{root}: already exists and is not empty; open it, or choose another directory")
        wanted = WavelengthGrid.parse(grid) if isinstance(grid, str) else grid
        steps = Precision.parse(precision) if isinstance(precision, str) else precision
        with SurveyWriter(root, wanted, rest_frame, precision=steps) as writer:
            if not writer.manifest.generation or writer.has_grid != writer.manifest.has_grid:
                writer.commit()
        return cls.open(root)

    @property
    def grid(self) -> WavelengthGrid:
        """The wavelengths that all spectra share."""
        return self.manifest.grid

    @property
    def precision(self) -> Precision:
        """In which steps its spectra are stored."""
        return self.manifest.precision

    @property
    def resolution(self) -> Resolution | None:
        """How sharp its spectra are: as said at ingest, as their files say, or as is usual for their survey."""
        from rarespec.survey.resolution import resolution_of

        return resolution_of(self) if len(self) else None

    @property
    def units(self) -> dict[str, str]:
        """Units of catalogue columns, by name: as a joined catalogue says, or as is usual; others are left out."""
        from rarespec.survey.column_units import column_units

        return column_units(self.manifest)

    def __len__(self) -> int:
        return self.manifest.n_rows

    def __repr__(self) -> str:
        return f"<Survey {self.path}: {len(self)} spectra on {self.grid}>"

    def _repr_html_(self) -> str:
        from rarespec.survey.summary import survey_html

        return survey_html(self)

    def to_table(self, columns: list[str] | None = None) -> Table:
        """Give the catalogue as an astropy Table.

        Parameters
        ----------
        columns : list of str, optional
            Which columns; by default all.

        Returns
        -------
        astropy.table.Table
            One row per spectrum. Unknown numbers are NaN, unknown text is empty.
        """
        return self.catalogue.to_table(columns)

    @cached_property
    def ids(self) -> NDArray[Any]:
        """Ids of all spectra, (n,) object array of str."""
        return self.catalogue["id"] if len(self) else np.empty(0, object)

    @cached_property
    def _id_column(self) -> pa.ChunkedArray:
        # Arrow text takes a third of the memory of Python strings, and is searched without building a dictionary.
        return self.catalogue.arrow(["id"]).column(0)

    def rows_of(self, ids: Sequence[str]) -> NDArray[np.intp]:
        """Find the rows of these ids.

        Parameters
        ----------
        ids : sequence of str
            Ids of spectra.

        Returns
        -------
        (n,) intp array
            A row number for each id, from 0; -1 if the survey does not have it.

        Raises
        ------
        TypeError
            If one of them is no text.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        wrong = next((id for id in ids if not isinstance(id, str)), None)
        if wrong is not None:
            raise TypeError(
                f"ids are text, not {type(wrong).__name__} as {wrong!r} is; row numbers go into survey[...]"
            )
        if not len(self):
            return np.full(len(ids), -1)
        wanted = pa.array(list(dict.fromkeys(ids)), pa.string())
        found = pc.index_in(self._id_column, value_set=wanted).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(~np.isnan(found))
        row_of = dict(zip(wanted.take(found[rows].astype(np.intp)).to_pylist(), rows.tolist(), strict=True))
        return np.array([row_of.get(id, -1) for id in ids], dtype=np.intp)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self.rows_of([id])[0] >= 0)

    @overload
    def __getitem__(self, which: str | int | np.integer) -> Spectrum: ...
    @overload
    def __getitem__(self, which: slice | Sequence[Any] | NDArray[Any]) -> Spectra: ...
    def __getitem__(self, which: Any) -> Spectrum | Spectra:
        """One spectrum by its id or row number; several by ids, a slice, a mask or row numbers."""
        found = self.at(self._rows_meant(which))
        return found[0] if isinstance(which, str) or is_row_number(which) else found

    def _rows_meant(self, which: Any) -> NDArray[np.intp]:
        """Find the rows of an id, a row number, or of several."""
        if isinstance(which, str):
            return self._rows_there([which])
        if is_row_number(which):
            return np.array([row_number(which, len(self))])
        if not isinstance(which, slice) and (given := np.asarray(which)).dtype.kind in "UO" and given.ndim:
            return self._rows_there(given.tolist())
        return row_numbers(which, len(self))

    def _rows_there(self, ids: Sequence[str]) -> NDArray[np.intp]:
        """Find the rows of ids that must all be there."""
        rows = self.rows_of(ids)
        missing = [id for id, row in zip(ids, rows, strict=True) if row < 0]
        if missing:
            raise KeyError(f"{self.path}: no spectrum has the id {', '.join(map(repr, missing[:5]))}")
        return rows

    def __iter__(self) -> Iterator[Spectrum]:
        """All spectra, one by one, with their catalogue; memory holds one block at a time."""
        size = self.manifest.block_rows
        for start in range(0, len(self), size):
            yield from self[start : start + size]

    def select(self, ids: Sequence[str]) -> Spectra:
        """Read the spectra with these ids.

        Parameters
        ----------
        ids : sequence of str
            Ids of spectra.

        Returns
        -------
        Spectra
            In this order, with all their catalogue columns.

        Raises
        ------
        KeyError
            If the survey does not have one of them.
        """
        return self.at(self._rows_there(ids))

    def at(self, rows: NDArray[np.intp], columns: list[str] | None = None) -> Spectra:
        """Read the spectra in these rows.

        Parameters
        ----------
        rows : (n,) intp array
            Row numbers, from 0.
        columns : list of str, optional
            Which columns of the catalogue, among them `id`; by default all.

        Returns
        -------
        Spectra
            In this order, with these columns.
        """
        found = arrays.row_values(self.path, rows, self.manifest)
        bad = arrays.unpack(found["mask"], self.grid.n_pixels)
        # a survey without spectra has no columns yet, not even that of ids
        catalogue = {"id": [], **self.catalogue_at(rows, columns)}
        return Spectra(self.grid.wavelength, found["flux"], found["ivar"], bad, catalogue)

    def catalogue_at(self, rows: NDArray[np.intp], columns: list[str] | None = None) -> dict[str, list[Any]]:
        """Read the catalogue in these rows; only the blocks that hold them are read.

        Parameters
        ----------
        rows : (n,) intp array
            Row numbers, from 0.
        columns : list of str, optional
            Which columns; by default all.

        Returns
        -------
        dict
            Column -> list of values, in the order of the rows; None where a value is unknown.
        """
        return self.catalogue.take(rows).arrow(columns).to_pydict()

    def blocks(self) -> Iterator[Block]:
        """Read all spectra, block by block; memory holds one block at a time.

        Yields
        ------
        Block
            The next rows of the survey.
        """
        for i in range(len(self.manifest.blocks)):
            yield self.block(i)

    @property
    def n_blocks(self) -> int:
        """How many blocks the survey has."""
        return len(self.manifest.blocks)

    def block(self, i: int) -> Block:
        """Read one block.

        Parameters
        ----------
        i : int
            Its number, from 0.

        Returns
        -------
        Block
            Its ids, flux, inverse variance and bad pixels.
        """
        ids = self.catalogue.block(i, ["id"]).column(0).to_pylist()
        flux, ivar, mask = (self.block_of(name, i) for name in arrays.VALUES)
        return Block(ids, flux, ivar, arrays.unpack(mask, self.grid.n_pixels))

    def block_of(self, name: str, i: int) -> NDArray[Any]:
        """Read one array of one block: flux, ivar or the packed mask.

        A chunk that was cut short is an error; it never gives stale memory.

        Parameters
        ----------
        name : str
            "flux", "ivar" or "mask".
        i : int
            Number of the block, from 0.

        Returns
        -------
        array
            (rows, pixels) float32 for flux and ivar; the mask has eight pixels in each uint8.
        """
        return arrays.block_values(self.path, name, i, self.manifest)

    def masked_flux(self, i: int) -> NDArray[np.float32]:
        """Read the flux of one block with NaN in bad pixels; errors are not read.

        Parameters
        ----------
        i : int
            Number of the block, from 0.

        Returns
        -------
        (rows, pixels) float32 array
            The flux.
        """
        (flux,) = self.masked_flux_parts(i, self.manifest.block_rows)
        return flux

    def masked_flux_at(self, i: int, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Read the flux of some spectra of one block with NaN in bad pixels.

        Parameters
        ----------
        i : int
            Number of the block, from 0.
        rows : (n,) intp array
            Numbers of the rows within the block.

        Returns
        -------
        (n, pixels) float32 array
            The flux.
        """
        return arrays.masked_flux_at(self.path, i, self.manifest, rows)

    def masked_flux_parts(self, i: int, n_rows: int) -> Iterator[NDArray[np.float32]]:
        """Read the flux of one block with NaN in bad pixels, a few rows at a time.

        Parameters
        ----------
        i : int
            Number of the block, from 0.
        n_rows : int
            Rows of a part: few enough that a part stays in the processor's cache while it is used.

        Yields
        ------
        (m, pixels) float32 array
            The next rows, yours to change.
        """
        return arrays.masked_flux_parts(self.path, i, self.manifest, n_rows)

    def export(self, which: Any, out: str | os.PathLike[str], format: str | None = None, unit: str = "") -> Exported:
        """Write spectra to files that other programs read, with flux, errors, mask and catalogue.

        Parameters
        ----------
        which : ids, row numbers, slice or mask
            Which spectra, as in ``survey[which]``; a single id too.
        out : path or str
            The file, or the directory for formats with a file for each spectrum. It must not exist yet.
        format : str, optional
            "specutils", "fits", "sdss-lite", "parquet" or "zarr"; by default what the end of `out` says.
        unit : str, optional
            Unit of the flux; by default that of the surveys whose unit is known.

        Returns
        -------
        Exported
            What was written, and what there is to say about it.

        Raises
        ------
        UsageError
            If the format does not exist, or something is at `out` already.
        KeyError
            If the survey does not have one of the ids.
        """
        from rarespec.survey.export import export_rows

        return export_rows(self, self._rows_meant(which), out, format, unit)

    def append(self, spectra: Spectra | Iterable[Spectra]) -> IngestReport:
        """Add spectra, and show the survey with them from now on.

        Spectra on another grid are resampled. One whose id the survey has already is not stored again.

        Parameters
        ----------
        spectra : Spectra or iterable of Spectra
            The spectra; an iterable is read stack by stack.

        Returns
        -------
        IngestReport
            How many were stored, repeated and defective.

        Raises
        ------
        BusyError
            If another process is writing to this survey.
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
        """Compute the features of every spectrum, or read them if the survey keeps them already.

        Parameters
        ----------
        recipe : Recipe, optional
            How features are made; by default the paper's.
        **settings : dict
            Those of `rarespec.features_of`: refit, progress, engine, device.

        Returns
        -------
        FeatureSet
            The features, in the order of the survey.
        """
        from rarespec.features import PaperFeatures
        from rarespec.survey.features.computing import features_of

        return features_of(self, PaperFeatures() if recipe is None else recipe, **settings)

    def neighbours(self, k: int = 5, recipe: Recipe | None = None, **settings: Any) -> NeighbourGraph:
        """Find the k nearest neighbours of every spectrum, or read them if the survey keeps them already.

        Parameters
        ----------
        k : int
            How many neighbours.
        recipe : Recipe, optional
            The features in which spectra are compared; by default the paper's.
        **settings : dict
            Those of `rarespec.graph_of`: progress, device.

        Returns
        -------
        NeighbourGraph
            Neighbours and distances of the spectra that have features.
        """
        from rarespec.survey.features.neighbours import graph_of

        return graph_of(self.features(recipe), k, **settings)

    def verify(self) -> Verification:
        """Check every file against its digest, and the contents against each other.

        Returns
        -------
        Verification
            What is wrong, if anything.
        """
        from rarespec.survey.verify import verify

        return verify(self.path)


def _is_in_use(root: Path) -> bool:
    """Whether there is more than the traces of a survey that was about to be made."""
    if not root.exists():
        return False
    recover(root)
    is_empty_survey = (root / MANIFEST).exists() and not Manifest.load(root).n_rows
    return not is_empty_survey and any(path.name not in (LOCK, STAGING) for path in root.iterdir())
