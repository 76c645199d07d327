"""Labels as tables for other programs and people: CSV and ECSV, in our own columns or in those of prospect."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rarespec._version import __version__
from rarespec.errors import UsageError
from rarespec.labels.event import Label
from rarespec.labels.exchange import own_columns, prospect_columns
from rarespec.labels.exchange.text_rows import LabelTable
from rarespec.labels.merging import Events, merge_labels, standing_labels
from rarespec.searching.export import write_table

if TYPE_CHECKING:
    from rarespec.survey import Survey

__all__ = ["FORMS", "LabelTable", "read_labels", "write_labels"]

FORMS: dict[str, ModuleType] = {"rarespec": own_columns, "prospect": prospect_columns}
SUFFIXES = (".csv", ".ecsv")


def write_labels(
    path: str | os.PathLike[str],
    events: Events,
    form: str = "rarespec",
    rule: str = "majority",
    only: Label | None = None,
    survey: Survey | None = None,
) -> int:
    """A row for each label that stands; how many. The file appears whole or not at all.

    Parameters
    ----------
    path : ends in .csv or .ecsv
    form : which columns, one of FORMS
    rule : by which several people's labels become the one in the column `merged`
    only : write about those spectra alone that have this label by the rule
    survey : whose catalogue fills in the columns of prospect that are about the observation
    """
    path, module, events = _checked_path(path), _form(form), list(events)
    together = merge_labels(events, rule)
    rows = [event for event in standing_labels(events).values() if only in (None, together[event.spectrum].label)]
    table = module.table_of(rows, together, survey, guard=path.suffix.lower() == ".csv")
    write_table(table, path, {"what": "labels", "rarespec": __version__, "rule": rule, "only": only})
    return len(rows)


def read_labels(path: str | os.PathLike[str], form: str = "rarespec", person: str | None = None) -> LabelTable:
    """The labels in a table, each with an id that is the same whenever the same row is read.

    person : who said so, in rows that do not tell

    A UsageError that names the rows when one of them cannot be understood.
    """
    path, module = _checked_path(path), _form(form)
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    return module.labels_in(path, person)


def _checked_path(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: unknown file format; use a name that ends in {' or '.join(SUFFIXES)}")
    return path


def _form(form: str) -> ModuleType:
    if form not in FORMS:
        raise UsageError(f"there is no format {form!r}; choose from {', '.join(FORMS)}")
    return FORMS[form]
