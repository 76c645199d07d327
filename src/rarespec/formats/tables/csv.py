"""CSV to spectra: a pixel per row, or a spectrum per row, streamed in blocks of rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import ANY_WAVELENGTH, ERROR, FLUX, IDS, IVAR, MASK, VARIANCE, Column, Roles, find
from rarespec.formats.further_columns import GOOD, further_roles, is_telling
from rarespec.formats.pixels import float_of
from rarespec.formats.reader import Found, ReadOptions, faults_of, noted
from rarespec.formats.sniffing import MARKS
from rarespec.formats.source import Source, SourceFile
from rarespec.formats.stacks import Origin, blocks, stacks_of_rows
from rarespec.formats.tables.memory_table import HEADERLESS_COLUMNS, Table, Wide, spectra_of_table
from rarespec.formats.unnamed_columns import COUNTED, LOOKED_AT, left_out, roles_of_unnamed
from rarespec.formats.wavelength import is_unit
from rarespec.spectrum import DefectError, Reason

ON_PIXELS = (*FLUX, *ANY_WAVELENGTH, *IVAR, *ERROR, *VARIANCE, *MASK)
"""Names of the columns that make a spectrum."""

# ---- Cells of a CSV file: what kind of value a column holds, and its value.


BLANKS = ("", "nan", "null", "none", "n/a", "--")
TRUTH = {"true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0, "yes": 1.0, "no": 0.0}


def kind_of(cell: str) -> str:
    """Find the kind of a cell, a key of `VALUE_OF`."""
    cell = cell.strip()
    if cell.lower() in BLANKS:
        return "blank"
    if cell in ("True", "False", "true", "false", "TRUE", "FALSE"):
        return "truth"
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})", cell):  # fits 64 bits; 007 is a name
        return "whole"
    return "number" if all_numbers([cell]) and not re.fullmatch(r"[+-]?\d+|.*_.*", cell) else "text"


def wider(one: str, other: str) -> str:
    """Choose the kind of a column that holds both."""
    if one == other or other == "blank":
        return one
    if one == "blank":
        return other
    return "number" if {one, other} == {"whole", "number"} else "text"


def _blank_or(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda cell: None if cell.strip().lower() in BLANKS else convert(cell)


VALUE_OF: dict[str, Callable[[str], Any]] = {
    "blank": lambda cell: None,
    "truth": _blank_or(lambda cell: cell.strip().lower() == "true"),
    "whole": _blank_or(int),
    "number": _blank_or(float_of),
    "text": lambda cell: cell.strip() or None,
}


def value_of(cell: str) -> Any:
    """Read the value of a single cell, by its own kind."""
    return VALUE_OF[kind_of(cell)](cell)


def all_numbers(cells: list[str]) -> bool:
    try:
        return bool([float_of(cell) for cell in cells])
    except ValueError:
        return False


def numbers_in(cells: Sequence[str], name: str) -> NDArray[np.float64]:
    """Read cells as numbers: blank ones are NaN, and in a mask words for yes and no are 1 and 0."""
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array([_number(cell, name) for cell in cells], dtype=np.float64)


def _number(cell: str, name: str) -> float:
    word = cell.strip().lower()
    if word in BLANKS:
        return np.nan
    if word in TRUTH and name.lower() in (*MASK, *GOOD):
        return TRUTH[word]
    try:
        return float_of(cell)
    except ValueError:
        raise DefectError(Reason.CORRUPT, f"{cell[:20]!r} among the numbers of {name}") from None


# ---- An open CSV file, separated by commas, semicolons, tabs, bars or blanks, with remarks above its header.


REMARK = re.compile(r"[#;%!]+\s*([A-Za-z_]\w*)\s*[:=]\s*(\S.*)")
NAME_AND_UNIT = re.compile(r"(\S.*?)\s*[(\[]([^()\[\]]*)[)\]]")
"""wavelength (nm) or wavelength[nm]."""
WORD_AND_UNIT = re.compile(r"[^\s(\[]+(?:\s*[(\[][^()\[\]]*[)\]])?")

LONGEST_LINE = 16 << 20
"""Characters; a line is held whole. A spectrum of a million pixels needs less."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Csv:
    """An open CSV file: its names, what its remarks say (`# key: value`), and its rows, each of as many cells."""

    names: list[str]
    meta: dict[str, Any]
    rows: Iterator[list[str]]
    n_numbers: int = 0
    """Columns of the first line that is no remark, if it holds only numbers."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units that stand in brackets behind the names of columns."""


