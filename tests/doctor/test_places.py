"""Places where rarespec writes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from rarespec.doctor import machine as places
from rarespec.doctor.machine import place, temporary_folder


def test_a_folder_that_can_be_written_stays_as_it_was(tmp_path: Path) -> None:
    found = place("survey", tmp_path)
    assert found.problem is None and found.free_bytes and not list(tmp_path.iterdir())


def test_one_that_cannot(tmp_path: Path) -> None:
    gone = place("survey", tmp_path / "gone")
    assert gone.problem and "No such file" in gone.problem and gone.free_bytes is None


def test_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    assert temporary_folder().problem == "No usable temporary directory found"


def test_file_systems_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, network in (("ext4", False), ("nfs4", True), (None, True)):
        monkeypatch.setattr(places, "file_system_of", lambda path, kind=kind: kind)
        assert place("survey", tmp_path).file_system == kind and place("survey", tmp_path).network is network


def test_little_room(tmp_path: Path) -> None:
    found = place("survey", tmp_path)
    assert replace(found, free_bytes=10**8).little_room and not replace(found, free_bytes=10**10).little_room
    assert not replace(found, free_bytes=None).little_room
