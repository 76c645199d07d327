"""Counts, what remains, and what is suggested."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rarespec.labels.campaign_progress import RECENT, progress_of
from rarespec.labels.event import Label

YES, NO, UNSURE, BAD = Label


def ranking_with(precision: list[float], total: tuple[float, float, float] | None) -> Any:
    """A list of candidates "0", "1", ... with these chances, and low, middle and high of all there are."""
    chances = np.array(precision)
    low, middle, high = total or (0.0, np.nan, 100.0)
    curve = SimpleNamespace(
        chance=chances,
        can_tell=total is not None,
        why="There is no estimate.",
        n_total=middle,
        n_total_low=low,
        n_total_high=high,
        stopping_rank=int((chances >= 0.1).sum()) if total else None,
    )
    return SimpleNamespace(table={"id": np.arange(len(chances)).astype(str)}, yield_curve=curve, n_listed=150)


RICH = ranking_with([0.9] * 20 + [0.01] * 80, (10.0, 20.0, 40.0))
POOR = ranking_with([0.05] * 10 + [0.01] * 90, (0.0, 0.5, 4.0))
SILENT = ranking_with([np.nan] * 100, None)


def looked(n_no: int, n_yes: int = 0) -> dict[str, Label]:
    return {f"yes {i}": YES for i in range(n_yes)} | {f"no {i}": NO for i in range(n_no)}


def test_labels_are_counted() -> None:
    said = progress_of(RICH, {"a": YES, "b": YES, "c": NO, "d": UNSURE, "e": BAD, "f": NO, "g": NO})
    assert (said.inspected, said.found, said.unsure, said.bad, said.refused) == (7, 2, 1, 1, 3)


def test_what_the_ranking_has_left_out_already_is_not_counted_twice() -> None:
    assert progress_of(RICH, looked(5)).expected_remaining == (10.0, 20.0, 40.0)


def test_what_was_looked_at_since_is_taken_off() -> None:
    low, middle, high = progress_of(RICH, {str(i): NO for i in range(10)}).expected_remaining or (0, 0, 0)
    assert middle == pytest.approx(20 - 9) and (low, high) == (5, 22)


def test_it_is_none_where_nothing_can_be_told() -> None:
    said = progress_of(SILENT, looked(1))
    assert said.expected_remaining is None and said.suggestion == "Continue. There is no estimate."


@pytest.mark.parametrize(
    ("ranking", "labels", "begins"),
    [
        (RICH, {}, "Continue: the next 20 are worth a look."),
        (RICH, looked(RECENT - 1), "Continue"),
        (RICH, looked(RECENT), f"Few are left: none of your last {RECENT} labels are yes."),
        (RICH, looked(RECENT - 2, 2), f"Few are left: 2 of your last {RECENT} labels are yes"),
        (RICH, looked(RECENT - 3, 3), "Continue"),
        (POOR, looked(3), "Few are left: fewer than one in ten of the next"),
        (POOR, looked(9, 1), "Continue: 1 of your last 10 labels is yes"),
        (POOR, looked(RECENT), f"Stop: none of your last {RECENT} labels are yes"),
        (POOR, looked(RECENT - 1, 1), "Few are left: 1 of your last"),
        (RICH, {str(i): YES for i in range(100)}, "Re-rank for more: every candidate in the list"),
        (SILENT, looked(RECENT), "Few are left, or this ranking does not find them"),
    ],
)
def test_suggestions(ranking: Any, labels: dict[str, Label], begins: str) -> None:
    assert progress_of(ranking, labels).suggestion.startswith(begins)
