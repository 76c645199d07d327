"""Every single outcome as Parquet, for whoever wants to look at it in another way."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.bench import Bench, Outcome
from rarespec.evaluation.experiment.packed_places import unpacked_places
from rarespec.evaluation.experiment.task import Kind, Task
from rarespec.evaluation.places import Places
from rarespec.strict_json import as_json
from rarespec.whole_file import write_whole

FILE_OF: dict[Kind, str] = {
    "trial": "results.parquet",
    "tuning": "tuning.parquet",
    "bags": "figure-8.parquet",
    "strength": "figure-9.parquet",
    "timing": "figure-7.parquet",
}

Ids = NDArray[Any]
"""Id of each ranked row, (n,)."""


def write_parquet(
    outcomes: Iterable[tuple[Task, Outcome]], bench: Bench, ids: Ids, provenance: Mapping[str, Any], folder: Path
) -> list[Path]:
    """One file for each kind of task that there is; `provenance` goes into its metadata, as JSON."""
    rows: dict[Kind, list[dict[str, Any]]] = {}
    for task, outcome in outcomes:
        rows.setdefault(task.kind, []).append(_row(task, outcome, bench, ids))
    return [_written(folder / FILE_OF[kind], of_kind, provenance) for kind, of_kind in rows.items()]


def _row(task: Task, outcome: Outcome, bench: Bench, ids: Ids) -> dict[str, Any]:
    row = {
        "method": task.method,
        "params": task.params,
        "n_known": task.n_known,
        "draw": task.draw,
        "seed": bench.seed,
        "n_listed": len(bench.X) - task.n_known,
        "known_ids": ids[bench.known(task)].tolist(),
    }
    named = {"ap": "average_precision", "top": "top_ids"}
    values = {named.get(name, name): value for name, value in outcome.items()}
    if "top_ids" in values:
        values["top_ids"] = ids[np.array(values["top_ids"])].tolist()  # row numbers mean nothing outside of a survey
    if "places" in values:
        values["places"] = unpacked_places(values["places"]).astype(np.int32)
        values["top_loss"] = float(Places(values["places"][None], row["n_listed"]).top_loss()[0])
    return row | values


def _written(path: Path, rows: list[dict[str, Any]], provenance: Mapping[str, Any]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    table = table.replace_schema_metadata({"rarespec": as_json(provenance)})
    content = io.BytesIO()
    pq.write_table(table, content)
    write_whole(path, content.getvalue())
    return path
