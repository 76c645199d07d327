"""Reading all flux of a survey, against the same numbers in one memory-mapped file.

    python benchmarks/scan.py [--n 100000] [--survey mock.survey]

Both take the mean flux of every spectrum, block by block; the survey by its engine's threads, the map in a plain loop.
Rounds are interleaved and the fastest counts; the means must be the same. Twice: from disk, the files dropped from the
page cache before every round, as with any survey that is larger than the memory; and from the page cache, where the map
has nothing to do but add. The map holds plain numbers: no compression, no check that a file is whole. `--survey` keeps
the mock survey for the next run.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import Here
from rarespec.survey import Survey
from search import survey_at
from timing import timed

ROUNDS = 3


def means_of_block(survey: Survey, i: int) -> NDArray[np.float32]:
    return survey.block_of("flux", i).mean(axis=1)


def means_of_map(path: Path, survey: Survey) -> NDArray[np.float32]:
    mapped = np.memmap(path, np.float32, "r", shape=(len(survey), survey.grid.n_pixels))
    rows = survey.manifest.block_rows
    return np.concatenate([mapped[i * rows : (i + 1) * rows].mean(axis=1) for i in range(survey.n_blocks)])


def write_map(survey: Survey, path: Path) -> None:
    with open(path, "wb") as file:
        for i in range(survey.n_blocks):
            file.write(survey.block_of("flux", i).data)
        os.fsync(file.fileno())


def dropped(paths: Iterable[Path]) -> None:
    """From the page cache; what is written already and not in use can be dropped by anyone."""
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def compare(survey: Survey, path: Path) -> None:
    here, flux = Here(), [file for file in (survey.path / "flux").rglob("*") if file.is_file()]
    ways = {
        "survey": lambda: np.concatenate(list(here.map(means_of_block, survey, range(survey.n_blocks)))),
        "map": lambda: means_of_map(path, survey),
    }
    for place, prepare in (("disk", lambda: dropped([path, *flux])), ("page cache", lambda: None)):
        seconds = dict.fromkeys(ways, float("inf"))
        for _ in range(ROUNDS):
            means = {}
            for name, way in ways.items():
                prepare()
                taken, means[name] = timed(way)
                seconds[name] = min(seconds[name], taken)
            np.testing.assert_array_equal(means["survey"], means["map"])
        said = ", ".join(f"{name} {path.stat().st_size / 1e9 / taken:.2f} GB/s" for name, taken in seconds.items())
        print(f"from the {place}: {said}; speed relative to the map {seconds['map'] / seconds['survey']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000, help="common spectra of the mock survey")
    parser.add_argument("--survey", type=Path, help="where the mock survey is kept, or is made")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        survey = survey_at(chosen.survey or Path(folder) / "mock.survey", chosen.n)
        write_map(survey, Path(folder) / "flux")
        compare(survey, Path(folder) / "flux")
        print("asked for: 0.5; the means are the same")


if __name__ == "__main__":
    main()
