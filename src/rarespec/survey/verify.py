"""Is a survey what its manifest says: every file unchanged, every row accounted for, every number usable?"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rarespec.errors import SurveyError, UsageError
from rarespec.storage.mapped_arrays import DamagedError, map_arrays
from rarespec.survey.features.computing import FOLDER as FEATURES
from rarespec.survey.features.joined import ENDING as JOINED
from rarespec.survey.features.kept import (
    CURRENT,
    MODEL,
    model_named,
    plain_content_of,
    require_model_of,
    require_undamaged,
)
from rarespec.survey.features.neighbours import FOLDER as GRAPHS
from rarespec.survey.features.neighbours import SIGNAL_FOLDER as SIGNAL
from rarespec.survey.store.commit import JOURNAL, LOCK, STAGING, pending_manifest, recover, sha256_of
from rarespec.survey.store.joined_columns import ENDING as JOINED_COLUMNS
from rarespec.survey.store.joined_columns import FOLDER as COLUMNS
from rarespec.survey.store.location import is_remote, location, sizes_below
from rarespec.survey.store.manifest import NAME, Manifest
from rarespec.survey.survey import Survey

# ---- Is what a survey keeps beside its spectra (features, graphs, columns) as it was written, and nothing else there?


KEPT = (FEATURES, GRAPHS, COLUMNS)
"""Directories of a survey whose files its manifest does not name."""

OF_MODEL = r"[0-9a-f]{16}/[0-9a-f]{20}"
KNOWN = re.compile(
    rf"{FEATURES}/[0-9a-f]{{16}}/{re.escape(CURRENT)}"
    rf"|{FEATURES}/{OF_MODEL}/({re.escape(MODEL)}|\d{{6,}}-[0-9a-f]{{20}}\.npz|[0-9a-f]{{32}}{re.escape(JOINED)})"
    rf"|{GRAPHS}/{OF_MODEL}/[0-9a-f]{{32}}-k\d+\.npz"
    rf"|{GRAPHS}/{OF_MODEL}/{SIGNAL}/[0-9a-f]{{32}}-(walks|grouped|space|cells|noise)\d+\.npz"  # cells, noise: earlier
    rf"|{COLUMNS}/[0-9a-f]{{32}}{re.escape(JOINED_COLUMNS)}"
)
BEING_WRITTEN = re.compile(r"\.[0-9a-f]{32}\.tmp")
"""How a name ends until the file is whole. One that a killed process left does no harm."""

MEND = "delete it; the next search computes it again"


def is_kept(name: str) -> bool:
    """Say whether a file of this name, inside the survey, belongs to what is kept and not to the manifest."""
    return name.startswith(tuple(f"{folder}/" for folder in KEPT))


def find_kept_problems(root: Path, names: list[str]) -> Iterator[str]:
    """Find what is wrong with files that are kept; one that a running search has just removed is fine."""
    for name in names:
        if KNOWN.fullmatch(name):
            why = _damage(root / name)
            if why:
                yield f"{root / name}: {why}; {MEND}"
        elif not KNOWN.fullmatch(BEING_WRITTEN.sub("", name)):
            yield f"{root / name}: does not belong to the survey; delete it"
    yield from (f"{link}: a symbolic link inside a survey; delete it" for link in _find_linked_folders(root))


def _damage(path: Path) -> str:
    """Say what is wrong with a kept file; empty if nothing is."""
    try:
        if path.name.endswith((JOINED, JOINED_COLUMNS)):
            map_arrays(path)
            return ""
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


def _find_linked_folders(root: Path) -> Iterator[Path]:
    """Find folders that are links; no file behind them is looked at."""
    if is_remote(root):
        return
    for kept in KEPT:
        folders = [(str(root), [kept], [])] if (root / kept).is_symlink() else os.walk(root / kept)
        for folder, names, _ in folders:
            yield from (path for path in (Path(folder, name) for name in names) if path.is_symlink())


@dataclass(frozen=True)
class Verification:
    """What `Survey.verify` checked, and what is wrong.

    Parameters
    ----------
    n_rows : int
        Spectra in the survey.
    n_files : int
        Files that were checked.
    problems : list of str
        One line for each thing that is wrong, with the file; empty if the survey is sound.

    Examples
    --------
    >>> from rarespec.survey import Verification
    >>> Verification(n_rows=2, n_files=9).sound
    True
    """

    n_rows: int
    n_files: int
    problems: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None) -> Verification:
    """Check the digests of all files, then counts, ids and finiteness of what is in them.

    Parameters
    ----------
    path : path or str
        The directory of the survey, or its URL.
    progress : callable, optional
        Called with the files of the manifest done, and in all.

    Returns
    -------
    Verification
        What is wrong, if anything. Kept features and graphs are checked too.

    Raises
    ------
    UsageError
        If there is no survey.
    """
    root = location(path)
    recover(root)
    try:
        manifest = Manifest.load(root)
    except UsageError:
        raise
    except SurveyError as error:
        return Verification(0, 0, [str(error)])
    names = list(sizes_below(root))
    kept = [name for name in names if is_kept(name)]
    problems = [*_find_changed_files(root, manifest, progress), *_unknown_files(root, manifest, names)]
    if not problems:  # contents of damaged files would only repeat the message
        problems = list(_wrong_contents(Survey(root, manifest)))
    problems += find_kept_problems(root, kept)
    return Verification(manifest.n_rows, len(manifest.digests()) + 1 + len(kept), problems)


def _find_changed_files(root: Path, manifest: Manifest, progress: Callable[[int, int], None] | None) -> Iterator[str]:
    digests = manifest.digests()
    for n_done, (name, digest) in enumerate(digests.items()):
        try:
            found = sha256_of(root / name)
            changed = found != digest and not _is_of_a_newer_state(root, name)
        except FileNotFoundError:
            yield f"{root / name}: missing"
            continue
        except OSError as error:
            yield f"{root / name}: {error.strerror or error}"
            continue
        if changed:
            yield f"{root / name}: changed since it was written (SHA-256 {found[:12]}, expected {digest[:12]})"
        if progress:
            progress(n_done + 1, len(digests))


def _is_of_a_newer_state(root: Path, name: str) -> bool:
    """Say whether a writer at work has replaced this file; it may do so again while we look, so look until it rests."""
    while True:
        before, found, after = _digests_in_force(root, name), sha256_of(root / name), _digests_in_force(root, name)
        if found in before | after:
            return True
        if before == after:
            return False


def _digests_in_force(root: Path, name: str) -> set[str | None]:
    """Digests that this file may have now: that of the manifest, and of one that is just being published."""
    return {manifest.digests().get(name) for manifest in _manifests_in_force(root)}


def _manifests_in_force(root: Path) -> list[Manifest]:
    """Read the pending manifest first: if there is none any more, it is the one that lies there now."""
    pending = pending_manifest(root)
    return [manifest for manifest in (pending, Manifest.load(root)) if manifest is not None]


def _unknown_files(root: Path, manifest: Manifest, names: list[str]) -> Iterator[str]:
    known = {*manifest.digests(), NAME, LOCK, JOURNAL}
    for relative in names:
        of_others = is_kept(relative) or relative.startswith(f"{STAGING}/")
        if not of_others and relative not in known and not _just_published(root, relative):
            yield f"{root / relative}: does not belong to the survey"


def _just_published(root: Path, name: str) -> bool:
    """A writer at work has put this file in place since the manifest was read."""
    return any(name in manifest.digests() for manifest in _manifests_in_force(root))


def _wrong_contents(survey: Survey) -> Iterator[str]:
    for i, record in enumerate(survey.manifest.blocks):
        where = f"{survey.path}, block {i}"
        try:
            block = survey.block(i)
        except (OSError, ValueError, RuntimeError, IndexError, SurveyError) as error:
            yield f"{where}: cannot be read ({error})"
            continue
        if not len(block) == len(block.flux) == len(block.ivar) == len(block.bad) == record.rows:
            yield f"{where}: arrays and catalogue differ in their number of rows"
        if not (np.isfinite(block.flux).all() and np.isfinite(block.ivar).all()):
            yield f"{where}: flux or ivar is not finite"
        if (block.ivar < 0).any():
            yield f"{where}: negative inverse variance"
    yield from (f"{survey.path}: the id {id!r} occurs {count} times" for id, count in _find_repeated_ids(survey))


def _find_repeated_ids(survey: Survey) -> list[tuple[str, int]]:
    """Ids by their hashes, 8 bytes each; only those whose hash occurs twice are compared as text."""
    tables = survey.catalogue.blocks(["id"])
    hashes = [np.array([hash(id) for id in table.column(0).to_pylist()]) for table in tables]
    if not hashes:
        return []
    values, counts = np.unique(np.concatenate(hashes), return_counts=True)
    suspects = set(values[counts > 1].tolist())
    if not suspects:
        return []
    ids = (id for table in survey.catalogue.blocks(["id"]) for id in table.column(0).to_pylist())
    return [(id, n) for id, n in Counter(id for id in ids if hash(id) in suspects).items() if n > 1]
