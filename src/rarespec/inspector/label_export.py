"""Labels that leave the page: as a file to keep, or sent to TOPCAT."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rarespec.errors import UsageError
from rarespec.inspector.answers import RefusedError
from rarespec.labels.event import Label, LabelEvent, label_named, tag_named
from rarespec.labels.exchange import provenance_of, table_of_labels, write_labels
from rarespec.labels.kinds import LABELS
from rarespec.labels.merging import choose_labels
from rarespec.searching.samp import offer_table
from rarespec.survey import Survey

RULE = "majority"
FILE_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "ecsv": "text/plain; charset=utf-8",
    "vot": "application/x-votable+xml",
    "fits": "application/fits",
}
"""Format, which is how the name ends -> media type."""


class Wanted(NamedTuple):
    """Which labels; None for all."""

    only: Label | None
    tag: str | None


def wanted_labels(only: str | None, tag: str | None) -> Wanted:
    """Check what was asked for; a RefusedError if it cannot be."""
    try:
        return Wanted(label_named(only) if only else None, tag_named(tag) if tag else None)
    except UsageError as error:
        raise RefusedError(400, str(error)) from None


def label_file(events: Sequence[LabelEvent], survey: Survey, form: str, wanted: Wanted) -> bytes:
    """Write labels as `rarespec labels --export` does, and return what the file holds.

    Parameters
    ----------
    events : sequence of LabelEvent
        In the order of the log.
    survey : Survey
        Gives positions and the like.
    form : str
        One of `FILE_TYPES`.
    wanted : Wanted
        Which labels.

    Returns
    -------
    bytes
        The file.

    Raises
    ------
    RefusedError
        If there is no such format.
    """
    if form not in FILE_TYPES:
        raise RefusedError(400, f"format must be one of {', '.join(FILE_TYPES)}")
    with tempfile.TemporaryDirectory(prefix="rarespec-labels-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of characters that are written as \\uXXXX: nobody at the page would see it
        path = Path(folder) / f"labels.{form}"
        write_labels(path, events, rule=RULE, only=wanted.only, survey=survey, tag=wanted.tag)
        return path.read_bytes()


def file_name(log: Path, form: str, wanted: Wanted) -> str:
    """Make a name for the file that is safe in a header and on every system."""
    parts = [log.name.removesuffix(LABELS), wanted.only or "", wanted.tag or "", "labels"]
    return "-".join(filter(None, (re.sub(r"[^A-Za-z0-9._]+", "_", part) for part in parts))) + f".{form}"


def send_labels(events: Sequence[LabelEvent], survey: Survey, name: str, wanted: Wanted) -> dict[str, Any]:
    """Send labels to the programs on the SAMP hub.

    Parameters
    ----------
    events : sequence of LabelEvent
        In the order of the log.
    survey : Survey
        Gives positions and the like.
    name : str
        Name of the log.
    wanted : Wanted
        Which labels.

    Returns
    -------
    dict
        How many labels (`n`), names of the programs that took them (`sent`), and what went wrong (`problems`).

    Raises
    ------
    RefusedError
        If there is nothing to send, or nobody to send it to.
    """
    chosen = choose_labels(events, RULE, wanted.only, wanted.tag)
    if not chosen.rows:
        raise RefusedError(409, "there are no such labels to send")
    try:
        table = table_of_labels(chosen, survey)
        answers = offer_table(table, f"rarespec: {name}", provenance=provenance_of(RULE, *wanted))
    except UsageError as error:
        raise RefusedError(409, str(error)) from None
    problems = [f"{program}: {problem}" for program, problem in answers if problem]
    return {"n": len(chosen.rows), "sent": [name for name, problem in answers if not problem], "problems": problems}
