"""What a report says of a search in words, on the page and on paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from rarespec.searching.ranking import Ranking
from rarespec.storage.text import end_sentence, printable, thousands


def describe_search(ranking: Ranking, n_shown: int) -> str:
    """What was searched for and where, in one sentence."""
    known = count(int(ranking.rows.known.sum()), "known example")
    best = "one is" if n_shown == 1 else f"{thousands(n_shown)} are"
    return (
        f"Starting from {known}, the method {ranking.method} ranked {thousands(ranking.n_listed)} spectra of "
        f"{text(ranking.survey.path.name)}. The best {best} shown here."
    )


def describe_yield(ranking: Ranking) -> str:
    """How many true objects are expected down to where it is worth looking, in one sentence."""
    curve = ranking.yield_curve
    if not curve.can_tell:
        return "There is no estimate of how many are true."
    if not curve.stopping_rank:
        return "Even at the top of the list, fewer than one in ten is expected to be a true object."
    depth = min(curve.stopping_rank, len(curve.expected))
    number, low, high = (f"{float(array[depth - 1]):.0f}" for array in (curve.expected, curve.low, curve.high))
    expected = f"about {number} ({low} to {high}) are expected to be true"
    return f"Of the first {thousands(depth)}, {expected}; stop there."


def text(value: object) -> str:
    """Of a catalogue or a person: control characters and halves of letters are written out."""
    return printable(str(value))


def sentence(words: str) -> str:
    """With a capital letter and a full stop."""
    said = text(words)
    return end_sentence(f"{said[:1].upper()}{said[1:]}")


def number_or(value: Any, form: str, otherwise: str = "unknown") -> str:
    return format(float(value), form) if np.isfinite(float(value)) else otherwise


def count(number: int, thing: str) -> str:
    return f"{'one' if number == 1 else thousands(number)} {thing}{'' if number == 1 else 's'}"
