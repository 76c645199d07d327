"""Tables of addresses that a stranger wrote: each gives addresses of the web, or is refused in words."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rarespec.errors import RarespecError, UsageError
from rarespec.fetching.addresses import Archive, load_addresses
from rarespec.fetching.fault import FaultError
from rarespec.fetching.question import Question
from rarespec.fetching.secret import origin_of
from rarespec.fetching.web import Web

QUESTIONS = (
    Question("sdss", ("0355-51788-0579",)),
    Question("sdss", ("112359-60086-27021599170",)),
    Question("sdss", ("4000-55000-0001",), release="12"),
    Question("sdss", sql="select 1"),
    Question("lamost", ("437513049",)),
    Question("desi", ("main-dark-23040",)),
    Question("desi", ("39627652591521181",)),
    Question("sparcl", ("00000dd7-b1ff-48ed-b162-46d9d65f829c", "1234")),
)


class Nowhere(Web):
    def text(self, method: str, url: str, most: int = 0, **how: Any) -> str:
        origin_of(url)
        raise FaultError("nobody is asked here")


def asked(path: Path) -> None:
    """All questions to this table; a RarespecError is the only way out."""
    for question in QUESTIONS:
        try:
            table = load_addresses(path)
            question.secret(table)
            files, _ = question.files(table, Nowhere(), lambda *_: None)
        except RarespecError as error:
            assert str(error)
            continue
        for remote in files:
            assert all(len(address) < 5000 for address in remote.addresses)
            assert ".." not in remote.name and not Path(remote.name).is_absolute()
            if question.archive != "sparcl":
                assert all(origin_of(address) and urlsplit(address).scheme in ("http", "https", "")
                           for address in remote.addresses)  # fmt: skip


TEXTS = [
    "", "x", "http://a:b/{plate}", "http://a:99999999/", "http://[/", "https://", "file:///etc/passwd", "ftp://a/b",
    "http://a/{plate.__class__}", "http://a/{plate.__class__.__mro__}", "http://a/{plate[0]}", "http://a/{0}",
    "http://a/{plate!r}", "http://a/{plate:999999999d}", "http://a/{plate:{mjd}}", "http://a/{", "http://a/}",
    "http://a/{nobody}", "http://a/{release:>99999999}", "\x1b[31m", "../../{plate}", "http://a/" + "x" * 1000,
]  # fmt: skip
VALUES: list[Any] = [
    *TEXTS,
    0,
    -1,
    2**70,
    1.5,
    float("inf"),
    True,
    [],
    [1],
    [[]],
    ["x", 1],
    *([text] for text in TEXTS),
]
VALUES += [{}, {"x": 1}, {"x": {"y": {"z": 1}}}, {"releases": 3}, {"releases": {"17": 3}}]


def toml_of(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml_of(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else str(value)


def ways(node: Any, way: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = [one for key in node for one in ways(node[key], (*way, key))] if isinstance(node, dict) else []
    return [*([way] if way else []), *below]


def forged(chance: random.Random) -> str:
    """A few values of the built-in table replaced by any others."""
    table: dict[str, Any] = json.loads(json.dumps(load_addresses()))
    for _ in range(chance.choice([1, 1, 2, 5])):
        *way, last = chance.choice(ways(table))
        node = table
        for key in way:
            node = node[key]
        node[last] = chance.choice(VALUES)
    return "".join(f"{json.dumps(key)} = {toml_of(value)}\n" for key, value in table.items())


def test_forged_tables_are_used_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RARESPEC_LAMOST_TOKEN", "secret")
    path = tmp_path / "own.toml"
    for i in range(200):
        path.write_text(forged(random.Random(i)))
        asked(path)


@pytest.mark.exhaustive
def test_forged_tables_at_full_size(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    for i in range(5_000):
        path.write_text(forged(random.Random(1000 + i)))
        asked(path)


@pytest.mark.parametrize(
    "field", ["{plate.__class__}", "{plate[0]}", "{plate!r}", "{plate:999999999d}", "{plate:{mjd}}"]
)
def test_fields_are_plain_names(field: str) -> None:
    with pytest.raises(UsageError, match="is not a field"):
        Archive("sdss", "17", {}).fill(f"http://a/{field}", a=1, b=2)


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"x", b"sdss = 3", b"[sdss]\nreleases = 3", b"[sdss.releases]\n17 = 3", b"a = " + b"[" * 50_000,
     b"sdss = " + b"9" * 10_000, b"[sdss]\nplate = [1]", b"[sdss]\nchecksums = 3", b"#" * 2_000_000],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_table_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "own.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"own\.toml"):
        load_addresses(tmp_path / "own.toml")


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "absent"):
        with pytest.raises(UsageError, match=path.name):
            load_addresses(path)
