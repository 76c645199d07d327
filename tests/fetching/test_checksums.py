"""Lists of checksums: found, read once, and only trusted where they say something."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from fetching.archive_server import Answer, ArchiveServer, quick_patience
from rarespec.fetching.checksums import Checksum, Checksums, parse_checksums
from rarespec.fetching.fault import FaultError
from rarespec.fetching.web import Web

SHA1 = hashlib.sha1(b"a").hexdigest()
SHA256 = hashlib.sha256(b"a").hexdigest()


def test_lines_of_all_kinds() -> None:
    text = f"{SHA1}  a.fits\n{SHA256.upper()} *./dir/b.fits\n# a comment\nnonsense\n{SHA1[:39]}  c.fits\n\n"
    assert parse_checksums(text) == {"a.fits": Checksum("sha1", SHA1), "b.fits": Checksum("sha256", SHA256)}


def test_a_list_is_fetched_once_by_many_threads(server: ArchiveServer) -> None:
    server.files["/d/x.sha1sum"] = "".join(f"{SHA1}  {i}.fits\n" for i in range(64)).encode()
    with Web(quick_patience(), connections=8) as web, ThreadPoolExecutor(8) as pool:
        checksums = Checksums(web)
        found = list(pool.map(lambda i: checksums.of(f"{server.base}/d/{i}.fits", "*.sha1sum"), range(65)))
    assert found == [Checksum("sha1", SHA1)] * 64 + [None]
    assert sorted(server.paths()) == ["/d/", "/d/x.sha1sum"]


@pytest.mark.parametrize("name", ["*.sha1sum", "x.sha1sum"])
@pytest.mark.parametrize("status", [404, 403])
def test_no_list_is_no_fault(server: ArchiveServer, name: str, status: int) -> None:
    server.replies |= {"/d/": Answer(b"", status), "/d/x.sha1sum": Answer(b"", status)}
    with Web(quick_patience()) as web:
        assert Checksums(web).of(f"{server.base}/d/a.fits", name) is None


def test_a_listing_without_a_list(server: ArchiveServer) -> None:
    server.files["/d/a.fits"] = b""
    with Web(quick_patience()) as web:
        assert Checksums(web).of(f"{server.base}/d/a.fits", "*.sha1sum") is None


def test_a_listing_cannot_lead_out_of_its_directory(server: ArchiveServer) -> None:
    server.replies["/d/"] = Answer(b'<a href="http://evil.invalid/x.sha1sum">x</a><a href="../x.sha1sum">')
    with Web(quick_patience()) as web:
        assert Checksums(web).of(f"{server.base}/d/a.fits", "*.sha1sum") is None


def test_a_fault_is_told_to_all(server: ArchiveServer) -> None:
    server.replies["/d/x"] = Answer(b"", 500)
    with Web(quick_patience(2)) as web:
        checksums = Checksums(web)
        for _ in range(2):
            with pytest.raises(FaultError, match="the list of checksums"):
                checksums.of(f"{server.base}/d/a.fits", "x")
    assert len(server.requests) == 2


def test_a_page_instead_of_a_list_has_no_checksums(server: ArchiveServer) -> None:
    server.replies["/d/x"] = Answer(b"<html><title>down</title></html>")
    with Web(quick_patience()) as web:
        assert Checksums(web).of(f"{server.base}/d/a.fits", "x") is None
