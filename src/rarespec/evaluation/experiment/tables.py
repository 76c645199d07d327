"""The tables of an experiment: AUC beside the published values, average precision, recall, and paired differences."""

from __future__ import annotations

import os
from pathlib import Path

from rarespec.evaluation.experiment.claims.claims_table import claims_csv, claims_markdown
from rarespec.evaluation.experiment.metric_table import metric_csv, metric_table, metrics
from rarespec.evaluation.experiment.paired_table import paired_csv, paired_markdown
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.table_formats import as_markdown, as_tex
from rarespec.storage.whole_file import write_whole


def write_tables(results: Results, folder: str | os.PathLike[str]) -> list[Path]:
    """Write all tables into a folder, which is made if need be, and say which files these are.

    They are table-1 (AUC), table-2 (AP), table-3 (R@500), table-4 (P@20), table-5 (P@100) and table-6 (the loss of
    equation 1), each as .md, .csv and .tex, paired-differences.md and .csv, and claims.md and .csv. Those in markdown
    and LaTeX are for reading, with rounded numbers; those in CSV have all digits.
    """
    contents = _metric_tables(results) | {
        "paired-differences.md": paired_markdown(results),
        "paired-differences.csv": paired_csv(results),
        "claims.md": claims_markdown(results),
        "claims.csv": claims_csv(results),
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_whole(Path(folder) / name, content.encode())
    return [Path(folder) / name for name in contents]


def _metric_tables(results: Results) -> dict[str, str]:
    contents = {}
    for number, metric in enumerate(metrics(results), start=1):
        table = metric_table(results, metric)
        contents[f"table-{number}.md"] = as_markdown(table, f"Table {number}")
        contents[f"table-{number}.csv"] = metric_csv(results, metric)
        contents[f"table-{number}.tex"] = as_tex(table, f"tab:{metric.name}")
    return contents
