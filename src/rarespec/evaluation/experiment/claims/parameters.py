"""Claims about the parameters: of BaggingTopPush, and of LRGA."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.finding import (
    Finding,
    Quote,
    Verdict,
    as_claimed,
    by_verdict,
    default_of_studied,
    format_count,
    format_parameters,
    in_words,
    not_run,
    together,
)
from rarespec.evaluation.experiment.results import Results, Sensitivity
from rarespec.evaluation.places import paired_difference
from rarespec.evaluation.tuning import BAG_SIZE, N_BAGS, REGULARISATION

MATTERS = 0.05
"""Change of the mean AP from which on a parameter is said to matter."""


def parameter_claims(results: Results) -> list[Finding]:
    return [
        _bagging_helps(results.bags),
        _steady_in_bags(results.bags),
        _steady_in_strength(results.strengths),
        _steady_lrga(results),
    ]


def _bagging_helps(bags: Mapping[int, Sensitivity]) -> Finding:
    """One bag against many of the size that the paper settled on."""
    title = "Bagging makes TopPush more accurate and more stable"
    quote = Quote(
        "section 2.2",
        "bagging techniques which are designed to improve the stability and accuracy of unstable machine "
        "learning algorithms",
    )
    if not bags:
        return not_run(title, "K and T were not varied", quote)
    size = int(default_of_studied("bag_size"))
    many = N_BAGS.index(min(n for n in N_BAGS if n >= default_of_studied("n_bags")))
    checks = {
        n: _one_and_many(n, over.average_precision[BAG_SIZE.index(size)], many) for n, over in sorted(bags.items())
    }
    verdicts = {n: verdict for n, (_, verdict) in checks.items()}
    sentences = [said for said, _ in checks.values()]
    how = f"With K = {size}. More stable means a smaller standard deviation over the draws."
    return Finding(title, (*sentences, how), together(verdicts.values()), quote, by_verdict(verdicts))


def _one_and_many(n_known: int, over: NDArray[np.float64], many: int) -> tuple[str, Verdict]:
    """over: (values of T, draws) of AP."""
    one, more = over[0], over[many]
    difference = paired_difference(more, one)
    if len(one) == 1:
        return (
            f"NP = {n_known}: AP {one[0]:.3f} with one bag, {more[0]:.3f} with {N_BAGS[many]}; one draw.",
            Verdict.OPEN,
        )
    spreads = one.std(ddof=1), more.std(ddof=1)
    said = (
        f"NP = {n_known}: AP {one.mean():.3f} ± {spreads[0]:.3f} with one bag, {more.mean():.3f} ± {spreads[1]:.3f} "
        f"with {N_BAGS[many]}; difference {in_words(difference)}."
    )
    if not difference.is_clear:
        return said, Verdict.OPEN
    return said, as_claimed([difference.mean > 0, bool(spreads[1] < spreads[0])])


def _steady_in_bags(bags: Mapping[int, Sensitivity]) -> Finding:
    title = "BaggingTopPush is not sensitive to K and T when K > 50 and T > 40"
    quote = Quote(
        "section 4.3, figure 8",
        "the performance of BaggingTopPush is not sensitive to the selection of K and T when K>50 & T>40",
    )
    if not bags:
        return not_run(title, "K and T were not varied", quote)
    steady = np.ix_(np.array(BAG_SIZE) > 50, np.array(N_BAGS) > 40)
    sentences = [
        f"NP = {n_known}: AP changes by {_change(over.average_precision[steady]):.3f} for K > 50 and T > 40, and by "
        f"{_change(over.average_precision):.3f} over all values; AUC by {_change(over.auc[steady]):.3f} and "
        f"{_change(over.auc):.3f}."
        for n_known, over in sorted(bags.items())
    ]
    agree = [_change(over.average_precision[steady]) < MATTERS for over in bags.values()]
    return Finding(title, (*sentences, _meaning(bags)), as_claimed(agree), quote)


def _steady_in_strength(strengths: Mapping[int, Sensitivity]) -> Finding:
    title = "λ matters to BaggingTopPush for NP ≤ 5, and not for NP ≥ 10"
    quote = Quote(
        "section 4.3, figure 9",
        "the ranking performance is closely related to λ only when the number of positive training samples NP≤5. When "
        "NP≥10, the ranking performance is not sensitive to the selection of λ",
    )
    if not strengths:
        return not_run(title, "λ was not varied", quote)
    change = {n_known: _change(over.average_precision) for n_known, over in sorted(strengths.items())}
    sentences = [
        f"NP = {n_known}: AP changes by {by:.3f} for λ from {REGULARISATION[0]:g} to {REGULARISATION[-1]:g}: it "
        f"{'matters' if by >= MATTERS else 'does not matter'}."
        for n_known, by in change.items()
    ]
    agree = [(by >= MATTERS) == (n_known <= 5) for n_known, by in change.items() if n_known <= 5 or n_known >= 10]
    return Finding(title, (*sentences, _meaning(strengths)), as_claimed(agree), quote)


def _steady_lrga(results: Results) -> Finding:
    """What tuning tried: one parameter at a time, the others as the paper has them."""
    title = "LRGA is insensitive to its parameters"
    quote = Quote(
        "section 3.2",
        "learns the Laplacian matrix by local regression and global alignment and shows to be "
        "insensitive to parameters",
    )
    tried = results.tried.get("lrga", ())
    if len(tried) < 2:
        return not_run(title, "it was not tuned; use --tune all", quote)
    numbers = list(tried[0].average_precision)
    change = {n: float(np.ptp([one.average_precision[n] for one in tried])) for n in numbers}
    worst = {n: min(tried, key=lambda one: one.average_precision[n]) for n in numbers}
    sentences = [
        f"NP = {n}: AP changes by {by:.3f}, and is lowest with {format_parameters(worst[n].params) or 'its defaults'}."
        for n, by in change.items()
    ]
    how = f"Over the {len(tried)} combinations that tuning tried; a change by {MATTERS:g} or more matters."
    return Finding(title, (*sentences, how), as_claimed([by < MATTERS for by in change.values()]), quote)


def _change(over: NDArray[np.float64]) -> float:
    """Between the lowest and the highest mean; the draws are the last axis."""
    return float(np.ptp(over.mean(axis=-1)))


def _meaning(sensitivities: Mapping[int, Sensitivity]) -> str:
    draws = format_count(min(over.auc.shape[-1] for over in sensitivities.values()), "draw")
    return f"Each value is a mean over {draws}; a change of AP by {MATTERS:g} or more matters."
