"""The engine that a user means: an address, a Dask client or cluster, an engine, or nothing for this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rarespec.engines.dask_cluster import DaskCluster
from rarespec.engines.engine import Engine
from rarespec.engines.here import Here
from rarespec.errors import EngineError, UsageError

AnyEngine = Any
"""None, the address of a Dask scheduler, a `distributed.Client` or cluster object, or an Engine."""


@contextmanager
def engine_for(given: AnyEngine) -> Iterator[Engine]:
    """Yield the engine that the user means; its errors become UsageErrors. A cluster given by its address is left."""
    try:
        if given is None:
            yield Here()
        elif hasattr(given, "require"):
            yield given
        else:
            with DaskCluster(given) as cluster:
                yield cluster
    except EngineError as error:
        raise UsageError(str(error)) from None
