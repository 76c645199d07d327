"""Answers without an end, or of any size and depth: each is left at a limit, in words, and the rest goes on."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from conftest import small_survey_files
from fetching.archive_server import Answer, ArchiveServer, QuickClock, quick_patience
from rarespec.fetching import checksums, sparcl
from rarespec.fetching import web as bounded
from rarespec.fetching import web as web_module
from rarespec.fetching.checksums import Checksums
from rarespec.fetching.download import Downloads
from rarespec.fetching.fault import FaultError, Patience
from rarespec.fetching.record import Outcome, Record, Result
from rarespec.fetching.targets import RemoteFile
from rarespec.fetching.web import Web

MOST = 1 << 20


@contextmanager
def raw_server(send: Callable[[Callable[[bytes], object]], None]) -> Iterator[str]:
    """A server that answers every connection as it likes, until the client has had enough."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            send(connection.sendall)

    def serve() -> None:
        with suppress(OSError):
            while not over.is_set():
                connection, _ = listener.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.close()


def for_ever(head: bytes, piece: bytes) -> Callable[[Callable[[bytes], object]], None]:
    def send(write: Callable[[bytes], object]) -> None:
        write(head)
        while True:
            write(piece)

    return send


class HastyClock(QuickClock):
    """An hour goes by whenever one looks."""

    def now(self) -> float:
        self._now += 3600.0
        return self._now


def fetched(base: str, folder: Path, patience: Patience | None = None, sums: str = "") -> Result:
    remote = RemoteFile(("x",), "spec.fits", (f"{base}/spec.fits",), sums, MOST)
    with Web(patience or quick_patience(2)) as web:
        return Downloads(web, folder, Record(folder), Checksums(web)).fetch(remote)


def left_behind(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


PLAIN = b"HTTP/1.1 200 OK\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "without a length": for_ever(PLAIN, b"x" * 65536),
    "in chunks": for_ever(CHUNKED, b"10000\r\n" + b"x" * 65536 + b"\r\n"),
    "of a length beyond any": for_ever(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"x" * 65536),
    "of a length that is none": for_ever(PLAIN[:-2] + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", b"x" * 65536),
    "of an error": for_ever(b"HTTP/1.1 500 Oh\r\n\r\n", b"x" * 65536),
    "of a redirect": for_ever(b"HTTP/1.1 302 There\r\nLocation: /y\r\n\r\n", b"x" * 65536),
    "of headers": for_ever(b"HTTP/1.1 200 OK\r\n", b"X-More: y\r\n"),
    "of one header": for_ever(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536),
    "of a chunk's length": for_ever(CHUNKED, b"1"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_body_without_end_is_left(tmp_path: Path, kind: str) -> None:
    with raw_server(ENDLESS[kind]) as base:
        result = fetched(base, tmp_path)
        with Web(quick_patience(2)) as web, pytest.raises(FaultError):
            web.text("GET", base, MOST)
    assert result.outcome == Outcome.FAILED and result.reason
    assert not left_behind(tmp_path) or "MiB" not in result.reason


@pytest.mark.parametrize("kind", ["without a length", "of an error", "of a redirect"])
def test_a_byte_now_and_then_is_too_slow(tmp_path: Path, kind: str) -> None:
    clock = HastyClock()
    with raw_server(ENDLESS[kind]) as base:
        result = fetched(base, tmp_path, Patience(tries=2, clock=clock, chance=lambda: 0.0))
    assert result.outcome == Outcome.FAILED
    assert kind != "without a length" or "too slowly" in result.reason


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX: ", b""])
def test_a_head_that_comes_a_byte_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    """No silence is long enough to be a time-out of the socket."""
    monkeypatch.setattr(bounded, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(web_module, "READ_SECONDS", 0.3)
    pause = threading.Event()

    def drip(write: Callable[[bytes], object]) -> None:
        write(head)
        while not pause.wait(0.02):
            write(b"y" if head else b"HTTP/1.1 100 Continue\r\n\r\n")

    with raw_server(drip) as base:
        assert fetched(base, tmp_path, quick_patience(1)).outcome == Outcome.FAILED
    pause.set()


def test_the_next_file_comes_all_the_same(server: ArchiveServer, tmp_path: Path) -> None:
    good = small_survey_files(tmp_path / "made", 1)[0].read_bytes()
    server.files |= {"/bad.fits": b"x" * (MOST + 1), "/good.fits": good}
    with Web(quick_patience(2)) as web:
        downloads = Downloads(web, tmp_path / "to", Record(tmp_path / "to"), None)
        remote = [RemoteFile((n,), f"{n}.fits", (f"{server.base}/{n}.fits",), "", MOST) for n in ("bad", "good")]
        results = [downloads.fetch(one) for one in remote]
    assert [result.outcome for result in results] == [Outcome.FAILED, Outcome.FETCHED]
    assert "larger than 1 MiB" in results[0].reason
    assert left_behind(tmp_path / "to") == ["good.fits"]


def test_a_list_of_checksums_that_is_too_long(
    server: ArchiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "LIST_BYTES", 1000)
    good = small_survey_files(tmp_path / "made", 1)[0].read_bytes()
    server.files |= {"/spec.fits": good, "/sums": b"x" * 2000}
    result = fetched(server.base, tmp_path / "to", sums="sums")
    assert result.outcome == Outcome.FETCHED and not result.verified


BOMB = b"\x1f\x8b" + b"\0" * 50


def test_nothing_is_unpacked_on_the_way(server: ArchiveServer) -> None:
    server.replies["/x"] = Answer(BOMB, headers={"Content-Encoding": "gzip"})
    with Web(quick_patience(1)) as web:
        assert len(web.text("GET", f"{server.base}/x").encode("utf-8", "replace")) < 1000


# --- SPARCL's JSON


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '[{"a":' * 100_000,
        '[{}, {"flux": ' + "[" * 900 + "]" * 900 + "}]",
        "[" + "{}," * 100_000 + "{}]",
        "[{}, 7]",
        "{}",
        "null",
        "[{}" + "9" * 10_000,
        '[{}, {"a": NaN',
    ],
    ids=range(9),
)
def test_json_of_any_depth_and_number(text: str) -> None:
    with pytest.raises(FaultError):
        sparcl._records(text, 5)


@pytest.mark.parametrize("value", [None, [], [[1], [2]], {"a": 1}, "x", 1e400, 10**400, [None], ["x"], [10**400]])
@pytest.mark.parametrize("name", ["flux", "mask", "ra", "specid", "spectype", "sparcl_id"])
def test_any_value_in_a_record_of_sparcl(name: str, value: object) -> None:
    record = {"sparcl_id": "x", "wavelength": [1.0, 2.0], "flux": [1, 2], "ivar": [1, 2], "mask": [0, 0], "ra": 1.0}
    try:
        content = sparcl.parquet_of(record | {name: value})
    except FaultError as fault:
        assert fault.reason
    else:
        assert content.startswith(b"PAR1")


def test_spectra_of_sparcl_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparcl, "SPECTRUM_BYTES", 10_000)
    archive = sparcl.Archive("sparcl", "", {})
    with raw_server(ENDLESS["in chunks"]) as base, Web(quick_patience(1)) as web:
        archive = sparcl.Archive("sparcl", "", {"spectra": f"{base}/spectra"})
        downloads = sparcl.SparclDownloads(web, tmp_path, Record(tmp_path), archive)
        (task,) = downloads.tasks([RemoteFile(("x",), "x.parquet", ("x",))])
        (result,) = task.work()
    assert result.outcome == Outcome.FAILED and "larger than" in result.reason
    assert json.dumps(result.to_json())
