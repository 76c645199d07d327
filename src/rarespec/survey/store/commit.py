"""Changing a survey on disk so that readers, and the next run after a crash, see the old state or the new one.

Everything new is written to a staging directory and flushed to disk. A journal then lists the moves and holds the
new manifest; from this moment the change will happen. Files are moved into place, the manifest is replaced, the
journal goes. After a crash the journal, if there is one, is carried out to its end; otherwise the staging directory is
thrown away.

A file that grows (the last block, the arrays' metadata) is replaced by one that begins with the same rows, so a reader
with the old manifest still finds everything it knows about.

A survey may come from someone else, and its journal too. It may name files of its own manifest only, with their
contents, and no symbolic link may lie on their way: all of this is checked before the first of them moves.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import NamedTuple

from rarespec.errors import BusyError, SurveyError
from rarespec.survey.store.location import MOST_TEXT, content_of, is_remote, open_to_read
from rarespec.survey.store.manifest import FOLDERS, NAME, Manifest

STAGING = ".rarespec-staging"
JOURNAL = ".rarespec-journal.json"
LOCK = ".rarespec-lock"
"""Names that no one else uses: what bears them may be removed."""
TRIES, PAUSE = 20, 0.025
"""How often a writer tries to lock a survey, and the seconds between: a reader that tidies up soon lets go of it."""


class Journal(NamedTuple):
    """What a change consists of: files to be moved from the staging directory, and the manifest that names them."""

    moves: list[str]
    manifest: Manifest


class Commit:
    """One change being prepared: stage files, then publish them with their manifest."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.staging = root / STAGING
        self.staging.mkdir(exist_ok=True)
        self._files: set[str] = set()

    def path(self, relative: str) -> Path:
        """Say where to write the new version of this file of the survey."""
        path = self.staging / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def digest(self, relative: str) -> str:
        """Compute the digest of a file that is staged for good, for the manifest. Only these files are published."""
        self._files.add(relative)
        return sha256_of(self.staging / relative)

    def publish(self, manifest: Manifest) -> None:
        """Make the staged files and this manifest the state of the survey."""
        moves = sorted(self._files)
        for relative in moves:
            _flush(self.staging / relative)
        _refuse_links(self.root, moves)
        # The order matters: the staged files are on the disk before the journal names them. Whoever finds a journal
        # after a crash can therefore always carry it out.
        journal = {"moves": moves, "manifest": manifest.to_bytes().decode()}
        _publish_file(self.root, JOURNAL, json.dumps(journal).encode())
        _carry_out(self.root, Journal(moves, manifest))


@contextmanager
def writer_lock(root: Path, tries: int = TRIES) -> Iterator[None]:
    """Lock the survey, so that only one process at a time changes it."""
    lock = _open_lock(root / LOCK)
    try:
        while not _take(lock):
            tries -= 1
            if not tries:
                raise BusyError(f"{root}: another process is writing to this survey; wait until it ends")
            sleep(PAUSE)
        yield
    finally:
        os.close(lock)


def _take(lock: int) -> bool:
    """Take the lock if nobody has it. The kernel drops it when the process ends, however it ends."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open_lock(path: Path) -> int:
    """Open the lock, and create it if need be; never follow a link, and never wait for a pipe."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR):
            raise _not_ours(path) from None
        raise
    if not stat.S_ISREG(os.fstat(lock).st_mode):
        os.close(lock)
        raise _not_ours(path)
    return lock


def recover(root: Path) -> None:
    """Finish or undo what an interrupted writer left behind. Does nothing while a writer is at work.

    Where that fails, on a full disk for instance, the old state can still be read; the next writer raises the error.
    """
    if is_remote(root):  # nobody writes a survey there; it was copied
        return
    if not was_interrupted(root) or not os.access(root, os.W_OK):
        return
    try:
        with writer_lock(root, tries=1):
            recover_locked(root)
    except (BusyError, OSError):  # a living writer will finish by itself
        return


def was_interrupted(root: Path) -> bool:
    """Look for traces of a change whose writer died, or is still at work."""
    return any(os.path.lexists(root / name) for name in (JOURNAL, STAGING))


def recover_locked(root: Path) -> None:
    """Recover as `recover` does, for the writer that already holds the lock."""
    _refuse_links(root, [])
    if os.path.lexists(root / JOURNAL):
        journal = _read_journal(root)
        _check_moves(root, journal)
        _carry_out(root, journal)
    if os.path.lexists(root / STAGING):
        shutil.rmtree(root / STAGING)


