"""Our own columns: one row for what one person says about one spectrum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.labels.event import BETWEEN_TAGS, LabelEvent, label_named, person_named, tags_in
from rarespec.labels.exchange.text_rows import LabelTable, Row, TextRows, labels_of, rows_in, with_one_more
from rarespec.labels.merging import Merged
from rarespec.searching.candidates import FROM_CATALOGUE, common_column
from rarespec.searching.candidates import TEXTS as CLASSES
from rarespec.searching.export import unescape_text

if TYPE_CHECKING:
    from astropy.table import Table

    from rarespec.survey import Survey

T = TypeVar("T")

TEXTS = {
    "id": "Identifier of the spectrum in its survey",
    "label": "Label: yes, no, unsure or bad (bad data)",
    "person": "Person who gave the label",
    "at": "Time of the label, in UTC",
    "comment": "Comment",
    "tags": "Tags of the person, separated by commas",
    "event_id": "Identifier of the event in the label log",
    "merged": "Combined label of all people; empty if the rule does not decide",
}
NUMBERS = {
    "rank": (int, "Rank that the person saw; 1 is the best"),
    "chance": (float, "Chance that the person saw"),
    "score": (float, "Score that the person saw"),
    "revision": (int, "Ranking of the campaign that the person saw"),
}
ORDER = (
    *("id", "label", "person", "at", "comment", "tags"),
    *("ra", "dec", "z", "class", "subclass", "snr"),
    *("rank", "chance", "score", "revision", "event_id", "merged", "disagree"),
)
"""Positions and rank are there so that the table can be matched with others at once."""


def table_of(rows: list[LabelEvent], together: Mapping[str, Merged], survey: Survey | None, guard: bool) -> Table:
    """Make a table of labels in our own columns.

    Parameters
    ----------
    rows : list of LabelEvent
        The labels that stand.
    together : mapping
        Spectrum -> what people say together.
    survey : Survey or None
        Its catalogue gives position, redshift, class and S/N; without it they are unknown.
    guard : bool
        Whether the texts will be written as CSV.

    Returns
    -------
    astropy.table.Table
        A row for each label.
    """
    from astropy.table import Column, MaskedColumn, Table

    table = Table()
    for name, meaning in TEXTS.items():
        texts = [_text(name, event, together) for event in rows]
        table[name] = Column([with_one_more(text) if guard else text for text in texts], dtype=object)
        table[name].info.description = meaning
    for name, (kind, meaning) in NUMBERS.items():
        values = [getattr(event, name) for event in rows]
        missing = [value is None for value in values]
        table[name] = MaskedColumn([value or 0 for value in values], mask=missing, dtype=kind, description=meaning)
    for name, known in catalogue_columns([event.spectrum for event in rows], survey).items():
        # Read again, the apostrophes that CSV needs are taken away from every column alike.
        table[name] = [with_one_more(text) for text in known.tolist()] if guard and name in CLASSES else known
    table["disagree"] = Column(
        [together[event.spectrum].disagree for event in rows], dtype=bool, description="Whether people disagree"
    )
    return table[list(ORDER)]


def _text(name: str, event: LabelEvent, together: Mapping[str, Merged]) -> str:
    if name == "merged":
        return str(together[event.spectrum].label or "")
    if name == "tags":
        return BETWEEN_TAGS.join(event.tags)
    return str(getattr(event, "spectrum" if name == "id" else name) or "")


def catalogue_columns(ids: list[str], survey: Survey | None) -> dict[str, NDArray[Any]]:
    """Look up what the catalogue of the survey says of these spectra; text is empty and a number NaN if unknown."""
    found = np.full(len(ids), -1) if survey is None or not ids else survey.rows_of(ids)
    here = np.flatnonzero(found >= 0)
    there = [name for name in FROM_CATALOGUE if survey is not None and name in survey.catalogue]
    said = survey.catalogue_at(found[here], there) if survey is not None and len(here) and there else {}
    columns: dict[str, NDArray[Any]] = {}
    for name in FROM_CATALOGUE:
        values: list[Any] = [None] * len(ids)
        for number, value in zip(here.tolist(), said.get(name, ()), strict=False):
            values[number] = value
        columns[name] = common_column(name, values)
    return columns


def labels_in(path: Path, person: str | None) -> LabelTable:
    """At least the columns id and label are needed."""
    text = rows_in(path)
    lower = [name.lower() for name in text.names]
    _check_names(path, text, lower)
    # Only files of ours have event ids, and in these \uXXXX stands for what the format cannot hold.
    is_ours = "event_id" in lower
    read = unescape_text if is_ours else str
    rows = [{name.lower(): read(value) for name, value in row.items()} for row in text.rows]
    known = ORDER if is_ours else [name for name in ORDER if name not in FROM_CATALOGUE]
    unread = [name for name in text.names if name and name.lower() not in known]
    left_out = [f"{path}: ignoring columns that are not labels: {', '.join(unread)}"] if unread else []
    return labels_of(path, rows, lambda row: _event(row, person), left_out)


def _check_names(path: Path, text: TextRows, lower: list[str]) -> None:
    if "vi_quality" in lower and "label" not in lower:
        raise UsageError(f"{path}: these are columns of prospect; read them with --format prospect")
    for name in ("id", "label"):
        if name not in lower:
            raise UsageError(f"{path}: needs a column {name}; there is {', '.join(text.names[:12]) or 'nothing'}")


def _event(row: Row, person: str | None) -> LabelEvent | None:
    if not row["label"].strip():
        return None
    return LabelEvent(
        event_id=row.get("event_id", "").strip(),
        spectrum=row["id"],
        label=label_named(row["label"]),
        person=person_named(row.get("person") or person),
        at=row.get("at", "").strip(),
        rank=_number("rank", row, int),
        score=_number("score", row, float),
        revision=_number("revision", row, int),
        comment=row.get("comment", ""),
        tags=tags_in(row.get("tags", "")),
        chance=_number("chance", row, float),
    )


def _number(name: str, row: Row, kind: Callable[[str], T]) -> T | None:
    cell = row.get(name, "").strip()
    if not cell or cell.lower() == "nan":
        return None
    try:
        return kind(cell)
    except ValueError:
        raise UsageError(f"{name} {cell!r} is not a number") from None
