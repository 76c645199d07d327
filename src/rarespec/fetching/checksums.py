"""The checksums that archives publish: a list in each directory, read once."""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import unquote, urljoin

from rarespec.fetching.fault import FaultError
from rarespec.fetching.web import Web

ALGORITHMS = {"md5": 32, "sha1": 40, "sha256": 64, "sha512": 128}
"""Algorithm -> length of its digest in hexadecimal digits."""
LIST_BYTES = 16 << 20
"""A list has a line for each file of a directory."""
LINE = re.compile(r"\\?([0-9a-fA-F]{32,128})\s+[ *]?(?:\./)?(\S.*)")
LINK = re.compile(r"""href\s*=\s*["']?([^"'\s>?#]+)""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum as an archive publishes it, such as sha1 and its hexadecimal digits."""

    algorithm: str
    digest: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.digest}"


class Checksums:
    """Lists of checksums by their address. Threads that need the same list wait for the first of them to fetch it."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._lists: dict[str, Future[dict[str, Checksum]]] = {}
        self._lock = threading.Lock()

    def of(self, address: str, list_name: str) -> Checksum | None:
        """Find the checksum of the file at this address in the list beside it; None when none is published."""
        if not list_name:
            return None
        place = urljoin(address, list_name.replace("*", "%2A"))
        with self._lock:
            future, is_new = self._lists.get(place), place not in self._lists
            if future is None:
                future = self._lists[place] = Future()
        if is_new:
            self._fill(future, address, list_name)
        return future.result().get(address.rpartition("/")[2])

    def _fill(self, future: Future[dict[str, Checksum]], address: str, list_name: str) -> None:
        try:
            future.set_result(self._fetch_list(address, list_name))
        except BaseException as error:
            future.set_exception(error)

    def _fetch_list(self, address: str, list_name: str) -> dict[str, Checksum]:
        try:
            url = self._list_address(address, list_name)
            return parse_checksums(self._web.text("GET", url, LIST_BYTES)) if url else {}
        except FaultError as fault:
            if fault.passing:
                raise FaultError(f"cannot read the list of checksums: {fault.reason}", passing=False) from None
            return {}  # the archive has no such list, or shows it to nobody

    def _list_address(self, address: str, list_name: str) -> str | None:
        if "*" not in list_name:
            return urljoin(address, list_name)
        directory = urljoin(address, ".")
        links = map(unquote, LINK.findall(self._web.text("GET", directory, LIST_BYTES)))
        named = (link for link in links if "/" not in link.removeprefix("./") and fnmatchcase(link, list_name))
        return next((urljoin(directory, link) for link in named), None)


def parse_checksums(text: str) -> dict[str, Checksum]:
    """File name -> checksum, from the lines that sha1sum and its kin write; other lines are no checksums."""
    algorithm_of = {length: name for name, length in ALGORITHMS.items()}
    found: dict[str, Checksum] = {}
    for line in text.splitlines():
        match = LINE.fullmatch(line.strip())
        if match and len(match[1]) in algorithm_of:
            name = match[2].strip().rpartition("/")[2]
            found[name] = Checksum(algorithm_of[len(match[1])], match[1].lower())
    return found
