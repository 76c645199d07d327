"""Every single outcome as Parquet, and what the results depend on."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec._version import __version__
from rarespec.evaluation.experiment.plan import Kind, Task
from rarespec.evaluation.experiment.setting import Setting
from rarespec.evaluation.experiment.task_runner import LabelledRows, Outcome, TaskRunner, unpack_places
from rarespec.evaluation.places import Places
from rarespec.rankers.rows import fingerprint_of_rows
from rarespec.storage.text import as_json
from rarespec.storage.whole_file import write_whole
from rarespec.survey import Survey
from rarespec.versions import versions_with

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
    outcomes: Iterable[tuple[Task, Outcome]], runner: TaskRunner, ids: Ids, provenance: Mapping[str, Any], folder: Path
) -> list[Path]:
    """Write one file for each kind of task that there is.

    Parameters
    ----------
    outcomes : iterable of (Task, dict)
        Tasks with their outcomes; each becomes a row.
    runner : TaskRunner
        Draws the known rows of a task again.
    ids : (n,) array of str
        Id of each ranked row: files name spectra, not rows.
    provenance : mapping of str to object
        Goes into the metadata of each file, as JSON.
    folder : Path
        Where the files go. It must exist; files of an earlier run are replaced.

    Returns
    -------
    list of Path
        The files.
    """
    rows: dict[Kind, list[dict[str, Any]]] = {}
    for task, outcome in outcomes:
        rows.setdefault(task.kind, []).append(_row(task, outcome, runner, ids))
    return [_write(folder / FILE_OF[kind], of_kind, provenance) for kind, of_kind in rows.items()]


def _row(task: Task, outcome: Outcome, runner: TaskRunner, ids: Ids) -> dict[str, Any]:
    row = {
        "method": task.method,
        "params": task.params,
        "n_known": task.n_known,
        "draw": task.draw,
        "seed": runner.seed,
        "n_listed": len(runner.X) - task.n_known,
        "known_ids": ids[runner.known(task)].tolist(),
    }
    named = {"ap": "average_precision", "top": "top_ids"}
    values = {named.get(name, name): value for name, value in outcome.items()}
    if "top_ids" in values:
        values["top_ids"] = ids[np.array(values["top_ids"])].tolist()  # row numbers mean nothing outside of a survey
    if "places" in values:
        values["places"] = unpack_places(values["places"]).astype(np.int32)
        values["top_loss"] = float(Places(values["places"][None], row["n_listed"]).top_loss()[0])
    return row | values


def _write(path: Path, rows: list[dict[str, Any]], provenance: Mapping[str, Any]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    table = table.replace_schema_metadata({"rarespec": as_json(provenance)})
    content = io.BytesIO()
    pq.write_table(table, content)
    write_whole(path, content.getvalue())
    return path


# ---- What the results of an experiment depend on, and with what they were made.


def identity(labelled: LabelledRows, setting: Setting) -> dict[str, Any]:
    """List what must be the same for outcomes of several runs to belong together."""
    return cheap_identity(labelled.survey, setting) | {
        "features": fingerprint_of_rows(labelled.X),
        "rare": fingerprint_of_rows(np.flatnonzero(labelled.rare)[:, None].astype(np.float64)),
    }


def cheap_identity(survey: Survey, setting: Setting) -> dict[str, Any]:
    """List the part of the identity that is known before any features are."""
    return {"survey": survey.path.name, "seed": setting.seed, "version of rarespec": __version__}


def provenance(labelled: LabelledRows, setting: Setting) -> dict[str, Any]:
    """List what the results depend on, for the metadata of files and for the page."""
    return {
        "identity": identity(labelled, setting),
        "setting": setting.as_dict(),
        "recipe": str(labelled.features.recipe),
        "rare class": labelled.matched_by,
        "versions": versions_with("numpy", "scipy", "scikit-learn", "faiss-cpu"),
    }
