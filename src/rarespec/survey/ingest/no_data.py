"""Inputs that were surely not meant, a mistyped pattern or a directory without data: one sentence, nothing is made."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rarespec.errors import UsageError
from rarespec.formats.sniffing import may_hold_spectra
from rarespec.formats.source import is_zarr
from rarespec.spectrum import Defect, Skipped
from rarespec.storage.text import printable

FEW = 10
"""Files of a directory that are read whatever they are: their account is short."""
SAMPLED = 200
"""Files looked into at first; all of them only if few of these are data."""
SHARE = 0.1
MOST_STRAYS = 20
"""A directory of many other files with fewer data files than this, and below that share, is no directory of data."""


def refuse_no_data(paths: Sequence[str | os.PathLike[str]], found: Sequence[str | Defect | Skipped], new: bool) -> None:
    """Refuse inputs without any data.

    Parameters
    ----------
    paths : sequence of path or str
        As the user gave them.
    found : sequence of str, Defect or Skipped
        What they name.
    new : bool
        Whether the survey is not there yet; one that grows also keeps what is wrong with its inputs.

    Raises
    ------
    UsageError
        If nothing is there, or nothing that could be data.
    """
    if new and paths and not any(isinstance(item, Skipped) or _is_there(item) for item in found):
        raise UsageError(f"{_why_nothing(paths, found)}; no survey was made")
    for path in (os.fspath(path) for path in paths):
        if os.path.isdir(path) and not is_zarr(Path(path)):
            _refuse_other_files(path, found)


def _is_there(item: str | Defect | Skipped) -> bool:
    if isinstance(item, Defect):
        return os.path.lexists(item.source)
    return isinstance(item, str) and os.path.lexists(item)


def _why_nothing(paths: Sequence[str | os.PathLike[str]], found: Sequence[str | Defect | Skipped]) -> str:
    wrong = next((item for item in found if isinstance(item, Defect)), None)
    if wrong is not None:
        return f"{printable(wrong.source)}: {printable(wrong.detail)}"
    if found:
        return f"{printable(str(found[0]))}: no such file"
    return f"{printable(os.fspath(paths[0]))}: no files found"


def _refuse_other_files(directory: str, found: Sequence[str | Defect | Skipped]) -> None:
    top = os.path.join(os.path.abspath(directory), "")
    files = [item for item in found if isinstance(item, str) and item.startswith(top)]
    if len(files) <= FEW or _n_data(files[:: -(-len(files) // SAMPLED)]) >= SHARE * min(len(files), SAMPLED):
        return
    n_data = _n_data(files)
    if n_data >= min(MOST_STRAYS, SHARE * len(files)):
        return
    (most, _), *_ = Counter(os.path.splitext(file)[1] or "without an ending" for file in files).most_common(1)
    few = f"only {n_data}" if n_data else "none"
    raise UsageError(
        f"{printable(directory)}: {few} of its {len(files)} files could hold spectra (most are {printable(most)}); "
        "nothing was read. Give the directory of the spectra, or name the files with a pattern"
    )


def _n_data(files: Iterable[str]) -> int:
    return sum(map(may_hold_spectra, files))
