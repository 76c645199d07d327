"""VOTable: what TOPCAT, Aladin and other tools of the Virtual Observatory read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from rarespec.searching.export.values import (
    CONTROLS,
    EDGE_SPACE,
    LONE_SURROGATES,
    NAME,
    PlainColumn,
    Provenance,
    escape_columns,
    pattern_of,
    rows_of_cells,
    to_json,
    unit_text,
)
from rarespec.storage.whole_file import write_whole

FORBIDDEN = pattern_of(CONTROLS, LONE_SURROGATES, EDGE_SPACE)
DATATYPES = {"int64": "long", "float64": "double", "float32": "float", "bool": "boolean", "object": "unicodeChar"}
NAMESPACE = "http://www.ivoa.net/xml/VOTable/v1.3"


def write(columns: Sequence[PlainColumn], path: Path, provenance: Provenance) -> None:
    write_whole(path, document(escape_columns(columns, FORBIDDEN, path), provenance))


def document(columns: Sequence[PlainColumn], provenance: Provenance) -> bytes:
    return _file([*_infos(provenance), '<TABLE name="candidates">', *map(_field, columns), *_data(columns), "</TABLE>"])


def description(columns: Sequence[PlainColumn]) -> bytes:
    """The columns, without any rows."""
    return _file(["<TABLE>", *map(_field, columns), "</TABLE>"])


def _file(lines: Sequence[str]) -> bytes:
    start = f'<?xml version="1.0" encoding="UTF-8"?>\n<VOTABLE version="1.4" xmlns="{NAMESPACE}">\n<RESOURCE>'
    return "\n".join([start, *lines, "</RESOURCE>\n</VOTABLE>\n"]).encode()


def _infos(provenance: Provenance) -> list[str]:
    """One for each entry, as viewers list them; each a mapping, as XML restricts names and JSON does not."""
    entries = [{key: value} for key, value in provenance.items()] or [{}]
    return [f'<INFO name="{NAME}" value={quoteattr(to_json(entry))}/>' for entry in entries]


def _field(column: PlainColumn) -> str:
    attributes = {
        "name": column.name,
        "datatype": DATATYPES[column.values.dtype.name],
        "arraysize": "*" if column.is_text else "",
        "unit": unit_text(column.unit, "vounit"),
        "ucd": column.ucd,
    }
    written = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items() if value)
    return f"<FIELD {written}><DESCRIPTION>{escape(column.description)}</DESCRIPTION></FIELD>"


def _data(columns: Sequence[PlainColumn]) -> Iterator[str]:
    # Not by Table.write: for 100 000 rows it takes four times as long (benchmarks/writers.py).
    yield "<DATA><TABLEDATA>"
    for row in rows_of_cells(columns, nan="NaN", infinity="+Inf"):
        yield "<TR>" + "".join(f"<TD>{escape(cell)}</TD>" for cell in row) + "</TR>"
    yield "</TABLEDATA></DATA>"


def provenance_in(path: Path) -> Provenance | None:
    found = [json.loads(info.get("value", "")) for info in _infos_before_table(path) if info.get("name") == NAME]
    return {key: value for entry in found for key, value in entry.items()} if found else None


def _infos_before_table(path: Path) -> Iterator[ElementTree.Element]:
    """So that the rows need not be read."""
    with open(path, "rb") as file:
        for _, element in ElementTree.iterparse(file, events=("start",)):
            if element.tag.endswith("}TABLE"):
                return
            if element.tag.endswith("}INFO"):
                yield element
