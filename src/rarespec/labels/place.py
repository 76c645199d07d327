"""Where a log may be kept: a plain file, with nothing beside it that would lead SQLite to other files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from rarespec.errors import UsageError

BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database."""

NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names a file above it. SQLite may delete the file named there."""

PRIVATE, SHARED = 0o600, 0o660


def check_writable(path: Path) -> None:
    """Raise a UsageError where no log could be made; make nothing."""
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the directory {path.parent} does not exist; create it first")
    if path.is_dir():
        raise UsageError(f"{path}: this is a directory; give a file name for the labels")
    check_plain(path)
    for place in (path.parent, path):
        if place.exists() and not may_write(place):
            raise UsageError(f"{place}: you cannot write here; save the labels in another file, or ask its owner")


def check_plain(path: Path) -> None:
    """Refuse links: one to nowhere would make a file elsewhere; beside the log, SQLite would write through one."""
    if path.is_symlink() and not path.exists():
        raise UsageError(f"{path}: a link to a file that does not exist; give the file itself")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: not a regular file; choose another for the labels")
    for ending in BESIDE:
        _check_beside(path.resolve().with_name(f"{path.resolve().name}{ending}"))


def _check_beside(path: Path) -> None:
    if path.is_symlink():
        raise UsageError(f"{path}: a link in place of one of SQLite's own files; ask who made it, and remove it")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path}: not a regular file, in place of one of SQLite's own; remove it")
    if path.name.endswith("-journal") and _names_another(path):
        raise UsageError(f"{path}: this journal refers to another file, which a label journal never does; remove it")


def _names_another(journal: Path) -> bool:
    with suppress(OSError), journal.open("rb") as file:
        file.seek(-len(NAMES_ANOTHER), os.SEEK_END)
        return file.read() == NAMES_ANOTHER
    return False  # it is gone, as another process has just finished, or holds less


def make_own(path: Path, shared: bool) -> None:
    """Make an empty file, private or shared with the group; SQLite gives the files beside it the same mode.

    A file that is there stays as it is.
    """
    mode = SHARED if shared else PRIVATE
    with suppress(FileExistsError):
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        try:
            if shared:
                os.fchmod(file, mode)  # whatever the umask takes away
        finally:
            os.close(file)


def may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


# ---- Whether a file lies on a network file system, where SQLite's write-ahead log must not be used.
#
# That log needs memory shared by all who have the file open, which only processes of one computer can have. The
# rollback journal is right everywhere, so it is used where the file system is not known.


MOUNTS = Path("/proc/self/mountinfo")

NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|lustre|gpfs|mmfs|beegfs|fhgfs|(open)?afs|ceph|glusterfs|gfs2?|ocfs2|orangefs|pvfs2|panfs|wekafs"
    r"|quobyte|moosefs|coda|ncpfs|davfs\d?|acfs|9p|virtiofs|vboxsf|vmhgfs|prl_fs|drvfs"
)
"""The last few are shared between a computer and the virtual machines on it."""
LOCAL_FUSE = re.compile(
    r"fuseblk|fuse\.(ntfs(-3g)?|exfat|ext2|fuse2fs|fuse-overlayfs|bindfs|mergerfs|encfs|gocryptfs|cryfs|zfs|lxcfs)"
)


def file_system_of(path: Path, mounts: str | None = None) -> str | None:
    """Find the type of the file system on which a path is or would be, in the kernel's words; None when it is unknown.

    `mounts` has the form of Linux's /proc/self/mountinfo, which is read by default.
    """
    if mounts is None:
        try:
            mounts = MOUNTS.read_text(errors="surrogateescape")
        except OSError:  # not Linux
            return None
    place = PurePosixPath(path.resolve())
    found: tuple[int, str] | None = None
    for point, kind in _read_mounts(mounts):
        if place.is_relative_to(point) and (found is None or len(point.parts) >= found[0]):
            found = len(point.parts), kind  # of two on one point, the later hides the earlier
    return None if found is None else found[1]


def is_network(kind: str | None) -> bool:
    """Say whether several computers may reach such a file system; yes if that is unknown, as for most of FUSE's."""
    if kind is None or NETWORK.fullmatch(kind):
        return True
    return kind.startswith("fuse") and not LOCAL_FUSE.fullmatch(kind)


def _read_mounts(mounts: str) -> Iterator[tuple[PurePosixPath, str]]:
    """Mount points and types: `36 35 98:0 /root /mount/point rw,noatime shared:1 - nfs4 server:/x rw`."""
    for line in mounts.splitlines():
        before, separator, after = line.partition(" - ")
        if separator and len(before.split()) >= 6 and after.split():
            yield PurePosixPath(_unescape(before.split()[4])), after.split()[0]


def _unescape(point: str) -> str:
    r"""Unescape blanks, tabs, line ends and backslashes, which are written as \040 and the like."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), point)