def open_csv(source: Source, names: list[str] | None = None) -> Csv:
    """Open a CSV file; `names` of its columns if it has no line that names them."""
    text = io.TextIOWrapper(io.BufferedReader(SourceFile(source), 1 << 20), encoding="utf-8-sig", newline="")
    remarks: list[str] = []
    lines = _limit_lines(text)
    for line in lines:
        if line.strip() and not line.lstrip().startswith(MARKS):
            break
        remarks.append(line.strip())
    else:
        raise DefectError(Reason.EMPTY, "no rows of data")
    delimiter = next((mark for mark in ",;\t|" if mark in line), None)
    if names is not None:
        return Csv(names, _remarks(remarks), _rows(_cells(_then(line, lines), delimiter), len(names)))
    names = next(_cells([line], delimiter))
    if delimiter is None and not all_numbers(names):
        names = WORD_AND_UNIT.findall(line)
    n_numbers = len(names) if all_numbers(names) else 0
    if n_numbers and (above := _names_above(remarks, delimiter, n_numbers)):
        names, lines = above, _then(line, lines)
    rows = _rows(_cells(lines, delimiter), len(names))
    names, units = _apart(names)
    if not n_numbers:
        below, rows = _units_below(names, rows)
        units = {**below, **units}
    return Csv(names, _remarks(remarks), rows, n_numbers, units)


def _units_below(names: list[str], rows: Iterator[list[str]]) -> tuple[dict[str, str], Iterator[list[str]]]:
    """Units of the columns of a spectrum, if the row below their names holds no number; and the other rows."""
    if not find(names, FLUX):  # what is no spectrum may be no table either: its rows are not looked at here
        return {}, rows
    first = next(rows, None)
    if first is None or any(all_numbers([cell]) for cell in first):
        return {}, iter(()) if first is None else _then(first, rows)
    told = {name: cell.strip("()[] ") for name, cell in zip(names, first, strict=True) if name.lower() in ON_PIXELS}
    if not any(is_unit(unit) for name, unit in told.items() if name.lower() in ANY_WAVELENGTH):
        return {}, _then(first, rows)
    return told, rows


def _names_above(remarks: list[str], delimiter: str | None, n: int) -> list[str]:
    """The names in the last remark above the numbers, if it has as many words, perhaps with units in brackets."""
    if not remarks:
        return []
    text = remarks[-1].lstrip("#;%! ")
    for cells in (next(_cells([text], delimiter), []), WORD_AND_UNIT.findall(text)):
        if len(cells) == n and not all_numbers(cells):
            return cells
    return []


def _apart(names: list[str]) -> tuple[list[str], dict[str, str]]:
    """Names without the units that stand in brackets behind them, where these are columns of a spectrum; the units."""
    names = [name.strip() for name in names]
    found = {name: match for name in names if (match := NAME_AND_UNIT.fullmatch(name))}
    short = {name: match[1] for name, match in found.items() if match[1].lower() in ON_PIXELS or is_telling(match[1])}
    if len({short.get(name, name).lower() for name in names}) < len(names):
        return names, {}
    units = {new: found[name][2] for name, new in short.items()}
    wavelengths = {new for new in units if new.lower() in ANY_WAVELENGTH or is_telling(new)}
    units = {new: unit for new, unit in units.items() if new not in wavelengths or is_unit(unit)}
    return [short.get(name, name) for name in names], units


