"""Labels as tables for other programs and people: CSV, ECSV, VOTable, FITS; our own columns or those of prospect."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rarespec._version import __version__
from rarespec.errors import UsageError
from rarespec.labels.event import Label
from rarespec.labels.exchange import own_columns, prospect_columns
from rarespec.labels.exchange.text_rows import LabelTable
from rarespec.labels.merging import ChosenLabels, Events, choose_labels
from rarespec.searching.export import write_table

if TYPE_CHECKING:
    from astropy.table import Table

    from rarespec.survey import Survey

__all__ = ["FORMS", "LabelTable", "provenance_of", "read_labels", "table_of_labels", "write_labels"]

FORMS: dict[str, ModuleType] = {"rarespec": own_columns, "prospect": prospect_columns}
SUFFIXES = (".csv", ".ecsv", ".vot", ".xml", ".votable", ".fits", ".fit", ".fits.gz")
OF_PROSPECT = (".csv", ".ecsv")


def write_labels(
    path: str | os.PathLike[str],
    events: Events,
    form: str = "rarespec",
    rule: str = "majority",
    only: Label | None = None,
    survey: Survey | None = None,
    tag: str | None = None,
) -> int:
    """Write a row for each label that stands.

    The file appears whole or not at all.

    Parameters
    ----------
    path : path or str
        The file; its name ends in .csv, .ecsv, .vot or .fits.
    events : iterable of LabelEvent or (int, LabelEvent)
        In the order of the log, with or without their sequence numbers.
    form : str
        Which columns: "rarespec" or "prospect".
    rule : str
        The rule of `merge_labels` for the column `merged`.
    only : Label, optional
        Write only the spectra that have this label by the rule.
    survey : Survey, optional
        Its catalogue gives position, redshift, class and S/N.
    tag : str, optional
        Write only the spectra to which somebody gave this tag.

    Returns
    -------
    int
        How many rows were written.

    Raises
    ------
    UsageError
        If the format, the form or the rule is not known.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.labels import Label, LabelEvent, new_event_id, read_labels, write_labels
    >>> event = LabelEvent(new_event_id(), "a", Label.YES, person="Ada", at="2025-03-01T20:15:00Z", tags=("dC",))
    >>> with TemporaryDirectory() as folder:
    ...     n_rows = write_labels(f"{folder}/labels.csv", [event])
    ...     print(n_rows, read_labels(f"{folder}/labels.csv").events[0].tags)
    1 ('dC',)
    """
    path, chosen = _check_path(path, form), choose_labels(events, rule, only, tag)
    table = _form(form).table_of(chosen.rows, chosen.together, survey, guard=path.suffix.lower() == ".csv")
    write_table(table, path, provenance_of(rule, only, tag))
    return len(chosen.rows)


def table_of_labels(chosen: ChosenLabels, survey: Survey | None = None) -> Table:
    """Make the table that is written and sent, in our own columns."""
    return own_columns.table_of(chosen.rows, chosen.together, survey, guard=False)


def provenance_of(rule: str, only: Label | None, tag: str | None) -> dict[str, Any]:
    """Say what a table of labels is."""
    return {"what": "labels", "rarespec": __version__, "rule": rule, "only": only, "tag": tag}


def read_labels(path: str | os.PathLike[str], form: str = "rarespec", person: str | None = None) -> LabelTable:
    """Read the labels in a table.

    The same row gets the same event id every time, so a table that is read twice is stored once.

    Parameters
    ----------
    path : path or str
        A .csv, .ecsv, VOTable or FITS file.
    form : str
        Which columns: "rarespec" or "prospect".
    person : str, optional
        Who said so, in rows that name nobody.

    Returns
    -------
    LabelTable
        The events, and what was not taken over.

    Raises
    ------
    UsageError
        If the file is missing, or a row cannot be understood; the message names the rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.labels import Label, LabelEvent, new_event_id, read_labels, write_labels
    >>> event = LabelEvent(new_event_id(), "a", Label.NO, person="Ada", at="2025-03-01T20:15:00Z")
    >>> with TemporaryDirectory() as folder:
    ...     n_rows = write_labels(f"{folder}/labels.ecsv", [event])
    ...     found = read_labels(f"{folder}/labels.ecsv")
    >>> str(found.events[0].label), found.left_out
    ('no', [])
    """
    path, module = _check_path(path, form), _form(form)
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    return module.labels_in(path, person)


def _check_path(path: str | os.PathLike[str], form: str) -> Path:
    path, endings = Path(path), OF_PROSPECT if form == "prospect" else SUFFIXES
    if not path.name.lower().endswith(endings):
        raise UsageError(f"{path}: unknown file format; use a name that ends in {', '.join(endings)}")
    return path


def _form(form: str) -> ModuleType:
    if form not in FORMS:
        raise UsageError(f"there is no format {form!r}; choose from {', '.join(FORMS)}")
    return FORMS[form]
