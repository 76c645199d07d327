"""What worker processes do in the tests; a module of its own, which they can import."""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.spectrum import Spectra
from rarespec.survey import Survey
from rarespec.survey.ingest.reading import IngestOptions, Outcome, outcomes_of


def slow_square(shared: int, item: int) -> int:
    time.sleep(0.02 * (item % 3))
    return shared + item * item


def fails_on_three(shared: None, item: int) -> int:
    if item == 3:
        raise ValueError("three")
    return item


class StrangeError(Exception):
    """Cannot be unpickled, like the exceptions of some libraries."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


def fails_strangely(shared: None, item: int) -> int:
    raise StrangeError(1, 2)


def dies_on_three(shared: None, item: int) -> int:
    print("a library that talks on standard output does not disturb the answers")
    if item == 3:
        os._exit(9)
    return item


def first_is_slow(shared: None, item: int) -> int:
    time.sleep(1.0 if item == 0 else 0.0)
    return item


def import_places(shared: None, item: int) -> list[str]:
    return [*sys.path, str(pickle.__file__)]


def count_to(shared: int, item: int) -> Iterator[tuple[int, int]]:
    """The numbers of this process, each with the process that gives it."""
    for number in range(item):
        yield shared + number, os.getpid()


def read_text(shared: None, item: str) -> Iterator[str]:
    yield Path(item).read_text()


def hang_after_two(shared: None, item: int) -> Iterator[int]:
    """In a library that does not return to Python."""
    yield from range(item)
    pattern = "(a|aa)+$"  # takes the age of the universe on this text
    import re

    yield int(bool(re.match(pattern, "a" * 200 + "b")))


def swallow_memory(shared: None, item: int) -> Iterator[int]:
    """As much as is asked for, touched."""
    yield int(np.ones(item, np.uint8).sum())


def answer_at_length(shared: None, item: int) -> Iterator[bytes]:
    yield bytes(item)


def repeat(shared: None, item: tuple[str, int]) -> Iterator[tuple[int, str]]:
    """Text at length, with the process that gives it; some text takes that process down, or too long."""
    text, times = item
    if text == "die":
        os._exit(9)
    if text == "hang":
        time.sleep(60)
    yield os.getpid(), text * times


def mistreated(options: IngestOptions, path: str) -> Iterator[Outcome]:
    """Reads like `outcomes_of`, but for files whose names say what they do to their reader."""
    name = Path(path).name
    if "dies" in name:
        os._exit(7)
    if "hangs" in name:
        yield from hang_after_two(None, 0)  # type: ignore[misc]
    if "swallows" in name:
        yield from swallow_memory(None, 1 << 40)  # type: ignore[misc]
    for outcome in outcomes_of(options, path):
        yield outcome
        if "midway" in name and isinstance(outcome, Spectra):
            os._exit(7)


def dies_at_42(options: IngestOptions, path: str) -> Iterator[Outcome]:
    """One file always takes its reader down."""
    if path.endswith("0042.fits"):
        os._exit(7)
    return outcomes_of(options, path)


def hang(shared: Any, path: str) -> Iterator[int]:
    return hang_after_two(None, 0)


def examples_that_die(shared: None, path: str) -> Iterator[Any]:
    os._exit(7)


def dies_on_catalogues(into: str, path: str) -> Iterator[Any]:
    os._exit(7)


def compute_features(path: Path, item: int) -> Any:
    from rarespec.features import PaperFeatures
    from rarespec.survey.features.computing import features_of

    return features_of(Survey.open(path), PaperFeatures(n_components=5, width_angstrom=30)).values


def append_many(path: Path, item: int) -> None:
    from conftest import SMALL_GRID, make_spectra  # with pytest, which takes longer than all that other functions need

    survey = Survey.open(path)
    for i in range(12):
        survey.append(make_spectra(30, SMALL_GRID, seed=i, prefix=f"m{i}-"))


def own_number(_, item):
    return os.getpid()
