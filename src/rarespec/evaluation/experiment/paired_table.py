"""By how much one method is better than each other on the same draws."""

from __future__ import annotations

from collections.abc import Iterator

from rarespec.evaluation.experiment.metric_table import AUC, AVERAGE_PRECISION, Metric
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.table_formats import Entry, Table, as_csv, as_markdown
from rarespec.evaluation.paired import PairedDifference, paired_difference

METRICS = (AUC, AVERAGE_PRECISION)
CONFIDENCE = 0.95


def reference_method(results: Results) -> str:
    """The method that the others are compared with: the paper's, or the first."""
    methods = results.setting.methods
    return "bagging_top_push" if "bagging_top_push" in methods else methods[0]


def paired_csv(results: Results) -> str:
    """A line for each metric, number of known examples and method other than the reference."""
    header = ["metric", "n_known", "reference", "method", "difference", "low", "high", "confidence", "share_better"]
    rows = [
        [metric.name, n, reference_method(results), name, d.mean, *_interval(d), CONFIDENCE, d.share_better, d.n]
        for metric in METRICS
        for n, name, d in _differences(results, metric)
    ]
    return as_csv([*header, "trials"], rows)


def paired_markdown(results: Results) -> str:
    """A table for each metric."""
    label = results.label(reference_method(results))
    if not _others(results):
        return f"There is no other method to compare {label} with.\n"
    return "\n".join(as_markdown(_table(results, metric), f"{label}: {metric.title}") for metric in METRICS)


def _table(results: Results, metric: Metric) -> Table:
    found = {(n, name): difference for n, name, difference in _differences(results, metric)}
    return Table(
        _caption(results),
        ["NP", *map(results.label, _others(results))],
        [[Entry(str(n)), *(_entry(found[n, name]) for name in _others(results))] for n in results.setting.n_known],
    )


def _differences(results: Results, metric: Metric) -> Iterator[tuple[int, str, PairedDifference]]:
    for n_known in results.setting.n_known:
        reference = metric.of(results.trials[reference_method(results), n_known])
        for name in _others(results):
            other = metric.of(results.trials[name, n_known])
            yield n_known, name, paired_difference(reference, other, CONFIDENCE)


def _others(results: Results) -> list[str]:
    return [name for name in results.setting.methods if name != reference_method(results)]


def _interval(difference: PairedDifference) -> tuple[float | None, float | None]:
    return (difference.low, difference.high) if difference.n > 1 else (None, None)


def _entry(difference: PairedDifference) -> Entry:
    interval = f" ({_signed(difference.low)} to {_signed(difference.high)})" if difference.n > 1 else ""
    return Entry(_signed(difference.mean), interval, bold=difference.is_clear)


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def _caption(results: Results) -> str:
    label = results.label(reference_method(results))
    what = f"{label} minus each other method on the same draws; above 0, {label} is better."
    if results.setting.trials == 1:
        return f"{what} One draw: there is no interval."
    return (
        f"{what} Mean over {results.setting.trials} draws and its {CONFIDENCE:.0%} confidence interval, "
        "bold where that leaves out 0. It holds for new draws from this survey, not for another survey, and is not "
        "corrected for the number of comparisons."
    )
