"""Auto as on many rows, without a graph of all, against Auto with one, on a survey that is small enough for both.

    python benchmarks/auto_wide.py [--survey mock | PATH/make_survey.py | SURVEY] [--rare CARBON] [--n 100000]
                                   [--n-rare 450] [--seed 1] [--known 1 3 10] [--draws 4]

Features are those of the paper; of SURVEY, a survey of rarespec with classes, those of a search. Printed: average
precision of both, mean over the draws, and their paired difference with its standard error.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rankings import add_survey_options, features_of_survey, judged, labelled_features
from rarespec.rankers import Auto
from rarespec.rankers.auto import signal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_survey_options(parser)
    parser.add_argument("--known", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--draws", type=int, default=4)
    chosen = parser.parse_args()
    if Path(chosen.survey).is_dir():
        X, rare = labelled_features(chosen.survey, chosen.rare, "sky")
    else:
        X, rare = features_of_survey(chosen.survey, chosen.rare, chosen.n, chosen.n_rare, chosen.seed)
    with_graph = Auto().prepare(X)
    signal.WIDE = len(X) - 1
    without = Auto().prepare(X)
    rng, members = np.random.default_rng(chosen.seed), np.flatnonzero(rare)
    for n_known in chosen.known:
        found = []
        for _ in range(chosen.draws):
            known = rng.choice(members, n_known, replace=False)
            y = np.isin(np.arange(len(X)), known).astype(float)
            scores = (preparation.fit(y == 1).scores for preparation in (with_graph, without))
            found.append([judged(one, rare, known)[1] for one in scores])
        graph, wide = np.array(found).T
        error = (wide - graph).std(ddof=1) / np.sqrt(len(found))
        print(
            f"{n_known:3d} known: graph of all rows {graph.mean():.3f}, as on many rows {wide.mean():.3f}, "
            f"difference {(wide - graph).mean():+.3f} ± {error:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
