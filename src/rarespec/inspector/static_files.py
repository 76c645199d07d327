"""The page, its scripts and its styles: read once, known by name, so that no request can ask for another file."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
PAGE = "index.html"


class StaticFile(NamedTuple):
    content: bytes
    content_type: str


def static_files() -> dict[str, StaticFile]:
    """File name -> what is in it, of all files of the kinds above."""
    folder = files("rarespec.inspector").joinpath("static")
    found = {}
    for file in folder.iterdir():
        kind = CONTENT_TYPES.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None and file.is_file():
            found[file.name] = StaticFile(file.read_bytes(), kind)
    return found
