"""One file from an archive onto the disk: whole and checked under its name, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarespec.fetching.checksums import Checksum, Checksums
from rarespec.fetching.fault import FaultError
from rarespec.fetching.record import Cause, Outcome, Record, Result, record_failure
from rarespec.fetching.secret import origin_of
from rarespec.fetching.targets import RemoteFile
from rarespec.fetching.web import Response, Web, length_of, page_title, too_long
from rarespec.formats import Container, Source
from rarespec.formats.fits.header import BLOCK
from rarespec.spectrum import DefectError, Reason
from rarespec.storage.text import printable
from rarespec.storage.whole_file import write_whole

# ---- A file on its way: under a hidden name of its own until it is whole, with what is needed to go on after a
# break.


@dataclass(frozen=True)
class Version:
    """The file that bytes belong to, and its state as the archive names it (ETag or Last-Modified)."""

    address: str
    validator: str


class Partial:
    """The bytes of a file that have come so far. The name starts with a dot: no ingest takes it for a spectrum."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.path = final.with_name(f".{final.name}.part")
        self._note = final.with_name(f".{final.name}.part.json")

    def length_of(self, address: str) -> tuple[int, str]:
        """Count the bytes of the file at this address that are here, and name their state; 0 when it is not known."""
        version = self._version()
        if version is None or version.address != address or not self.path.exists():
            return 0, ""
        return self.path.stat().st_size, version.validator

    def _version(self) -> Version | None:
        try:
            content: Any = json.loads(self._note.read_text())
            return Version(str(content["address"]), str(content["validator"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin(self, address: str, validator: str) -> None:
        """Start from nothing. Without a validator the download cannot go on after a break, and no note is made."""
        self.discard()
        self.final.parent.mkdir(parents=True, exist_ok=True)
        if validator:
            write_whole(self._note, json.dumps({"address": address, "validator": validator}).encode())
        self.path.touch()

    def discard(self) -> None:
        self._note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def publish(self, suffix: str = "") -> Path:
        """Give the file its name, once its bytes are safely on the disk."""
        with open(self.path, "rb+") as file:
            os.fsync(file.fileno())
        final = self.final.with_name(self.final.name + suffix)
        os.replace(self.path, final)
        self._note.unlink(missing_ok=True)
        return final


# ---- Whether a file that was fetched is what was asked for, and all of it.


START_BYTES = 65_536


def digest_of(path: Path, algorithm: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def check_whole(path: Path, published: Checksum | None) -> Checksum:
    """Return the digest of a file; raise a FaultError if it is not the published one, or this is no whole FITS file."""
    refuse_page(path)
    algorithm = published.algorithm if published else "sha256"
    found = Checksum(algorithm, digest_of(path, algorithm))
    if published and found != published:
        raise FaultError("the checksum differs from the one that the archive publishes", passing=True)
    check_fits(path)
    return found


def refuse_page(path: Path) -> None:
    """Refuse a web page: archives send one with status 200 when a token is missing or a database is down."""
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


PARTIAL = 206
NOTHING_THERE = 416
RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")


@dataclass(frozen=True)
class Downloads:
    """Files of one archive into one folder."""

    web: Web
    folder: Path
    record: Record
    checksums: Checksums | None
    """None when they are not wanted."""

    def results(self, remote: RemoteFile) -> list[Result]:
        return [self.fetch(remote)]

    def fetch(self, remote: RemoteFile) -> Result:
        """Fetch a file from the first of its addresses that has it; a fault of the archive becomes a failed result."""
        there = self.record.already_there(remote)
        if there:
            return there
        address = ""
        try:
            for address in remote.addresses:
                try:
                    return self._fetch_file(remote, address)
                except FaultError as fault:
                    if not fault.absent or address == remote.addresses[-1]:
                        raise
            raise FaultError("no known address")
        except FaultError as fault:
            cause = Cause.ABSENT if fault.absent else Cause.FAULT
            return record_failure(remote.ids, self.web.hide(_reason(fault, remote)), remote.name, address, cause)

    def _fetch_file(self, remote: RemoteFile, address: str) -> Result:
        partial = Partial(self.folder / remote.name)

        def ask() -> Checksum:
            self._receive(address, partial, remote.most_bytes)
            published = self._published_checksum(remote, address)
            try:
                return check_whole(partial.path, published)
            except FaultError:
                partial.discard()  # going on from bytes that are wrong would never end well
                raise

        digest = self.web.patience.insist(ask, origin_of(address))
        zipped = is_gzip(partial.path) and not remote.name.endswith(".gz")
        path = partial.publish(".gz" if zipped else "")
        verified = self._published_checksum(remote, address) is not None
        name = path.relative_to(self.folder).as_posix()
        return Result(remote.ids, Outcome.FETCHED, name, address, "", path.stat().st_size, str(digest), verified)

    def _published_checksum(self, remote: RemoteFile, address: str) -> Checksum | None:
        return self.checksums.of(address, remote.checksums) if self.checksums else None

    def _receive(self, address: str, partial: Partial, most: int) -> None:
        """Receive all bytes of the file; after a break, only those that are missing, if the archive can go on."""
        n_here, validator = partial.length_of(address)
        headers = {"Range": f"bytes={n_here}-", "If-Range": validator} if n_here else {}
        try:
            with self.web.ask("GET", address, headers) as response:
                self._write(response, address, partial, n_here, most)
        except FaultError as fault:
            if n_here and fault.status == NOTHING_THERE:
                partial.discard()  # the archive has nothing after our bytes, so what they are is unknown
                raise FaultError(fault.reason, passing=True) from None
            raise

    def _write(self, response: Response, address: str, partial: Partial, n_here: int, most: int) -> None:
        goes_on = response.status == PARTIAL
        total = _total_of_range(response, n_here) if goes_on else length_of(response)
        if (total or 0) > most:
            raise too_long(most)
        if not goes_on or not n_here:
            partial.begin(address, _validator(response))
        with open(partial.path, "ab") as file:
            for piece in self.web.pieces(response, 2 * most):  # as they come, so that little is lost by a break
                file.write(piece)
                file.flush()
                if file.tell() > most:
                    partial.discard()
                    raise too_long(most)
        n_bytes = partial.path.stat().st_size
        if total is not None and n_bytes != total:
            raise FaultError(f"{n_bytes} of {total} bytes received", passing=True)


def _total_of_range(response: Response, n_here: int) -> int:
    """Read the length of the whole file from an answer that goes on after these bytes."""
    match = RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if not match or int(match[1]) != n_here:
        raise FaultError("the archive sent the wrong part of the file", passing=True)
    return int(match[2]) + 1 if match[3] == "*" else int(match[3])


def _validator(response: Response) -> str:
    """Return what names this state of the file to the archive; empty if nothing does so reliably."""
    tag = response.headers.get("ETag", "")
    # A weak tag (W/) may stay the same when bytes change, so ranges must not rely on it.
    if tag and not tag.startswith("W/"):
        return tag
    return response.headers.get("Last-Modified", "")


def _reason(fault: FaultError, remote: RemoteFile) -> str:
    n = len(remote.addresses)
    return f"{fault.reason}, at all {n} addresses" if fault.absent and n > 1 else fault.reason
