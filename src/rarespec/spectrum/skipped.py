"""Rows that a reader leaves out on purpose, such as sky fibres. Not a defect: nothing is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many rows of a file hold no target spectrum, and why; counted and reported, never dropped in silence."""

    source: str
    reason: str
    count: int
