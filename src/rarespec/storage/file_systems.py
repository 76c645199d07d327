"""Whether a file lies on a network file system, where other computers may remove or change what this one has open.

SQLite's write-ahead log needs memory shared by all who have the file open, which only processes of one computer can
have. A file that is mapped into memory must not be removed by another computer: to touch its pages then ends the
process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

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
