"""One metric of all methods for each number of known examples, beside what was published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.basis import ONE_DRAW, draws_in_words, parameters_in_words
from rarespec.evaluation.experiment.published import PUBLISHED_AUC, is_of_carbon_stars
from rarespec.evaluation.experiment.results import Cell, Results, Trials
from rarespec.evaluation.experiment.table_formats import Entry, Table, as_csv
from rarespec.thousands import thousands

RECALL_DEPTH = 500

NO_VALUE = "–"


class Summary(NamedTuple):
    """Over trials; one trial has no spread."""

    mean: float
    sd: float | None


Row = list[Summary | None]
"""For each method; None where there is no value."""


@dataclass(frozen=True)
class Metric:
    """What a table shows."""

    name: str
    """In the header of a CSV file."""
    short: str
    title: str
    of: Callable[[Trials], NDArray[np.float64]]
    """Values of a cell, (trials,)."""
    digits: int = 3
    """That a difference is shown with."""
    lower_is_better: bool = False


AUC = Metric("auc", "AUC", "Area under the ROC curve (AUC)", lambda trials: trials.auc, digits=4)
AVERAGE_PRECISION = Metric("average_precision", "AP", "Average precision (AP)", lambda trials: trials.average_precision)


TOP_LOSS = Metric(
    "top_loss",
    "loss",
    "Fraction of hidden objects that do not rank above all others; lower is better (loss of equation 1)",
    lambda trials: trials.places.top_loss(),
    lower_is_better=True,
)


def precision(k: int) -> Metric:
    """P@k."""
    title = f"Precision in the top {k} (P@{k})"
    return Metric(f"precision_at_{k}", f"P@{k}", title, lambda trials: trials.places.precision(k))


P20, P100 = precision(20), precision(100)


def metrics(results: Results) -> tuple[Metric, ...]:
    """Those that tables are made of, in their order."""
    return AUC, AVERAGE_PRECISION, recall(results), P20, P100, TOP_LOSS


def recall(results: Results) -> Metric:
    """R@500, or less deep where the lists are shorter."""
    k = min([RECALL_DEPTH, *(trials.places.n_listed for trials in results.trials.values())])
    title = f"Recall in the top {k} (R@{k})"
    return Metric(f"recall_at_{k}", f"R@{k}", title, lambda trials: trials.places.recall(k))


def metric_table(results: Results, metric: Metric) -> Table:
    """Two rows for each number of known examples, ours and the published, and the averages of both last."""
    setting = results.setting
    own: list[Row] = [[_found(results, metric, (name, n)) for name in setting.methods] for n in setting.n_known]
    published = [[_published(results, metric, (name, n)) for name in setting.methods] for n in setting.n_known]
    beside = any(map(any, published))
    rows = [_rows(str(n), a, b, beside, metric) for n, a, b in zip(setting.n_known, own, published, strict=True)]
    return Table(
        _caption(results, metric, beside),
        ["NP", *([""] if beside else []), *map(results.label, setting.methods)],
        [row for pair in rows for row in pair],
        _rows("average", _average(own), _average(published), beside, metric),
    )


def metric_csv(results: Results, metric: Metric) -> str:
    """A line for each method and number of known examples; for AUC with the published values."""
    published = ["published_mean", "published_sd"] if metric is AUC else []
    header = ["n_known", "method", "label", f"{metric.name}_mean", f"{metric.name}_sd", *published, "trials"]
    rows = []
    for name, n_known in ((name, n) for n in results.setting.n_known for name in results.setting.methods):
        cell = name, n_known
        beside = (_published(results, metric, cell) or (None, None))[: len(published)]
        found = _found(results, metric, cell)
        rows.append([n_known, name, results.label(name), *found, *beside, len(results.trials[cell].auc)])
    return as_csv(header, rows)


def _found(results: Results, metric: Metric, cell: Cell) -> Summary:
    values = metric.of(results.trials[cell])
    return Summary(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None)


def _published(results: Results, metric: Metric, cell: Cell) -> Summary | None:
    known = PUBLISHED_AUC.get(cell) if metric is AUC and is_of_carbon_stars(results.setting.rare) else None
    return Summary(*known) if known else None


def _average(rows: list[Row]) -> Row:
    """Of means and of standard deviations, as the paper did; None for a method that has no value in some row."""
    return [_average_summary(column) for column in zip(*rows, strict=True)]


def _average_summary(column: tuple[Summary | None, ...]) -> Summary | None:
    present = [summary for summary in column if summary]
    if len(present) < len(column):
        return None
    sds = [summary.sd for summary in present if summary.sd is not None]
    mean = float(np.mean([summary.mean for summary in present]))
    return Summary(mean, float(np.mean(sds)) if len(sds) == len(present) else None)


def _rows(name: str, own: Row, published: Row, beside: bool, metric: Metric) -> list[list[Entry]]:
    if not beside:
        return [[Entry(name), *_entries(own, metric)]]
    first = [Entry(name), Entry("here"), *_entries(own, metric)]
    return [first, [Entry(""), Entry("published"), *_entries(published, metric)]] if any(published) else [first]


def _entries(row: Row, metric: Metric) -> list[Entry]:
    """Bold where no mean is better, at the digits that are shown."""
    best = (min if metric.lower_is_better else max)(f"{summary.mean:.3f}" for summary in row if summary)
    return [_entry(summary, best) for summary in row]


def _entry(summary: Summary | None, best: str) -> Entry:
    if summary is None:
        return Entry(NO_VALUE)
    mean = f"{summary.mean:.3f}"
    return Entry(mean, "" if summary.sd is None else f" ± {summary.sd:.3f}", bold=mean == best)


def _caption(results: Results, metric: Metric, beside: bool) -> str:
    facts, draws = results.facts, draws_in_words(results)
    shown = draws if draws == ONE_DRAW else f"mean ± standard deviation over {draws} of the known examples"
    sentences = [
        f"{metric.title} of each method with NP known examples of {results.setting.rare_in_words} in {facts.survey} "
        f"({thousands(facts.n_rare)} of {thousands(facts.n_spectra)} spectra): {shown}, and the average over NP.",
        "The best mean in each row is bold.",
        f"The methods use {parameters_in_words(results, results.setting.methods)}.",
    ]
    return " ".join(sentences + ([_about_published(results, beside)] if metric is AUC else []))


def _about_published(results: Results, beside: bool) -> str:
    if not is_of_carbon_stars(results.setting.rare):
        return "The values published by Du et al. (2016) are for carbon stars and are left out here."
    if not beside:
        return "Du et al. (2016) published no values for these methods and NP."
    return (
        "The published values are from Table 1 of Du et al. (2016), for carbon stars in another survey: "
        "450 among 100 000 other stars of SDSS DR10, in 50 draws. Their average is over the NP of this table."
    )
