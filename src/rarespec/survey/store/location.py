"""Where a survey is: a directory on this machine, or a URL of an object store, which is read as if it were one.

A local place is a plain `pathlib.Path`. A URL is a `UPath` (universal_pathlib), which has the same methods and carries
them out through fsspec; it is typed as a Path, and `is_remote` tells the two apart.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

URL = re.compile(r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]+(::[A-Za-z0-9+.-]+)*):/+(?P<rest>.*)", re.DOTALL)
"""One slash is enough, as `Path("s3://bucket/x")` on the command line has one left. A drive has one letter."""
LOCAL = ("file", "local")
OPTIONS: dict[str, Any] = {"use_listings_cache": False}
"""Listings are never remembered: another process, such as a worker of a cluster, may have written meanwhile."""
OPTIONS_OF: dict[str, dict[str, Any]] = {protocol: {"max_concurrency": 1} for protocol in ("s3", "s3a")}
"""With more, s3fs asks for the size of an object before it reads it: two requests for each, and no gain below 50 MB."""
MOST_TEXT = 2**28
"""Bytes of the largest text that is read as a whole: the manifest of a thousand million spectra."""


def location(place: str | os.PathLike[str]) -> Path:
    """A Path for what is on this machine; for a URL such as s3://bucket/dr17.survey, what can be used as one."""
    if not isinstance(place, str | os.PathLike):  # a UPath with options of its own
        return cast(Path, place)
    text = os.fspath(place)
    url = URL.fullmatch(text)
    if url is None:
        return Path(place)
    if url["protocol"].lower() in LOCAL:
        return Path("/" + url["rest"])
    return _remote(f"{url['protocol']}://{url['rest'].rstrip('/')}")


def is_remote(path: Path) -> bool:
    return not isinstance(path, Path)


def _remote(url: str) -> Path:
    from rarespec.errors import UsageError

    try:
        from upath import UPath

        place = UPath(url, **(OPTIONS | OPTIONS_OF.get(url.partition(":")[0].lower(), {})))
        place.fs  # noqa: B018  loads the library of this kind of store
    except ImportError as error:
        raise UsageError(f"{url}: to open a survey at a URL, first pip install 'rarespec[cloud]' ({error})") from None
    except ValueError as error:
        raise UsageError(f"{url}: {error}") from None
    return cast(Path, place)


def refuse_remote(place: Path) -> None:
    """Refuse to write to an object store: a survey is made on a disk, where a change can be published as a whole."""
    from rarespec.errors import UsageError

    if is_remote(found := location(place)):
        raise UsageError(
            f"{found}: cannot write a survey to an object store; ingest into a local directory, then copy it there"
        )


def content_of(path: Path, at_most: int | None = None) -> bytes:
    """Read a whole file of at most so many bytes; from a store with one request."""
    if is_remote(path):
        with reaching(path):
            return bytes(_fs(path).cat_file(_key(path)))
    with open_to_read(path) as file:
        if at_most is not None and os.fstat(file.fileno()).st_size > at_most:
            raise OSError(errno.EFBIG, f"too large; at most {at_most / 1e6:.0f} MB are read", str(path))
        return file.read()


def open_to_read(path: Path) -> io.FileIO:
    """Open a file. A pipe or a device in its place is refused: reading it might never end."""
    if is_remote(path):
        return cast(io.FileIO, path.open("rb"))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return io.FileIO(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def put_file(path: Path, content: bytes) -> None:
    """Write a file to a store, whole or not at all: stores publish only what was sent to its end."""
    with reaching(path):
        _fs(path).pipe_file(_key(path), content)


def size_of(path: Path) -> int:
    with reaching(path):
        return int(_fs(path).size(_key(path)))


def ranges_of(path: Path, ranges: list[tuple[int, int]]) -> list[bytes]:
    """Read the bytes from each start to its stop, all requested at once."""
    starts, stops = ([pair[i] for pair in ranges] for i in (0, 1))
    with reaching(path):
        return list(_fs(path).cat_ranges([_key(path)] * len(ranges), starts, stops, on_error="raise"))


def sizes_below(root: Path) -> dict[str, int]:
    """Map every file below this directory, by its path inside it with slashes, to its bytes."""
    if is_remote(root):
        with reaching(root):
            found = _fs(root).find(_key(root), detail=True)
        return {name[len(_key(root)) :].lstrip("/"): int(about["size"]) for name, about in found.items()}
    sizes = {}
    for path in (Path(folder, name) for folder, _, names in os.walk(root) for name in names):
        with suppress(FileNotFoundError):  # a writer at work has just moved it
            sizes[path.relative_to(root).as_posix()] = path.lstat().st_size
    return sizes


def remove_tree(directory: Path) -> None:
    """Remove a directory with all that is in it; what cannot be removed stays."""
    if not is_remote(directory):
        shutil.rmtree(directory, ignore_errors=True)
        return
    try:
        with reaching(directory):
            _fs(directory).rm(_key(directory), recursive=True)
    except OSError:
        return


def local_neighbour(place: str | os.PathLike[str], ending: str) -> Path:
    """Name a file beside this directory itself, not beside a link to it; in the current directory for a URL."""
    path = location(place)
    home = Path.cwd() / path.name if is_remote(path) else path.resolve()
    return home.with_name(f"{home.name}{ending}")


@contextmanager
def reaching(path: Path) -> Iterator[None]:
    """Turn the exceptions of a store's library into OSError; each library has its own for being unreachable."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        why = f"cannot reach the store ({error}); check the address and your credentials"
        raise OSError(errno.EHOSTUNREACH, why, str(path)) from error


def _fs(path: Path) -> Any:
    return cast(Any, path).fs


def _key(path: Path) -> str:
    return str(cast(Any, path).path)
