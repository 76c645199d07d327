"""What the machine has: system, cores, memory, and the threads of its linear algebra."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rarespec.doctor.software import without_names
from rarespec.storage.file_systems import file_system_of, is_network
from rarespec.storage.processes import available_cores

MEMORY = Path("/proc/meminfo")
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""What a container or a batch system allows; there is one or none of them."""


def machine_facts() -> dict[str, str]:
    """Describe this machine: what is described, and its value in words."""
    return {
        "python": f"{platform.python_version()} ({platform.python_implementation()}{_environment()})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": f"{available_cores()} usable of {os.cpu_count() or 'an unknown number'}",
        "memory": memory_in_words(),
        "linear algebra": "; ".join(_libraries()) or "unknown",
    }


def _environment() -> str:
    return ", virtual environment" if sys.prefix != sys.base_prefix else ""


def memory_in_words(memory: Path = MEMORY, limits: tuple[Path, ...] = LIMITS) -> str:
    """Say how much memory there is, how much is free, and how much this process may use where that is less."""
    total, available = _of_the_machine(memory)
    allowed = next(filter(None, map(_limit, limits)), None)
    words = [f"{_gigabytes(total)}" if total else "unknown"]
    words += [f"{_gigabytes(available)} available"] if available else []
    words += [f"{_gigabytes(allowed)} allowed for this process"] if allowed and total and allowed < total else []
    return ", ".join(words)


def _of_the_machine(memory: Path) -> tuple[int | None, int | None]:
    """Bytes in all, and available; Linux tells both, most others only the first."""
    try:
        lines = dict(line.split(":", 1) for line in memory.read_text().splitlines() if ":" in line)
        total, available = (1024 * int(lines[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
        return total, available
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), None
    except (AttributeError, ValueError, OSError):
        return None, None


def _limit(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # "max" stands for none
        return None


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"


def _libraries() -> Iterator[str]:
    """Libraries that NumPy has loaded, each once."""
    import numpy  # noqa: F401  so that its library is there to be seen
    from threadpoolctl import threadpool_info

    seen = {
        f"{one['internal_api']} {one.get('version') or ''}".strip(): one["num_threads"]
        for one in threadpool_info()
        if one["user_api"] == "blas"
    }
    yield from (f"{name}, {threads} thread{'s' * (threads != 1)}" for name, threads in seen.items())


# ---- Places where rarespec writes: whether it can, how much room there is, and whether other computers share them.


LITTLE_ROOM = 10**9


@dataclass(frozen=True)
class Place:
    """A folder in which rarespec writes.

    Parameters
    ----------
    what : str
        What it is used for.
    path : str
        Where it is, without the names of people.
    problem : str or None
        Why nothing can be written there; None when it can.
    free_bytes : int or None
        Room that is left; None where it is unknown.
    file_system : str or None
        Type of the file system; None where it is unknown.
    network : bool
        Whether other computers may share it.
    needed : bool, default False
        Whether nothing works without it; a survey that can only be read is searched all the same.
    """

    what: str
    path: str
    problem: str | None
    free_bytes: int | None
    file_system: str | None
    network: bool
    needed: bool = False

    @property
    def little_room(self) -> bool:
        return self.free_bytes is not None and self.free_bytes < LITTLE_ROOM


def temporary_folder() -> Place:
    """Look at the folder for temporary files; where Python finds none, that is the problem."""
    try:
        return place("temporary directory", Path(tempfile.gettempdir()), needed=True)
    except OSError as error:
        return Place(
            "temporary directory", "none", without_names(str(error.strerror or error)), None, None, False, True
        )


def place(what: str, folder: Path, needed: bool = False) -> Place:
    """Look whether a folder can be written to, how much room it has, and whether it is shared.

    Parameters
    ----------
    what : str
        What it is used for, such as "temporary directory".
    folder : Path
        The folder. A file is written there and removed; the folder itself is not made.
    needed : bool, default False
        Whether nothing works without it.

    Returns
    -------
    Place
        What was found. A folder that is missing has a problem; nothing is raised.
    """
    kind, path = file_system_of(folder), without_names(str(folder))
    return Place(what, path, _why_not_written(folder), _free(folder), kind, is_network(kind), needed)


def _why_not_written(folder: Path) -> str | None:
    """A file without a name, which leaves nothing behind."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"rarespec")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _free(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
