"""The built-in indices, or those of a TOML file, as a Markdown table: `python -m rarespec.features.index_table`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rarespec.features.index_definitions import IndexDefinition, Window, load_definitions

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
