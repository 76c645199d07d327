"""Files read in a process of its own, under limits of memory and time, each outcome checked: for bombs and fuzzing.

Run as a program it is that process: it reads a path a line and answers each with one line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

MEMORY = 1 << 30
"""Bytes that reading one file may take, on top of what the libraries take by themselves."""
SECONDS = 10
"""That reading one file may take."""
START_SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    """stored : spectra; reasons, details : of the defects; died : how the process ended, if it did."""

    stored: int = 0
    reasons: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    died: str = ""
    wrong: str = ""
    """What must never be: an exception, or spectra that break their own rules."""


class WatchedReader:
    """Reads files one by one in a subprocess, which is started again when a file takes it down."""

    def __init__(
        self, memory: int = MEMORY, seconds: float = SECONDS, what: str = "spectra", format: str | None = None
    ) -> None:
        self._memory, self._seconds, self._what, self._format = memory, seconds, what, format
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, path: Path) -> Outcome:
        if self._process is None:
            self._start()
        process = self._process
        assert process and process.stdin and process.stdout
        try:
            process.stdin.write(f"{path}\n".encode())
            process.stdin.flush()
        except BrokenPipeError:
            return Outcome(died=self._end())
        answer = self._answer(self._seconds)
        if answer is None:
            return Outcome(died=self._end())
        return Outcome(**{key: tuple(value) if isinstance(value, list) else value for key, value in answer.items()})

    def _start(self) -> None:
        command = [sys.executable, __file__, str(self._memory), self._what, self._format or ""]
        # Arrow's own allocator reserves a GiB at once, whether it is used or not.
        environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        assert self._answer(START_SECONDS) == {}, "the reading process does not start"

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        assert self._process and self._process.stdout
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return None
        line = self._process.stdout.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def _end(self) -> str:
        """How the process ended: by itself, or because its time was up."""
        assert self._process
        process, self._process = self._process, None
        with suppress(subprocess.TimeoutExpired):
            return f"ended by {process.wait(0.5)}"
        process.kill()
        process.wait()
        return "timed out"

    def __enter__(self) -> WatchedReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()


# --- the process


def answer_to(path: str, what: str, format: str) -> dict[str, Any]:
    try:
        return _catalogue(path) if what == "catalogue" else _spectra(path, format or None)
    except Exception as error:
        return {"wrong": f"{type(error).__name__}: {error}"}


def _spectra(path: str, format: str | None) -> dict[str, Any]:
    from rarespec import formats
    from rarespec.spectrum import Defect, Reason, Spectra

    stored, defects, any_found = 0, [], False
    for found in formats.read_here(path, format):
        any_found = True
        if isinstance(found, Spectra):
            stored += len(found)
            _check(found)
        elif isinstance(found, Defect):
            assert found.detail and found.reason is not Reason.READER_CRASHED, found
            defects.append(found)
    assert any_found, "neither spectra nor a defect"
    return {
        "stored": stored,
        "reasons": [defect.reason.value for defect in defects[:5]],
        "details": [defect.detail[:300] for defect in defects[:5]],
    }


def _check(stack: Any) -> None:
    import numpy as np

    good = ~stack.bad
    assert stack.flux.shape == stack.bad.shape == (len(stack), len(stack.wavelength))
    assert (np.diff(stack.wavelength) > 0).all() and np.isfinite(stack.wavelength).all()
    assert np.isfinite(stack.flux[good]).all()
    assert stack.ivar is None or ((stack.ivar[good] > 0).all() and stack.ivar.shape == stack.flux.shape)
    assert all(type(id) is str and id for id in stack.ids)
    for name, values in stack.catalogue.items():
        assert name.encode() and len(values) == len(stack), name
        assert all(value is None or type(value) in (str, int, float, bool) for value in values), name
        assert all(type(value) is not str or value.encode() is not None for value in values), name


def _catalogue(path: str) -> dict[str, Any]:
    """As `--join` takes it."""
    from rarespec.formats.catalogue import read_catalogue
    from rarespec.spectrum import DefectError

    try:
        table = read_catalogue(path)
    except DefectError as error:
        return {"reasons": [error.reason.value], "details": [error.detail[:300]]}
    assert len(table) and "id" in table.column_names
    return {"stored": len(table)}


def _load_libraries() -> None:
    """So that their own memory is not taken for that of a file.

    Without specutils, which would guess a tenth of a second at each file that has become unrecognisable.
    """
    sys.modules["specutils"] = None  # type: ignore[assignment]
    import astropy.io.fits
    import astropy.io.votable  # noqa: F401
    import yaml  # type: ignore[import-untyped]  # noqa: F401
    from astropy.io import ascii  # noqa: F401

    from rarespec.formats.readers import READERS, reader_by_name

    for name in READERS:
        reader_by_name(name)


def _memory_in_use() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmData:")[1].split()[0])


def main() -> None:
    _load_libraries()
    limit = _memory_in_use() + int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print("{}", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer_to(line.rstrip("\n"), *sys.argv[2:])), flush=True)


if __name__ == "__main__":
    main()
