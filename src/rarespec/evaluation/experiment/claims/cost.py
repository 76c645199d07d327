"""Claims about what the methods cost: CPU time of a query, and how that of BaggingTopPush follows its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rarespec.evaluation.experiment.finding import (
    Finding,
    Quote,
    Verdict,
    as_claimed,
    in_seconds,
    join_words,
    not_run,
    parameters_in_words,
    together,
)
from rarespec.evaluation.experiment.methods import method
from rarespec.evaluation.experiment.plan import PUBLISHED, STUDIED
from rarespec.evaluation.experiment.results import Results, Timing

SLOWER = ("emr", "bagging_svm", "label_propagation", "lrga")
"""Methods that the paper calls slower than its own."""
CLOSE = 2.0
"""Factor within which two times count as equal."""
NOISE = 1.25
"""Factor within which two times of one method count as equal."""
ENOUGH = 50
"""Rows in a bag from which on learning, not scoring, takes the time."""

ACCOUNTS: tuple[tuple[str, Callable[[Timing], float]], ...] = (
    ("each query only", lambda timing: timing.query_s),
    ("including the set-up", lambda timing: timing.query_s + timing.setup_s),
)


def cost_claims(results: Results) -> list[Finding]:
    return [
        _faster(
            results,
            "BaggingTopPush is faster than EMR, BaggingSVM, LP and LRGA",
            Quote("section 4.2, figure 7", "BaggingTopPush is prominently faster than EMR, BaggingSVM, LP, and LRGA"),
            STUDIED,
            SLOWER,
            lambda own, other: own < other,
        ),
        _faster(
            results,
            "BaggingTopPush is about as fast as OCSVM",
            Quote("section 4.2, figure 7", "the gaps between BaggingTopPush and OCSVM is very small"),
            STUDIED,
            ("ocsvm",),
            lambda own, other: max(own, other) <= CLOSE * min(own, other),
        ),
        _faster(
            results,
            "BaggingSVM costs much less than BiasedSVM",
            Quote("section 1", "Bagging SVM can greatly alleviate the computation burden of Biased SVM"),
            "bagging_svm",
            ("biased_svm",),
            lambda own, other: CLOSE * own < other,
        ),
        _falls_with_strength(results),
        _grows_with_bags(results),
        _is_linear(results),
    ]


def _faster(
    results: Results,
    title: str,
    quote: Quote,
    name: str,
    others: Sequence[str],
    is_so: Callable[[float, float], bool],
) -> Finding:
    timed = {cell for cell in results.timings if cell[0] in others and (name, cell[1]) in results.timings}
    numbers = sorted({n_known for _, n_known in timed})
    if not numbers:
        return not_run(title, f"{method(name).label} was not timed against {_labels(others)}", quote)
    checks = [_compare(results, n, *account, name, others, is_so) for n in numbers for account in ACCOUNTS]
    absent = [other for other in others if not any(other == run for run, _ in timed)]
    without = [f"Not timed: {_labels(absent)}."] if absent else []
    with_what = parameters_in_words(results, [one for one in (name, *others) if one not in absent])
    how = f"Timed with {with_what}. All are CPU times; those within a factor of {CLOSE:g} count as equal."
    verdict = as_claimed([one for _, agree in checks for one in agree])
    return Finding(title, (*(said for said, _ in checks), *without, how), verdict, quote)


def _compare(
    results: Results,
    n_known: int,
    account: str,
    seconds: Callable[[Timing], float],
    name: str,
    others: Sequence[str],
    is_so: Callable[[float, float], bool],
) -> tuple[str, list[bool]]:
    """A sentence, and for each other method whether it is as the paper says."""
    own = seconds(results.timings[name, n_known])
    times = {one: seconds(results.timings[one, n_known]) for one in others if (one, n_known) in results.timings}
    agree = {one: is_so(own, time) for one, time in times.items()}
    said = join_words([f"{results.label(one)} {in_seconds(time)}" for one, time in times.items()])
    against = [results.label(one) for one, as_said in agree.items() if not as_said]
    but = f"; against the claim: {join_words(against)}" if against else ""
    return f"NP = {n_known}, {account}: {results.label(name)} takes {in_seconds(own)}, {said}{but}.", [*agree.values()]


def _labels(names: Sequence[str]) -> str:
    return join_words([method(name).label for name in names])


def _over(results: Results, name: str, parameter: str) -> dict[float, float]:
    """Value of the parameter -> CPU seconds, from the smallest up."""
    costs = {value: cost for (one, varied, value), cost in results.costs.items() if (one, varied) == (name, parameter)}
    return dict(sorted(costs.items()))


def _falls_with_strength(results: Results) -> Finding:
    title = "A query of BaggingTopPush takes less time as λ grows"
    quote = Quote("section 4.3", "the computational cost of TopPush reduces when a larger value of λ is used")
    solvers = {"our solver": STUDIED, "the published solver": PUBLISHED}
    costs = {said: over for said, name in solvers.items() if (over := _over(results, name, "regularisation"))}
    if not costs:
        return not_run(title, "λ was not varied in the timing", quote)
    verdicts = [_less_at_the_end(over) for over in costs.values()]
    sentences = [_run_through(f"With {said}", "λ", over) for said, over in costs.items()]
    return Finding(title, (*sentences, _NOISE_SAID), together(verdicts), quote)


def _grows_with_bags(results: Results) -> Finding:
    title = "A query of BaggingTopPush takes more time as K and T grow"
    quote = Quote("section 4.3", "the larger K and T, the more time cost in ranking")
    varied = {"K": "bag_size", "T": "n_bags"}
    costs = {letter: over for letter, name in varied.items() if (over := _over(results, STUDIED, name))}
    if not costs:
        return not_run(title, "K and T were not varied in the timing", quote)
    opposite = {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS, Verdict.OPEN: Verdict.OPEN}
    verdicts = [opposite[_less_at_the_end(over)] for over in costs.values()]
    sentences = [_run_through("With our solver", letter, over) for letter, over in costs.items()]
    return Finding(title, (*sentences, _NOISE_SAID), together(verdicts), quote)


def _is_linear(results: Results) -> Finding:
    title = "The time of BaggingTopPush is at most linear in the number of training samples"
    quote = Quote(
        "section 4.2",
        "the computational complexity of BaggingTopPush and OCSVM is linear in the number of training samples",
    )
    over = {size: cost for size, cost in _over(results, STUDIED, "bag_size").items() if size >= ENOUGH}
    if len(over) < 2:
        return not_run(title, "K was not varied in the timing", quote)
    (few, short), *_, (many, long) = over.items()
    said = (
        f"K from {few:g} to {many:g}, {many / few:.2g} times as many: {in_seconds(short)} to {in_seconds(long)}, "
        f"{long / short:.2g} times as long."
    )
    return Finding(title, (said, _NOISE_SAID), as_claimed([long / short <= NOISE * many / few]), quote)


_NOISE_SAID = f"CPU times of single queries on one survey; factors below {NOISE:g} are within the noise."


def _less_at_the_end(over: Mapping[float, float]) -> Verdict:
    first, *_, last = over.values()
    if max(first, last) < NOISE * min(first, last):
        return Verdict.OPEN
    return Verdict.HOLDS if last < first else Verdict.FAILS


def _run_through(start: str, letter: str, over: Mapping[float, float]) -> str:
    times = ", ".join(f"{in_seconds(cost)} at {value:g}" for value, cost in over.items())
    return f"{start}, over {letter}: {times}."
