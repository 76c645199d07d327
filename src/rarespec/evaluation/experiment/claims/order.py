"""Claims about which method is above or below which others, by a metric, for each number of known examples."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from rarespec.evaluation.experiment.finding import (
    Finding,
    Quote,
    Verdict,
    by_verdict,
    in_words,
    join_words,
    not_run,
    together,
)
from rarespec.evaluation.experiment.methods import PAPER_METHODS, method
from rarespec.evaluation.experiment.metric_table import AUC, AVERAGE_PRECISION, P20, P100, Metric, recall
from rarespec.evaluation.experiment.plan import STUDIED
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.places import PairedDifference, paired_difference

MATCHES = 0.05
"""Two methods are said to match where no difference as large as this is left possible."""


def _is_above(difference: PairedDifference) -> Verdict:
    return _by_sign(difference, 1)


def _is_below(difference: PairedDifference) -> Verdict:
    return _by_sign(difference, -1)


def _by_sign(difference: PairedDifference, sign: int) -> Verdict:
    if not difference.is_clear:
        return Verdict.OPEN
    return Verdict.HOLDS if difference.mean * sign > 0 else Verdict.FAILS


def _matches(difference: PairedDifference) -> Verdict:
    """Not clearly below, and known well enough to say so."""
    if difference.high < 0:
        return Verdict.FAILS
    return Verdict.HOLDS if difference.low > -MATCHES else Verdict.OPEN


def _with_one(n_known: int) -> bool:
    return n_known == 1


def _with_more(n_known: int) -> bool:
    return n_known > 1


def _with_up_to_three(n_known: int) -> bool:
    return n_known <= 3


@dataclass(frozen=True)
class Statement:
    """That the best of some methods is above, below or level with the best, or the lowest, of others."""

    text: str
    quote: Quote
    names: tuple[str, ...]
    is_so: Callable[[PairedDifference], Verdict]
    others: tuple[str, ...]
    rival: Callable[..., str] = max
    """Of the others, by their means: the one that is hardest to pass."""
    applies: Callable[[int], bool] = lambda n_known: True
    """To this number of known examples."""


def _other_than(*names: str) -> tuple[str, ...]:
    return tuple(name for name in PAPER_METHODS if name not in names)


AT_THE_TOP = (
    Statement(
        "LRGA is the best with one known example",
        Quote("section 4.1", "LRGA obtains better precision and recall when NP=1"),
        ("lrga",),
        _is_above,
        _other_than("lrga"),
        applies=_with_one,
    ),
    Statement(
        "BaggingTopPush is the best with more than one known example",
        Quote("section 4.1", "BaggingTopPush obtains better results when NP>1"),
        (STUDIED,),
        _is_above,
        _other_than(STUDIED),
        applies=_with_more,
    ),
    Statement(
        "OCSVM is the worst",
        Quote("section 4.1", "Compared to other methods, the performance of OCSVM is worst"),
        ("ocsvm",),
        _is_below,
        _other_than("ocsvm"),
        rival=min,
    ),
    Statement(
        "LP and EMR are never the best",
        Quote("section 4.1", "the experimental results show that LP or EMR is not the best method"),
        ("label_propagation", "emr"),
        _is_below,
        _other_than("label_propagation", "emr"),
    ),
    Statement(
        "EMR is poor compared with BaggingTopPush and LRGA",
        Quote("section 4.1", "the performance of EMR is poor compared to BaggingTopPush or LRGA"),
        ("emr",),
        _is_below,
        (STUDIED, "lrga"),
        rival=min,
    ),
)
"""About figures 2 to 4: checked at the top of the list, P@20, P@100 and R@500, and over all of it, AP."""

_TABLE_1 = Quote(
    "section 4.1, Table 1",
    "BaggingTopPush achieves best AUC values for most NP values (only worse than LRGA when NP=1)",
)
BY_AUC = (
    Statement(
        "LRGA leads Table 1 with one known example",
        _TABLE_1,
        ("lrga",),
        _is_above,
        _other_than("lrga"),
        applies=_with_one,
    ),
    Statement(
        "BaggingTopPush leads Table 1 with more than one known example",
        _TABLE_1,
        (STUDIED,),
        _is_above,
        _other_than(STUDIED),
        applies=_with_more,
    ),
)
ADVICE = Statement(
    "With up to three known examples, LRGA is the method to use",
    Quote("section 4.1", "if only a few of positive samples (≤ 3) are given, one can utilise the LRGA method"),
    ("lrga",),
    _is_above,
    _other_than("lrga"),
    applies=_with_up_to_three,
)
"""It contradicts the paper itself for three known, where it calls BaggingTopPush better."""
IN_THE_FIRST_500 = Statement(
    "BaggingTopPush finds more in the top 500 than LP and EMR",
    Quote("section 4.1, figure 5", "BaggingTopPush always obtain better results than LP and EMR"),
    (STUDIED,),
    _is_above,
    ("label_propagation", "emr"),
)
OTHER_MACHINE = Statement(
    "BaggingSVM matches BiasedSVM",
    Quote("section 1", "Bagging SVM method can match and even outperform the performance of Biased SVM"),
    ("bagging_svm",),
    _matches,
    ("biased_svm",),
)


def order_claims(results: Results) -> list[Finding]:
    found_in_500 = recall(results)
    checks = [
        *((one, metric) for one in AT_THE_TOP for metric in (P20, P100, found_in_500, AVERAGE_PRECISION)),
        *((one, AUC) for one in BY_AUC),
        (ADVICE, AVERAGE_PRECISION),
        (IN_THE_FIRST_500, found_in_500),
        *((OTHER_MACHINE, metric) for metric in (AVERAGE_PRECISION, AUC)),
    ]
    return [check_order(results, statement, metric) for statement, metric in checks]


def check_order(results: Results, statement: Statement, metric: Metric) -> Finding:
    """Check a statement about the order of methods, by one metric.

    Parameters
    ----------
    results : Results
        Results of the experiment.
    statement : Statement
        Which methods are above or below which others, and for which numbers of known examples.
    metric : Metric
        What the methods are compared by; higher must be better.

    Returns
    -------
    Finding
        A sentence for each number of known examples, and the verdict on all of them. `NOT_RUN` when no draws can tell.
    """
    title = f"{statement.text}, by {metric.short}"
    checks = {
        n_known: _against_rivals(results, statement, metric, n_known)
        for n_known in results.setting.n_known
        if statement.applies(n_known)
        if _run(results, statement.names, n_known) and _run(results, statement.others, n_known)
    }
    if not checks:
        names = join_words([method(name).label for name in statement.names])
        return not_run(
            title,
            f"there are no draws of {names} and another method with this number of known examples",
            statement.quote,
        )
    verdicts = {n_known: verdict for n_known, (_, verdict) in checks.items()}
    absent = [
        method(name).label for name in (*statement.names, *statement.others) if name not in results.setting.methods
    ]
    sentences = [
        *(said for said, _ in checks.values()),
        *([f"Without {join_words(absent)}: not run."] if absent else []),
    ]
    return Finding(title, tuple(sentences), together(verdicts.values()), statement.quote, by_verdict(verdicts))


def _run(results: Results, names: Collection[str], n_known: int) -> list[str]:
    return [name for name in names if (name, n_known) in results.trials]


def _against_rivals(results: Results, statement: Statement, metric: Metric, n_known: int) -> tuple[str, Verdict]:
    """The best of those that the claim is about, against the rival that is hardest to pass."""
    own, others = (_run(results, names, n_known) for names in (statement.names, statement.others))
    values = {name: metric.of(results.trials[name, n_known]) for name in (*own, *others)}
    name = max(own, key=lambda one: values[one].mean())
    rival = statement.rival(others, key=lambda one: values[one].mean())
    difference = paired_difference(values[name], values[rival])
    which = f" of {results.label(name)}" if len(own) > 1 else ""
    rank = "" if len(others) == 1 else "the best other is " if statement.rival is max else "the lowest other is "
    said = (
        f"NP = {n_known}: {metric.short}{which} {values[name].mean():.{metric.digits}f}, {rank}{results.label(rival)} "
        f"with {values[rival].mean():.{metric.digits}f}; difference {in_words(difference, metric.digits)}."
    )
    return said, statement.is_so(difference)
