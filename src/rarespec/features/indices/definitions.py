"""What a line or band index is, and the TOML files in which indices are written down."""

from __future__ import annotations

import math
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from rarespec.errors import UsageError
from rarespec.spectrum.grid import air_to_vacuum

Kind = Literal["width", "magnitude", "ratio"]
Medium = Literal["vacuum", "air"]
Window = tuple[float, float]
"""Lower and upper wavelength, rest-frame vacuum Angstrom."""

REQUIRED = ("name", "kind", "medium", "feature", "continuum")
OPTIONAL = ("species", "source")


class DefinitionError(UsageError):
    """An index that cannot be measured as it is written; names the file, the index and the field."""


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """One index: the windows it looks at, in rest-frame vacuum Angstrom, and what is made of them.

    Parameters
    ----------
    name : str
        Text without spaces.
    kind : {"width", "magnitude", "ratio"}
        "width" is the equivalent width in Angstrom; "magnitude" the same absorption as -2.5 log10 of the mean of flux
        over continuum; "ratio" the flux of the feature over the flux of the continuum.
    feature : tuple of (float, float)
        One window, lower and upper wavelength; a ratio may have several, of which it takes the mean.
    continuum : tuple of (float, float)
        A blue and a red window for "width" and "magnitude"; one or more for a ratio.
    species : str, optional
        What absorbs.
    source : str, optional
        The publication of the windows.

    Raises
    ------
    DefinitionError
        If the index cannot be measured as it is written.

    Examples
    --------
    >>> from rarespec.features.indices.definitions import IndexDefinition
    >>> IndexDefinition("Halpha", "width", ((6548.0, 6578.0),), ((6420.0, 6455.0), (6600.0, 6640.0))).kind
    'width'
    """

    name: str
    kind: Kind
    feature: tuple[Window, ...]
    continuum: tuple[Window, ...]
    species: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        self._refuse_bad_name()
        if self.kind not in get_args(Kind):
            raise self._error("kind", f"must be one of {', '.join(get_args(Kind))}, not {self.kind!r}")
        for field in ("feature", "continuum"):
            self._refuse_bad_windows(field, getattr(self, field))
        if set(self.feature) & set(self.continuum):
            raise self._error("continuum", "has a window that overlaps the feature")
        if self.kind != "ratio":
            self._refuse_bad_sides()

    def _error(self, field: str, problem: str) -> DefinitionError:
        return DefinitionError(f"index {self.name!r}: {field} {problem}")

    def _refuse_bad_name(self) -> None:
        if not isinstance(self.name, str) or not self.name or any(c.isspace() for c in self.name):
            raise self._error("name", "must be text without spaces")

    def _refuse_bad_windows(self, field: str, windows: tuple[Window, ...]) -> None:
        if not windows:
            raise self._error(field, "needs at least one window")
        for low, high in windows:
            if not (math.isfinite(low) and math.isfinite(high) and 0 < low < high):
                raise self._error(field, f"[{low:g}, {high:g}] must be two positive wavelengths, the lower one first")
        if list(windows) != sorted(windows):
            raise self._error(field, "must list its windows from blue to red")
        if self.kind == "ratio" and any(a[1] > b[0] for a, b in pairwise(windows)):
            raise self._error(field, "has windows that overlap each other")

    def _refuse_bad_sides(self) -> None:
        if len(self.feature) != 1:
            raise self._error("feature", f"of a {self.kind} must be one window, not {len(self.feature)}")
        if len(self.continuum) != 2:
            raise self._error(
                "continuum", f"of a {self.kind} must be two windows, blue and red, not {len(self.continuum)}"
            )
        (low, high), (blue, red) = self.feature[0], self.continuum
        # Published windows may overlap a little; each must still reach out on its own side.
        if not (blue[0] < low and blue[1] < high and red[0] > low and red[1] > high and blue[1] <= red[0]):
            raise self._error("continuum", "must have one window on the blue and one on the red side of the feature")

    @property
    def windows(self) -> tuple[Window, ...]:
        """All windows, the feature's first."""
        return self.feature + self.continuum

    @property
    def width(self) -> float:
        """Angstrom covered by the feature."""
        return sum(high - low for low, high in self.feature)

    @property
    def reach(self) -> Window:
        """The lowest and the highest wavelength the index looks at."""
        return min(low for low, _ in self.windows), max(high for _, high in self.windows)


