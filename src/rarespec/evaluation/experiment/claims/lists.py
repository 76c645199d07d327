"""Claims about what stands in the lists of figures 5 and 6: how many right ones, and how alike to the known one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.finding import (
    Finding,
    Quote,
    Verdict,
    as_claimed,
    in_words,
    join_words,
    not_run,
    together,
)
from rarespec.evaluation.experiment.methods import PAPER_METHODS
from rarespec.evaluation.experiment.metric_table import recall
from rarespec.evaluation.experiment.plan import STUDIED
from rarespec.evaluation.experiment.results import Results, Trials
from rarespec.evaluation.places import PairedDifference, paired_difference

DEPTH = 20
"""Spectra of a list that the paper's figure 6 shows."""
NEAR, FAR = (STUDIED, "lrga"), ("label_propagation", "emr", "bagging_svm")
"""Methods whose first spectra the paper finds more, and less, close to the given one."""


def list_claims(results: Results) -> list[Finding]:
    return [_rises(results), _mostly_wrong(results), _all_right(results), _alike(results)]


def _rises(results: Results) -> Finding:
    """Draws of two numbers of known examples are other draws; taken in pairs as they come they are as good as any."""
    metric = recall(results)
    title = f"Recall rises with NP, by {metric.short}"
    quote = Quote("section 4.1, figure 5", "the retrieval performances of different methods increase with NP")
    numbers = sorted(results.setting.n_known)
    run = [name for name in PAPER_METHODS if all((name, n) in results.trials for n in numbers)]
    if len(numbers) < 2 or not run:
        return not_run(title, "it needs two numbers of known examples", quote)
    steps = {
        name: {
            (a, b): _between(results.trials[name, a], results.trials[name, b], metric.of) for a, b in _steps(numbers)
        }
        for name in run
    }
    verdicts = {name: _rising(list(of_method.values())) for name, of_method in steps.items()}
    said = [
        _step_sentence(results.label(name), numbers, of_method, verdicts[name]) for name, of_method in steps.items()
    ]
    return Finding(title, tuple(said), together(verdicts.values()), quote)


def _steps(numbers: list[int]) -> list[tuple[int, int]]:
    """From the fewest to the most, and then each step."""
    return [(numbers[0], numbers[-1]), *pairwise(numbers)]


def _between(fewer: Trials, more: Trials, of: Callable[[Trials], NDArray[np.float64]]) -> PairedDifference:
    n = min(len(fewer.auc), len(more.auc))
    return paired_difference(of(more)[:n], of(fewer)[:n])


def _rising(steps: list[PairedDifference]) -> Verdict:
    whole, *single = steps
    if not whole.is_clear:
        return Verdict.OPEN
    if whole.mean < 0:
        return Verdict.FAILS
    return Verdict.PARTLY if any(step.is_clear and step.mean < 0 for step in single) else Verdict.HOLDS


def _step_sentence(
    label: str, numbers: list[int], steps: dict[tuple[int, int], PairedDifference], verdict: Verdict
) -> str:
    (first, last), *single = steps
    falls = [f"{a} to {b}" for a, b in single if steps[a, b].is_clear and steps[a, b].mean < 0]
    but = f", but falls from {join_words(falls)}" if falls else ""
    return f"{label}: from NP = {first} to {last} by {in_words(steps[first, last])}{but}; the claim {verdict}."


def _first_right(results: Results, name: str) -> NDArray[np.int_]:
    """How many of the first 20, or of as many as are hidden, are right in each draw with one known example."""
    places = results.trials[name, 1].places
    k = min(DEPTH, places.places.shape[1])
    return np.rint(places.precision(k) * k).astype(int)


def _mostly_wrong(results: Results) -> Finding:
    title = "With one known example, most of the top 20 of OCSVM are wrong"
    quote = Quote("section 4.1, figure 6", "the spectra retrieved by OCSVM are mostly incorrect")
    if ("ocsvm", 1) not in results.trials:
        return not_run(title, "there are no draws of OCSVM with one known example", quote)
    right = _first_right(results, "ocsvm")
    said = (
        f"{right.mean():.1f} of the first {DEPTH} are right on average; fewer than half in {np.sum(right < DEPTH / 2)} "
        f"of {len(right)} draws. The paper shows one draw; the claim is said to hold where most draws are so."
    )
    return Finding(title, (said,), _in_most_draws([right < DEPTH / 2]), quote)


def _all_right(results: Results) -> Finding:
    title = "With one known example, the top 20 of the other five methods are all right"
    quote = Quote("section 4.1, figure 6", "the top 20 spectra retrieved by other 5 methods are all correct")
    run = [name for name in PAPER_METHODS if name != "ocsvm" and (name, 1) in results.trials]
    if not run:
        return not_run(title, "there are no draws of these with one known example", quote)
    right = {name: _first_right(results, name) for name in run}
    most = {name: min(DEPTH, results.trials[name, 1].places.places.shape[1]) for name in run}
    sentences = [
        f"{results.label(name)}: all in {np.sum(right[name] == most[name])} of {len(right[name])} draws, "
        f"{right[name].mean():.1f} on average."
        for name in run
    ]
    how = "The paper shows one draw; here the claim holds for a method if it is true of most draws."
    return Finding(title, (*sentences, how), _in_most_draws([right[name] == most[name] for name in run]), quote)


def _in_most_draws(agree: Sequence[NDArray[np.bool_]]) -> Verdict:
    """Of each method, in which draws it is as claimed; one draw alone decides nothing."""
    if len(agree[0]) == 1:
        return Verdict.OPEN
    return as_claimed([bool(draws.mean() > 0.5) for draws in agree])


def _alike(results: Results) -> Finding:
    """By the distance in the features: components of the filtered, rescaled flux, which is what figure 6 shows."""
    title = (
        "With one known example, the top 20 of BaggingTopPush and LRGA resemble it more than those of LP, EMR and "
        "BaggingSVM"
    )
    quote = Quote(
        "section 4.1, figure 6",
        "the results retrieved by BaggingTopPush and LRGA are visually more close to the given positive example than "
        "LP, EMR and BaggingSVM",
    )
    distances = {
        name: distance
        for name in (*NEAR, *FAR)
        if (name, 1) in results.trials and (distance := results.trials[name, 1].top_distance) is not None
    }
    near, far = ([name for name in names if name in distances] for names in (NEAR, FAR))
    if not near or not far:
        return not_run(title, "there are no draws of these with one known example", quote)
    checks = [(a, b, paired_difference(distances[a], distances[b])) for a in near for b in far]
    sentences = [
        f"{results.label(a)} {distances[a].mean():.2f}, {results.label(b)} {distances[b].mean():.2f}; difference "
        f"{in_words(difference, 2)}."
        for a, b, difference in checks
    ]
    verdicts = [
        Verdict.OPEN if not one.is_clear else Verdict.HOLDS if one.mean < 0 else Verdict.FAILS for *_, one in checks
    ]
    how = "Measured by the mean Euclidean distance of the top 20 from the known example in feature space."
    return Finding(title, (how, *sentences), together(verdicts), quote)
