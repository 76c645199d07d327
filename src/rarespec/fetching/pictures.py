"""Pictures of the sky around a position: which services give them, and one picture fetched and checked."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import ip_address
from string import Formatter
from urllib.parse import urljoin, urlsplit

from rarespec.errors import UsageError
from rarespec.fetching.fault import FaultError
from rarespec.fetching.secret import origin_of
from rarespec.fetching.web import Web
from rarespec.storage.text import printable

PIXELS = 256
"""Pictures are squares of so many pixels."""
SECONDS = 20.0
"""Longest silence of a service."""
MOST_BYTES = 2 << 20
MOST_PIXELS = 4096
"""On a side; a picture of more would fill the memory of a browser."""

# ---- Services. {ra} and {dec} are degrees, {size} is the side in arcsec, {degrees} the same in degrees, {pixels} the
# side in pixels, {scale} arcsec per pixel. North has to be up and east to the left.

HIPS = "https://alasky.cds.unistra.fr/hips-image-services/hips2fits?hips={hips}&ra={{ra}}&dec={{dec}}&fov={{degrees}}"
SQUARE = "&width={pixels}&height={pixels}&projection=TAN&coordsys=icrs&format=jpg"
LEGACY = (
    "https://www.legacysurvey.org/viewer/jpeg-cutout?ra={ra}&dec={dec}&layer=ls-dr10&pixscale={scale}&size={pixels}"
)

SERVICES = {
    "dss2": (HIPS.format(hips="CDS%2FP%2FDSS2%2Fcolor") + SQUARE, "DSS2 colour, CDS hips2fits"),
    "panstarrs": (
        HIPS.format(hips="CDS%2FP%2FPanSTARRS%2FDR1%2Fcolor-z-zg-g") + SQUARE,
        "Pan-STARRS DR1 colour, CDS hips2fits",
    ),
    "legacy": (LEGACY, "DESI Legacy Imaging Surveys DR10"),
}
DEFAULT_SERVICE = "dss2"
FIELDS = frozenset({"ra", "dec", "size", "degrees", "pixels", "scale"})


@dataclass(frozen=True)
class PictureService:
    """Where pictures come from.

    Parameters
    ----------
    template : str
        Address, with the fields above.
    credit : str
        What the pictures are, for who looks at them.
    size : float
        Side of a picture in arcsec.
    """

    template: str
    credit: str
    size: float = 60.0

    @property
    def host(self) -> str:
        return urlsplit(self.template).netloc

    def address(self, ra: float, dec: float) -> str:
        """Return the address of the picture around this position, degrees."""
        return self.template.format(
            ra=f"{ra % 360:.6f}", dec=f"{dec:.6f}", size=f"{self.size:g}", degrees=f"{self.size / 3600:.6f}",
            pixels=PIXELS, scale=f"{self.size / PIXELS:.6f}",
        )  # fmt: skip


def service_named(name: str) -> PictureService:
    """Find a service of the table, or take an address with {ra} and {dec} for one.

    Raises
    ------
    UsageError
        If there is no such service, or the address cannot be used.
    """
    if name in SERVICES:
        return PictureService(*SERVICES[name])
    if "://" not in name:
        known = ", ".join(SERVICES)
        raise UsageError(
            f"cutouts: no service is called {name!r}; use one of {known}, or an address with {{ra}} and {{dec}}"
        )
    _check_template(name)
    return PictureService(name, f"from {urlsplit(name).hostname}")


def _check_template(template: str) -> None:
    try:
        parts = urlsplit(template)
        _ = parts.port
        fields = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
        plain = all(not spec and not conversion for _, _, spec, conversion in Formatter().parse(template))
    except ValueError as error:
        raise UsageError(f"cutouts: {template!r} is no address: {error}") from None
    if fields - FIELDS or not plain:
        wrong = ", ".join(sorted(fields - FIELDS)) or "a format"
        raise UsageError(f"cutouts: {template!r}: {{{wrong}}} cannot be filled in; use {', '.join(sorted(FIELDS))}")
    if not {"ra", "dec"} <= fields:
        raise UsageError(f"cutouts: {template!r} needs {{ra}} and {{dec}}")
    if "{" in parts.netloc or "@" in parts.netloc or not parts.hostname:
        raise UsageError(f"cutouts: {template!r} needs a plain host name, without fields and passwords")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_this_machine(parts.hostname)):
        raise UsageError(f"cutouts: {template!r} must begin with https://")


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


# ---- One picture. What a service sends is not trusted: it is small, of a kind that browsers draw, and from that host.


class OneHostWeb(Web):
    """Requests that no redirect leads to another host."""

    def _next(self, url: str, location: str) -> str:
        there = super()._next(url, location)
        if origin_of(there) != origin_of(url):
            host = printable(urlsplit(urljoin(url, location)).hostname or "")
            raise FaultError(f"a redirect to another host, {host}")
        return there


def fetch_picture(web: Web, address: str) -> bytes:
    """Fetch a JPEG or PNG picture, once; raise a FaultError where something else comes, or nothing."""
    with web.ask("GET", address, {"Accept": "image/jpeg, image/png"}, SECONDS) as response:
        told = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if told not in ("image/jpeg", "image/png"):
            raise FaultError(f"the answer is {printable(told)[:60] or 'of no known kind'}, not a picture")
        content = b"".join(web.pieces(response, MOST_BYTES))
    if media_type_of(content) is None:
        raise FaultError("what came is not a JPEG or PNG picture of a usual size")
    return content


def media_type_of(content: bytes) -> str | None:
    """Say what kind of picture this is, by its first bytes; None for anything that is not to be shown."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR" and len(content) >= 24:
        return "image/png" if _is_usual(*struct.unpack(">II", content[16:24])) else None
    if content.startswith(b"\xff\xd8\xff"):
        size = _jpeg_size(content)
        return "image/jpeg" if size is not None and _is_usual(*size) else None
    return None


def _is_usual(width: int, height: int) -> bool:
    return 0 < width <= MOST_PIXELS and 0 < height <= MOST_PIXELS


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    """Width and height, from the segment that begins the frame; None where there is none."""
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker, length = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None
