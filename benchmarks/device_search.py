"""A whole search on a graphics card against the same on the CPU of the same machine: time, and whether they agree.

    python benchmarks/device_search.py [--n 100000] [--methods bagging_top_push auto] [--devices cuda cpu]
                                       [--exact-graph] [--same-features] [--skip-features] [--surveys FOLDER]

The features of a mock survey are computed on both devices and compared. Then the survey is searched twice with each
method and device, first without anything kept and then again. Printed: both times, how many of the first candidates
are of the kind, and how far the two rankings agree: rows among the first thousand in both, rows at the same place, and
the largest difference of scores, of all rows and of rows that have changed places, as a share of the range of scores.

Surveys are those of `growth.py`. Above 20 000 spectra the CPU builds approximate graphs and the card exact ones, and
above 200 000 the CPU looks for neighbours in some cells and the card among all rows; with `--exact-graph` the CPU
builds exact ones too, of parts as well, and looks into all cells, so that only rounding is left to differ. With
`--same-features` the second device searches with the features of the first, so that only the ranker is compared. The
first search of a process includes loading torch and opening the card.
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
from growth import survey_of
from rarespec.features import PaperFeatures
from rarespec.rankers.auto import signal
from rarespec.rankers.neighbours import cell_search, neighbour_graph
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


def searched(path: Path, method: str, device: str, forget: tuple[str, ...]) -> Searched:
    for kept in forget:
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


def compare(path: Path, method: str, devices: list[str], same_features: bool) -> None:
    n_others = int((rs.Survey.open(path).catalogue["class"] == "CARBON").sum()) - N_KNOWN
    found: dict[str, Searched] = {}
    for device in devices:
        forget = ("graphs",) if same_features and found else ("features", "graphs")
        found[device] = searched(path, method, device, forget)
    for device, one in found.items():
        n_found = int((np.asarray(one.ranking.table["class"][:n_others]) == "CARBON").sum())
        print(f"{method} {device}: first {one.first:.1f} s, later {one.later:.1f} s, {n_found} of {n_others} found")
    if len(found) == 2:
        print(f"{method}: {found['cpu'].first / found['cuda'].first:.1f} x the CPU; ", end="")
        print(agreement(found["cuda"].ranking, found["cpu"].ranking), flush=True)


def look_into_all(nearest_cells: np.ndarray, wanted: np.ndarray, target_recall: float) -> tuple[int, float]:
    """Instead of the number of cells that is enough."""
    return nearest_cells.shape[1], 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--methods", nargs="+", default=["bagging_top_push", "auto"])
    parser.add_argument("--devices", nargs="+", default=["cuda", "cpu"], choices=["cuda", "cpu"])
    parser.add_argument("--exact-graph", action="store_true", help="on the CPU too")
    parser.add_argument("--same-features", action="store_true", help="both devices search with those of the first")
    parser.add_argument("--skip-features", action="store_true", help="compare searches alone")
    parser.add_argument("--surveys", type=Path, help="where surveys are kept; features that they have are removed")
    chosen = parser.parse_args()
    if chosen.exact_graph:
        neighbour_graph.EXACT_BELOW = signal.PARTS_EXACT_BELOW = chosen.n * 10
        cell_search._enough_probes = look_into_all
    with tempfile.TemporaryDirectory() as folder:
        path = survey_of(chosen.n, chosen.surveys or Path(folder)).path
        if not chosen.skip_features:
            compare_features(path)
        for method in chosen.methods:
            compare(path, method, chosen.devices, chosen.same_features)


if __name__ == "__main__":
    main()
