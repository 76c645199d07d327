"""Progress on standard error: a bar with rate and time left on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rarespec.cli.terminal import console, say
from rarespec.progress import Progress

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_DRAWS = 0.1


@contextmanager
def progress(what: str, unit: str) -> Iterator[Progress]:
    """A function to be called with how much is done; it is cheap to call often."""
    if sys.stderr.isatty():
        with _bar(what, unit) as show:
            yield _at_most_every(SECONDS_BETWEEN_DRAWS, show)
    else:
        yield _at_most_every(SECONDS_BETWEEN_LINES, _line(what, unit))


@contextmanager
def _bar(what: str, unit: str) -> Iterator[Progress]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    from rarespec.storage.text import printable

    started = time.monotonic()
    with Bars(*columns, console=console(stderr=True)) as bars:
        task = bars.add_task(what, total=None, note="", rate="")

        def show(done: int, total: int, note: str = "") -> None:
            rate = f"{done / max(time.monotonic() - started, 1e-9):.0f} {unit}/s"
            bars.update(task, completed=done, total=total, note=printable(note), rate=rate)

        yield show


def _line(what: str, unit: str) -> Progress:
    started = time.monotonic()

    def show(done: int, total: int, note: str = "") -> None:
        rate = done / max(time.monotonic() - started, 1e-9)
        left = f", {(total - done) / rate:.0f} s left" if rate else ""
        tail = f"; {note}" if note else ""
        say(f"{what}: {done} of {total} {unit}, {rate:.0f}/s{left}{tail}", err=True)

    return show


def _at_most_every(seconds: float, show: Progress) -> Progress:
    last = time.monotonic()

    def seldom(done: int, total: int, note: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds or done == total:
            last = now
            show(done, total, note)

    return seldom
