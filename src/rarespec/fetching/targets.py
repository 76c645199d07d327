"""What the user asks for: ids, with the other columns of their table (run2d, healpix ...)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rarespec.errors import UsageError
from rarespec.formats.contained import read_catalogue_contained
from rarespec.spectrum import DefectError


@dataclass(frozen=True)
class Target:
    """One object: its id, and the columns of its row in lower case."""

    id: str
    row: dict[str, Any] = field(default_factory=dict)

    def word(self, *names: str) -> str:
        """The first of these columns that has a value, as text; empty when none has."""
        values = (str(self.row[name]).strip() for name in names if self.row.get(name) is not None)
        return next(filter(None, values), "")


def make_targets(ids: Iterable[str]) -> list[Target]:
    """Make a target of every id, each once."""
    return [Target(id) for id in dict.fromkeys(id.strip() for id in ids) if id]


def read_targets(path: str | os.PathLike[str]) -> list[Target]:
    """Read the objects of a table (FITS, CSV, ECSV, VOTable or Parquet) or of a list with one id per line."""
    try:
        found = _of_list(Path(path)) or _of_table(path)
    except DefectError as error:
        raise UsageError(f"{path}: {error.reason}: {error.detail}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    return list({one.id: one for one in reversed(found)}.values())[::-1]


def _of_table(path: str | os.PathLike[str]) -> list[Target]:
    table = read_catalogue_contained(path)
    return [Target(row["id"], row) for row in table.to_pylist()]


def _of_list(path: Path) -> list[Target]:
    """Read a list with one word per line, whose first word is an id and not a heading; empty for any other file."""
    with open(path, "rb") as file:
        if b"\0" in file.read(4096):
            return []
    try:
        lines = [line.strip() for line in path.read_text("utf-8-sig").splitlines()]
    except UnicodeDecodeError:
        return []
    words = [line for line in lines if line and not line.startswith("#")]
    is_list = words and words[0][-1:].isdigit() and not any(set(word) & set(" ,;\t<|") for word in words[:100])
    return make_targets(words) if is_list else []


# ---- A file that is to be fetched, for one or several objects that were asked for.


SPECTRUM_BYTES = 64 << 20
"""Most bytes of a file with one spectrum and its exposures: several times the size of the longest."""
MANY_SPECTRA_BYTES = 8 << 30


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of an archive.

    Parameters
    ----------
    ids : tuple of str
        Ids for which it is fetched, as the user wrote them.
    name : str
        Its place in the folder of fetched files.
    addresses : tuple of str
        Where it may be; the next is asked when the archive says that it is not there.
    checksums : str
        Name of the list of checksums in the directory of the file. A pattern (``*.sha1sum``) is looked for in the
        listing of the directory. Empty when there is no list.
    most_bytes : int
        A longer file is not taken.
    """

    ids: tuple[str, ...]
    name: str
    addresses: tuple[str, ...]
    checksums: str = ""
    most_bytes: int = SPECTRUM_BYTES


def once(files: list[RemoteFile]) -> list[RemoteFile]:
    """List every file once, for all objects that need it, in the order of first need."""
    by_name: dict[str, RemoteFile] = {}
    for remote in files:
        there = by_name.get(remote.name)
        ids = () if there is None else there.ids
        by_name[remote.name] = replace(there or remote, ids=tuple(dict.fromkeys((*ids, *remote.ids))))
    return list(by_name.values())
