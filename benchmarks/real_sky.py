"""Rankings of labelled surveys of real spectra: how recipes and rankers compare, from one known example up.

    python benchmarks/real_sky.py --survey PATH [PATH ...] [--rare CARBON] [--recipes paper sky] [--known 1 3 10 30]
                                  [--methods auto lda bagging_top_push] [--draws 20] [--seed 0]

Any survey of rarespec whose catalogue has classes will do (`rarespec ingest`, with `--join` for a catalogue that has
them). Known examples are drawn at random from the rare class, the same for every recipe and ranker. Printed: average
precision of the spectra that are not known, its mean and in brackets its 10th percentile over all draws of all surveys,
and the paired difference of each recipe to the first with its standard error.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from rankings import judged, labelled_features, scores_of_draws

Cell = tuple[str, str, int]
"""Recipe, method, number of known."""


def draw_known(rare: NDArray[np.bool_], n_known: int, n_draws: int, seed: int) -> list[NDArray[np.intp]]:
    """The known rows of each draw."""
    rng = np.random.default_rng([seed, n_known])
    return [rng.choice(np.flatnonzero(rare), n_known, replace=False) for _ in range(n_draws)]


def mean_and_tenth(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.3f} ({np.percentile(values, 10):.2f})"


def difference(values: NDArray[np.float64], others: NDArray[np.float64]) -> str:
    """The mean of the paired differences, and its standard error."""
    paired = values - others
    return f"{paired.mean():+.3f} ± {paired.std(ddof=1) / len(paired) ** 0.5:.3f}" if len(paired) > 1 else "-"


def precisions(survey: str, chosen: argparse.Namespace) -> dict[Cell, list[float]]:
    """Average precision of each draw."""
    found: dict[Cell, list[float]] = {}
    for recipe in chosen.recipes:
        X, rare = labelled_features(survey, chosen.rare, recipe)
        for n_known in chosen.known:
            draws = draw_known(rare, n_known, chosen.draws, chosen.seed)
            for name in chosen.methods:
                scores = scores_of_draws(name, X, draws, chosen.seed)
                cell = [judged(one, rare, known)[1] for one, known in zip(scores, draws, strict=True)]
                found[recipe, name, n_known] = cell
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", nargs="+", required=True)
    parser.add_argument("--rare", default="CARBON")
    parser.add_argument("--recipes", nargs="+", default=["paper", "sky"])
    parser.add_argument("--methods", nargs="+", default=["auto", "lda", "bagging_top_push"])
    parser.add_argument("--known", type=int, nargs="+", default=[1, 3, 10, 30])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    everything: dict[Cell, list[float]] = defaultdict(list)
    for path in chosen.survey:
        for cell, found in precisions(path, chosen).items():
            everything[cell] += found
    print(f"{chosen.rare} in {len(chosen.survey)} surveys, {chosen.draws} draws each")
    print("| known | method |" + "".join(f" {recipe} |" for recipe in chosen.recipes) + " difference |")
    print("|---|---|" + "---|" * (len(chosen.recipes) + 1))
    for n_known in chosen.known:
        for name in chosen.methods:
            cells = [np.array(everything[recipe, name, n_known]) for recipe in chosen.recipes]
            figures = [mean_and_tenth(cell) for cell in cells]
            against = [difference(cell, cells[0]) for cell in cells[1:]]
            print(f"| {n_known} | {name} | " + " | ".join(figures) + " | " + ", ".join(against) + " |")


if __name__ == "__main__":
    main()
