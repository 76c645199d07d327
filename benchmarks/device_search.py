"""A whole search on a graphics card against the same on the CPU of the same machine: time, and whether they agree.

    python benchmarks/device_search.py [--n 100000] [--n-rare 450] [--methods bagging_top_push auto] [--survey FOLDER]

The features of a mock survey are computed on both devices and compared. Then the survey is searched twice with each
method and device, first without anything kept and then again. Printed: both times, how many of the first candidates
are of the kind, and how far the two rankings agree: rows among the first thousand in both, rows at the same place, and
the largest difference of scores, of all rows and of rows that have changed places, as a share of the range of scores.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import rarespec as rs
from rarespec.features import PaperFeatures
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.searching.ranking import Ranking
from rarespec.survey.features.feature_set import FeatureSet

N_KNOWN, TOP = 10, 1000


class Searched(NamedTuple):
    first: float
    later: float
    ranking: Ranking


def search(path: Path, method: str, device: str) -> tuple[float, Ranking]:
    survey = rs.Survey.open(path)
    known = survey.ids[survey.catalogue["class"] == "CARBON"][:N_KNOWN].tolist()
    start = time.perf_counter()
    ranking = rs.search(survey, known, method=method, top=TOP, device=device)
    return time.perf_counter() - start, ranking


def searched(path: Path, method: str, device: str) -> Searched:
    for kept in ("features", "graphs"):
        shutil.rmtree(path / kept, ignore_errors=True)
    (first, _), (later, ranking) = search(path, method, device), search(path, method, device)
    return Searched(first, later, ranking)


def features_on(path: Path, device: str) -> tuple[float, FeatureSet]:
    """Seconds, with kernels compiled before, and the features."""
    for _ in range(2):
        shutil.rmtree(path / "features", ignore_errors=True)
        start = time.perf_counter()
        features = rs.features_of(rs.Survey.open(path), PaperFeatures(), device=device)
        seconds = time.perf_counter() - start
    return seconds, features


def compare_features(path: Path) -> None:
    found = {device: features_on(path, device) for device in ("cuda", "cpu")}
    values = [features.values for _, features in found.values()]
    apart = np.nanmax(np.abs(values[0] - values[1]) / np.nanstd(values[1], axis=0))
    spaces = [features.recipe.steps_[-1].components_.astype(np.float64) for _, features in found.values()]
    off = np.linalg.norm(spaces[0] - spaces[0] @ spaces[1].T @ spaces[1], 2)
    times = ", ".join(f"{device} {seconds:.1f} s" for device, (seconds, _) in found.items())
    print(f"features: {times}; they differ by {apart:.1e} of their spread at most, components by an angle of {off:.1e}")


def agreement(one: Ranking, other: Ranking) -> str:
    ids, others = np.asarray(one.table["id"]), np.asarray(other.table["id"])
    moved, span = ids != others, np.ptp(other.scores)
    apart = np.abs(one.scores - other.scores).max() / span
    exchanged = np.abs(np.asarray(one.table["score"] - other.table["score"]))[moved].max(initial=0.0) / span
    return (
        f"of {len(ids)} first, {len(np.intersect1d(ids, others))} in common, {int((~moved).sum())} at the same place; "
        f"scores differ by at most {apart:.1e}, where places are exchanged by {exchanged:.1e}"
    )


def compare(path: Path, method: str, n_rare: int) -> None:
    found = {device: searched(path, method, device) for device in ("cuda", "cpu")}
    for device, one in found.items():
        first = np.asarray(one.ranking.table["class"][: n_rare - N_KNOWN])
        n_found = int((first == "CARBON").sum())
        print(f"{method} {device}: first {one.first:.1f} s, later {one.later:.1f} s, {n_found} of {len(first)} found")
    print(f"{method}: {found['cpu'].first / found['cuda'].first:.1f} x the CPU; ", end="")
    print(agreement(found["cuda"].ranking, found["cpu"].ranking), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--n-rare", type=int, default=450)
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--methods", nargs="+", default=["bagging_top_push", "auto"])
    parser.add_argument("--survey", type=Path, help="made here, and kept; features that it has are removed")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.survey or Path(folder) / "mock.survey"
        if not path.exists():
            simulate_survey(SkyChoice(chosen.n, (("carbon", chosen.n_rare),), seed=chosen.seed), path)
        compare_features(path)
        for method in chosen.methods:
            compare(path, method, chosen.n_rare)


if __name__ == "__main__":
    main()
