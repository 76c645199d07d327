"""Other programs on the same draws of a labelled survey: pulearn, random forests and isolation forests against Auto.

    python benchmarks/peers.py --survey PATH [PATH ...] [--rare CARBON] [--recipe sky] [--known 1 3 10 30]
                               [--peers forest bagged_svm bagged_trees elkan_noto isolation] [--draws 20] [--seed 0]

Any survey of rarespec whose catalogue has classes will do. All get the same features and the same known examples, drawn
at random from the rare class, and rank all other rows.

    forest        scikit-learn's random forest, every row that is not known taken as a non-member; scores out of the bag
    bagged_svm    pulearn's BaggingPuClassifier around support vector machines with a Gaussian kernel
    bagged_trees  the same around decision trees, its default
    elkan_noto    pulearn's ElkanotoPuClassifier around logistic regression on features of unit variance; it sets aside
                  a tenth of the rows and needs a known one there and one elsewhere, so one known is too few
    isolation     scikit-learn's isolation forest, which needs no example: what any ranking should beat

C of the machines in bagged_svm (1, 10, 100) and elkan_noto (1, .01, .0001) is the best that we tried, with two draws of
10 known in a survey of LAMOST spectra; the rest was not tuned.

Printed: average precision of the rows that are not known, its mean and in brackets its 10th percentile over all draws
of all surveys; the paired difference to Auto with its standard error; and how many times Auto's CPU time a query takes,
with what Auto sets up once on the rows counted in full. Needs pulearn (the extra `benchmark`).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from itertools import count

import numpy as np
from numpy.typing import NDArray
from pulearn import BaggingPuClassifier, ElkanotoPuClassifier
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rankings import judged, labelled_features
from rarespec.rankers import Auto
from real_sky import difference, draw_known, mean_and_tenth

TREES, BAGS, BAG_SIZE = 100, 50, 200
"""The bags are those of the paper."""

Scores = NDArray[np.float64]
Scorer = Callable[[NDArray, NDArray[np.bool_], int], Scores]
"""Rows, whether each is known, and a seed -> scores of all rows."""


def forest(X: NDArray, known: NDArray[np.bool_], seed: int) -> Scores:
    """Out of the bag: trees that saw a row as a non-member would say so of it again."""
    model = RandomForestClassifier(TREES, class_weight="balanced", oob_score=True, random_state=seed, n_jobs=-1)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # a known row may be in every bag
        return model.fit(X, known).oob_decision_function_[:, 1]


def bagged_svm(X: NDArray, known: NDArray[np.bool_], seed: int) -> Scores:
    bags = BaggingPuClassifier(SVC(C=1), BAGS, max_samples=BAG_SIZE, oob_score=False, random_state=seed)
    return bags.fit(X, known.astype(int)).decision_function(X)


def bagged_trees(X: NDArray, known: NDArray[np.bool_], seed: int) -> Scores:
    bags = BaggingPuClassifier(n_estimators=TREES, max_samples=BAG_SIZE, oob_score=False, random_state=seed)
    return bags.fit(X, known.astype(int)).predict_proba(X)[:, 1]


def elkan_noto(X: NDArray, known: NDArray[np.bool_], seed: int) -> Scores:
    """With the first rows set aside that allow a fit."""
    if known.sum() < 2:
        return np.full(len(X), np.nan)
    base = make_pipeline(StandardScaler(), LogisticRegression(C=1e-4, class_weight="balanced", max_iter=1000))
    for attempt in count(1000 * seed):
        try:
            return ElkanotoPuClassifier(base, random_state=attempt).fit(X, known.astype(int)).predict_proba(X)[:, 1]
        except ValueError as error:
            if "hold-out" not in str(error) and "class" not in str(error):
                raise


def isolation(X: NDArray, known: NDArray[np.bool_], seed: int) -> Scores:
    return -IsolationForest(n_estimators=TREES, random_state=seed, n_jobs=-1).fit(X).score_samples(X)


PEERS: dict[str, Scorer] = {
    "forest": forest,
    "bagged_svm": bagged_svm,
    "bagged_trees": bagged_trees,
    "elkan_noto": elkan_noto,
    "isolation": isolation,
}

Cell = tuple[str, int]
"""Method, number of known."""


class Tally:
    """Average precisions and CPU seconds of every draw."""

    def __init__(self) -> None:
        self.precisions: dict[Cell, list[float]] = defaultdict(list)
        self.seconds: dict[Cell, list[float]] = defaultdict(list)

    def add_survey(self, survey: str, chosen: argparse.Namespace) -> None:
        X, rare = labelled_features(survey, chosen.rare, chosen.recipe)
        start = time.process_time()
        auto = Auto(random_state=chosen.seed).prepare(X)
        setting_up = time.process_time() - start
        asked: dict[str, Scorer] = {"auto": lambda X, known, seed: auto.fit(known).scores}
        asked |= {name: PEERS[name] for name in chosen.peers}
        for n_known in chosen.known:
            for number, rows in enumerate(draw_known(rare, n_known, chosen.draws, chosen.seed)):
                known = np.zeros(len(X), bool)
                known[rows] = True
                for name, scorer in asked.items():
                    start = time.process_time()
                    scores = scorer(X, known, chosen.seed + number)
                    took = time.process_time() - start + (setting_up if name == "auto" else 0)
                    usable = bool(np.isfinite(scores).all())
                    self.precisions[name, n_known].append(judged(scores, rare, rows)[1] if usable else np.nan)
                    self.seconds[name, n_known].append(took)
            print(f"{survey}: {n_known} known done", file=sys.stderr, flush=True)

    def print_rows(self, n_known: int, names: list[str]) -> None:
        auto, auto_took = np.array(self.precisions["auto", n_known]), np.mean(self.seconds["auto", n_known])
        print(f"| {n_known} | auto | {mean_and_tenth(auto)} | - | 1 ({auto_took:.1f} s) |")
        for name in names:
            found, ratio = np.array(self.precisions[name, n_known]), np.mean(self.seconds[name, n_known]) / auto_took
            if np.isnan(found).any():
                print(f"| {n_known} | {name} | not possible | - | - |")
            else:
                print(f"| {n_known} | {name} | {mean_and_tenth(found)} | {difference(found, auto)} | {ratio:.2g} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survey", nargs="+", required=True)
    parser.add_argument("--rare", default="CARBON")
    parser.add_argument("--recipe", default="sky")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--known", type=int, nargs="+", default=[1, 3, 10, 30])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    tally = Tally()
    for survey in chosen.survey:
        tally.add_survey(survey, chosen)
    print(f"{chosen.rare} in {len(chosen.survey)} surveys, {chosen.draws} draws each, {chosen.recipe} features")
    print("| known | method | average precision | minus Auto | times Auto's CPU time |")
    print("|---|---|---|---|---|")
    for n_known in chosen.known:
        tally.print_rows(n_known, chosen.peers)


if __name__ == "__main__":
    main()
