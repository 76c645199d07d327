"""Opening kept features, each file checked against its digest, against numpy.load of the same files.

    python benchmarks/kept_arrays.py [--n 1000000] [--features 50]

Files of 2048 rows, as a survey keeps them, from the page cache; all arrays of both must be the same. Rounds are
interleaved and the fastest counts. Also printed: what the digest alone takes.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.survey.features.kept import load_arrays, npz
from rarespec.survey.store.manifest import BLOCK_ROWS
from timing import best_of

ROUNDS = 5


def written(folder: Path, n: int, d: int) -> list[Path]:
    rng, paths = np.random.default_rng(0), []
    for start in range(0, n, BLOCK_ROWS):
        rows = min(BLOCK_ROWS, n - start)
        arrays: dict[str, NDArray[Any]] = {
            "values": rng.standard_normal((rows, d), np.float32),
            "lost_at": np.zeros(rows, np.int8),
            "n_bad": rng.integers(0, 99, rows, np.int32),
        }
        paths.append(folder / f"{start}.npz")
        paths[-1].write_bytes(npz(arrays))
    return paths


def plain(paths: list[Path]) -> NDArray[np.float64]:
    return np.array([_sums(dict(np.load(path))) for path in paths])


def checked(paths: list[Path]) -> NDArray[np.float64]:
    return np.array([_sums(load_arrays(path)) for path in paths])


def _sums(arrays: dict[str, NDArray[Any]]) -> list[float]:
    return [float(values.ravel()[::997].sum(dtype=np.float64)) for values in arrays.values()]


def digest(paths: list[Path]) -> int:
    return sum(hashlib.sha256(path.read_bytes()).digest()[0] for path in paths)


def require_same(path: Path) -> None:
    with np.load(path) as arrays:
        for name, values in load_arrays(path).items():
            assert np.array_equal(values, arrays[name]), f"{path.name}: {name} differs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = written(Path(folder), given.n, given.features)
        for path in paths:
            require_same(path)
        size = sum(path.stat().st_size for path in paths)
        contenders = {
            "numpy.load": lambda: plain(paths),
            "checked": lambda: checked(paths),
            "read and digest": lambda: digest(paths),
        }
        seconds, _ = best_of(contenders, ROUNDS)
    print(f"{given.n} rows of {given.features} features, {len(paths)} files, {size / 1e6:.0f} MB")
    for name, taken in seconds.items():
        print(f"  {name:16} {taken:6.3f} s")
    print(f"checked / numpy.load: {seconds['checked'] / seconds['numpy.load']:.2f}")


if __name__ == "__main__":
    main()
