"""A whole search, raw survey on disk to table of candidates on disk, against the straightforward script.

    python benchmarks/search.py [--n 100000] [--survey mock.survey]

Ours: `rarespec.search(survey, known)`, no features and no graph kept, and `write` as ECSV: once with the peer's method,
and once with its defaults, which rank better and take longer.
Peer: what one would write with SciPy and scikit-learn for the paper's pipeline: all flux in one array, bad pixels
bridged by numpy.interp, scipy.ndimage.median_filter of 10 Angstrom (5 to 11 pixels, so one filter for each width),
NumPy min-max, scikit-learn PCA to 50, and Bagging SVM: 30 rbf machines, each of the known against as many random
spectra, decision values averaged out of bag. C is one that ranks well on the mock; nothing is tuned. A second, more
careful script filters with each width only where it applies.

Each runs in a process of its own, start of Python and imports included, and is judged by how many of the rare spectra
that are not known stand among its first 450. `--survey` keeps the mock survey for the next run; no features are
written into it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.spectrum import PAPER_GRID
from rarespec.survey import Survey

RARE, N_RARE, N_KNOWN, TOP = "CARBON", 450, 10, 1000
COMPONENTS, BAGS, COST, ANGSTROM = 50, 30, 100.0, 10.0
MOST_MEMORY, LEAST_RATIO = 1.5, 10.0
"""GB and times: what this benchmark asks of rarespec."""
SIDES = (
    "rarespec, Bagging SVM",
    "rarespec, its own ranker",
    "SciPy + scikit-learn, Bagging SVM",
    "the same, filters only where they apply",
)
N_OURS = 2


def by_rarespec(path: Path, known: list[str], table: Path, method: str, **params: Any) -> None:
    import rarespec

    rarespec.search(path, known, method, top=TOP, params=params).write(table)


def by_scikit_learn(path: Path, known: list[str], table: Path, carefully: bool = False) -> None:
    from astropy.table import Table

    survey = Survey.open(path)
    X = paper_features(flux_of(survey), carefully)
    positive = np.isin(survey.ids.astype(str), known)
    scores = bagging_svm(X, positive)
    best = np.flatnonzero(~positive)[np.argsort(-scores[~positive])[:TOP]]
    columns = {name: survey.catalogue[name][best] for name in ("id", "ra", "dec")}
    columns = {"rank": np.arange(1, len(best) + 1)} | columns | {"score": scores[best]}
    Table({name: values.astype(str) if name == "id" else values for name, values in columns.items()}).write(table)


def flux_of(survey: Survey) -> np.ndarray:
    """(n, p) float32, bad pixels bridged."""
    flux = np.empty((len(survey), survey.grid.n_pixels), np.float32)
    start, pixels = 0, np.arange(survey.grid.n_pixels)
    for block in survey.blocks():
        for row, bad in zip(block.flux, block.bad, strict=True):
            if bad.any() and not bad.all():
                row[bad] = np.interp(pixels[bad], pixels[~bad], row[~bad])
        flux[start : start + len(block)] = block.flux
        start += len(block)
    return flux


def paper_features(flux: np.ndarray, carefully: bool) -> np.ndarray:
    from sklearn.decomposition import PCA

    filtered = median_filtered(flux, carefully)
    low, high = filtered.min(axis=1, keepdims=True), filtered.max(axis=1, keepdims=True)
    scaled = (filtered - low) / np.where(high > low, high - low, 1)
    return PCA(n_components=COMPONENTS, random_state=0).fit_transform(scaled)


def median_filtered(flux: np.ndarray, carefully: bool) -> np.ndarray:
    from scipy.ndimage import median_filter

    from rarespec.features.steps.running_median import pixel_widths

    widths = pixel_widths(PAPER_GRID, ANGSTROM)
    filtered = np.empty_like(flux)
    for width in np.unique(widths):
        at = np.flatnonzero(widths == width)
        first, last = (max(at[0] - width, 0), at[-1] + width + 1) if carefully else (0, len(widths))
        filtered[:, at] = median_filter(flux[:, first:last], size=(1, width), mode="nearest")[:, at - first]
    return filtered


def bagging_svm(X: np.ndarray, positive: np.ndarray) -> np.ndarray:
    from sklearn.svm import SVC

    rng, others = np.random.default_rng(0), np.flatnonzero(~positive)
    total, count = np.zeros(len(X)), np.zeros(len(X))
    for _ in range(BAGS):
        bag = rng.choice(others, positive.sum(), replace=False)
        rows = np.concatenate([np.flatnonzero(positive), bag])
        machine = SVC(kernel="rbf", C=COST, gamma=1 / X.var(axis=0).sum()).fit(X[rows], positive[rows])
        outside = np.ones(len(X), bool)
        outside[bag] = False
        total[outside] += machine.decision_function(X[outside])
        count += outside
    return total / np.maximum(count, 1)


@dataclass(frozen=True)
class Cost:
    """What a process took: seconds on the clock and of the processors, and GB at its peak."""

    seconds: float
    processor: float
    peak: float


def cost_of(side: int, survey: Path, known: list[str], table: Path) -> Cost:
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--side", str(side), str(survey), str(table), *known])
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{SIDES[side]} failed")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9)


def bare(survey: Path, into: Path) -> Path:
    """The same survey without what is kept beside it; its files are linked, not copied."""
    into.mkdir()
    for name in ("manifest.json", "catalogue", *Survey.open(survey).precision.arrays):
        (into / name).symlink_to(survey.resolve() / name)
    return into


def survey_at(path: Path, n: int) -> Survey:
    """The one that is kept there, or a new one."""
    if path.exists():
        return Survey.open(path)
    return simulate_survey(SkyChoice(n, ((RARE.lower(), N_RARE),), seed=1), path)


def compare(survey: Survey, folder: Path) -> None:
    rare = survey.ids[survey.catalogue["class"] == RARE].astype(str)
    known = np.random.default_rng(1).choice(rare, N_KNOWN, replace=False).tolist()
    print(f"{len(survey)} spectra, {len(rare)} of class {RARE}, {N_KNOWN} of them known")
    costs = []
    for side, name in enumerate(SIDES):
        table = folder / f"{side}.ecsv"
        cost = cost_of(side, bare(survey.path, folder / f"{side}.survey"), known, table)
        found = len((set(rare) - set(known)) & set(first_ids(table)))
        print(f"  {name}: {cost.seconds:.1f} s, {cost.processor:.1f} s of processors,", end=" ")
        print(
            f"peak {cost.peak:.2f} GB; {found} of the other {len(rare) - N_KNOWN} among the first {N_RARE}", flush=True
        )
        costs.append(cost)
    peers = costs[N_OURS:]
    for name, ours in zip(SIDES, costs[:N_OURS], strict=False):
        print(f"  {name}: ratios on the clock {ratios(peer.seconds / ours.seconds for peer in peers)},", end=" ")
        print(f"of processors {ratios(peer.processor / ours.processor for peer in peers)}")
    first = [first_ids(folder / f"{side}.ecsv") for side in (0, N_OURS)]
    print(f"  both Bagging SVM have {len(set(first[0]) & set(first[1]))} of their first {N_RARE} in common", end="; ")
    print(f"asked for: ratio {LEAST_RATIO:.0f}, less than {MOST_MEMORY} GB")


def ratios(values: Iterable[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


def first_ids(table: Path) -> list[str]:
    from astropy.table import Table

    return [str(id) for id in Table.read(table)["id"][:N_RARE]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000, help="common spectra of the mock survey")
    parser.add_argument("--survey", type=Path, help="where the mock survey is kept, or is made")
    parser.add_argument("--side", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.side:
        side, survey, table, *known = asked.side
        same = {"kernel": "rbf", "n_bags": BAGS, "bag_size": len(known), "C": COST}
        ours = (partial(by_rarespec, method="bagging_svm", **same), partial(by_rarespec, method="auto"))
        theirs = (by_scikit_learn, partial(by_scikit_learn, carefully=True))
        (*ours, *theirs)[int(side)](Path(survey), known, Path(table))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(survey_at(asked.survey or Path(folder) / "mock.survey", asked.n), Path(folder))


if __name__ == "__main__":
    main()
