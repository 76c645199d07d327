"""Where a log may be kept: a plain file, with nothing beside it that would lead SQLite to other files."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from rarespec.errors import UsageError

BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database."""

NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names a file above it. SQLite may delete the file named there."""

PRIVATE, SHARED = 0o600, 0o660


def check_writable(path: Path) -> None:
    """Raise a UsageError where no log could be made; make nothing."""
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the directory {path.parent} does not exist; create it first")
    if path.is_dir():
        raise UsageError(f"{path}: this is a directory; give a file name for the labels")
    check_plain(path)
    for place in (path.parent, path):
        if place.exists() and not may_write(place):
            raise UsageError(f"{place}: you cannot write here; save the labels in another file, or ask its owner")


def check_plain(path: Path) -> None:
    """Refuse links: one to nowhere would make a file elsewhere; beside the log, SQLite would write through one."""
    if path.is_symlink() and not path.exists():
        raise UsageError(f"{path}: a link to a file that does not exist; give the file itself")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: not a regular file; choose another for the labels")
    for ending in BESIDE:
        _check_beside(path.resolve().with_name(f"{path.resolve().name}{ending}"))


def _check_beside(path: Path) -> None:
    if path.is_symlink():
        raise UsageError(f"{path}: a link in place of one of SQLite's own files; ask who made it, and remove it")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path}: not a regular file, in place of one of SQLite's own; remove it")
    if path.name.endswith("-journal") and _names_another(path):
        raise UsageError(f"{path}: this journal refers to another file, which a label journal never does; remove it")


def _names_another(journal: Path) -> bool:
    with suppress(OSError), journal.open("rb") as file:
        file.seek(-len(NAMES_ANOTHER), os.SEEK_END)
        return file.read() == NAMES_ANOTHER
    return False  # it is gone, as another process has just finished, or holds less


def make_own(path: Path, shared: bool) -> None:
    """Make an empty file, private or shared with the group; SQLite gives the files beside it the same mode.

    A file that is there stays as it is.
    """
    mode = SHARED if shared else PRIVATE
    with suppress(FileExistsError):
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        try:
            if shared:
                os.fchmod(file, mode)  # whatever the umask takes away
        finally:
            os.close(file)


def may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
