"""The id of a survey that is most like one that is not in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from rarespec.survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa

COMPARED = 2000
"""Ids compared letter by letter at most: a million would take a minute."""


CUTOFF = 0.8
"""Share of letters in common, in order, from which on an id is worth a suggestion."""


class SimilarIds:
    """Suggestions for mistyped ids. Only ids that begin or end alike are compared."""

    def __init__(self, survey: Survey) -> None:
        self._ids: pa.ChunkedArray = survey.catalogue.arrow(["id"]).column(0)

    def like(self, id: str) -> str | None:
        """The most similar id, if one is similar at all."""
        import pyarrow.compute as pc

        starts = self._longest_shared(id, pc.starts_with, lambda n: id[:n])
        ends = self._longest_shared(id, pc.ends_with, lambda n: id[-n:])
        return next(iter(get_close_matches(id, list(dict.fromkeys(starts + ends)), 1, CUTOFF)), None)

    def _longest_shared(self, id: str, test: Callable[..., pa.Array], part: Callable[[int], str]) -> list[str]:
        """Ids that share the longest possible part of this one."""
        import pyarrow.compute as pc

        def is_absent(n: int) -> bool:
            return not pc.any(test(self._ids, pattern=part(n))).as_py()

        # An id that lacks the first n letters lacks the first n + 1 too.
        shared = bisect_left(range(1, len(id) + 1), True, key=is_absent)
        if not shared:
            return []
        found: list[str] = self._ids.filter(test(self._ids, pattern=part(shared))).slice(0, COMPARED).to_pylist()
        return found
