"""The table of addresses, and what a user may replace in it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rarespec.errors import UsageError
from rarespec.fetching.addresses import archive, load_addresses
from rarespec.fetching.question import ARCHIVES


def test_the_table_has_every_archive_and_only_encrypted_addresses() -> None:
    table = load_addresses()
    assert set(table) == set(ARCHIVES)
    assert len(addresses := list(_addresses(table))) > 15
    assert all(urlsplit(address).scheme == "https" for address in addresses)


def _addresses(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if "://" in value else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [address for part in parts for address in _addresses(part)]


def test_a_release_goes_before_its_archive() -> None:
    table = load_addresses()
    assert archive(table, "sdss", "17", "plate_release").texts("boss_run2d") == ["v5_13_2"]
    assert archive(table, "sdss", "12", "plate_release").texts("boss_run2d") == ["v5_7_0", "v5_7_2"]
    assert archive(table, "sdss", None, "plate_release").release == "17"
    assert archive(table, "desi", None).text("specprod") == "iron"


def test_single_values_can_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[desi]\nlookup = "https://my.org/tap"\n[desi.releases.dr1]\nspecprod = "iron2"\n[desi.releases.dr2]\n'
    )
    for table in (load_addresses(own), _by_variable(own, monkeypatch)):
        desi = archive(table, "desi", None)
        assert (desi.text("lookup"), desi.text("specprod")) == ("https://my.org/tap", "iron2")
        assert desi.text("lookup_table") == "desi_dr1.zpix"
        assert archive(table, "sdss", None, "plate_release").release == "17"
        with pytest.raises(UsageError, match=r"no specprod for desi, release dr2.*\[desi.releases.dr2\]"):
            archive(table, "desi", "dr2").text("specprod")


def _by_variable(own: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    monkeypatch.setenv("RARESPEC_ARCHIVES", str(own))
    return dict(load_addresses())


@pytest.mark.parametrize(
    ("content", "words"),
    [("[sdsss]\n", "there is no archive sdsss"), ("[sdss", "not TOML"), (None, "No such file")],
)
def test_a_table_that_cannot_be_used(tmp_path: Path, content: str | None, words: str) -> None:
    own = tmp_path / "own.toml"
    if content is not None:
        own.write_text(content)
    with pytest.raises(UsageError, match=words):
        load_addresses(own)


def test_an_unknown_release() -> None:
    with pytest.raises(UsageError, match="sdss has no release '7'"):
        archive(load_addresses(), "sdss", "7")


@pytest.mark.parametrize("template", ["https://a/{nothing}", "https://a/{plate:04q}", "https://a/{}", "https://a/{"])
def test_a_template_that_cannot_be_filled(template: str) -> None:
    with pytest.raises(UsageError, match="cannot be filled in; allowed fields are release, plate"):
        archive(load_addresses(), "sdss", "17").fill(template, plate=3)
