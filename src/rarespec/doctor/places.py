"""Places where rarespec writes: whether it can, how much room there is, and whether other computers share them."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rarespec.doctor.private import without_names
from rarespec.labels.network_file_system import file_system_of, is_network

LITTLE_ROOM = 10**9


@dataclass(frozen=True)
class Place:
    """A folder.

    problem : why nothing can be written there; None when it can
    free_bytes, file_system : None when they cannot be told
    network : whether other computers may share it
    needed : whether nothing works without it; a survey that is only read is searched all the same
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
    try:
        return place("temporary directory", Path(tempfile.gettempdir()), needed=True)
    except OSError as error:
        return Place(
            "temporary directory", "none", without_names(str(error.strerror or error)), None, None, False, True
        )


def place(what: str, folder: Path, needed: bool = False) -> Place:
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
