"""Is what a survey keeps beside its spectra, features and graphs, as it was written, and nothing else there?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from rarespec.survey.features import FOLDER as FEATURES
from rarespec.survey.kept_arrays import DamagedError, plain_content_of, require_undamaged
from rarespec.survey.kept_model import CURRENT, MODEL, model_named, require_model_of
from rarespec.survey.location import is_remote
from rarespec.survey.neighbours import FOLDER as GRAPHS
from rarespec.survey.signal import FOLDER as SIGNAL

KEPT = (FEATURES, GRAPHS)
"""Directories of a survey whose files its manifest does not name."""

OF_MODEL = r"[0-9a-f]{16}/[0-9a-f]{20}"
KNOWN = re.compile(
    rf"{FEATURES}/[0-9a-f]{{16}}/{re.escape(CURRENT)}"
    rf"|{FEATURES}/{OF_MODEL}/({re.escape(MODEL)}|\d{{6,}}-[0-9a-f]{{20}}\.npz)"
    rf"|{GRAPHS}/{OF_MODEL}/[0-9a-f]{{32}}-k\d+\.npz"
    rf"|{GRAPHS}/{OF_MODEL}/{SIGNAL}/[0-9a-f]{{32}}-noise\d+\.npz"
)
BEING_WRITTEN = re.compile(r"\.[0-9a-f]{32}\.tmp")
"""How a name ends until the file is whole. One that a killed process left does no harm."""

MEND = "delete it; the next search computes it again"


def is_kept(name: str) -> bool:
    """Whether a file of this name, inside the survey, belongs to what is kept and not to the manifest."""
    return name.startswith(tuple(f"{folder}/" for folder in KEPT))


def kept_problems(root: Path, names: list[str]) -> Iterator[str]:
    """What is wrong with these files, which `is_kept`; one that a search at work has just swept away is fine."""
    for name in names:
        if KNOWN.fullmatch(name):
            why = _damage(root / name)
            if why:
                yield f"{root / name}: {why}; {MEND}"
        elif not KNOWN.fullmatch(BEING_WRITTEN.sub("", name)):
            yield f"{root / name}: does not belong to the survey; delete it"
    yield from (f"{link}: a symbolic link inside a survey; delete it" for link in _linked_folders(root))


def _damage(path: Path) -> str:
    """What is wrong with a kept file; nothing is the empty text."""
    try:
        content = plain_content_of(path)
        if path.name == CURRENT:
            model_named(content)
            return ""
        require_undamaged(content)
        if path.name == MODEL:
            require_model_of(path.parent.name, content)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"
    except DamagedError as error:
        return str(error)
    return ""


def _linked_folders(root: Path) -> Iterator[Path]:
    """They are not walked through, so no file behind them is seen."""
    if is_remote(root):
        return
    for kept in KEPT:
        folders = [(str(root), [kept], [])] if (root / kept).is_symlink() else os.walk(root / kept)
        for folder, names, _ in folders:
            yield from (path for path in (Path(folder, name) for name in names) if path.is_symlink())
