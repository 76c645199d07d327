"""Where work runs: in threads or processes of this machine, or on a Dask cluster. Knows nothing of spectra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.engines.dask_cluster import DaskCluster as DaskCluster
    from rarespec.engines.engine import Engine as Engine
    from rarespec.engines.here import Here as Here

__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "DaskCluster": "dask_cluster",
        "Engine": "engine",
        "Here": "here",
    },
)
