"""The columns of visual inspection (VI) files of prospect, the viewer of DESI spectra.

prospect grades a classification from 4 (confident) to 0 (no signal). Read as "this spectrum is of the kind sought":

    label     VI_quality   VI_issue
    yes       4
    unsure    2
    no        1
    bad       0            S (bad spectrum)

Read again, 4 and 3 are yes, 2 unsure, 1 no, and 0 is bad; S without a quality is bad too.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.errors import UsageError
from rarespec.labels.event import Label, LabelEvent, person_named
from rarespec.labels.exchange.text_rows import (
    BLANKS,
    LabelTable,
    Row,
    TextRows,
    csv_rows,
    decode_file,
    labels_of,
    rows_in,
    rows_of_cells,
    with_one_more,
)
from rarespec.labels.merging import Merged

if TYPE_CHECKING:
    from astropy.table import Table

    from rarespec.survey import Survey

QUALITY = {Label.YES: 4, Label.UNSURE: 2, Label.NO: 1, Label.BAD: 0}
LABEL = {"4": Label.YES, "3": Label.YES, "2": Label.UNSURE, "1": Label.NO, "0": Label.BAD}
BAD_SPECTRUM = "S"
NOT_GRADED = "-1"

UNKNOWN = -1
FROM_CATALOGUE = {
    "EXPID": "expid",
    "NIGHT": "night",
    "TILEID": "tileid",
    "Redrock_spectype": "class",
    "Redrock_z": "z",
    "Redrock_deltachi2": "deltachi2",
}
ABOUT_OBSERVATION = (
    *("EXPID", "NIGHT", "TILEID", "Spec_version", "Redrock_version", "Template_version"),
    *("Redrock_spectype", "Redrock_z", "Redrock_deltachi2"),
)
SCANNER_KEPT, COMMENT_KEPT = 10, 100
"""Characters that prospect keeps of a name and of a comment."""
NEEDED = ("TARGETID", "VI_scanner", "VI_quality", "VI_issue", "VI_comment")


# --- written


def table_of(rows: list[LabelEvent], together: Mapping[str, Merged], survey: Survey | None, guard: bool) -> Table:
    """Make a table of labels in the columns of prospect.

    Parameters
    ----------
    rows : list of LabelEvent
        The labels that stand.
    together : mapping
        Not used here; our own columns need it.
    survey : Survey or None
        Its catalogue fills the columns that are about the observation.
    guard : bool
        Whether the texts will be written as CSV.

    Returns
    -------
    astropy.table.Table
        A row for each label.
    """
    from astropy.table import Column, Table

    _warn_of_what_prospect_cannot(rows)
    table = Table()
    ids = [event.spectrum for event in rows]
    table["TARGETID"] = Column([int(id) for id in ids]) if all(map(_is_whole, ids)) else _texts(ids, guard)
    facts = _facts(ids, survey)
    for name in ABOUT_OBSERVATION:
        values = facts.get(name, ["" if name == "Redrock_spectype" else UNKNOWN] * len(rows))
        table[name] = _texts(values, guard) if name == "Redrock_spectype" else Column(values)
    table["VI_scanner"] = _texts([event.person for event in rows], guard)
    table["VI_quality"] = Column([QUALITY[event.label] for event in rows if event.label], dtype=int)
    table["VI_issue"] = _texts([BAD_SPECTRUM if event.label == Label.BAD else "" for event in rows], guard)
    table["VI_z"] = table["VI_spectype"] = _texts([""] * len(rows), guard)
    table["VI_comment"] = _texts([event.comment for event in rows], guard)
    return table


def _texts(values: list[str], guard: bool) -> Any:
    from astropy.table import Column

    return Column([with_one_more(text) if guard else text for text in values], dtype=object)


def _is_whole(id: str) -> bool:
    return re.fullmatch(r"0|-?[1-9]\d{0,17}", id) is not None


def _facts(ids: list[str], survey: Survey | None) -> dict[str, list[Any]]:
    """What the survey's catalogue says about these spectra, under prospect's names."""
    if survey is None or not ids:
        return {}
    rows = survey.rows_of(ids).tolist()
    here = {name: column for name, column in FROM_CATALOGUE.items() if column in survey.catalogue}
    columns = {name: survey.catalogue[column] for name, column in here.items()}
    return {name: [_fact(name, column[row] if row >= 0 else None) for row in rows] for name, column in columns.items()}


def _fact(name: str, value: Any) -> Any:
    if name == "Redrock_spectype":
        return str(value or "")
    if value is None or value != value:
        return UNKNOWN
    return round(float(value), 4) if name.startswith("Redrock") else int(value)


def _warn_of_what_prospect_cannot(rows: list[LabelEvent]) -> None:
    troubles = {
        "ids are not whole numbers, which prospect needs as TARGETID": sum(not _is_whole(e.spectrum) for e in rows),
        f"names are longer than the {SCANNER_KEPT} characters that prospect keeps": sum(
            len(event.person) > SCANNER_KEPT for event in rows
        ),
        f"comments are longer than the {COMMENT_KEPT} characters that prospect keeps": sum(
            len(event.comment) > COMMENT_KEPT for event in rows
        ),
    }
    for words, count in troubles.items():
        if count:
            warnings.warn(f"{count} {words}; writing them unchanged", stacklevel=4)


# --- read


def labels_in(path: Path, person: str | None) -> LabelTable:
    text = _rows(path)
    lacking = [name for name in NEEDED if name not in text.names]
    if lacking:
        raise UsageError(f"{path}: no column {', '.join(lacking)}; this is not a visual inspection file of prospect")
    return labels_of(path, text.rows, lambda row: _event(row, person), [])


def _rows(path: Path) -> TextRows:
    if path.suffix.lower() == ".ecsv":
        return rows_in(path)
    text = decode_file(path)
    return rows_of_cells(path, _split_lines(text)) if _has_stray_quotes(text) else csv_rows(path, text)


STRAY = '","'
"""prospect writes it for a comma inside a cell, without quotes around the cell."""


def _has_stray_quotes(text: str) -> bool:
    """Whether a line has them and no cell that begins with a quote, as it would in CSV by the rules."""
    return any(STRAY in line and ',"' not in line.replace(STRAY, "") for line in text.splitlines())


def _split_lines(text: str) -> list[list[str]]:
    lines = [line.replace(STRAY, "\0").split(",") for line in text.splitlines() if line.strip()]
    return [[cell.replace("\0", ",").replace('""', '"').strip() for cell in line] for line in lines]


def _event(row: Row, person: str | None) -> LabelEvent | None:
    row = {name: "" if value.strip() in BLANKS else value.strip() for name, value in row.items()}
    quality = row["VI_quality"].removesuffix(".0")
    if quality in ("", NOT_GRADED) and BAD_SPECTRUM not in row["VI_issue"]:
        return None
    label = Label.BAD if quality in ("", NOT_GRADED) else LABEL.get(quality)
    if label is None:
        raise UsageError(f"VI_quality {quality!r} is not one of {', '.join(LABEL)}")
    scanner = person_named(row["VI_scanner"] or person)
    return LabelEvent("", row["TARGETID"], label, person=scanner, comment=row["VI_comment"])
