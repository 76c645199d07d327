"""A HATS catalogue on disk or under a URL: recognised by its files, opened by LSDB."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rarespec.engines.here import Here
from rarespec.errors import SurveyError, UsageError
from rarespec.formats.matrices.multimodal_universe import Layout
from rarespec.formats.matrices.nested_spectra import Arms, layout_of
from rarespec.formats.reader import MAX_ROWS, Found, ReadOptions
from rarespec.formats.source import Source
from rarespec.formats.stacks import Origin
from rarespec.formats.storable import storable
from rarespec.progress import Progress
from rarespec.spectrum import DefectError, Reason, Spectra, WavelengthGrid
from rarespec.survey.placement import place
from rarespec.survey.store.location import is_remote, location

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from lsdb.catalog import Catalog


MARKS = ("hats.properties", "collection.properties", "properties")
NAMING = ("hats_primary_table_url", "all_margins", "default_margin", "all_indexes", "default_index", "all_extensions")
"""Properties of a collection that name catalogues."""
ROLES = ("spectrum", "flux", "wavelength", "ivar", "error", "mask", "arm")
"""What a user may name: the columns of the spectra, and the fields in them."""


def is_hats(place: str | os.PathLike[str]) -> bool:
    """Say whether there is a HATS catalogue, or a collection of them, in this directory."""
    root = location(place)
    return any((root / name).is_file() for name in MARKS)


def is_catalogue(place: Any) -> bool:
    """Say whether this is a catalogue of LSDB, or the directory or URL of a HATS catalogue."""
    if isinstance(place, str | os.PathLike):
        return is_hats(place)
    return type(place).__module__.split(".")[0] == "lsdb"


def require_lsdb() -> Any:
    try:
        import lsdb
    except ImportError as error:
        raise UsageError(f"HATS catalogues need LSDB: pip install 'rarespec[hats]' ({error})") from None
    return lsdb


def open_catalogue(catalogue: Catalog | str | os.PathLike[str]) -> Catalog:
    """Open the catalogue with all its columns; take one of LSDB, which may have been filtered, as it is."""
    lsdb = require_lsdb()
    if isinstance(catalogue, lsdb.catalog.Catalog):
        return cast(Any, catalogue)
    root = location(cast(str, catalogue))
    if not is_hats(root):
        raise UsageError(f"{root}: not a HATS catalogue (no {MARKS[0]})")
    _check_within(root)
    try:
        return lsdb.open_catalog(str(root), columns="all", storage_options=_options(root))
    except OSError:
        raise
    except Exception as error:  # its files are read by several libraries, each with faults of its own
        raise UsageError(
            f"{root}: cannot be opened as a HATS catalogue ({type(error).__name__}: {str(error)[:300]}); copy it again"
        ) from error


def _check_within(root: Any) -> None:
    """A collection names the catalogues it consists of. Those of others, or of the web, are not opened unasked."""
    collection = root / "collection.properties"
    if not collection.is_file():
        return
    text = collection.read_text(errors="replace").replace("\\\n", "")  # a value may go on in the next line
    for line in text.splitlines():
        key, *words = re.split(r"[=:\s]+", line.strip())
        if key in NAMING and any(re.search(r"[/\\]|\.\.", word) for word in words):
            raise UsageError(
                f"{collection}: {key} names {' '.join(words)[:200]!r}, but the collection has no such catalogue"
            )


def _options(root: Any) -> dict[str, Any] | None:
    return dict(root.storage_options) if is_remote(root) else None


# ---- Which columns hold the spectra.


def layout_in(catalogue: Catalog, named: Mapping[str, Any] | None = None) -> Layout | Arms:
    """Find the columns that hold the spectra, by their fields, before any partition is read.

    Parameters
    ----------
    catalogue : Catalog
        A catalogue of LSDB.
    named : mapping, optional
        What cannot be guessed: `spectrum`, a column or all arms of a spectrum; fields in it by their role.

    Returns
    -------
    Layout or Arms
        How to read a partition.

    Raises
    ------
    UsageError
        If no column holds spectra, or it is not clear which.
    """
    for role in named or {}:
        if role not in ROLES:
            raise UsageError(f"--column {role}: no such role; choose from {', '.join(ROLES)}")
    try:
        return layout_of(_schema(catalogue), named)
    except DefectError as error:
        raise UsageError(
            f"{catalogue.name}: {error.detail}; open the catalogue with all its columns, or name them: "
            "--column spectrum=spectra_b,spectra_r,spectra_z --column flux=NAME"
        ) from None


def only_needed(catalogue: Catalog, layout: Layout | Arms) -> Catalog:
    """Leave out nested columns that are no spectra, such as light curves, so that they are not read."""
    needed = [*layout.columns, *layout.scalars]
    return catalogue if len(needed) == len(catalogue.columns) else cast(Any, catalogue[needed])


def _schema(catalogue: Catalog) -> pa.Schema:
    import pyarrow as pa

    # The types of plain columns do not matter here.
    kinds = {name: getattr(dtype, "pyarrow_dtype", pa.null()) for name, dtype in catalogue.dtypes.items()}
    return pa.schema(list(kinds.items()))


# ---- A partition as LSDB hands it out, and the spectra in it.


def name_of(pixel: Any) -> str:
    """Name a partition as the files of a HATS catalogue are named."""
    return f"Norder={pixel.order}/Npix={pixel.pixel}"


def spectra_in(
    partition: pd.DataFrame, name: str, layout: Layout | Arms, grid: WavelengthGrid | None
) -> Iterator[Found]:
    """Read all spectra of a partition on this grid, as an ingest would store them, and what is wrong with the others.

    Parameters
    ----------
    partition : pandas.DataFrame
        As LSDB hands it out.
    name : str
        Of the partition; spectra name it as their source.
    layout : Layout or Arms
        Which columns hold the spectra.
    grid : WavelengthGrid or None
        On which the spectra are put; None to leave them on their own pixels.

    Yields
    ------
    Spectra, Defect, Skipped or Noted
        Spectra and defects in the order of the rows; what was decided about spectra comes before them.
    """
    if not len(partition):
        return
    table = _arrow(partition, layout)
    origin = Origin(cast(Source, _Named(name, Path(name))), ReadOptions())
    for first in range(0, len(table), MAX_ROWS):
        (batch,) = table.slice(first, MAX_ROWS).combine_chunks().to_batches()
        for found in layout.spectra(batch, origin, first):
            if isinstance(found, Spectra):
                yield from _stored(found, name, grid)
            else:
                yield found


def _stored(spectra: Spectra, name: str, grid: WavelengthGrid | None) -> Iterator[Found]:
    for found in storable(spectra, name):
        if isinstance(found, Spectra) and grid is not None:
            yield from place(found, grid)
        else:
            yield found


@dataclass(frozen=True)
class _Named:
    """Takes the place of a file where spectra say where they come from."""

    name: str
    path: Path


def _arrow(partition: pd.DataFrame, layout: Layout | Arms) -> pa.Table:
    import pyarrow as pa

    needed = [*layout.columns, *layout.scalars]
    lost = [name for name in needed if name not in partition.columns]
    if lost:
        raise DefectError(Reason.MISSING_COLUMN, f"it has no {', '.join(lost)}, which the catalogue has")
    return pa.table({name: _arrow_column(partition[name]) for name in needed})


def _arrow_column(column: pd.Series) -> Any:
    """A nested column of LSDB is a struct of lists, as in its file."""
    import pyarrow as pa

    nested = getattr(column.array, "struct_array", None)
    return pa.array(column, from_pandas=True) if nested is None else nested


# ---- A function over the partitions of a catalogue, through LSDB: one that fails is reported and does not stop the
# others.


AT_ONCE = 2
"""Partitions in memory without a cluster: each may be a gigabyte."""
OUTCOME = "outcome"
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Failed:
    """A partition that could not be read, and why."""

    why: str


def over_partitions(
    catalogue: Catalog,
    function: Callable[[pd.DataFrame, Any, Any], Outcome],
    shared: Any,
    progress: Progress | None = None,
) -> Iterator[tuple[str, Outcome | Failed]]:
    """Compute `function(partition, pixel, shared)` for each partition, in the order of the sky.

    With a Dask client active its workers do it, and `shared` travels to each of them once. A partition that cannot be
    read does not stop the others.

    Parameters
    ----------
    catalogue : Catalog
        A catalogue of LSDB.
    function : callable
        Of (partition, pixel, shared).
    shared : object
        What every call needs.
    progress : callable, optional
        Called with the partitions done, and in all.

    Yields
    ------
    name : str
        Of the partition.
    outcome : object
        What the function returned; `Failed` if the partition could not be read.

    Raises
    ------
    SurveyError
        If no partition at all could be read.
    """
    client = _active_client()
    travelling = client.scatter(shared, broadcast=True, hash=False) if client else shared
    mapped = catalogue.map_partitions(_box_result, function, travelling, include_pixel=True, meta=_box(None).iloc[:0])
    pixels = mapped.get_ordered_healpix_pixels()
    at_once = AT_ONCE if client is None else max(AT_ONCE, 2 * sum(client.nthreads().values()))
    n_failed = 0
    for n_done, (pixel, outcome) in enumerate(
        zip(pixels, Here(at_once).map(_compute, mapped, pixels), strict=True), start=1
    ):
        n_failed += isinstance(outcome, Failed)
        if n_failed == len(pixels):
            raise SurveyError(f"{catalogue.name}: no partition can be read; {name_of(pixel)}: {outcome.why}")
        if progress:
            progress(n_done, len(pixels))
        yield name_of(pixel), outcome


def _active_client() -> Any:
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def _box_result(partition: pd.DataFrame, pixel: Any, function: Callable[..., Any], shared: Any) -> pd.DataFrame:
    return _box(function(partition, pixel, shared))


def _box(outcome: Any) -> pd.DataFrame:
    """LSDB carries tables: one of a single cell."""
    import pandas as pd

    return pd.DataFrame({OUTCOME: pd.Series([outcome], dtype=object)})


def _compute(mapped: Catalog, pixel: Any) -> Any:
    try:
        return mapped.get_partition(pixel.order, pixel.pixel).compute(progress_bar=False)[OUTCOME].iloc[0]
    except Exception as error:  # of Parquet, of the file system, of a worker that died
        return Failed(" ".join(f"{type(error).__name__}: {error}".split()))