def refuse_links_out(root: Path) -> None:
    """Refuse a survey whose directories are links: a change must not leave the survey."""
    for folder in FOLDERS:
        _refuse_link(root / folder)


def pending_manifest(root: Path) -> Manifest | None:
    """Read the state that a writer is moving into place just now, if any."""
    try:
        return _read_journal(root).manifest
    except FileNotFoundError:
        return None


def sha256_of(path: Path) -> str:
    with open_to_read(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _carry_out(root: Path, journal: Journal) -> None:
    """Carry out a journal, also one that was carried out in part before an interruption."""
    changed = {root}
    for relative in journal.moves:
        target = root / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        changed.update(root / folder for folder in Path(relative).parents)
        with suppress(FileNotFoundError):  # moved before the interruption
            os.replace(root / STAGING / relative, target)
    for directory in changed:
        _flush(directory)
    # The manifest comes last: until it is replaced, readers see the old state, which the moved files still contain.
    _publish_file(root, NAME, journal.manifest.to_bytes())
    (root / JOURNAL).unlink()
    shutil.rmtree(root / STAGING, ignore_errors=True)  # the next writer insists


def _read_journal(root: Path) -> Journal:
    """Read the journal, whole and valid; a damaged one must not overwrite a good manifest."""
    path = root / JOURNAL
    try:
        journal = json.loads(content_of(path, MOST_TEXT))
        moves, manifest = journal["moves"], Manifest.from_bytes(journal["manifest"].encode(), path)
        if not (isinstance(moves, list) and all(isinstance(name, str) for name in moves)):
            raise TypeError
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SurveyError(f"{path}: {error.strerror or error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, SurveyError):
        raise SurveyError(f"{path}: damaged; remove it and run `rarespec verify` on the survey") from None
    if foreign := set(moves) - manifest.digests().keys():
        raise SurveyError(
            f"{path}: names {min(foreign)[:200]!r}, which is not a file of this survey; nothing was moved. Do not "
            "trust this survey unless you know why; to read it as it was, remove the journal"
        )
    return Journal(moves, manifest)


def _check_moves(root: Path, journal: Journal) -> None:
    """Check, before the first move, that each file is staged or has been moved, with the digest in the manifest."""
    _refuse_links(root, journal.moves)
    digests = journal.manifest.digests()
    for relative in journal.moves:
        staged = root / STAGING / relative
        path = staged if os.path.lexists(staged) else root / relative
        if (root / relative).is_dir() or not _is_plain_file(path) or sha256_of(path) != digests[relative]:
            raise SurveyError(
                f"{path}: not the file that {root / JOURNAL} tells of; nothing was moved. Remove the journal, then run "
                "`rarespec verify` on the survey"
            )


def _is_plain_file(path: Path) -> bool:
    """Say whether this is a file, and not a link to one."""
    return path.is_file() and not path.is_symlink()


def _refuse_links(root: Path, moves: Iterable[str]) -> None:
    """Refuse links on the way: no file may be taken from elsewhere or moved elsewhere."""
    folders = {folder for relative in moves for folder in Path(relative).parents} | {Path()}
    for folder in sorted(folders):
        _refuse_link(root / STAGING / folder)
        if folder != Path():  # the way to the survey is its user's
            _refuse_link(root / folder)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise SurveyError(
            f"{path}: is a symbolic link; rarespec does not write through links. Put the directory itself there"
        )
    if path.exists() and not path.is_dir():
        raise SurveyError(f"{path}: is not a directory; run `rarespec verify` on the survey")


def _not_ours(path: Path) -> SurveyError:
    return SurveyError(f"{path}: not a file that rarespec made; remove it")


def _publish_file(root: Path, name: str, content: bytes) -> None:
    """Write a file whole or not at all; an interruption leaves nothing outside the staging area."""
    temporary = root / STAGING / name
    temporary.parent.mkdir(exist_ok=True)
    temporary.unlink(missing_ok=True)  # of an interrupted try, or a link that leads elsewhere
    with open(temporary, "xb") as file:
        file.write(content)
    _flush(temporary)
    os.replace(temporary, root / name)
    _flush(root)


def _flush(path: Path) -> None:
    """Flush to the disk itself, so that the order of operations survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
