"""An open CSV file, separated by commas, semicolons, tabs, bars or blanks, with remarks above its header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from rarespec.formats.csv_cells import all_numbers, value_of
from rarespec.formats.source import Source
from rarespec.formats.source_file import SourceFile
from rarespec.spectrum import DefectError, Reason

REMARK = re.compile(r"#\s*([A-Za-z_]\w*)\s*[:=]\s*(\S.*)")

LONGEST_LINE = 16 << 20
"""Characters; a line is held whole. A spectrum of a million pixels needs less."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Csv:
    """An open CSV file: its names, what its remarks say (`# key: value`), and its rows, each of as many cells."""

    names: list[str]
    meta: dict[str, Any]
    rows: Iterator[list[str]]


def open_csv(source: Source) -> Csv:
    text = io.TextIOWrapper(io.BufferedReader(SourceFile(source), 1 << 20), encoding="utf-8-sig", newline="")
    remarks: list[str] = []
    lines = _bounded_lines(text)
    for line in lines:
        if line.strip() and not line.startswith("#"):
            break
        remarks.append(line.strip())
    else:
        raise DefectError(Reason.EMPTY, "no rows of data")
    delimiter = next((mark for mark in ",;\t|" if mark in line), None)
    names = next(_cells([line], delimiter))
    above = next(_cells([remarks[-1].lstrip("# ")], delimiter), []) if remarks else []
    if all_numbers(names) and len(above) == len(names) and not all_numbers(above):
        names, lines = above, _then(line, lines)
    return Csv([name.strip() for name in names], _remarks(remarks), _rows(_cells(lines, delimiter), len(names)))


def _bounded_lines(text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise DefectError(Reason.TOO_LARGE, f"a line of more than {LONGEST_LINE >> 20} MiB")
        yield line


def _then(first: T, rest: Iterable[T]) -> Iterator[T]:
    yield first
    yield from rest


def _cells(lines: Iterable[str], delimiter: str | None) -> Iterator[list[str]]:
    lines = (line for line in lines if not line.startswith("#"))
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
