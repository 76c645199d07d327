"""The features of a large survey as one matrix, in a file that is mapped into memory instead of read.

    SURVEY/features/FINGERPRINT/MODEL/STATE.rows

STATE names the blocks of the survey by their contents: the file can never be taken for that of another state. It is
made of the files of the blocks when the matrix is first asked for, and holds besides what every search needs to know of
all rows: which spectra have features, the fingerprint of the matrix, its mean and its covariance.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import compute_ahead
from rarespec.rankers.covariance import ledoit_wolf
from rarespec.rankers.rows import BLOCK_ROWS, fingerprint_of_rows
from rarespec.storage.mapped_arrays import map_arrays, sweep_beside, write_arrays
from rarespec.storage.processes import available_cores
from rarespec.survey.features.kept import Arrays, check_array, make_of_kept
from rarespec.survey.store.location import is_remote

if TYPE_CHECKING:
    from rarespec.survey.features.feature_set import FeatureSet

JOINED_FROM = 100_000
"""Spectra from which on features are joined in a file. The blocks of fewer are read in a fraction of a second."""
ENDING = ".rows"
MOST = float(np.finfo(np.float64).max)


def join_features(features: FeatureSet) -> Arrays | None:
    """Map the features of a survey as one matrix; they are joined first where that has not been done.

    Parameters
    ----------
    features : FeatureSet
        Of the survey.

    Returns
    -------
    dict of arrays or None
        `values` (n_usable, features) float32, `lost_at` (n,) int8, `n_bad` (n,) int32, `fingerprint` (32,) uint8,
        `mean` and `covariance` as `ledoit_wolf` gives them. None if the survey is small or in an object store, or if
        the file cannot be written: a warning then says so.
    """
    if len(features) < JOINED_FROM or is_remote(features.folder) or not features.folder.is_dir():
        return None
    path = features.folder / f"{name_of_state(features)}{ENDING}"
    check = partial(_check, features)
    kept = make_of_kept(path, check, map_arrays)
    return make_of_kept(path, check, map_arrays) if kept is None and _join(features, path) else kept


def name_of_state(features: FeatureSet) -> str:
    """Name a state of the survey after the contents of its blocks, 32 digits."""
    names = "\n".join(features.file(i).name for i in range(features.survey.n_blocks))
    return hashlib.sha256(names.encode()).hexdigest()[:32]


def _join(features: FeatureSet, path: Path) -> bool:
    """Write the file if possible, and say whether it is there."""
    lost_at, n_bad = np.empty(len(features), np.int8), np.empty(len(features), np.int32)
    try:
        with write_arrays(path) as file:
            X = file.add("values", _usable_blocks(features, lost_at, n_bad))
            with ThreadPoolExecutor(1) as beside:  # each takes half a second of a million rows
                fingerprint = beside.submit(fingerprint_of_rows, X)
                mean, covariance = ledoit_wolf(X)[:2] if len(X) else (np.zeros(features.width), np.eye(features.width))
            text = np.frombuffer(fingerprint.result().encode(), np.uint8)
            rest: Arrays = {
                "lost_at": lost_at,
                "n_bad": n_bad,
                "fingerprint": text,
                "mean": mean,
                "covariance": covariance,
            }
            for name, values in rest.items():
                file.add(name, [values])
    except OSError as error:
        if not path.exists():  # else another process has written the same
            warnings.warn(
                f"{path.parent}: could not save the features as one matrix ({error.strerror or error}); they take "
                f"{len(features) * features.width * 4 / 1e9:.2g} GB of memory instead",
                stacklevel=3,
            )
            return False
    sweep_beside(path)
    return True


def _usable_blocks(
    features: FeatureSet, lost_at: NDArray[np.int8], n_bad: NDArray[np.int32]
) -> Iterator[NDArray[np.float32]]:
    """Rows of the spectra that have features, block by block; what else the blocks say is filled in."""
    start = 0
    for block in compute_ahead(features.block, range(features.survey.n_blocks), available_cores()):
        here = slice(start, start + len(block["lost_at"]))
        lost_at[here], n_bad[here] = block["lost_at"], block["n_bad"]
        yield block["values"][block["lost_at"] == 0]
        start = here.stop


def _check(features: FeatureSet, arrays: Arrays) -> Arrays:
    """Raise a ValueError unless these can be the features of this survey."""
    n, d = len(features), features.width
    lost_at = check_array(arrays, "lost_at", np.int8, (n,), 0, len(features.recipe.steps_))
    values = check_array(arrays, "values", np.float32, (int((lost_at == 0).sum()), d))
    check_array(arrays, "n_bad", np.int32, (n,), 0, features.survey.grid.n_pixels)
    check_array(arrays, "fingerprint", np.uint8, (32,), ord("0"), ord("f"))
    check_array(arrays, "mean", np.float64, (d,), -MOST, MOST)
    check_array(arrays, "covariance", np.float64, (d, d), -MOST, MOST)
    for start in range(0, len(values), BLOCK_ROWS):
        if not np.isfinite(values[start : start + BLOCK_ROWS]).all():
            raise ValueError("values of usable spectra are not finite")
    return arrays
