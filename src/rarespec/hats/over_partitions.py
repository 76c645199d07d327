"""A function over the partitions of a catalogue, through LSDB: one that fails is told and does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rarespec.engines.here import Here
from rarespec.hats.partition import name_of
from rarespec.progress import Progress
from rarespec.survey.manifest import SurveyError

if TYPE_CHECKING:
    import pandas as pd
    from lsdb.catalog import Catalog

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
    """`function(partition, pixel, shared)` of each partition, with its name and in the order of the sky.

    With a Dask client active its workers do it, and `shared` travels to each of them once. A SurveyError when no
    partition at all could be read.
    """
    client = _active_client()
    travelling = client.scatter(shared, broadcast=True, hash=False) if client else shared
    mapped = catalogue.map_partitions(_boxed, function, travelling, include_pixel=True, meta=_box(None).iloc[:0])
    pixels = mapped.get_ordered_healpix_pixels()
    at_once = AT_ONCE if client is None else max(AT_ONCE, 2 * sum(client.nthreads().values()))
    n_failed = 0
    for n_done, (pixel, outcome) in enumerate(
        zip(pixels, Here(at_once).map(_computed, mapped, pixels), strict=True), start=1
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


def _boxed(partition: pd.DataFrame, pixel: Any, function: Callable[..., Any], shared: Any) -> pd.DataFrame:
    return _box(function(partition, pixel, shared))


def _box(outcome: Any) -> pd.DataFrame:
    """LSDB carries tables: one of a single cell."""
    import pandas as pd

    return pd.DataFrame({OUTCOME: pd.Series([outcome], dtype=object)})


def _computed(mapped: Catalog, pixel: Any) -> Any:
    try:
        return mapped.get_partition(pixel.order, pixel.pixel).compute(progress_bar=False)[OUTCOME].iloc[0]
    except Exception as error:  # of Parquet, of the file system, of a worker that died
        return Failed(" ".join(f"{type(error).__name__}: {error}".split()))
