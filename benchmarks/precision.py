"""What storing flux in steps of its noise saves, and whether searches notice.

    python benchmarks/precision.py --survey PATH [PATH ...] [--precision noise noise:0.2 noise:0.5]
                                   [--rare CARBON QSO ...] [--known 1 3 10] [--draws 5] [--seed 0]

PATH is a labelled file of spectra that `rarespec ingest` reads. Each is stored exactly and in each precision. Printed:
kB on disk for each spectrum; spectra packed, and read for a search, in a second of CPU time; how many of the first 1000
candidates of Auto are the same and by how much its average precision differs, on the same draws of known examples;
and equivalent widths, their mean difference in units of their error and of the error of that mean.

The features are learned from each survey by itself, as by a user who has only this one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rarespec as rs
from rankings import judged
from rarespec.evaluation.experiment.methods import method
from rarespec.evaluation.experiment.setting import rare_class
from rarespec.features import measure
from rarespec.searching.request import recipe_named
from rarespec.survey import Precision, Survey
from rarespec.survey.features.computing import features_of
from rarespec.survey.store.location import sizes_below
from real_sky import draw_known

FIRST = 1000
ARRAYS = ("flux", "ivar", "mask", "steps")
ROUNDS = 3

Cell = tuple[str, int]
"""Rare class, number of known."""
Orders = dict[Cell, list[tuple[float, NDArray[np.intp]]]]
"""Average precision and the first candidates of each draw."""


def kilobytes(survey: Survey) -> dict[str, float]:
    """Of each array for each spectrum."""
    return {name: sum(sizes_below(survey.path / name).values()) / 1e3 / len(survey) for name in ARRAYS}


def per_cpu_second(function: Callable[[], int]) -> float:
    """What a function counts in a second of CPU time, in the best of a few rounds."""
    rates = []
    for _ in range(ROUNDS):
        start = time.process_time()
        n = function()
        rates.append(n / (time.process_time() - start))
    return max(rates)


def packed(survey: Survey, precision: Precision) -> int:
    """Pack the first block, without its files; what was read exactly is at hand."""
    block = survey.block(0)
    start = time.process_time()
    precision.pack(block.flux, block.ivar, block.bad, 0)
    return round(len(block) / (time.process_time() - start))


def read(survey: Survey) -> int:
    """Read all flux as a search does."""
    return sum(len(part) for i in range(survey.n_blocks) for part in survey.masked_flux_parts(i, 256))


def orders_of(survey: Survey, chosen: argparse.Namespace) -> Orders:
    """Rank the survey for each class, number of known and draw."""
    features = features_of(survey, recipe_named("sky"))
    preparation = method("auto").ranker(chosen.seed).prepare(features.usable_values)
    rows = np.flatnonzero(features.usable)
    orders: Orders = defaultdict(list)
    for name in chosen.rare:
        rare = rare_class(survey, name).members[rows]
        for n_known in chosen.known:
            for known in draw_known(rare, n_known, chosen.draws, chosen.seed):
                scores = preparation.fit(np.isin(np.arange(len(rare)), known)).scores
                others = np.setdiff1d(np.arange(len(rare)), known)
                first = rows[others[np.argsort(-scores[others], kind="stable")[:FIRST]]]
                orders[name, n_known].append((judged(scores, rare, known)[1], first))
    return orders


def widths_of(survey: Survey) -> tuple[NDArray, NDArray]:
    """Every equivalent width and its error, with the errors of the flux as they are stored."""
    found = [measure(np.where(b.bad, np.nan, b.flux), b.ivar, survey.grid) for b in survey.blocks()]
    return np.concatenate([one.values for one in found]), np.concatenate([one.errors for one in found])


def bias_of_widths(exact: tuple[NDArray, NDArray], other: tuple[NDArray, NDArray]) -> tuple[float, float, float]:
    """Mean difference in units of the error of a width, its standard error, and the spread of differences."""
    values, errors = exact
    difference = ((other[0] - values) / errors)[np.isfinite(errors) & (errors > 0)]
    difference = difference[np.isfinite(difference)]
    return difference.mean(), difference.std() / len(difference) ** 0.5, difference.std()


def compare(path: str, chosen: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Store one file of spectra in each precision, and rank each survey."""
    exact = rs.ingest(path, into=folder / "exact", precision="exact", jobs=1)
    print(f"\n{path}: {len(exact)} spectra, {exact.grid}")
    print("| precision | flux | ivar | mask | steps | kB in all | packed/s | read/s | widths, bias | spread |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    widths, orders = widths_of(exact), {}
    for precision in ["exact", *chosen.precision]:
        survey = exact if precision == "exact" else rs.repack(exact, folder / precision, precision)
        sizes = kilobytes(survey)
        rates = max(packed(exact, survey.precision) for _ in range(ROUNDS)), per_cpu_second(lambda s=survey: read(s))
        mean, error, spread = bias_of_widths(widths, widths_of(survey))
        print(
            f"| {precision} | {' | '.join(f'{sizes[name]:.2f}' for name in ARRAYS)} | {sum(sizes.values()):.2f} | "
            + ("- | " if precision == "exact" else f"{rates[0]:,.0f} | ")
            + f"{rates[1]:,.0f} | {mean:+.5f} ± {error:.5f} | {spread:.3f} |",
            flush=True,
        )
        orders[precision] = orders_of(survey, chosen)
    return orders


def tell_differences(everything: list[dict[str, Orders]], chosen: argparse.Namespace) -> None:
    """Print average precisions, their paired differences, and how many of the first candidates are the same."""
    print(
        f"\n{len(everything)} surveys, {chosen.draws} draws each: average precision (difference ± its standard error)"
    )
    print("| rare | known | exact |" + "".join(f" {name} | same of {FIRST} |" for name in chosen.precision))
    print("|---|---|---|" + "---|---|" * len(chosen.precision))
    pooled: dict[str, list[float]] = defaultdict(list)
    for name in chosen.rare:
        for n_known in chosen.known:
            draws = {p: [one for orders in everything for one in orders[p][name, n_known]] for p in everything[0]}
            line = f"| {name} | {n_known} | {np.mean([ap for ap, _ in draws['exact']]):.4f} |"
            for precision in chosen.precision:
                pairs = list(zip(draws[precision], draws["exact"], strict=True))
                change = np.array([ap - exact for (ap, _), (exact, _) in pairs])
                same = np.mean([len(np.intersect1d(first, exact)) for (_, first), (_, exact) in pairs])
                line += f" {change.mean():+.4f} ± {change.std(ddof=1) / len(change) ** 0.5:.4f} | {same:.0f} |"
                pooled[precision] += change.tolist()
            print(line)
    means = {p: (np.mean(changes), np.std(changes, ddof=1) / len(changes) ** 0.5) for p, changes in pooled.items()}
    print("| all | | |" + "".join(f" {mean:+.4f} ± {error:.4f} | |" for mean, error in means.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", nargs="+", required=True)
    parser.add_argument("--precision", nargs="+", default=["noise", "noise:0.2", "noise:0.5"])
    parser.add_argument("--rare", nargs="+", default=["CARBON", "QSO", "GALAXY", "gM0", "K5", "F0"])
    parser.add_argument("--known", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    everything = []
    for path in chosen.survey:
        with tempfile.TemporaryDirectory() as folder:
            everything.append(compare(path, chosen, Path(folder)))
    tell_differences(everything, chosen)


if __name__ == "__main__":
    main()
