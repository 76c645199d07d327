"""What Du et al. (2016) say about the methods, each claim checked against the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.basis import parameters_in_words
from rarespec.evaluation.experiment.finding import Finding, Verdict, by_verdict, counted, in_seconds, in_words, listed
from rarespec.evaluation.experiment.methods import PAPER_METHODS, method
from rarespec.evaluation.experiment.metric_table import AUC, AVERAGE_PRECISION, Metric
from rarespec.evaluation.experiment.plan import STUDIED
from rarespec.evaluation.experiment.results import Results, Sensitivity, Timing
from rarespec.evaluation.paired import PairedDifference, paired_difference
from rarespec.evaluation.paper_grids import BAG_SIZE, N_BAGS, REGULARISATION

MATTERS = 0.05
"""Change of the mean AP from which on a parameter is said to matter."""
CLOSE = 2.0
"""Factor within which two times are said to be close."""
SLOWER, AS_FAST = ("emr", "bagging_svm", "label_propagation", "lrga"), "ocsvm"
"""Which methods the paper calls slower than its own, and which as fast."""


@dataclass(frozen=True)
class Claim:
    """That one method is above, or below, all rivals."""

    text: str
    name: str
    metric: Metric
    is_above: bool
    rivals: tuple[str, ...] = PAPER_METHODS
    applies: Callable[[int], bool] = lambda n_known: True
    """To this number of known examples."""

    @property
    def others(self) -> list[str]:
        return [name for name in self.rivals if name != self.name]


def _with_one(n_known: int) -> bool:
    return n_known == 1


def _with_more(n_known: int) -> bool:
    return n_known > 1


CLAIMS = (
    Claim("LRGA is the best with one known example", "lrga", AVERAGE_PRECISION, True, applies=_with_one),
    Claim("BaggingTopPush is the best with more than one", STUDIED, AVERAGE_PRECISION, True, applies=_with_more),
    Claim("OCSVM is the worst", "ocsvm", AVERAGE_PRECISION, False),
    Claim("EMR is poor compared with BaggingTopPush and LRGA", "emr", AVERAGE_PRECISION, False, (STUDIED, "lrga")),
    Claim("LRGA has the best AUC with one known example", "lrga", AUC, True, applies=_with_one),
    Claim("BaggingTopPush has the best AUC with more than one", STUDIED, AUC, True, applies=_with_more),
)
"""About the order of the methods in the paper's Table 1."""


def paper_claims(results: Results) -> list[Finding]:
    """Each claim with the figures that speak for or against it, and a verdict."""
    return [
        *(_checked(results, claim) for claim in CLAIMS),
        _steady_in_bags(results.bags),
        _steady_in_strength(results.strengths),
        _fast(results),
    ]


def _checked(results: Results, claim: Claim) -> Finding:
    checks = {
        n_known: _against_rivals(results, claim, n_known, rivals)
        for n_known in results.setting.n_known
        if claim.applies(n_known) and (claim.name, n_known) in results.trials
        if (rivals := [name for name in claim.others if (name, n_known) in results.trials])
    }
    if not checks:
        why = f"Not run: there are no draws of {method(claim.name).label} and a rival with such a number of known."
        return Finding(claim.text, (why,), Verdict.NOT_RUN)
    verdicts = {n_known: verdict for n_known, (_, verdict) in checks.items()}
    absent = [method(name).label for name in claim.others if name not in results.setting.methods]
    sentences = [
        *([by_verdict(verdicts)] if len(set(verdicts.values())) > 1 else []),
        *(said for said, _ in checks.values()),
        *([f"Without {listed(absent)}: not run."] if absent else []),
    ]
    return Finding(claim.text, tuple(sentences), _together(verdicts.values()))


def _against_rivals(results: Results, claim: Claim, n_known: int, rivals: list[str]) -> tuple[str, Verdict]:
    """Against the rival that is hardest to pass."""
    values = {name: claim.metric.of(results.trials[name, n_known]) for name in (claim.name, *rivals)}
    rival = (max if claim.is_above else min)(rivals, key=lambda name: values[name].mean())
    difference = paired_difference(values[claim.name], values[rival])
    digits, extreme = claim.metric.digits, "best" if claim.is_above else "lowest"
    said = (
        f"NP = {n_known}: {claim.metric.short} {values[claim.name].mean():.{digits}f}, the {extreme} "
        f"other is {results.label(rival)} with {values[rival].mean():.{digits}f}; difference "
        f"{in_words(difference, digits)}."
    )
    return said, _verdict(difference, claim.is_above)


def _verdict(difference: PairedDifference, is_above: bool) -> Verdict:
    if not difference.is_clear:
        return Verdict.OPEN
    return Verdict.HOLDS if (difference.mean > 0) == is_above else Verdict.FAILS


def _together(verdicts: Iterable[Verdict]) -> Verdict:
    """For several numbers of known examples; a claim that holds for none of them does not hold in part."""
    different = set(verdicts)
    if len(different) == 1:
        return different.pop()
    return Verdict.PARTLY if Verdict.HOLDS in different else Verdict.FAILS


