"""Functions that engines run in the tests; a module of its own, which workers can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rarespec.survey.features.feature_set import FeatureSet
    from rarespec.survey.features.prepared import Visit


def plus(shared: int, item: int) -> int:
    return shared + item


def slow_at_first(seconds: float, item: int) -> int:
    if item == 0:
        time.sleep(seconds)
    return item


def inverse(shared: float, item: float) -> float:
    return shared / item


def n_blas_threads(shared: None, item: int) -> int:
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    # faiss, where it was imported, brings a BLAS of its own, whose threads are counted anew in every thread of ours
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas" and "faiss" not in pool["filepath"]]
    return max(pool["num_threads"] for pool in pools)


def process(shared: object, item: int) -> int:
    return os.getpid()


def die_at_three(shared: int, item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return shared + item


def has_its_file(features: FeatureSet, visit: Visit) -> bool:
    """In the place of the function that computes a block, as if nothing could be written."""
    return features.file(visit.block).exists()


def opened(shared: CountsOpenings, item: int) -> int:
    return item


class CountsOpenings:
    """Notes in a directory every time that it is unpacked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, Path]) -> None:
        self.__dict__ = state
        (self.folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
