"""One file: whole and checked under its name, or not at all, whatever the archive does."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from pathlib import Path

import pytest

from conftest import small_survey_files
from fetching.archive_server import Answer, ArchiveServer, Request, quick_patience
from rarespec.fetching import web as web_module
from rarespec.fetching.checksums import Checksums
from rarespec.fetching.download import Downloads
from rarespec.fetching.record import Outcome, Record, Result
from rarespec.fetching.targets import RemoteFile
from rarespec.fetching.web import Web

PATH = "/lite/1000/spec.fits"
NAME = "1000/spec.fits"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A real file of a survey."""
    return small_survey_files(tmp_path_factory.mktemp("sdss"), 1)[0].read_bytes()


@pytest.fixture
def held(server: ArchiveServer, content: bytes) -> ArchiveServer:
    server.files[PATH] = content
    return server


def fetched(
    server: ArchiveServer, folder: Path, checksums: str = "", tries: int = 4, paths: tuple[str, ...] = (PATH,)
) -> Result:
    remote = RemoteFile(("x",), NAME, tuple(server.base + path for path in paths), checksums)
    with Web(quick_patience(tries)) as web:
        record = Record(folder)
        result = Downloads(web, folder, record, Checksums(web)).fetch(remote)
        if result.outcome == Outcome.FETCHED:
            record.add(result)
    return result


def is_whole(folder: Path, content: bytes) -> bool:
    """Whether the file is there as the archive has it, and nothing but it."""
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    return (folder / NAME).read_bytes() == content and names == {"spec.fits", ".fetched.jsonl"}