def _steady_in_bags(bags: Mapping[int, Sensitivity]) -> Finding:
    text = "BaggingTopPush is not sensitive to K and T when K > 50 and T > 40"
    if not bags:
        return Finding(text, ("Not run: nothing was varied over K and T.",), Verdict.NOT_RUN)
    steady = np.ix_(np.array(BAG_SIZE) > 50, np.array(N_BAGS) > 40)
    sentences = [
        f"NP = {n_known}: AP changes by {_change(over.average_precision[steady]):.3f} for K > 50 and T > 40, and by "
        f"{_change(over.average_precision):.3f} over all values; AUC by {_change(over.auc[steady]):.3f} and "
        f"{_change(over.auc):.3f}."
        for n_known, over in sorted(bags.items())
    ]
    agree = [_change(over.average_precision[steady]) < MATTERS for over in bags.values()]
    return Finding(text, (*sentences, _meaning(bags)), _as_claimed(agree))


def _steady_in_strength(strengths: Mapping[int, Sensitivity]) -> Finding:
    text = "λ matters to BaggingTopPush for NP ≤ 5, and not for NP ≥ 10"
    if not strengths:
        return Finding(text, ("Not run: nothing was varied over λ.",), Verdict.NOT_RUN)
    change = {n_known: _change(over.average_precision) for n_known, over in sorted(strengths.items())}
    sentences = [
        f"NP = {n_known}: AP changes by {by:.3f} for λ from {REGULARISATION[0]:g} to {REGULARISATION[-1]:g}: it "
        f"{'matters' if by >= MATTERS else 'does not matter'}."
        for n_known, by in change.items()
    ]
    agree = [(by >= MATTERS) == (n_known <= 5) for n_known, by in change.items() if n_known <= 5 or n_known >= 10]
    return Finding(text, (*sentences, _meaning(strengths)), _as_claimed(agree))


def _change(over: NDArray[np.float64]) -> float:
    """Between the lowest and the highest mean; the draws are the last axis."""
    return float(np.ptp(over.mean(axis=-1)))


def _meaning(sensitivities: Mapping[int, Sensitivity]) -> str:
    draws = counted(min(over.auc.shape[-1] for over in sensitivities.values()), "draw")
    return f"Each value is a mean over {draws}; a change of AP by {MATTERS:g} or more is said to matter."


def _as_claimed(agree: Sequence[bool]) -> Verdict:
    if not agree:
        return Verdict.OPEN
    return Verdict.HOLDS if all(agree) else Verdict.PARTLY if any(agree) else Verdict.FAILS


ACCOUNTS: tuple[tuple[str, Callable[[Timing], float]], ...] = (
    ("each query alone", lambda timing: timing.query_s),
    ("with what is set up once", lambda timing: timing.query_s + timing.setup_s),
)


def _fast(results: Results) -> Finding:
    text = "BaggingTopPush is faster than EMR, BaggingSVM, LP and LRGA, and close to OCSVM"
    numbers = [n_known for name, n_known in results.timings if name == STUDIED and _timed(results, n_known)]
    if not numbers:
        return Finding(text, ("Not run: it was not timed beside any of these.",), Verdict.NOT_RUN)
    checks = [_compared_times(results, n_known, *account) for n_known in numbers for account in ACCOUNTS]
    timed = {name for name, _ in results.timings}
    absent = [method(name).label for name in (*SLOWER, AS_FAST) if name not in timed]
    without = [f"Not timed: {listed(absent)}."] if absent else []
    with_what = parameters_in_words(results, [name for name in (STUDIED, *SLOWER, AS_FAST) if name in timed])
    how = f"Timed with {with_what}. All are CPU times; those within a factor of {CLOSE:g} are said to be close."
    verdict = _as_claimed([one for _, agree in checks for one in agree])
    return Finding(text, (*(said for said, _ in checks), *without, how), verdict)


def _timed(results: Results, n_known: int) -> list[str]:
    return [name for name in (*SLOWER, AS_FAST) if (name, n_known) in results.timings]


def _compared_times(
    results: Results, n_known: int, account: str, seconds: Callable[[Timing], float]
) -> tuple[str, list[bool]]:
    """A sentence, and for each other method whether it is as the paper says."""
    own = seconds(results.timings[STUDIED, n_known])
    times = {name: seconds(results.timings[name, n_known]) for name in _timed(results, n_known)}
    agree = {name: _is_close(own, time) if name == AS_FAST else time > own for name, time in times.items()}
    others = listed([f"{results.label(name)} {in_seconds(time)}" for name, time in times.items()])
    against = [results.label(name) for name, as_claimed in agree.items() if not as_claimed]
    but = f"; against the claim: {listed(against)}" if against else ""
    return f"NP = {n_known}, {account}: BaggingTopPush takes {in_seconds(own)}, {others}{but}.", list(agree.values())


def _is_close(a: float, b: float) -> bool:
    return max(a, b) <= CLOSE * min(a, b)
