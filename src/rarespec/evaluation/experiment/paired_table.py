"""By how much one method is better than each other on the same draws."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from rarespec.evaluation.experiment.finding import ONE_DRAW, draws_in_words, format_signed
from rarespec.evaluation.experiment.metric_table import Metric, metrics
from rarespec.evaluation.experiment.plan import STUDIED
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.table_formats import Entry, Table, as_csv, as_markdown
from rarespec.evaluation.places import PairedDifference, paired_difference

CONFIDENCE = 0.95


def reference_method(results: Results) -> str:
    """Return the method that the others are compared with: the paper's, or the first."""
    methods = results.setting.methods
    return STUDIED if STUDIED in methods else methods[0]


def best_method(results: Results, metric: Metric) -> str:
    """Return the method with the best mean, averaged over the numbers of known examples."""

    def average(name: str) -> float:
        return float(np.mean([metric.of(results.trials[name, n]).mean() for n in results.setting.n_known]))

    return (min if metric.lower_is_better else max)(results.setting.methods, key=average)


def paired_csv(results: Results) -> str:
    """Write a line for each metric, number of known examples and pair of methods: `method` minus `other`."""
    header = ["metric", "n_known", "method", "other", "difference", "low", "high", "confidence", "share_better"]
    reference = reference_method(results)
    pairs = list(combinations([reference, *_others(results, reference)], 2))
    rows = []
    for metric, n_known in ((metric, n) for metric in metrics(results) for n in results.setting.n_known):
        for name, other in pairs:
            d = _difference(results, metric, n_known, name, other)
            turned = _difference(results, metric, n_known, other, name) if metric.lower_is_better else d
            share = turned.share_better
            rows.append([metric.name, n_known, name, other, d.mean, *_interval(d), CONFIDENCE, share, d.n])
    return as_csv([*header, "trials"], rows)


def paired_markdown(results: Results) -> str:
    """Write, for each metric, a table of the reference method, and one of the best where that is another."""
    reference = reference_method(results)
    if not _others(results, reference):
        return f"There is no other method to compare with {results.label(reference)}.\n"
    tables = [
        as_markdown(paired_table(results, metric, name), paired_title(results, metric, name))
        for metric in metrics(results)
        for name in dict.fromkeys((reference, best_method(results, metric)))
    ]
    return "\n".join(tables)


def paired_title(results: Results, metric: Metric, name: str) -> str:
    """Write the title of a table of differences.

    Parameters
    ----------
    results : Results
        Results of the experiment.
    metric : Metric
        What is compared.
    name : str
        The method that the others are subtracted from.

    Returns
    -------
    str
        The title, without a full stop.
    """
    return f"{results.label(name)} minus the others: {metric.title}"


def paired_table(results: Results, metric: Metric, name: str) -> Table:
    """Make a table of one method minus each other, on the same draws.

    Parameters
    ----------
    results : Results
        Results of the experiment, with draws of every method for each number of known examples.
    metric : Metric
        What is compared.
    name : str
        The method that the others are subtracted from.

    Returns
    -------
    Table
        A row for each number of known examples and a column for each other method: the mean difference with its 95 %
        interval, bold where that excludes 0.
    """
    others = _others(results, name)
    rows = [
        [Entry(str(n)), *(_entry(_difference(results, metric, n, name, other), metric.digits) for other in others)]
        for n in results.setting.n_known
    ]
    return Table(_caption(results, metric, name), ["NP", *map(results.label, others)], rows)


def _difference(results: Results, metric: Metric, n_known: int, name: str, other: str) -> PairedDifference:
    return paired_difference(
        metric.of(results.trials[name, n_known]), metric.of(results.trials[other, n_known]), CONFIDENCE
    )


def _others(results: Results, name: str) -> list[str]:
    return [other for other in results.setting.methods if other != name]


def _interval(difference: PairedDifference) -> tuple[float | None, float | None]:
    return (difference.low, difference.high) if difference.n > 1 else (None, None)


def _entry(difference: PairedDifference, digits: int) -> Entry:
    low, high = format_signed(difference.low, digits), format_signed(difference.high, digits)
    return Entry(
        format_signed(difference.mean, digits),
        f" ({low} to {high})" if difference.n > 1 else "",
        bold=difference.is_clear,
    )


def _caption(results: Results, metric: Metric, name: str) -> str:
    label, draws = results.label(name), draws_in_words(results)
    better = "below" if metric.lower_is_better else "above"
    what = f"{label} minus each other method on the same draws; {label} is better where this is {better} 0."
    rank = _rank(results, metric, name)
    if draws == ONE_DRAW:
        return f"{what} {rank}One draw, so no interval."
    return (
        f"{what} {rank}Mean over {draws} and its {CONFIDENCE * 100:.0f} % confidence interval, "
        "bold where it excludes 0. It applies to new draws from this survey, not to another survey, and is not "
        "corrected for the number of comparisons."
    )


def _rank(results: Results, metric: Metric, name: str) -> str:
    """A sentence where this is the method with the best average."""
    if name != best_method(results, metric):
        return ""
    best = f"Of all methods it has the best {metric.short}, averaged over NP"
    return f"{best}. " if name == reference_method(results) else f"{best}; choosing it for that favours it. "
