"""One query with Auto against one with the paper's two strongest methods, and what its space is worth.

    python benchmarks/auto.py [--survey mock | --survey PATH/make_survey.py] [--rare CARBON] [--n 100000] [--n-rare 450]
                              [--seed 1] [--known 10]

Printed: seconds (fastest of three) for what is set up once on the rows, graphs included, and for one query; the average
precision that it gave; and how often the five nearest neighbours of a rare row are rare themselves, in the features as
given and in the space of signal.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankings import add_survey_options, features_of_survey, judged
from rarespec.rankers import LRGA, Auto, BaggingSVM, BaggingTopPush, build_neighbours
from rarespec.rankers.auto.signal import signal_of_rows
from rarespec.rankers.ranker import Kept, Preparation
from timing import best_of, timed

PEERS = (LRGA, BaggingTopPush, BaggingSVM)


def query(preparation: Preparation, y: NDArray) -> Callable[[], NDArray]:
    return lambda: preparation.fit(y == 1).scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_survey_options(parser)
    parser.add_argument("--known", type=int, default=10)
    chosen = parser.parse_args()
    X, rare = features_of_survey(chosen.survey, chosen.rare, chosen.n, chosen.n_rare, chosen.seed)
    known = np.random.default_rng(chosen.seed).choice(np.flatnonzero(rare), chosen.known, replace=False)
    y = np.isin(np.arange(len(X)), known).astype(float)
    graph_s, graph = timed(lambda: build_neighbours(X, 5))
    signal_s, signal = timed(lambda: signal_of_rows(X))
    print(f"{len(X)} x {X.shape[1]}, {chosen.known} known; graph {graph_s:.1f} s, signal {signal_s:.1f} s")
    auto = Auto(signal=signal).prepare(X)
    seconds, answers = best_of({"set up": lambda: auto.ranker.prepare(X), "asked": query(auto, y)}, 3)
    ours, scores = sum(seconds.values()), answers["asked"]
    print(f"Auto, set up and asked       {ours:6.2f} s   AP {judged(scores, rare, known)[1]:.3f}")
    for peer in PEERS:
        took, scores = timed(query(peer().prepare(X, Kept(graph=graph)), y))
        ap = judged(scores, rare, known)[1]
        print(f"{peer.__name__:28s} {took:6.2f} s   AP {ap:.3f}   {took / ours:.1f} times Auto's time")
    for name, one in (("features as given", graph), ("space of signal", signal.graph)):
        share = rare[one.nearest(5).indices[rare]].mean()
        print(f"{share:.0%} of the five nearest neighbours of a rare row are rare in the {name}")


if __name__ == "__main__":
    main()
