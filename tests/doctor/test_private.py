"""What a bug report must not hold."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from rarespec.doctor.software import without_names


@pytest.fixture(autouse=True)
def _jane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setattr(getpass, "getuser", lambda: "jdoe")


def test_the_home_folder_is_shortened(tmp_path: Path) -> None:
    assert without_names(f"{tmp_path}/home/a.survey and {tmp_path}/home") == "~/a.survey and ~"
    assert without_names(f"{tmp_path}/home2/a") == f"{tmp_path}/home2/a"


def test_a_home_behind_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "home")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "link")
    assert without_names(f"{tmp_path}/link/a {tmp_path}/home/b") == "~/a ~/b"


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("/scratch/jdoe/x", "/scratch/USER/x"),
        ("/tmp/dask-jdoe_7/x", "/tmp/dask-USER_7/x"),
        ("/data/jdoes/x", "/data/jdoes/x"),
        ("s3://key:secret@bucket/x", "s3://bucket/x"),
        ("no such file: 'x@y'", "no such file: 'x@y'"),
    ],
)
def test_names_and_passwords(said: str, wanted: str) -> None:
    assert without_names(said) == wanted


def test_without_a_home_or_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise RuntimeError

    def nobody() -> None:
        raise KeyError

    monkeypatch.setattr(Path, "home", none)
    monkeypatch.setattr(getpass, "getuser", nobody)
    assert without_names("/a/b") == "/a/b"
    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    assert without_names("/a/b") == "/a/b"
