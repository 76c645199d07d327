"""The house is as CONTRIBUTING.md draws it: every room on the map, imports downwards, each framework in one room."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

TREE = Path(__file__).parents[2]
SOURCE = TREE / "src" / "rarespec"
GUIDE = (TREE / "CONTRIBUTING.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```\n", GUIDE, re.MULTILINE | re.DOTALL)
ABOVE_ALL = {"__init__", "__main__"}
"""They hand out what the rooms hold."""
ONLY_ROOM = {
    "starlette": "inspector",
    "uvicorn": "inspector",
    "matplotlib": "plots",
    "typer": "cli",
    "rich": "cli",
    "lsdb": "hats",
    "urllib3": "fetching",
    "mcp": "mcp_server",
}


def block_with(start: str) -> list[str]:
    """The lines of the block of the guide that begins so."""
    [found] = [block.splitlines() for block in BLOCKS if block.startswith(start)]
    return found


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def height_of() -> dict[str, int]:
    """Room -> line of the order, counted from below."""
    lines = reversed(block_with("cli\n"))
    return {room: height for height, line in enumerate(lines) for room in line.split(", ")}


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Dotted names that a file imports, at its top or inside a function, and their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


FILES = sorted(SOURCE.rglob("*.py"))


@cache
def all_imports() -> list[tuple[Path, str, int]]:
    """Not at the top of this file, which every process of the tests reads: it takes seconds."""
    return [(path, *one) for path in FILES for one in imported(path)]


def test_the_map_names_every_room_and_every_file_and_nothing_else() -> None:
    named = {line.split()[0] for line in block_with("src/rarespec/\n")[1:]}
    there = {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    there |= {path.name for path in SOURCE.glob("*.py")}
    assert named == there


def test_the_order_names_every_room() -> None:
    assert set(height_of()) == {room_of(path) for path in FILES} - ABOVE_ALL


def test_rooms_import_downwards_only() -> None:
    height = height_of()
    upwards = [
        f"{path.relative_to(TREE)}:{line} imports {name}"
        for path, name, line in all_imports()
        if name.startswith("rarespec.") and (room := room_of(path)) not in ABOVE_ALL
        if (other := name.split(".")[1]) != room and height.get(other, len(height)) >= height[room]
    ]
    assert not upwards, "\n".join(upwards)


@pytest.mark.parametrize("framework", ONLY_ROOM)
def test_one_room_knows_a_framework(framework: str) -> None:
    rooms = {room_of(path) for path, name, _ in all_imports() if name.split(".")[0] == framework}
    assert rooms == {ONLY_ROOM[framework]}


def test_nothing_private_is_imported_from_another_room() -> None:
    private = [
        f"{path.relative_to(TREE)}:{line} imports {name}"
        for path, name, line in all_imports()
        if name.startswith("rarespec.") and name.split(".")[1] != room_of(path)
        if any(part.startswith("_") and part not in ("_version", "__version__") for part in name.split(".")[1:])
    ]
    assert not private, "\n".join(private)


PUBLIC_ROOMS = ("spectrum", "formats", "features", "rankers", "survey", "searching", "labels", "hats", "evaluation")
PUBLIC_ROOMS += ("engines", "gpu", "inspector", "plots", "mock", "fetching")


@pytest.mark.parametrize("room", ["", *PUBLIC_ROOMS])
def test_a_room_hands_out_the_names_it_promises(room: str) -> None:
    module = import_module(f"rarespec.{room}".rstrip("."))
    assert module.__all__ and all(hasattr(module, name) for name in module.__all__)
    assert not hasattr(module, "no_such_name")


def test_a_room_hands_out_names_without_loading_what_is_heavy() -> None:
    code = f"import sys; {'; '.join(f'import rarespec.{room}' for room in PUBLIC_ROOMS)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"matplotlib", "zarr", "starlette", "lsdb", "torch"} & set(loaded)
