"""Rankings of labelled surveys of real spectra: how recipes and rankers compare, from one known example up.

    python benchmarks/real_sky.py --survey PATH [PATH ...] [--rare CARBON] [--recipes paper sky] [--known 1 3 10 30]
                                  [--methods auto lda bagging_top_push] [--draws 20] [--seed 0] [--against auto]
                                  [--nested] [--each]

Any survey of rarespec whose catalogue has classes will do (`rarespec ingest`, with `--join` for a catalogue that has
them). Known examples are drawn at random from the rare class, the same for every recipe and ranker. Printed: average
precision of the spectra that are not known, its mean and in brackets its 10th percentile over all draws of all surveys,
and the paired difference of each recipe to the first with its standard error. With `--against`, for each number of
known examples also the paired difference of this ranker to the best of the others, which nobody knows in advance.

The more are known, the fewer are left to find, and the lower is the precision of the same list. With `--nested` the
known of a draw are the first of those of the largest number, and all are judged by the spectra that are left there.
With `--each`, every member of the rare class is the only known example once, instead of some at random.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from rankings import judged, labelled_features, scores_of_draws

Rows = NDArray[np.intp]
Cell = tuple[str, str, int]
"""Recipe, method, number of known."""


def draw_known(rare: NDArray[np.bool_], n_known: int, n_draws: int, seed: int) -> list[Rows]:
    """The known rows of each draw."""
    rng = np.random.default_rng([seed, n_known])
    return [rng.choice(np.flatnonzero(rare), n_known, replace=False) for _ in range(n_draws)]


def known_and_judged(rare: NDArray[np.bool_], n_known: int, chosen: argparse.Namespace) -> list[tuple[Rows, Rows]]:
    """The known rows of each draw, and the rows that take no part when its list is judged."""
    if chosen.each and n_known == 1:
        draws = list(np.flatnonzero(rare)[:, None])
    elif chosen.nested:
        most = draw_known(rare, max(chosen.known), chosen.draws, chosen.seed)
        return [(known[:n_known], known) for known in most]
    else:
        draws = draw_known(rare, n_known, chosen.draws, chosen.seed)
    return [(known, known) for known in draws]


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
            draws = known_and_judged(rare, n_known, chosen)
            for name in chosen.methods:
                scores = scores_of_draws(name, X, [known for known, _ in draws], chosen.seed)
                cell = [judged(one, rare, left_out)[1] for one, (_, left_out) in zip(scores, draws, strict=True)]
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
    parser.add_argument("--against", help="one of the methods")
    parser.add_argument("--nested", action="store_true", help="judge all numbers of known by the same spectra")
    parser.add_argument("--each", action="store_true", help="each member once, where one is known")
    chosen = parser.parse_args()
    everything: dict[Cell, list[float]] = defaultdict(list)
    for path in chosen.survey:
        for cell, found in precisions(path, chosen).items():
            everything[cell] += found
    how = "nested draws" if chosen.nested else "draws"
    each = ", each member once where one is known" if chosen.each else ""
    print(f"{chosen.rare} in {len(chosen.survey)} surveys, {chosen.draws} {how} each{each}")
    print("| known | method |" + "".join(f" {recipe} |" for recipe in chosen.recipes) + " difference |")
    print("|---|---|" + "---|" * (len(chosen.recipes) + 1))
    for n_known in chosen.known:
        for name in chosen.methods:
            cells = [np.array(everything[recipe, name, n_known]) for recipe in chosen.recipes]
            figures = [mean_and_tenth(cell) for cell in cells]
            against = [difference(cell, cells[0]) for cell in cells[1:]]
            print(f"| {n_known} | {name} | " + " | ".join(figures) + " | " + ", ".join(against) + " |")
    if chosen.against:
        compare_with_best(everything, chosen)


def compare_with_best(everything: dict[Cell, list[float]], chosen: argparse.Namespace) -> None:
    """Print how far one ranker is ahead of the best of the others, recipe by recipe."""
    for recipe in chosen.recipes:
        for n_known in chosen.known:
            others = [name for name in chosen.methods if name != chosen.against]
            best = max(others, key=lambda name: np.mean(everything[recipe, name, n_known]))
            ours, theirs = (np.array(everything[recipe, name, n_known]) for name in (chosen.against, best))
            said = f"{ours.mean():.3f}, {best} {theirs.mean():.3f}, {difference(ours, theirs)}"
            print(f"{recipe}, {n_known} known: {chosen.against} {said}")


if __name__ == "__main__":
    main()
