"""Paths, directories, globs and lists of files -> the input files, in a fixed order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rarespec.formats.source import is_zarr
from rarespec.spectrum import Defect, Reason, Skipped
from rarespec.survey.store.location import MOST_TEXT, open_to_read
from rarespec.survey.store.manifest import NAME as MANIFEST

Named = str | os.PathLike[str]


def input_files(paths: Iterable[Named]) -> Iterator[str | Defect | Skipped]:
    """List every file that these paths name, as absolute paths. One that starts with @ is a text file of paths."""
    for path in _expand(paths):
        if isinstance(path, Defect):
            yield path
        elif os.path.isdir(path) and not is_zarr(Path(path)):
            yield from _below(os.path.abspath(path))
        else:
            yield os.path.abspath(path)


def _expand(paths: Iterable[Named]) -> Iterator[str | Defect]:
    """Replace lists and patterns by what they name. Lists may name lists, each only once."""
    left: list[Iterator[Named]] = [iter(paths)]  # not by recursion: whoever wrote the lists decides how deep they go
    opened: set[str] = set()
    while left:
        path = next(left[-1], None)
        if path is None:
            left.pop()
            continue
        name = os.fspath(path)
        if "\0" in name:
            yield Defect(name, Reason.UNREADABLE, "a file name cannot contain a null byte; correct the list")
        elif name.startswith("@"):
            listed = _read_list(name[1:], opened, by_hand=len(left) == 1)
            if isinstance(listed, Defect):
                yield listed
            else:
                left.append(iter(listed))
        elif glob.has_magic(name) and not os.path.lexists(name):
            yield from _matching(name)
        else:
            yield name


def _matching(pattern: str) -> Iterator[str | Defect]:
    try:
        found = sorted(glob.iglob(pattern, recursive=True))
    except RecursionError:  # Python's own search for ** calls itself for every folder
        yield Defect(
            pattern, Reason.UNREADABLE, "directories are nested too deeply for a pattern; give the top directory"
        )
        return
    yield from found
    if not found:
        yield Defect(pattern, Reason.UNREADABLE, "no file matches this pattern")


def _read_list(list_file: str, opened: set[str], by_hand: bool) -> list[str] | Defect:
    """The lines of a list that was not opened before, as paths relative to it.

    One that its user names may be a pipe, as the shell makes them; one that another list names might never end.
    """
    identity = os.path.realpath(list_file)
    if identity in opened:
        return Defect(list_file, Reason.DIRECTORY_LOOP, "this list of files was already read; nothing is lost")
    opened.add(identity)
    try:
        with open(list_file, "rb") if by_hand else open_to_read(Path(list_file)) as file:
            content = file.read(MOST_TEXT + 1)
    except OSError as error:
        return Defect(list_file, Reason.UNREADABLE, f"the list of files: {error.strerror}")
    if len(content) > MOST_TEXT:
        return Defect(list_file, Reason.UNREADABLE, f"the list of files: more than {MOST_TEXT / 1e6:.0f} MB; split it")
    lines = os.fsdecode(content).splitlines()
    base = os.path.dirname(list_file)
    return [_relative_to(base, line) for line in map(str.strip, lines) if line and not line.startswith("#")]


def _relative_to(base: str, line: str) -> str:
    """Read a path of a list as seen from here; also that of another list, behind its @, unless a file has that name."""
    path = os.path.join(base, line)
    return f"@{os.path.join(base, line[1:])}" if line.startswith("@") and not os.path.lexists(path) else path


def _below(top: str) -> Iterator[str | Defect | Skipped]:
    """List the files in a directory and below, without hidden ones; follow links, and enter each directory once."""
    left: list[Iterator[os.DirEntry[str]]] = []
    entered: set[tuple[int, int]] = set()
    directory: str | None = top
    while True:
        if directory is not None:
            entries = _entries(directory, entered)
            if isinstance(entries, list):
                left.append(iter(entries))
            else:
                yield entries
        if not left:
            return
        entry, directory = next(left[-1], None), None
        if entry is None:
            left.pop()
        elif _is_directory(entry) and not is_zarr(Path(entry.path)):
            directory = entry.path
        else:
            yield entry.path


def _entries(directory: str, entered: set[tuple[int, int]]) -> list[os.DirEntry[str]] | Defect | Skipped:
    """List a directory that was not entered before, sorted, without hidden files."""
    try:
        status = os.stat(directory)
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        return Defect(directory, Reason.UNREADABLE, f"{error.strerror}; check the directory's permissions")
    identity = (status.st_dev, status.st_ino)
    if identity in entered:
        return Defect(directory, Reason.DIRECTORY_LOOP, "a link to a directory that was already read; nothing is lost")
    entered.add(identity)
    if any(entry.name == MANIFEST for entry in entries):
        return Skipped(directory, "survey of rarespec", 1)
    return [entry for entry in entries if not entry.name.startswith(".")]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; its reader will say so
        return False
