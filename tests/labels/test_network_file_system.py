"""Network file systems are told from local disks by what is mounted."""

import os
from pathlib import Path

import pytest

from rarespec.labels.log import LabelLog
from rarespec.storage.file_systems import MOUNTS, file_system_of, is_network

TABLE = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 0:40 / /home rw shared:2 master:3 - nfs4 server:/export/home rw,vers=4.2
31 27 0:41 / /data\040of\040all rw - cifs //server/data rw
32 27 0:42 / /homework rw - xfs /dev/sdb rw
33 30 0:43 / /home/ada/local rw - ext4 /dev/sdc rw
34 27 0:44 / /auto rw - autofs /etc/auto.x rw
35 34 0:45 / /auto rw - lustre mds:/x rw
36 27 0:46 / /ssh rw - fuse.sshfs host:/ rw
37 27 0:47 / /stick rw - fuseblk /dev/sdd rw
a line that nobody understands
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/a/b.sqlite", "ext4", False),
        ("/home/ada/b.sqlite", "nfs4", True),
        ("/home/ada/local/b.sqlite", "ext4", False),
        ("/homework/b.sqlite", "xfs", False),
        ("/data of all/b.sqlite", "cifs", True),
        ("/auto/b.sqlite", "lustre", True),
        ("/ssh/b.sqlite", "fuse.sshfs", True),
        ("/stick/b.sqlite", "fuseblk", False),
    ],
)
def test_the_nearest_mount_says_it(path, kind, network):
    assert file_system_of(Path(path), TABLE) == kind and is_network(kind) is network


@pytest.mark.parametrize("kind", ["nfs", "smb3", "gpfs", "beegfs", "afs", "ceph", "9p", "fuse.unheard-of", None])
def test_network_or_unknown(kind):
    assert is_network(kind)


@pytest.mark.parametrize("kind", ["xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuse.mergerfs"])
def test_local(kind):
    assert not is_network(kind)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    table = f"1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / {tmp_path.resolve()}/there rw - nfs x rw"
    assert file_system_of(tmp_path / "link" / "a.sqlite", table) == "nfs"


def test_where_nothing_is_mounted_over_it_nothing_is_known():
    assert file_system_of(Path("/a"), "") is None


def test_without_a_table_of_mounts_the_journal_is_the_one_that_is_right_everywhere(tmp_path, monkeypatch):
    monkeypatch.setattr("rarespec.storage.file_systems.MOUNTS", tmp_path / "missing")
    with LabelLog(tmp_path / "a.sqlite") as log:
        assert log.journal == "delete"


@pytest.mark.skipif(not MOUNTS.exists(), reason="the table of mounts is Linux's")
def test_the_table_of_this_computer_is_understood(tmp_path):
    kind = file_system_of(tmp_path)
    assert kind and kind in MOUNTS.read_text(errors="surrogateescape")
    assert file_system_of(Path("/proc/self")) == "proc" or not os.path.ismount("/proc")
