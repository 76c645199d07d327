"""One metric of all methods for each number of known examples, beside what was published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.finding import ONE_DRAW, draws_in_words, parameters_in_words
from rarespec.evaluation.experiment.methods import PAPER_METHODS
from rarespec.evaluation.experiment.results import Cell, Results, Trials
from rarespec.evaluation.experiment.setting import names_in
from rarespec.evaluation.experiment.table_formats import Entry, Table, as_csv
from rarespec.storage.text import thousands

# ---- Table 1 of Du et al. (2016): AUC on 450 carbon stars among 100 000 other stellar spectra of SDSS DR10.


CARBON_STARS = ("carbon", "carbon star", "carbon stars")
"""What the rare class may be called to be that of the paper. CarbonWD, for one, is another class."""

CARBON_LINES = "carbon_lines"
"""A subclass of SDSS that belongs to the paper's carbon stars; by itself it is only a part of them."""


def is_of_carbon_stars(rare: str) -> bool:
    names = {name.lower() for name in names_in(rare)}
    return bool(names & set(CARBON_STARS)) and names <= {*CARBON_STARS, CARBON_LINES}


class Published(NamedTuple):
    mean: float
    sd: float


_MEANS = {
    1: (0.689, 0.959, 0.809, 0.988, 0.836, 0.966),
    3: (0.750, 0.984, 0.884, 0.987, 0.954, 0.990),
    5: (0.790, 0.983, 0.893, 0.984, 0.975, 0.997),
    10: (0.837, 0.977, 0.906, 0.979, 0.991, 0.998),
    15: (0.856, 0.975, 0.907, 0.973, 0.995, 0.998),
    30: (0.885, 0.958, 0.889, 0.961, 0.995, 0.997),
    50: (0.899, 0.938, 0.875, 0.939, 0.988, 0.995),
}
_SDS = {
    1: (0.033, 0.033, 0.036, 0.015, 0.035, 0.040),
    3: (0.028, 0.013, 0.021, 0.021, 0.019, 0.017),
    5: (0.023, 0.012, 0.021, 0.012, 0.014, 0.014),
    10: (0.021, 0.011, 0.015, 0.002, 0.010, 0.001),
    15: (0.020, 0.006, 0.014, 0.003, 0.003, 0.002),
    30: (0.018, 0.004, 0.013, 0.002, 0.002, 0.003),
    50: (0.016, 0.004, 0.009, 0.003, 0.006, 0.003),
}

PUBLISHED_AUC = {
    (name, n_known): Published(mean, sd)
    for n_known in _MEANS
    for name, mean, sd in zip(PAPER_METHODS, _MEANS[n_known], _SDS[n_known], strict=True)
}
"""(name of a method, number of known examples) -> AUC over 50 trials."""


# ---- metric table


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
    own: list[Row] = [[_our_figure(results, metric, (name, n)) for name in setting.methods] for n in setting.n_known]
    published = [[_published_figure(results, metric, (name, n)) for name in setting.methods] for n in setting.n_known]
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
        beside = (_published_figure(results, metric, cell) or (None, None))[: len(published)]
        found = _our_figure(results, metric, cell)
        rows.append([n_known, name, results.label(name), *found, *beside, len(results.trials[cell].auc)])
    return as_csv(header, rows)


def _our_figure(results: Results, metric: Metric, cell: Cell) -> Summary:
    values = metric.of(results.trials[cell])
    return Summary(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None)


def _published_figure(results: Results, metric: Metric, cell: Cell) -> Summary | None:
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