def test_a_file_arrives_whole(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    result = fetched(held, tmp_path)
    assert result.outcome == Outcome.FETCHED
    assert (result.n_bytes, result.digest) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
    assert not result.verified
    assert is_whole(tmp_path, content)
    assert held.requests[0].headers["User-Agent"].startswith("rarespec/")
    assert held.requests[0].headers["Accept-Encoding"] == "identity"


PASSING = {
    "cut connection": Answer(b"x" * 9000, cut=100),
    "cut before the first byte": Answer(b"x" * 9000, cut=0),
    "500": Answer(b"oh", 500),
    "502 with a long page": Answer(b"o" * 100_000, 502),
    "429": Answer(b"", 429, {"Retry-After": "7"}),
    "503 without a word": Answer(b"", 503),
    "empty file": Answer(b""),
    "text": Answer(b"please come back\nlater\n"),
    "another file": Answer(b"\x00\x01\x02" * 1000),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_passing_faults_are_waited_out(held: ArchiveServer, content: bytes, tmp_path: Path, fault: Answer) -> None:
    held.faults[PATH] = deque([fault, fault])
    assert fetched(held, tmp_path).outcome == Outcome.FETCHED
    assert is_whole(tmp_path, content)
    assert len(held.requests) == 3


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_faults_that_stay_end_in_a_failure_and_no_file(held: ArchiveServer, tmp_path: Path, fault: Answer) -> None:
    held.faults[PATH] = deque([fault] * 10)
    result = fetched(held, tmp_path, tries=3)
    assert result.outcome == Outcome.FAILED
    assert result.reason
    assert len(held.requests) == 3
    assert not (tmp_path / NAME).exists()


def test_slow_bytes(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    held.faults[PATH] = deque([Answer(content, piece=997)])
    fetched(held, tmp_path)
    assert is_whole(tmp_path, content)


def test_an_archive_that_falls_silent(
    held: ArchiveServer, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silence = threading.Event()
    monkeypatch.setattr(web_module, "READ_SECONDS", 0.05)
    held.faults[PATH] = deque([Answer(content[:5000], length=len(content), headers={"ETag": '"1"'}, stall=silence)])
    try:
        assert fetched(held, tmp_path).outcome == Outcome.FETCHED
    finally:
        silence.set()
    assert is_whole(tmp_path, content)


def test_a_break_is_mended_with_the_bytes_that_are_missing(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    held.faults[PATH] = deque([Answer(content, headers={"ETag": '"1"'}, cut=30_000)])
    fetched(held, tmp_path)
    assert is_whole(tmp_path, content)
    asked = held.requests[1].headers
    assert (asked["Range"], asked["If-Range"]) == ("bytes=30000-", '"1"')


def test_a_later_run_goes_on_where_an_earlier_one_ended(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    held.faults[PATH] = deque([Answer(content, headers={"ETag": '"1"'}, cut=30_000)])
    assert fetched(held, tmp_path, tries=1).outcome == Outcome.FAILED
    assert not (tmp_path / NAME).exists()
    assert fetched(held, tmp_path, tries=1).outcome == Outcome.FETCHED
    assert held.requests[1].headers["Range"] == "bytes=30000-"
    assert is_whole(tmp_path, content)


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(
    held: ArchiveServer, content: bytes, tmp_path: Path
) -> None:
    held.faults[PATH] = deque([Answer(b"old" * 20_000, headers={"ETag": '"0"'}, cut=30_000)])
    fetched(held, tmp_path)
    assert held.requests[1].headers["If-Range"] == '"0"'
    assert is_whole(tmp_path, content)


def test_an_archive_that_ignores_ranges(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    held.ranges = False
    held.faults[PATH] = deque([Answer(content, headers={"ETag": '"1"'}, cut=30_000)] * 2)
    fetched(held, tmp_path)
    assert is_whole(tmp_path, content)


def test_an_archive_that_sends_another_range(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    n = len(content)
    wrong = Answer(content[10:], 206, {"Content-Range": f"bytes 10-{n - 1}/{n}"})
    held.faults[PATH] = deque([Answer(content, headers={"ETag": '"1"'}, cut=30_000), wrong])
    fetched(held, tmp_path)
    assert held.requests[2].headers["Range"] == "bytes=30000-"  # the wrong bytes were not taken
    assert is_whole(tmp_path, content)


def test_an_archive_that_sends_less_than_the_rest(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    less = Answer(content[30_000:40_000], 206, {"Content-Range": f"bytes 30000-39999/{len(content)}"})
    held.faults[PATH] = deque([Answer(content, headers={"ETag": '"1"'}, cut=30_000), less])
    fetched(held, tmp_path)
    assert held.requests[2].headers["Range"] == "bytes=40000-"
    assert is_whole(tmp_path, content)


def test_a_piece_from_one_address_is_not_continued_at_another(
    held: ArchiveServer, content: bytes, tmp_path: Path
) -> None:
    held.faults["/26/a.fits"] = deque([Answer(b"other" * 20_000, headers={"ETag": held.tag}, cut=30_000)])
    fetched(held, tmp_path, tries=1, paths=("/26/a.fits", PATH))
    fetched(held, tmp_path, tries=1, paths=("/26/a.fits", PATH))
    assert (held.requests[-1].path, held.requests[-1].headers["Range"]) == (PATH, None)
    assert is_whole(tmp_path, content)


@pytest.mark.parametrize("tag", ['W/"weak"', ""])
def test_without_a_sure_name_for_its_state_a_file_is_fetched_from_its_start(
    held: ArchiveServer, content: bytes, tmp_path: Path, tag: str
) -> None:
    held.faults[PATH] = deque([Answer(content, headers={"ETag": tag} if tag else {}, cut=30_000)])
    fetched(held, tmp_path)
    assert "Range" not in held.requests[1].headers
    assert is_whole(tmp_path, content)


def test_all_bytes_were_there_but_the_name_was_not(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    """The process was killed between the last byte and the rename: the archive then has nothing more to send."""
    held.faults[PATH] = deque([Answer(content, headers={"ETag": '"1"'}, cut=30_000)])
    fetched(held, tmp_path, tries=1)
    (tmp_path / "1000" / ".spec.fits.part").write_bytes(content)
    assert fetched(held, tmp_path).outcome == Outcome.FETCHED
    assert is_whole(tmp_path, content)


@pytest.mark.parametrize("short", [1, 2880, 50_000])
def test_a_length_that_is_too_small_does_not_make_a_whole_file(
    held: ArchiveServer, content: bytes, tmp_path: Path, short: int
) -> None:
    held.faults[PATH] = deque([Answer(content[:-short])] * 4)
    result = fetched(held, tmp_path)
    assert result.outcome == Outcome.FAILED
    assert "truncated" in result.reason
    assert not (tmp_path / NAME).exists()


def test_no_length_at_all(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    held.faults[PATH] = deque([Answer(content, length=-1, cut=60_000), Answer(content, length=-1)])
    fetched(held, tmp_path)
    assert is_whole(tmp_path, content)


PAGES = {
    "page": b"<!DOCTYPE html><html><head><title>Database &amp; down</title></head></html>",
    "page without doctype": b"\n <HTML><TITLE>Database &amp; down</TITLE>",
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())
def test_a_page_with_status_200_is_no_spectrum(held: ArchiveServer, tmp_path: Path, page: bytes) -> None:
    held.faults[PATH] = deque([Answer(page)] * 4)
    result = fetched(held, tmp_path)
    assert result.reason == "a web page instead of data: 'Database & down'"
    assert len(held.requests) == 1  # asking again would not bring it
    assert not any((tmp_path / "1000").iterdir())


def test_a_message_with_status_200_is_no_spectrum(held: ArchiveServer, tmp_path: Path) -> None:
    held.faults[PATH] = deque([Answer(b'{"error": "token expired"}')] * 4)
    assert "token expired" in fetched(held, tmp_path).reason
    assert not (tmp_path / NAME).exists()


def test_a_published_checksum_is_compared(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    held.files["/lite/1000/x.sha1sum"] = f"{hashlib.sha1(content).hexdigest()}  spec.fits\n".encode()
    result = fetched(held, tmp_path, "*.sha1sum")
    assert result.verified
    assert result.digest.startswith("sha1:")


def test_a_flipped_bit_is_fetched_again(held: ArchiveServer, content: bytes, tmp_path: Path) -> None:
    """Nothing but the checksum can tell: headers and sizes are those of a good file."""
    flipped = bytearray(content)
    flipped[20_000] ^= 1
    held.files["/lite/1000/x.sha1sum"] = f"{hashlib.sha1(content).hexdigest()} *./spec.fits\n".encode()
    held.faults[PATH] = deque([Answer(bytes(flipped), headers={"ETag": '"1"'})])
    assert fetched(held, tmp_path, "x.sha1sum").verified
    assert is_whole(tmp_path, content)


def test_a_wrong_checksum_that_stays(held: ArchiveServer, tmp_path: Path) -> None:
    held.files["/lite/1000/x.sha1sum"] = b"0" * 40 + b"  spec.fits\n"
    result = fetched(held, tmp_path, "*.sha1sum")
    assert "checksum" in result.reason
    assert not (tmp_path / NAME).exists()


def test_a_list_of_checksums_that_cannot_be_read_does_not_count_as_none(
    held: ArchiveServer, content: bytes, tmp_path: Path
) -> None:
    held.replies["/lite/1000/x.sha1sum"] = Answer(b"", 500)
    result = fetched(held, tmp_path, "x.sha1sum")
    assert (result.outcome, result.reason[:22]) == (Outcome.FAILED, "cannot read the list o")


def test_the_next_address_is_asked_when_a_file_is_not_there(
    held: ArchiveServer, content: bytes, tmp_path: Path
) -> None:
    assert fetched(held, tmp_path, paths=("/26/a.fits", "/104/a.fits", PATH)).outcome == Outcome.FETCHED
    assert is_whole(tmp_path, content)


def test_the_next_address_is_not_asked_for_other_faults(held: ArchiveServer, tmp_path: Path) -> None:
    held.replies["/26/a.fits"] = Answer(b"", 403)
    result = fetched(held, tmp_path, paths=("/26/a.fits", PATH))
    assert "refused access" in result.reason
    assert held.paths() == ["/26/a.fits"]


def test_not_in_the_archive(server: ArchiveServer, tmp_path: Path) -> None:
    result = fetched(server, tmp_path, paths=("/a", "/b"))
    assert result.reason == "not in the archive (HTTP 404), at all 2 addresses"
    assert server.paths() == ["/a", "/b"]


def test_finished_files_are_not_asked_for_again(held: ArchiveServer, tmp_path: Path) -> None:
    fetched(held, tmp_path)
    assert fetched(held, tmp_path).outcome == Outcome.ALREADY_THERE
    assert len(held.requests) == 1


@pytest.mark.parametrize("damage", ["cut", "never fetched by us", "record cut"])
def test_a_file_that_may_be_a_piece_is_fetched_again(
    held: ArchiveServer, content: bytes, tmp_path: Path, damage: str
) -> None:
    fetched(held, tmp_path)
    record = tmp_path / ".fetched.jsonl"
    if damage == "cut":
        (tmp_path / NAME).write_bytes(content[:-1])
    elif damage == "record cut":
        record.write_bytes(record.read_bytes()[:20])
    else:
        record.unlink()
    assert fetched(held, tmp_path).outcome == Outcome.FETCHED
    assert (tmp_path / NAME).read_bytes() == content
    assert fetched(held, tmp_path).outcome == Outcome.ALREADY_THERE


def test_a_disk_that_is_full_is_no_fault_of_the_archive(
    held: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rarespec.fetching.download.Partial.publish", no_room)
    with pytest.raises(OSError, match="No space left"):
        fetched(held, tmp_path)


def test_the_server_answers_as_the_tests_think(held: ArchiveServer, content: bytes) -> None:
    request = Request("GET", PATH, "", {"Range": "bytes=10-", "If-Range": '"1"'}, b"")  # type: ignore[arg-type]
    assert held.answer(request).body == content[10:]
