"""A file on its way: under a hidden name of its own until it is whole, with what is needed to go on after a break."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarespec.whole_file import write_whole


@dataclass(frozen=True)
class Version:
    """Which state of which file the bytes are of, as the archive names it (ETag or Last-Modified)."""

    address: str
    validator: str


class Partial:
    """The bytes of a file that have come so far. The name starts with a dot: no ingest takes it for a spectrum."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.path = final.with_name(f".{final.name}.part")
        self._note = final.with_name(f".{final.name}.part.json")

    def length_of(self, address: str) -> tuple[int, str]:
        """How many bytes of the file at this address are here, and of which state of it; 0 when that is not known."""
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
        """Start from nothing. Without a validator a break cannot be mended, and no note is made."""
        self.discard()
        self.final.parent.mkdir(parents=True, exist_ok=True)
        if validator:
            write_whole(self._note, json.dumps({"address": address, "validator": validator}).encode())
        self.path.touch()

    def discard(self) -> None:
        self._note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def publish(self, suffix: str = "") -> Path:
        """Give the file its name, on the disk before the name is there."""
        with open(self.path, "rb+") as file:
            os.fsync(file.fileno())
        final = self.final.with_name(self.final.name + suffix)
        os.replace(self.path, final)
        self._note.unlink(missing_ok=True)
        return final
