"""How well each ranker finds the rest of a rare class from a few known examples: AUC and average precision.

    python benchmarks/rankings.py [--survey mock | PATH/make_survey.py | PATH/observed.npz | SURVEY] [--rare CARBON]
                                  [--n 100000] [--n-rare 450] [--seed 1] [--draws 10] [--known 1 3 10 30]
                                  [--methods ocsvm lrga ...] [--against bagging_top_push] [--median-snr 4]

SURVEY is a survey of rarespec with classes, ranked as it is. Features are those of the paper. Known examples are drawn
at random from the rare class, the same draws for every method, and each method is judged on the rows that are not
known. Printed: mean and standard deviation over the draws, and the paired difference of one method, BaggingTopPush by
default, to each other with its standard error. Graphs and anchors are built once, and what Auto needs of the rows
alone.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mock_features import mock_features
from rarespec.evaluation import average_precision_at_k, relevance_in_order, roc_auc_of_scores
from rarespec.evaluation.experiment.methods import OUR_METHODS, PAPER_METHODS, method
from rarespec.evaluation.experiment.setting import rare_class
from rarespec.features import PaperFeatures
from rarespec.searching.request import recipe_named
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_of

OTHERS = ("svdd", "biased_svm", "manifold_ranking", *OUR_METHODS, "bipartite_logistic", "bipartite_boosting")


def features_of_survey(
    survey: str, rare: str, n: int, n_rare: int, seed: int, *options: str
) -> tuple[NDArray, NDArray[np.bool_]]:
    """Of the mock sky, of a survey, of one that the script of this path builds, or of observed spectra in a file."""
    if survey == "mock":
        return mock_features(n, n_rare, seed, rare.lower())
    if Path(survey).is_dir():
        return labelled_features(survey, rare, "paper")
    if survey.endswith(".npz"):
        return observed_features(Path(survey), rare)
    return template_features(Path(survey), rare, n, n_rare, seed, *options)


def labelled_features(survey: str, rare: str, recipe: str) -> tuple[NDArray, NDArray[np.bool_]]:
    """Features of the usable spectra of a survey, and which of them the catalogue calls rare."""
    opened = Survey.open(survey)
    features = features_of(opened, recipe_named(recipe))
    return features.usable_values, rare_class(opened, rare).members[features.usable]


def template_features(
    script: Path, rare: str, n: int, n_rare: int, seed: int, *options: str
) -> tuple[NDArray, NDArray[np.bool_]]:
    """Features of a survey that `make_survey.py` builds from real templates."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "survey.npz"
        sizes = ["--n-common", str(n), "--n-rare", str(n_rare), "--seed", str(seed), "--rare", rare, *options]
        subprocess.run([sys.executable, str(script), str(made), *sizes], check=True, stderr=subprocess.DEVNULL)
        arrays = np.load(made)
        return PaperFeatures().fit_transform(arrays["flux"]), arrays["class"] == rare


def observed_features(path: Path, rare: str) -> tuple[NDArray, NDArray[np.bool_]]:
    """Features of the spectra of `observed.npz`, whose classes are in a table beside it; those that have any."""
    arrays = np.load(path)
    with path.with_suffix(".csv").open(newline="") as table:
        classes = np.array([row["class"] for row in csv.DictReader(table)])
    good = np.unpackbits(arrays["good"], axis=1)[:, : arrays["flux"].shape[1]].astype(bool)
    X = PaperFeatures().fit_transform(np.where(good, arrays["flux"], np.nan))
    usable = np.isfinite(X).all(axis=1)
    return np.ascontiguousarray(X[usable]), (classes == rare)[usable]


def scores_of_draws(name: str, X: NDArray, draws: list[NDArray[np.intp]], seed: int) -> Iterator[NDArray[np.float64]]:
    """Scores of all rows for each draw of known rows."""
    ranker = method(name).ranker(seed)
    marks = np.zeros((len(X), len(draws)))
    for column, known in enumerate(draws):
        marks[known, column] = 1
    preparation = ranker.prepare(X)
    if ranker.answers_together:
        yield from preparation.scores_for(marks).T
    else:
        for y in marks.T:
            yield preparation.fit(y == 1).scores


def judged(scores: NDArray[np.float64], rare: NDArray[np.bool_], known: NDArray[np.intp]) -> tuple[float, float]:
    left = np.ones(len(rare), dtype=bool)
    left[known] = False
    ordered = relevance_in_order(scores[left], rare[left])
    return roc_auc_of_scores(scores[left], rare[left]), average_precision_at_k(ordered)


def compare(
    X: NDArray, rare: NDArray[np.bool_], methods: list[str], n_known: int, n_draws: int, seed: int, against: str
) -> None:
    rng = np.random.default_rng(seed)
    draws = [rng.choice(np.flatnonzero(rare), n_known, replace=False) for _ in range(n_draws)]
    results = {}
    for name in methods:
        start = time.perf_counter()
        pairs = zip(scores_of_draws(name, X, draws, seed), draws, strict=True)
        results[name] = np.array([judged(scores, rare, known) for scores, known in pairs])
        auc, ap = results[name].mean(axis=0)
        sd_auc, sd_ap = results[name].std(axis=0, ddof=1)
        took = (time.perf_counter() - start) / n_draws
        print(
            f"{n_known:5d}  {name:19s} AUC {auc:.3f} ± {sd_auc:.3f}   AP {ap:.3f} ± {sd_ap:.3f}   {took:6.2f} s a draw",
            flush=True,
        )
    for name in methods:
        if name != against and against in results:
            difference = results[against] - results[name]
            error = difference.std(axis=0, ddof=1) / np.sqrt(n_draws)
            mean = difference.mean(axis=0)
            figures = [f"{kind} {m:+.3f} ± {e:.3f}" for kind, m, e in zip(("AUC", "AP"), mean, error, strict=True)]
            print(f"{n_known:5d}  {against} - {name:19s}", *figures)


def add_survey_options(parser: argparse.ArgumentParser, several: bool = False) -> None:
    if several:
        parser.add_argument("--survey", nargs="+", default=["mock"])
    else:
        parser.add_argument("--survey", default="mock")
    parser.add_argument("--rare", default="CARBON")
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--n-rare", type=int, default=450)
    parser.add_argument("--seed", type=int, default=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_survey_options(parser)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--known", type=int, nargs="+", default=[1, 3, 10, 30])
    parser.add_argument("--methods", nargs="+", default=list(PAPER_METHODS + OTHERS))
    parser.add_argument("--against", default="bagging_top_push", help="method whose paired differences are printed")
    parser.add_argument("--median-snr", help="of a survey from templates")
    chosen = parser.parse_args()
    noise = ["--median-snr", chosen.median_snr] if chosen.median_snr else []
    X, rare = features_of_survey(chosen.survey, chosen.rare, chosen.n, chosen.n_rare, chosen.seed, *noise)
    print(f"{chosen.survey}: {len(X)} spectra, {rare.sum()} {chosen.rare}, seed {chosen.seed}, {chosen.draws} draws")
    print("known  method")
    for n_known in chosen.known:
        compare(X, rare, chosen.methods, n_known, chosen.draws, chosen.seed, chosen.against)


if __name__ == "__main__":
    main()
