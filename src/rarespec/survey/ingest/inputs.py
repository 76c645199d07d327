"""Paths, directories, globs and lists of files -> the input files, in a fixed order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rarespec.formats.source import is_zarr
from rarespec.spectrum import Defect, Reason, Skipped
from rarespec.survey.manifest import NAME as MANIFEST


def input_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[str | Defect | Skipped]:
    """Every file that these paths name, as absolute paths. One starting with @ is a text file with a path a line."""
    for path in _expanded(paths):
        if isinstance(path, Defect):
            yield path
        elif os.path.isdir(path) and not is_zarr(Path(path)):
            yield from _below(os.path.abspath(path), entered=set())
        else:
            yield os.path.abspath(path)


def _expanded(paths: Iterable[str | os.PathLike[str]]) -> Iterator[str | Defect]:
    for path in paths:
        name = os.fspath(path)
        if name.startswith("@"):
            yield from _listed(name[1:])
        elif glob.has_magic(name) and not os.path.lexists(name):
            found = sorted(glob.iglob(name, recursive=True))
            yield from found
            if not found:
                yield Defect(name, Reason.UNREADABLE, "no file matches this pattern")
        else:
            yield name


def _listed(list_file: str) -> Iterator[str | Defect]:
    try:
        lines = Path(list_file).read_text(errors="surrogateescape").splitlines()
    except OSError as error:
        yield Defect(list_file, Reason.UNREADABLE, f"the list of files: {error.strerror}")
        return
    base = Path(list_file).parent
    yield from _expanded(base / line for line in map(str.strip, lines) if line and not line.startswith("#"))


def _below(directory: str, entered: set[tuple[int, int]]) -> Iterator[str | Defect | Skipped]:
    """Files in a directory and below, hidden ones left out; links are followed, each directory is entered once."""
    try:
        status = os.stat(directory)
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        yield Defect(directory, Reason.UNREADABLE, f"{error.strerror}; check the directory's permissions")
        return
    identity = (status.st_dev, status.st_ino)
    if identity in entered:
        yield Defect(directory, Reason.DIRECTORY_LOOP, "a link to a directory that was already read; nothing is lost")
        return
    entered.add(identity)
    if any(entry.name == MANIFEST for entry in entries):
        yield Skipped(directory, "survey of rarespec", 1)
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if _is_directory(entry) and not is_zarr(Path(entry.path)):
            yield from _below(entry.path, entered)
        else:
            yield entry.path


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; its reader will say so
        return False
