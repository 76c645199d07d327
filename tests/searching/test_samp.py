"""Sending a table over SAMP, to clients on a hub of astropy's own that only this test knows."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import numpy as np
import pytest
from astropy.table import Table

from rarespec.errors import UsageError
from rarespec.searching import samp
from rarespec.searching.export import read_provenance
from rarespec.searching.samp import FOLDER_PREFIX, KEPT_SECONDS, LOAD_TABLE, samp_library, send_table

Answer = dict[str, Any]
DONE: Answer = {"samp.status": "samp.ok", "samp.result": {}}
FAILED: Answer = {"samp.status": "samp.error", "samp.result": {}, "samp.error": {"samp.errortxt": "out of ink"}}


@pytest.fixture(autouse=True)
def _only_this_computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A lock file and temporary files of the test's own; nothing beyond localhost."""
    try:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
    except OSError as error:
        pytest.skip(f"no sockets here: {error}")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("SAMP_HUB", raising=False)
    for home in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(home, str(tmp_path))
    with samp_library().conf.set_temp("use_internet", False):
        yield


@pytest.fixture
def hub() -> Iterator[Any]:
    server = samp_library().SAMPHubServer(web_profile=False)
    server.start()
    yield server
    server.stop()


class Receiver:
    """A program that loads tables: keeps what it was sent, and answers."""

    def __init__(self, client: Any, answer: Answer | None) -> None:
        self.client, self.answer = client, answer
        self.names: list[str] = []
        self.tables: list[Table] = []
        self.paths: list[Path] = []

    def receive(self, _key: str, _sender: str, message_id: str, _mtype: str, params: Any, _extra: Any) -> None:
        path = Path(url2pathname(urlparse(params["url"]).path))
        self.names.append(params["name"])
        self.paths.append(path)
        self.tables.append(Table.read(path, format="votable"))
        if self.answer is not None:
            self.client.reply(message_id, self.answer)


@contextmanager
def program(hub: Any, name: str, answer: Answer | None = DONE, loads: bool = True) -> Iterator[Receiver]:
    client = samp_library().SAMPIntegratedClient(name)
    client.connect(hub)
    receiver = Receiver(client, answer)
    if loads:
        client.bind_receive_call(LOAD_TABLE, receiver.receive)
    yield receiver
    client.disconnect()


@pytest.fixture
def table() -> Table:
    return Table({"rank": [1, 2], "id": ["a", "étoile"], "ra": [10.0, np.nan], "dec": [-5.0, 5.0]})


def test_a_program_receives_the_table_and_is_named(hub: Any, table: Table) -> None:
    with program(hub, "TOPCAT") as topcat, program(hub, "a plotter", loads=False):
        assert send_table(table, "carbon étoiles", provenance={"seed": 1}) == ["TOPCAT"]
    assert topcat.names == [r"carbon \u00e9toiles"]
    (found,) = topcat.tables
    assert found["id"].tolist() == ["a", "étoile"] and str(found["ra"].unit) == "deg"
    assert read_provenance(topcat.paths[0]) == {"seed": 1}, "the file must outlive the call"


def test_one_program_can_be_chosen_by_name(hub: Any, table: Table) -> None:
    with program(hub, "TOPCAT") as topcat, program(hub, "Aladin") as aladin:
        assert send_table(table, "t", to="topcat") == ["TOPCAT"]
        assert sorted(send_table(table, "t")) == ["Aladin", "TOPCAT"]
        assert (len(topcat.tables), len(aladin.tables)) == (2, 1)
        with pytest.raises(UsageError, match=r"'ds9'; choose from (TOPCAT, Aladin|Aladin, TOPCAT)"):
            send_table(table, "t", to="ds9")


def test_who_does_not_load_it_is_told_in_a_warning(hub: Any, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samp, "ANSWER_SECONDS", 1)
    with program(hub, "broken", FAILED), pytest.warns(UserWarning, match="broken did not load the table: out of ink"):
        assert send_table(table, "t") == []
    with program(hub, "silent", None), pytest.warns(UserWarning, match="silent did not load the table: Timeout"):
        assert send_table(table, "t") == []


@pytest.mark.parametrize("with_hub", [False, True])
def test_without_a_program_that_listens_the_user_is_told_what_to_start(
    with_hub: bool, table: Table, request: pytest.FixtureRequest
) -> None:
    if with_hub:
        request.getfixturevalue("hub")
    with pytest.raises(UsageError, match="start TOPCAT or Aladin first"):
        send_table(table, "t")
    assert not list(Path(tempfile.gettempdir()).iterdir())


def test_a_hub_that_ended_without_a_word_is_no_hub(hub: Any, table: Table, tmp_path: Path) -> None:
    left_behind = (tmp_path / ".samp").read_bytes()
    hub.stop()
    (tmp_path / ".samp").write_bytes(left_behind)
    with pytest.raises(UsageError, match="start TOPCAT or Aladin first"):
        send_table(table, "t")


def test_files_of_the_day_before_are_removed_and_no_others(hub: Any, table: Table) -> None:
    ages: dict[str, Callable[[], float]] = {
        f"{FOLDER_PREFIX}old": lambda: time.time() - KEPT_SECONDS - 60,
        f"{FOLDER_PREFIX}new": lambda: time.time() - KEPT_SECONDS + 3600,
        "someone-else": lambda: 0.0,
    }
    temporary = Path(tempfile.gettempdir())
    for name, when in ages.items():
        (temporary / name).mkdir()
        os.utime(temporary / name, (when(), when()))
    with program(hub, "TOPCAT"):
        send_table(table, "t")
    left = {path.name for path in temporary.iterdir()}
    assert {f"{FOLDER_PREFIX}new", "someone-else"} < left and f"{FOLDER_PREFIX}old" not in left
    assert len(left) == 3


def test_the_move_of_samp_to_pyvo_is_not_told_to_whoever_sends_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "astropy.samp", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert samp_library().__name__ in ("astropy.samp", "pyvo.samp")


def test_without_any_samp_it_says_what_to_install(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("astropy.samp", "pyvo.samp"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match="pip install pyvo"):
        send_table(table, "t")
