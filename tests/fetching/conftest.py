"""An archive on this machine for every test, and no proxy in between."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fetching.archive_server import ArchiveServer, serving


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("RARESPEC_ARCHIVES", raising=False)
    monkeypatch.delenv("RARESPEC_LAMOST_TOKEN", raising=False)


@pytest.fixture
def server() -> Iterator[ArchiveServer]:
    with serving() as archive:
        yield archive
