"""Pictures of the sky: which addresses may be asked, and what is taken for a picture."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from fetching.archive_server import Answer, ArchiveServer, serving
from rarespec.errors import UsageError
from rarespec.fetching.fault import FaultError
from rarespec.fetching.pictures import (
    MOST_BYTES,
    SERVICES,
    OneHostWeb,
    fetch_picture,
    media_type_of,
    service_named,
)
from sky_pictures import JPEG, PNG, jpeg, png


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_of_the_table(name: str) -> None:
    service = service_named(name)
    address = service.address(-10.0, 5.0)
    assert urlsplit(address).scheme == "https" and urlsplit(address).netloc == service.host
    assert "ra=350.000000" in address and "dec=5.000000" in address and "{" not in address
    assert service.credit


def test_an_address_of_ones_own() -> None:
    service = service_named("https://sky.example/cut?ra={ra}&dec={dec}&size={size}&n={pixels}&s={scale}&d={degrees}")
    assert service.address(1.5, -2) == (
        "https://sky.example/cut?ra=1.500000&dec=-2.000000&size=60&n=256&s=0.234375&d=0.016667"
    )
    assert service_named("http://127.0.0.1:8000/{ra}/{dec}").host == "127.0.0.1:8000"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("hubble", "no service is called 'hubble'; use one of dss2"),
        ("http://sky.example/{ra}/{dec}", "must begin with https://"),
        ("ftp://127.0.0.1/{ra}/{dec}", "must begin with https://"),
        ("file:///etc/{ra}{dec}", "plain host name"),
        ("https://sky.example/{ra}", "needs {ra} and {dec}"),
        ("https://sky.example/{ra}/{dec}/{id}", "{id} cannot be filled in"),
        ("https://sky.example/{ra.__class__}/{dec}", "cannot be filled in"),
        ("https://sky.example/{ra!r}/{dec}", "cannot be filled in"),
        ("https://sky.example/{ra:>999999999}/{dec}", "cannot be filled in"),
        ("https://sky.example/{ra}/{dec}/{", "is no address"),
        ("https://{ra}.example/{dec}", "plain host name"),
        ("https://me:secret@sky.example/{ra}/{dec}", "plain host name"),
        ("https://sky.example:99999999/{ra}/{dec}", "is no address"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(name: str, why: str) -> None:
    with pytest.raises(UsageError, match="cutouts: ") as refused:
        service_named(name)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (JPEG, "image/jpeg"),
        (PNG, "image/png"),
        (jpeg(4097, 10), None),
        (png(10, 100_000), None),
        (png(0, 10), None),
        (JPEG[:20], None),
        (b"<html><script>alert(1)</script>", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"GIF89a" + bytes(100), None),
        (b"", None),
        (b"\xff\xd8\xff\xe0" + struct.pack(">H", 0) * 40, None),
    ],
)
def test_what_is_a_picture(content: bytes, kind: str | None) -> None:
    assert media_type_of(content) == kind


@pytest.fixture
def sky() -> Iterator[ArchiveServer]:
    with serving() as server:
        yield server


def picture(content: bytes = JPEG, kind: str = "image/jpeg", **more: object) -> Answer:
    return Answer(content, headers={"Content-Type": kind}, **more)  # type: ignore[arg-type]


def test_a_picture_comes_as_it_is(sky: ArchiveServer) -> None:
    sky.replies["/cut"] = picture()
    with OneHostWeb() as web:
        assert fetch_picture(web, f"{sky.base}/cut?ra=1&dec=2") == JPEG
    assert sky.requests[0].query == "ra=1&dec=2" and "rarespec" in sky.requests[0].headers["User-Agent"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (picture(b"<html>busy</html>", "text/html"), "text/html, not a picture"),
        (picture(b"<html>busy</html>"), "not a JPEG or PNG"),
        (picture(b"<svg/>", "image/svg+xml"), "not a picture"),
        (Answer(JPEG), "not a picture"),
        (picture(JPEG + bytes(MOST_BYTES)), "larger than 2 MiB"),
        (picture(JPEG, length=10**9, cut=100), ""),
        (Answer(b"", 404), ""),
        (Answer(b"", 500), ""),
    ],
)
def test_anything_else_is_a_fault(sky: ArchiveServer, answer: Answer, why: str) -> None:
    sky.replies["/cut"] = answer
    with OneHostWeb() as web, pytest.raises(FaultError) as fault:
        fetch_picture(web, f"{sky.base}/cut")
    assert why in str(fault.value)


def test_a_redirect_is_followed_on_the_same_host_alone(sky: ArchiveServer) -> None:
    sky.replies |= {"/cut": picture(), "/old": Answer(status=302, headers={"Location": "/cut"})}
    with serving() as elsewhere, OneHostWeb() as web:
        elsewhere.replies["/cut"] = picture()
        sky.replies["/away"] = Answer(status=302, headers={"Location": f"{elsewhere.base}/cut"})
        assert fetch_picture(web, f"{sky.base}/old") == JPEG
        with pytest.raises(FaultError, match="redirect to another host"):
            fetch_picture(web, f"{sky.base}/away")
        assert elsewhere.requests == []
