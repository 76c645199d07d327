"""Average precision of BaggingTopPush against the size of its bags, for kinds that are more and less rare.

    python benchmarks/bag_size.py [--survey mock | --survey PATH/make_survey.py] [--rare CARBON] [--seed 3] [--draws 4]

Rows of one survey are left out so that 1 in 1400, 1 in 200 or 1 in 33 of the rest is of the rare class. Printed for
each size: average precision with 10 known, and how many hidden ones a bag holds; last what bag_size="auto" chose.
"""

from __future__ import annotations

import argparse

import numpy as np

from rankings import features_of_survey, judged
from rarespec.rankers import BaggingTopPush

SIZES = (20, 50, 100, 200, 500, 1000)
MIXES = {1400: (50, 70_000), 200: (150, 30_000), 33: (150, 4850)}
"""One in so many -> rare and common rows, at most."""
KNOWN = 10


def mixed(rare: np.ndarray, n_rare: int, n_common: int, seed: int) -> np.ndarray:
    """Rows of both kinds, the known ones first."""
    rng = np.random.default_rng(seed)
    chosen = [rng.permutation(np.flatnonzero(kind))[:n] for kind, n in ((rare, n_rare), (~rare, n_common))]
    return np.concatenate(chosen)


def precision_and_size(X: np.ndarray, rare: np.ndarray, bag_size: int | str, seed: int) -> tuple[float, int]:
    y = np.arange(len(X)) < KNOWN
    ranker = BaggingTopPush(bag_size=bag_size, random_state=seed).fit(X, y)
    return judged(ranker.decision_function(X), rare, np.arange(KNOWN))[1], ranker.bag_size_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", default="mock")
    parser.add_argument("--rare", default="CARBON")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--draws", type=int, default=4)
    chosen = parser.parse_args()
    X, rare = features_of_survey(chosen.survey, chosen.rare, 70_000, 150, chosen.seed)
    for one_in, (n_rare, n_common) in MIXES.items():
        print(f"{chosen.rare}, 1 in {one_in}")
        for size in (*SIZES, "auto"):
            draws = [mixed(rare, n_rare, n_common, seed) for seed in range(chosen.draws)]
            found = [precision_and_size(X[rows], rare[rows], size, seed) for seed, rows in enumerate(draws)]
            precision, taken = np.mean(found, axis=0)
            print(
                f"  bags of {taken:5.0f} ({size}): AP {precision:.3f}, {taken / one_in:.2f} hidden in a bag", flush=True
            )


if __name__ == "__main__":
    main()
