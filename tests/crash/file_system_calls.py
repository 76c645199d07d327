"""Sees every call by which this process opens or changes files below a directory, before it happens.

What Python itself calls is told by audit hooks; flushing and writing, which have none, are wrapped. Arrow writes its
Parquet files by itself: the whole file counts as one write. SQLite cannot be seen; for labels see
`test_labels_on_a_full_disk.py`.
"""

import builtins
import errno
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
READS = ("os.listdir", "os.scandir")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

Act = Callable[[str, str, Callable[[], None] | None], None]
"""Called with the kind of call, its path and, of a write, what does one half of it."""


def watch(below: Path, act: Act) -> None:
    """From now on and for ever, in all threads: use it in a process that is soon to end."""
    home, inside = os.path.realpath(below) + os.sep, threading.local()

    def tell(kind, path, half=None):
        if getattr(inside, "told", False) or not (path + os.sep).startswith(home):
            return
        inside.told = True  # what is done about a call is not a call of the process
        try:
            act(kind, path, half)
        finally:
            inside.told = False

    def audited(event, args):
        if event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            tell("create" if (args[2] or 0) & WRITING else "open", _named(args[0]))
        elif event in CHANGES or event in READS:
            tell(event.removeprefix("os."), _named(args[0], args[-1] if event in ("os.remove", "os.rmdir") else -1))
        elif event == "fcntl.flock":
            tell("flock", _named(args[0]))

    sys.addaudithook(audited)
    _wrap_fsync(tell)
    _wrap_open(tell)
    _wrap_parquet(tell)


def _named(path, folder=-1) -> str:
    """The place of a path, or of what is open under a number."""
    if path is None:
        path = "."
    if isinstance(path, int):
        return os.readlink(f"/proc/self/fd/{path}")
    name = os.fsdecode(path)
    if isinstance(folder, int) and folder >= 0:
        name = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), name)
    return os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(name))), os.path.basename(name))


def _wrap_fsync(tell):
    fsync = os.fsync

    def told(descriptor):
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        tell("fsync", _named(number))
        fsync(number)
        DIRTY.discard(os.fstat(number).st_ino)

    os.fsync = told


def _wrap_open(tell):
    really_open = io.open

    def opened(file, mode="r", *args, **kwargs):
        found = really_open(file, mode, *args, **kwargs)
        if isinstance(file, int) or not set(mode) & set("wxa+"):
            return found
        DIRTY.add(os.fstat(found.fileno()).st_ino)
        return _Written(found, _named(file), tell)

    builtins.open = io.open = opened


class _Written:
    """A file whose writes are told."""

    def __init__(self, file, path, tell):
        self._file, self._path, self._tell = file, path, tell

    def write(self, data):
        def half():
            self._file.write(data[: len(data) // 2])
            self._file.flush()

        self._tell("write", self._path, half)
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)

    def __iter__(self):
        return iter(self._file)


def _wrap_parquet(tell):
    import pyarrow.parquet as pq

    write_table = pq.write_table

    def told(table, where, *args, **kwargs):
        def write():
            write_table(table, where, *args, **kwargs)
            DIRTY.add(os.stat(where).st_ino)

        def half():
            write()
            os.truncate(where, os.path.getsize(where) // 2)

        tell("write", _named(where), half)
        write()

    pq.write_table = told


DIRTY: set[int] = set()
"""Inodes of files that were written and not flushed since: a loss of power may take their contents."""


def lose_power(below: Path) -> None:
    """This process ends, and what was not flushed to the disk is cut in half."""
    for folder, _, names in os.walk(below):
        for path in (os.path.join(folder, name) for name in names):
            status = os.lstat(path)
            if status.st_ino in DIRTY:
                os.truncate(path, status.st_size // 2)
    os._exit(DIED)


DIED = 9
FAULTS = ("crash", "error", "full")


def fault_at(step: int, fault: str, below: Path) -> list[str]:
    """The step-th call fails in this way; returns a list to which all calls are added as they come."""
    calls: list[str] = []

    def act(kind, path, half):
        calls.append(f"{kind} {os.path.relpath(path, os.path.realpath(below))}")
        if len(calls) != step:
            return
        if fault == "crash":
            if half:
                half()
            lose_power(below)
        if fault == "full" and half:
            half()
        number = errno.EIO if fault == "error" else errno.ENOSPC
        raise OSError(number, os.strerror(number), path)

    watch(below, act)
    return calls
