"""Files read in a process of their own, with limits of time and memory.

A file from elsewhere may hang its reader, crash it or make it swallow all memory: FITS, HDF5 and Parquet files that do
each of these exist. Here that costs the file itself and nothing else. Starting the process takes about 0.2 s, once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.formats.reader import Found, ReadOptions, faults_of
from rarespec.formats.readers import read_here
from rarespec.spectrum import Defect, DefectError, Reason
from rarespec.storage.processes import Limits, WorkerDiedError, Workers, WorkerTooSlowError
from rarespec.storage.text import printable

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 512
"""Bytes in the unit of `st_blocks`."""
BYTES_PER_SECOND = 10 << 20
"""Of a large file, on a slow disk: it gets a second more for each of these."""
WHOLE_FILE = 10
"""Times as long as for its next spectra a file may take to its end: a few bytes can stand for millions of spectra."""
CATALOGUE_MEMORY = 8
"""A catalogue is read whole, as columns that may be wider than in the file: bytes for each byte of the file."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits on the time and the memory that a reader may take for one file.

    Parameters
    ----------
    seconds : float
        Longest wait for the next spectra of a small file. A large file gets more, by its size.
    memory : int
        Bytes that the process that reads may use.

    Examples
    --------
    >>> from rarespec.formats import ReadLimits
    >>> ReadLimits(60.0, 2_000_000_000).seconds
    60.0
    """

    seconds: float
    memory: int

    def for_file(self, path: str | os.PathLike[str]) -> Limits:
        """Return the limits for this file, by its size.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Limits
            Of the process that reads it.
        """
        return self.for_files([path])

    def for_files(self, paths: Sequence[str | os.PathLike[str]]) -> Limits:
        """Return the limits for reading these files one after the other, by their sizes.

        Parameters
        ----------
        paths : sequence of str or path-like
            The files.

        Returns
        -------
        Limits
            Of the process that reads them.
        """
        seconds = self.seconds + sum(map(size_of, paths)) / BYTES_PER_SECOND
        return Limits(seconds, self.memory, WHOLE_FILE * seconds)

    def for_catalogue(self, path: str | os.PathLike[str]) -> Limits:
        """Return the limits for this catalogue, which is read whole: memory grows with its size too.

        Parameters
        ----------
        path : str or path-like
            The catalogue.

        Returns
        -------
        Limits
            Of the process that reads it.
        """
        size = size_of(path)
        return Limits(self.seconds + size / BYTES_PER_SECOND, self.memory + CATALOGUE_MEMORY * size)


USUAL_LIMITS = ReadLimits(120.0, 4_000_000_000)
LONGEST = 1e9
"""Seconds, 30 years: no clock of an operating system counts to infinity."""
LEAST_MEMORY = 0.5
"""Gigabytes; the libraries alone take a quarter of it."""


def read_limits(seconds: float, gigabytes: float) -> ReadLimits:
    """Make limits of the numbers that a person gives."""
    if not seconds > 0:
        raise ValueError(f"a limit of {seconds:g} s is too short; give a positive number of seconds")
    if not gigabytes >= LEAST_MEMORY:
        raise ValueError(f"a limit of {gigabytes:g} GB is less than a reader needs; give {LEAST_MEMORY:g} GB or more")
    return ReadLimits(min(seconds, LONGEST), int(min(gigabytes, 1e9) * 1e9))


def size_of(path: str | os.PathLike[str]) -> int:
    """Bytes of a file on its disk, or of all files in a directory; 0 for what is not there.

    Holes do not count: a file of them may call itself as large as it likes, and would have all time and memory.
    """
    try:
        if not os.path.isdir(path):
            status = os.stat(path)
            return min(status.st_size, BLOCK * status.st_blocks)
        return sum(size_of(Path(folder, name)) for folder, _, names in os.walk(path) for name in names)
    except OSError:
        return 0


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    options: ReadOptions | None = None,
    limits: ReadLimits = USUAL_LIMITS,
) -> Iterator[Found]:
    """Read the spectra of one file, in a process of its own.

    A bad file yields a defect. Nothing that it does to its reader reaches the caller.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : str, optional
        Name of a reader, one of `READERS`. By default the structure of the file decides.
    options : ReadOptions, optional
        What to do about wavelengths in air and about flags.
    limits : ReadLimits, optional
        A file that takes more time or memory than this becomes a defect.

    Yields
    ------
    Spectra, Defect or Skipped
        Stacks of spectra, things that are wrong, and counts of rows without a target, in the order of the file.

    Examples
    --------
    >>> from rarespec.formats import read
    >>> [defect] = read("no-such-file.fits")
    >>> print(defect.reason)
    unreadable
    """
    yield from read_contained(_read, (format, options), path, limits)


def _read(shared: tuple[str | None, ReadOptions | None], path: str) -> Iterator[Found]:
    return read_here(path, *shared)


def read_catalogue_contained(path: str | os.PathLike[str], limits: ReadLimits = USUAL_LIMITS) -> pa.Table:
    """Read as `read_catalogue` does, in a process of its own; raise a DefectError if the file is too much for it."""
    import pyarrow as pa

    with tempfile.TemporaryDirectory() as folder:
        arrow = os.path.join(folder, "catalogue.arrow")
        for defect in read_contained(_write_catalogue, arrow, path, limits, limits.for_catalogue(path)):
            raise DefectError(defect.reason, defect.detail)
        # mapped, not loaded: it stays readable after its name is gone
        return pa.ipc.open_file(pa.memory_map(arrow)).read_all()


def _write_catalogue(into: str, path: str) -> Iterator[Defect]:
    """Write the catalogue to a file: it may be larger than what processes can well hand to each other."""
    import pyarrow as pa

    from rarespec.formats.catalogue import read_catalogue

    try:
        with faults_of("catalogue"):
            table = read_catalogue(path)
    except DefectError as error:
        yield error.at(path)
        return
    with pa.OSFile(into, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_contained(
    function: Callable[[Any, str], Iterator[Any]],
    shared: Any,
    path: str | os.PathLike[str],
    limits: ReadLimits,
    allowed: Limits | None = None,
) -> Iterator[Any]:
    """Yield what `function(shared, path)` yields in another process, then a Defect if the file was too much for it.

    Parameters
    ----------
    function : callable
        Importable by name.
    shared : object
        Hashable: processes that know it are kept for the next file.
    path : str or path-like
        The file.
    limits : ReadLimits
        Time and memory for a small file.
    allowed : Limits, optional
        Limits of this file, instead of those that its size gives.

    Yields
    ------
    object
        What the function yields.
    """
    allowed, name = allowed or limits.for_file(path), printable(os.fspath(path))
    try:
        yield from _readers(function, shared, os.getpid()).results(os.fspath(path), allowed)
    except WorkerTooSlowError:
        slow = f"no next spectra in {allowed.seconds:.0f} s, or not all in {WHOLE_FILE} times as long"
        yield Defect(name, Reason.TOO_SLOW, f"{slow}; leave it out, or allow more with --time-limit")
    except MemoryError:
        yield Defect(name, Reason.TOO_MUCH_MEMORY, _too_much(allowed))
    except WorkerDiedError as error:
        yield Defect(name, Reason.READER_CRASHED, f"its reader crashed the process ({error})")


def read_groups_contained(
    function: Callable[[Any, list[str]], Iterator[Any]],
    shared: Any,
    groups: Iterable[list[str]],
    limits: ReadLimits,
    n_readers: int = 1,
) -> Iterator[Any | None]:
    """Yield the one thing that `function(shared, paths)` yields for each group, or None if a file was too much for it.

    A message and an answer for each of many small files would take longer than reading them. The readers work ahead of
    the caller, so that neither waits for the other.

    Parameters
    ----------
    function : callable
        Importable by name.
    shared : object
        Hashable: processes that know it are kept for the next group.
    groups : iterable of list of str
        Paths, group by group.
    limits : ReadLimits
        Time and memory for a small file; the sizes of a group add to them.
    n_readers : int, optional
        Processes that read at the same time.

    Yields
    ------
    object or None
        One for each group, in their order.
    """
    items = ((paths, limits.for_files(paths)) for paths in groups)
    return _readers(function, shared, os.getpid()).answers(items, n_readers)


def _too_much(allowed: Limits) -> str:
    assert allowed.memory is not None
    return f"more than {allowed.memory / 1e9:.3g} GB; leave it out, or allow more with --memory-limit"


@lru_cache(maxsize=2)
def _readers(function: Callable[[Any, str], Iterator[Any]], shared: Any, owner: int) -> Workers:
    """Processes that are kept for the next file; those of a job that has been replaced end by themselves.

    A fork of this process gets readers of its own: two that share a pipe would get each other's spectra.
    """
    return Workers(function, shared)


def end_readers() -> None:
    """End the processes that wait for a next file."""
    _readers.cache_clear()