def load_definitions(path: str | os.PathLike[str] | None = None) -> list[IndexDefinition]:
    """Read the indices written in a TOML file, in its order.

    Parameters
    ----------
    path : str or path-like, optional
        The file. By default the built-in indices.

    Returns
    -------
    list of IndexDefinition
        The indices.

    Raises
    ------
    DefinitionError
        If the file is not TOML, or an index cannot be measured as it is written.
    """
    source = files("rarespec") / "features" / "indices.toml" if path is None else Path(path)
    try:
        document = tomllib.loads(source.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{source}: not a TOML file ({error})") from None
    try:
        return _definitions(document)
    except DefinitionError as error:
        raise DefinitionError(f"{source}: {error}") from None


def _definitions(document: Mapping[str, Any]) -> list[IndexDefinition]:
    unknown = sorted(set(document) - {"index"})
    entries = document.get("index", [])
    if unknown or not isinstance(entries, list) or not entries:
        raise DefinitionError(f"has {', '.join(unknown) or 'nothing'} where [[index]] tables are expected")
    definitions = [_definition(entry, number) for number, entry in enumerate(entries, start=1)]
    names = [definition.name for definition in definitions]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"index {name!r}: name is used {names.count(name)} times")
    return definitions


def _definition(entry: Any, number: int) -> IndexDefinition:
    if not isinstance(entry, dict):
        raise DefinitionError(f"index number {number}: not a table; write [[index]] above it")
    called = f"index {entry['name']!r}" if "name" in entry else f"index number {number}"
    for field in REQUIRED:
        if field not in entry:
            raise DefinitionError(f"{called}: {field} is missing")
    for field in entry:
        if field not in REQUIRED + OPTIONAL:
            raise DefinitionError(f"{called}: {field} is not a field; choose from {', '.join(REQUIRED + OPTIONAL)}")
    for field in ("name", "kind", "medium", *OPTIONAL):
        if not isinstance(entry.get(field, ""), str):
            raise DefinitionError(f"{called}: {field} must be text")
    feature, continuum = (_windows(entry, field, called) for field in ("feature", "continuum"))
    return IndexDefinition(
        entry["name"], entry["kind"], feature, continuum, entry.get("species", ""), entry.get("source", "")
    )


def _windows(entry: Mapping[str, Any], field: str, called: str) -> tuple[Window, ...]:
    """Written as [low, high] or as a list of such pairs, in air or vacuum as the entry says."""
    if entry["medium"] not in get_args(Medium):
        raise DefinitionError(f"{called}: medium must be one of {', '.join(get_args(Medium))}, not {entry['medium']!r}")
    pairs = entry[field] if _is_list_of(entry[field], list) else [entry[field]]
    if not all(_is_list_of(pair, int, float) and len(pair) == 2 for pair in pairs):
        raise DefinitionError(f"{called}: {field} must be [low, high] or a list of such pairs, in Angstrom")
    edges = np.array(pairs, dtype=np.float64)
    vacuum = air_to_vacuum(edges) if entry["medium"] == "air" else edges
    return tuple((float(low), float(high)) for low, high in vacuum)


def _is_list_of(value: Any, *types: type) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) in types for item in value)


# ---- The built-in indices, or those of a TOML file, as a Markdown table: `python -m
# rarespec.features.indices.definitions`.


HEADER = ("index", "species", "kind", "feature", "continuum", "source")


def index_table(definitions: Iterable[IndexDefinition]) -> str:
    """One row per index; wavelengths in vacuum Angstrom."""
    rows = [HEADER, ("---",) * len(HEADER), *map(_cells, definitions)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(index: IndexDefinition) -> tuple[str, ...]:
    return index.name, index.species, index.kind, _text(index.feature), _text(index.continuum), index.source


def _text(windows: tuple[Window, ...]) -> str:
    return ", ".join(f"{low:.2f}-{high:.2f}" for low, high in windows)


if __name__ == "__main__":
    print(index_table(load_definitions(sys.argv[1] if len(sys.argv) > 1 else None)))
