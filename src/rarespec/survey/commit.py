"""Changing a survey on disk so that readers, and the next run after a crash, see the old state or the new one.

Everything new is written to a staging directory and flushed to disk. A journal then lists the moves and holds the
new manifest; from this moment the change will happen. Files are moved into place, the manifest is replaced, the
journal goes. After a crash the journal, if there is one, is carried out to its end; otherwise the staging directory is
thrown away.

A file that grows (the last block, the arrays' metadata) is replaced by one that begins with the same rows, so a reader
with the old manifest still finds everything it knows about.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rarespec.survey.location import content_of, is_remote
from rarespec.survey.manifest import NAME, Manifest, SurveyError

STAGING = ".rarespec-staging"
JOURNAL = ".rarespec-journal.json"
LOCK = ".rarespec-lock"
"""Names that no one else uses: what bears them may be removed."""


class BusyError(SurveyError):
    """Another process holds the survey's lock."""


class Commit:
    """One change being prepared: stage files, then publish them with their manifest."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.staging = root / STAGING
        self.staging.mkdir(exist_ok=True)

    def path(self, relative: str) -> Path:
        """Where to write the new version of this file of the survey."""
        path = self.staging / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def digest(self, relative: str) -> str:
        return sha256_of(self.staging / relative)

    def publish(self, manifest: Manifest) -> None:
        """Make the staged files and this manifest the state of the survey."""
        moves = sorted(_files_below(self.staging))
        for relative in moves:
            _flush(self.staging / relative)
        journal = {"moves": moves, "manifest": manifest.to_bytes().decode()}
        _publish_file(self.root, JOURNAL, json.dumps(journal).encode())
        _carry_out(self.root)


@contextmanager
def writer_lock(root: Path) -> Iterator[None]:
    """Held by the one process that may change this survey."""
    import fcntl

    with open(root / LOCK, "ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyError(f"{root}: another process is writing to this survey; wait until it ends") from None
        yield


def recover(root: Path) -> None:
    """Finish or undo what an interrupted writer left behind. Does nothing while a writer is at work."""
    if is_remote(root):  # nobody writes a survey there; it was copied
        return
    if not ((root / JOURNAL).exists() or (root / STAGING).exists()) or not os.access(root, os.W_OK):
        return
    try:
        with writer_lock(root):
            recover_locked(root)
    except BusyError:
        return  # a living writer will finish by itself


def recover_locked(root: Path) -> None:
    """The same, for the writer that already holds the lock."""
    if (root / JOURNAL).exists():
        _carry_out(root)
    shutil.rmtree(root / STAGING, ignore_errors=True)


def pending_manifest(root: Path) -> Manifest | None:
    """The state that a writer is just now moving into place, if any."""
    try:
        return Manifest.from_bytes(_read_journal(root)["manifest"].encode(), root / JOURNAL)
    except FileNotFoundError:
        return None


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _carry_out(root: Path) -> None:
    journal = _read_journal(root)
    changed = {root}
    for relative in journal["moves"]:
        target = root / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        changed.add(target.parent)
        if (root / STAGING / relative).exists():  # otherwise moved before the interruption
            os.replace(root / STAGING / relative, target)
    for directory in changed:
        _flush(directory)
    _publish_file(root, NAME, journal["manifest"].encode())
    (root / JOURNAL).unlink()
    shutil.rmtree(root / STAGING, ignore_errors=True)


def _read_journal(root: Path) -> dict[str, Any]:
    """The journal, whole and valid; a damaged one must not overwrite a good manifest."""
    path = root / JOURNAL
    try:
        journal = json.loads(content_of(path))
        Manifest.from_bytes(journal["manifest"].encode(), path)
    except (ValueError, TypeError, KeyError, AttributeError, SurveyError):
        raise SurveyError(f"{path}: damaged; remove it and run `rarespec verify` on the survey") from None
    return journal


def _files_below(directory: Path) -> Iterator[str]:
    for folder, _, names in os.walk(directory):
        for name in names:
            yield str((Path(folder) / name).relative_to(directory))


def _publish_file(root: Path, name: str, content: bytes) -> None:
    """Whole or not at all; an interruption leaves nothing outside the staging area."""
    temporary = root / STAGING / name
    temporary.parent.mkdir(exist_ok=True)
    temporary.write_bytes(content)
    _flush(temporary)
    os.replace(temporary, root / name)
    _flush(root)


def _flush(path: Path) -> None:
    """Onto the disk itself, so that the order of operations holds through a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
