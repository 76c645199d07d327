"""Whether a file that was fetched is what was asked for, and all of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rarespec.fetching.checksums import Checksum
from rarespec.fetching.fault import FaultError
from rarespec.fetching.web import page_title
from rarespec.formats import Container, Source
from rarespec.formats.fits_header import BLOCK
from rarespec.spectrum import DefectError, Reason
from rarespec.spectrum.printable import printable

START_BYTES = 65_536


def digest_of(path: Path, algorithm: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def check_whole(path: Path, published: Checksum | None) -> Checksum:
    """The digest of the file; a FaultError when it is no whole FITS file, or not that which the archive published."""
    refuse_page(path)
    algorithm = published.algorithm if published else "sha256"
    found = Checksum(algorithm, digest_of(path, algorithm))
    if published and found != published:
        raise FaultError("the checksum differs from the one that the archive publishes", passing=True)
    check_fits(path)
    return found


def refuse_page(path: Path) -> None:
    """Archives answer with a page, and say that all is well, when a token is missing or a database is down."""
    with open(path, "rb") as file:
        start = file.read(START_BYTES)
    title = page_title(start)
    if title is not None:
        raise FaultError(f"a web page instead of data{f': {title!r}' if title else ''}")
    if start.lstrip()[:1] in (b"{", b"["):
        raise FaultError(f"a message instead of data: {printable(start[:200].decode('utf-8', 'replace'))!r}")


def check_fits(path: Path) -> None:
    """Headers and sizes must agree; of gzipped files, the trailer too."""
    try:
        with Source(path) as source:
            if source.container != Container.FITS:
                raise FaultError(f"a {source.container} instead of a FITS file", passing=True)
            n_hdus = len(source.hdus)  # walks over all headers and compares them with the length of the file
            if source.length % BLOCK:
                raise DefectError(Reason.TRUNCATED, f"the last of {n_hdus} HDUs is not padded to a full block")
    except DefectError as error:
        raise FaultError(f"not a complete FITS file: {error.reason}: {error.detail}", passing=True) from None


def is_gzip(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"
