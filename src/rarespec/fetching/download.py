"""One file from an archive onto the disk: whole and checked under its name, or not at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rarespec.fetching.bounded import too_long
from rarespec.fetching.checksums import Checksum, Checksums
from rarespec.fetching.fault import FaultError
from rarespec.fetching.outcome import Cause, Outcome, Result, failed
from rarespec.fetching.partial import Partial
from rarespec.fetching.record import Record
from rarespec.fetching.secret import origin_of
from rarespec.fetching.wanted import Wanted
from rarespec.fetching.web import Response, Web, length_of
from rarespec.fetching.whole import check_whole, is_gzip

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

    def results(self, wanted: Wanted) -> list[Result]:
        return [self.fetch(wanted)]

    def fetch(self, wanted: Wanted) -> Result:
        """Never raises for a fault of the archive; the addresses are asked in their order."""
        there = self.record.already_there(wanted)
        if there:
            return there
        address = ""
        try:
            for address in wanted.addresses:
                try:
                    return self._fetched(wanted, address)
                except FaultError as fault:
                    if not fault.absent or address == wanted.addresses[-1]:
                        raise
            raise FaultError("no known address")
        except FaultError as fault:
            cause = Cause.ABSENT if fault.absent else Cause.FAULT
            return failed(wanted.asked, self.web.hidden(_reason(fault, wanted)), wanted.name, address, cause)

    def _fetched(self, wanted: Wanted, address: str) -> Result:
        partial = Partial(self.folder / wanted.name)

        def ask() -> Checksum:
            self._receive(address, partial, wanted.most_bytes)
            published = self._published(wanted, address)
            try:
                return check_whole(partial.path, published)
            except FaultError:
                partial.discard()  # going on from bytes that are wrong would never end well
                raise

        digest = self.web.patience.insist(ask, origin_of(address))
        zipped = is_gzip(partial.path) and not wanted.name.endswith(".gz")
        path = partial.publish(".gz" if zipped else "")
        verified = self._published(wanted, address) is not None
        name = path.relative_to(self.folder).as_posix()
        return Result(wanted.asked, Outcome.FETCHED, name, address, "", path.stat().st_size, str(digest), verified)

    def _published(self, wanted: Wanted, address: str) -> Checksum | None:
        return self.checksums.of(address, wanted.checksums) if self.checksums else None

    def _receive(self, address: str, partial: Partial, most: int) -> None:
        """All bytes of the file, those that came before a break not again where the archive can go on."""
        n_here, validator = partial.length_of(address)
        headers = {"Range": f"bytes={n_here}-", "If-Range": validator} if n_here else {}
        try:
            with self.web.asked("GET", address, headers) as response:
                self._write(response, address, partial, n_here, most)
        except FaultError as fault:
            if n_here and fault.status == NOTHING_THERE:
                partial.discard()  # whatever these bytes are, it cannot be told
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
    """The length of the whole file, when the answer goes on after these bytes."""
    match = RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if not match or int(match[1]) != n_here:
        raise FaultError("the archive sent the wrong part of the file", passing=True)
    return int(match[2]) + 1 if match[3] == "*" else int(match[3])


def _validator(response: Response) -> str:
    """What names this state of the file to the archive later; empty when nothing does so surely."""
    tag = response.headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        return tag
    return response.headers.get("Last-Modified", "")


def _reason(fault: FaultError, wanted: Wanted) -> str:
    n = len(wanted.addresses)
    return f"{fault.reason}, at all {n} addresses" if fault.absent and n > 1 else fault.reason
