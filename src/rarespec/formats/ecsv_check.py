"""What the header of an ECSV file would unfold to: YAML may name a part again and again, and columns any shape."""

from __future__ import annotations

import math
import re

from rarespec.formats.inflating import largest_inflated
from rarespec.spectrum import DefectError, Reason

MOST_NODES = 1_000_000
"""Values of a header, with all repetitions. A header of 10 000 columns has a tenth of that."""

ELEMENT_BYTES = 8
_UNUSUAL = re.compile(r"[*\[\\]")
"""Marks without which a header neither names a part of itself nor the shape of a column."""
_SHAPE = re.compile(r"\[([\d, ]{1,200})")


def check_ecsv(text: str) -> None:
    """Refuse, by a DefectError, a header that unfolds without measure, and shapes that the rows cannot fill."""
    n_head = _length_of_header(text)
    header = text[:n_head]
    if not _UNUSUAL.search(header):
        return
    n_rows = text.count("\n", n_head)
    cells = sum(_elements(value) for value in _scalars_of_yaml(header))
    if cells * n_rows * ELEMENT_BYTES > largest_inflated(len(text)):
        raise DefectError(Reason.TOO_LARGE, f"{n_rows} rows of {cells} numbers each are declared")


def _length_of_header(text: str) -> int:
    """Characters up to the first line that is no comment."""
    at = 0
    while text.startswith("#", at):
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return at


def _elements(value: str) -> int:
    """Of the array in a cell, by its type, as `float64[3,4]`; 0 for what is no such type."""
    shape = _SHAPE.search(value)
    return math.prod(int(length[:18]) for length in re.findall(r"\d+", shape[1])) if shape else 0


def _scalars_of_yaml(header: str) -> list[str]:
    """All texts of the YAML, after a count of what it unfolds to; linear in its length.

    A part that is named again counts again with all that it holds, and so does what merges it (`<<`).
    """
    import yaml  # type: ignore[import-untyped]

    lines = (line.removeprefix("#").removeprefix(" ") for line in header.splitlines())
    content = "\n".join(line for line in lines if not line.startswith("%ECSV"))
    scalars: list[str] = []
    nodes = _Nodes()
    try:
        for event in yaml.parse(content, yaml.SafeLoader):
            if isinstance(event, yaml.ScalarEvent):
                scalars.append(event.value)
                nodes.add(1, event.anchor)
            elif isinstance(event, yaml.AliasEvent):
                nodes.add(nodes.of_anchor.get(event.anchor, 1))
            elif isinstance(event, yaml.CollectionStartEvent):
                nodes.begin(event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                nodes.end()
    except yaml.YAMLError:
        pass  # its reader will say so
    return scalars


class _Nodes:
    """Counts the nodes of a YAML tree as it would be written without names for its parts."""

    def __init__(self) -> None:
        self.of_anchor: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = [(None, 0)]

    def begin(self, anchor: str | None) -> None:
        self._open.append((anchor, 1))

    def end(self) -> None:
        anchor, size = self._open.pop()
        self.add(size, anchor)

    def add(self, size: int, anchor: str | None = None) -> None:
        """A whole node of this size, to the one that is open."""
        if anchor is not None:
            self.of_anchor[anchor] = size
        outer, total = self._open[-1]
        if total + size > MOST_NODES:
            raise DefectError(Reason.TOO_LARGE, f"a header that unfolds to more than {MOST_NODES} values")
        self._open[-1] = (outer, total + size)