def _limit_lines(text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise DefectError(Reason.TOO_LARGE, f"a line of more than {LONGEST_LINE >> 20} MiB")
        yield line


def _then(first: T, rest: Iterable[T]) -> Iterator[T]:
    yield first
    yield from rest


def _cells(lines: Iterable[str], delimiter: str | None) -> Iterator[list[str]]:
    lines = (line for line in lines if not line.lstrip().startswith("#"))
    if delimiter is None:
        return (line.split() for line in lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


def _rows(cells: Iterator[list[str]], n_columns: int) -> Iterator[list[str]]:
    for number, row in enumerate(cells, 1):
        if not row or row == [""]:
            continue
        if len(row) != n_columns:
            raise DefectError(Reason.CORRUPT, f"row {number} has {len(row)} cells but the header has {n_columns}")
        yield row


def _remarks(lines: list[str]) -> dict[str, Any]:
    found = (REMARK.fullmatch(line) for line in lines)
    return {match[1]: value_of(match[2]) for match in found if match}


TAIL = 1 << 20
"""Bytes at the end of a file among which its last lines are compared."""
ENDS_OF_NO_NUMBER = (".", "e", "E", "+", "-")
WITHOUT_NEWLINE = "the last line does not end in a newline; it is as long as the others, and was taken as whole"


def check_last_line(source: Source) -> str:
    """Refuse a text file whose last line is cut; a sentence for the account if that cannot be excluded.

    A line without a newline is whole if it has as many cells as the lines above it and its last cell as many digits:
    most programs write all numbers of a column alike. Where they differ anyway, nothing can tell.
    """
    tail = source.read(max(source.length - TAIL, 0), min(TAIL, source.length))
    if tail[-1:] in (b"\n", b"\r"):
        return ""
    lines = [line for line in tail.decode("utf-8", errors="replace").splitlines() if line.strip()]
    if source.length > TAIL:
        del lines[0]
    rows = [_words(line) for line in lines if not line.lstrip().startswith(MARKS)]
    detail = "the last line does not end in a newline"
    if len(rows) < 3:
        raise DefectError(Reason.TRUNCATED, f"{detail}; fetch it again, or add one if the line is complete")
    last, above = rows[-1], rows[:-1] if all_numbers(rows[0]) else rows[1:-1]
    if len(last) != len(above[-1]) or _is_cut(last[-1], [row[-1] for row in above]):
        why = "it is shorter than the others; fetch the file again, or add a newline if the line is complete"
        raise DefectError(Reason.TRUNCATED, f"{detail}, and {why}")
    return WITHOUT_NEWLINE


def _is_cut(cell: str, others: list[str]) -> bool:
    """Whether a number has fewer digits behind its point, or in its exponent, than all others, which have as many."""
    for mark in (".", "e"):
        lengths = {_length_behind(mark, other) for other in others}
        if _length_behind(mark, cell) < (max(lengths) if len(lengths) == 1 else min(1, *lengths)):
            return True
    return cell.endswith(ENDS_OF_NO_NUMBER) and not any(other.endswith(ENDS_OF_NO_NUMBER) for other in others)


def _length_behind(mark: str, cell: str) -> int:
    return len(cell.lower().replace("d", "e").partition(mark)[2])


def _words(line: str) -> list[str]:
    delimiter = next((mark for mark in ",;\t|" if mark in line), None)
    return [cell.strip() for cell in line.split(delimiter)] or [""]


PIXEL_ROWS = 1 << 16
"""Rows held as text at a time: text takes ten times the memory of numbers."""


def spectra_of_csv(source: Source, options: ReadOptions) -> Iterator[Found]:
    with faults_of("CSV"):
        opened = open_csv(source)
        names = opened.names
    if 0 < opened.n_numbers < HEADERLESS_COLUMNS and not find(names, FLUX):
        yield from _spectrum_without_header(source, options, opened.n_numbers)
        return
    if len(set(names)) < len(names):
        repeated = Counter(names).most_common(1)[0][0]
        raise DefectError(Reason.LAYOUT, f"several columns are called {repeated[:80]!r}")
    if find(names, FLUX):
        with faults_of("CSV"):
            table = _pixel_table(open_csv(source))
        not_read = [name for name in names if name not in table.columns]
        yield from spectra_of_table(replace(table, not_read=not_read), source, options)
    else:
        yield from _spectra_of_wide_csv(source, options)


def _spectrum_without_header(source: Source, options: ReadOptions, n_columns: int) -> Iterator[Found]:
    """Read a spectrum in columns of numbers; what they are must show, and what is left out is told."""
    if n_columns < 2:
        raise DefectError(Reason.MISSING_COLUMN, "one column of numbers; a spectrum needs wavelength and flux")
    numbered = [f"column {i + 1}" for i in range(n_columns)]
    with faults_of("text"):
        opened = open_csv(source, numbered)
        columns = _read_columns(opened, numbered[:LOOKED_AT], numbered[:2])
    blank = np.full(len(columns["column 1"]), np.nan)
    roles = roles_of_unnamed([columns.get(name, blank) for name in numbered])
    roles = [role if name in columns else "" for name, role in zip(numbered, roles, strict=True)]
    rest = left_out(roles, "column")
    yield from noted(source, "; ".join(filter(None, [f"{HEADERLESS} {', '.join(filter(None, roles))}", rest])))
    taken = zip(numbered, roles, strict=True)
    by_role: dict[str, Column] = {role: columns[name] for name, role in taken if role and role != COUNTED}
    yield from spectra_of_table(Table(by_role, {}, opened.meta), source, options)


HEADERLESS = "text without a header read as"


def _pixel_table(opened: Csv) -> Table:
    usual = Roles.among(opened.names)
    names = further_roles(usual, opened.names).used
    return Table(dict(_read_columns(opened, names, usual.used)), dict(opened.units), opened.meta)


def _read_columns(opened: Csv, names: Sequence[str], needed: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Read these columns as numbers. Those with words in them are left out, unless they are needed."""
    places = {name: opened.names.index(name) for name in names}
    parts: dict[str, list[NDArray[np.float64]]] = {name: [np.empty(0)] for name in places}
    while block := list(islice(opened.rows, PIXEL_ROWS)):
        for name in list(parts):
            try:
                parts[name].append(numbers_in([row[places[name]] for row in block], name))
            except DefectError:
                if name in needed:
                    raise
                del parts[name]  # words, where only numbers would have been plain
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def _spectra_of_wide_csv(source: Source, options: ReadOptions) -> Iterator[Found]:
    with faults_of("CSV"):
        opened = open_csv(source)
        wide = Wide.among(opened.names)
        axis = wide.axis(opened.meta, options, opened.names)
        n, kinds = survey_columns(opened, wide.names)
        rows = open_csv(source).rows
    if n == 0:
        raise DefectError(Reason.EMPTY, "a table without rows")
    origin = Origin(source, options, single=n == 1)
    place = {name: i for i, name in enumerate(opened.names)}
    for first, last in blocks(n, len(axis.wavelength)):
        with faults_of("CSV"):
            block = _wide_block(list(islice(rows, last - first)), wide, kinds, place)
        yield from stacks_of_rows(block, wide.roles, origin, first, axis)


def _wide_block(
    rows: list[list[str]], wide: Wide, kinds: Mapping[str, str], place: Mapping[str, int]
) -> dict[str, Column]:
    block: dict[str, Column] = {}
    for role, names in wide.columns.items():
        places = [place[name] for name in names]
        block[f"<{role}>"] = np.array([numbers_in([row[i] for i in places], role) for row in rows])
    return block | {name: [VALUE_OF[kind](row[place[name]]) for row in rows] for name, kind in kinds.items()}


def survey_columns(opened: Csv, on_pixels: Collection[str]) -> tuple[int, dict[str, str]]:
    """Count the rows, and find the kind of every other column: one for the whole file, so one pass in advance."""
    places = {name: i for i, name in enumerate(opened.names) if name not in on_pixels}
    kinds = dict.fromkeys(places, "blank")
    n = 0
    for n, row in enumerate(opened.rows, 1):  # noqa: B007
        for name, i in places.items():
            if kinds[name] != "text":
                kinds[name] = wider(kinds[name], kind_of(row[i]))
    identifier = find(places, IDS)
    return n, kinds | ({identifier: "text"} if identifier else {})
