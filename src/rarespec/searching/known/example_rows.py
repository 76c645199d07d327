"""Which spectra of a survey a table of examples means: by id first, then by position."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.crossmatch import Sky
from rarespec.searching.known.example_table import ExampleTable
from rarespec.survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa


# ---- The id of a survey that is most like one that is not in it.


COMPARED = 2000
"""Ids compared letter by letter at most: a million would take a minute."""


CUTOFF = 0.8
"""Share of letters in common, in order, from which on an id is worth a suggestion."""


class SimilarIds:
    """Suggestions for mistyped ids. Only ids that begin or end alike are compared."""

    def __init__(self, survey: Survey) -> None:
        self._ids: pa.ChunkedArray = survey.catalogue.arrow(["id"]).column(0)

    def like(self, id: str) -> str | None:
        """Find the most similar id, if any is similar."""
        import pyarrow.compute as pc

        starts = self._longest_shared(id, pc.starts_with, lambda n: id[:n])
        ends = self._longest_shared(id, pc.ends_with, lambda n: id[-n:])
        return next(iter(get_close_matches(id, list(dict.fromkeys(starts + ends)), 1, CUTOFF)), None)

    def _longest_shared(self, id: str, test: Callable[..., pa.Array], part: Callable[[int], str]) -> list[str]:
        """Find the ids that share the longest possible part of this one."""
        import pyarrow.compute as pc

        def is_absent(n: int) -> bool:
            return not pc.any(test(self._ids, pattern=part(n))).as_py()

        # An id that lacks the first n letters lacks the first n + 1 too.
        shared = bisect_left(range(1, len(id) + 1), True, key=is_absent)
        if not shared:
            return []
        found: list[str] = self._ids.filter(test(self._ids, pattern=part(shared))).slice(0, COMPARED).to_pylist()
        return found


# ---- example rows


SUGGESTIONS = 5
"""Unknown ids for which a similar one is looked up; each takes a moment in a large survey."""


DEGREES = "write degrees, or hours and degrees as in 12:34:56.7 +12:34:56"
HOURS = 24
ENOUGH_TO_ASK = 5
"""Right ascensions below 24 that are no accident."""
LONGEST_ID = 200
"""Characters of an id that a message shows: one may be as long as its file."""


class ExampleRows:
    """Looks examples up in one survey; what goes wrong is added to `problems`, a line each."""

    def __init__(self, survey: Survey, radius_arcsec: float, problems: list[str]) -> None:
        self.survey = survey
        self.radius = radius_arcsec
        self.problems = problems
        self._n_suggested = 0

    @cached_property
    def _similar(self) -> SimilarIds:
        return SimilarIds(self.survey)

    @cached_property
    def _sky(self) -> Sky:
        sky = Sky.of(self.survey)
        if sky.n_without == len(self.survey):
            self.problems.append(
                f"{self.survey.path}: its catalogue has no positions to match; ingest again with --join CATALOGUE"
            )
        elif sky.n_without:
            self.problems.append(f"spectra of the survey that have no position and cannot match: {sky.n_without}")
        return sky

    def of(self, table: ExampleTable) -> NDArray[np.intp]:
        """Find the row of each example of the table that is in the survey, in its order."""
        self.problems += table.problems
        ids, rows = self._by_id(table)
        has_position = np.isfinite(table.ra)
        by_position = np.flatnonzero((rows < 0) & has_position)
        rows[by_position] = self._by_position(table, ids, by_position)
        missing = np.flatnonzero((rows < 0) & ~has_position).tolist()
        self.problems += [self._why_missing(table, ids, i) for i in missing]
        return rows[rows >= 0]

    def _by_id(self, table: ExampleTable) -> tuple[list[str], NDArray[np.intp]]:
        """Choose the column of ids that the survey knows best; return its ids and their rows, -1 for unknown."""
        best = [""] * len(table), np.full(len(table), -1)
        for number, ids in enumerate(table.ids):
            rows = self.survey.rows_of(ids)
            if number == 0 or (rows >= 0).sum() > (best[1] >= 0).sum():
                best = ids, rows
        return best

    def _by_position(self, table: ExampleTable, ids: list[str], at: NDArray[np.intp]) -> NDArray[np.intp]:
        if not len(at):
            return np.empty(0, np.intp)
        near = self._sky.nearest(table.ra[at], table.dec[at])
        matched = near.arcsec <= self.radius
        self._ask_about_hours(table, at, matched)
        self._tell_of_ids(table, [ids[i] for i in at], matched)
        crowded = int((near.next_arcsec[matched] <= self.radius).sum())
        if crowded:
            several = f"positions with several spectra within {self.radius:g} arcsec: {crowded}"
            self.problems.append(f"{table.where}: {several}; using the nearest")
        for i in np.flatnonzero(~matched).tolist():
            nearest = self._nearest_in_words(int(near.rows[i]), float(near.arcsec[i]))
            self.problems.append(
                f"{_place(table, ids, int(at[i]))}: no spectrum within {self.radius:g} arcsec{nearest}"
            )
        return np.where(matched, near.rows, -1)

    def _ask_about_hours(self, table: ExampleTable, at: NDArray[np.intp], matched: NDArray[np.bool_]) -> None:
        """Ask where numbers without a unit match nothing, and would as hours: 24 of these make a circle."""
        if not table.bare_numbers or matched.any() or not (table.ra[at] < HOURS).all():
            return
        near = self._sky.nearest(15 * table.ra[at], table.dec[at])
        n = int((near.arcsec <= self.radius).sum())
        if n or len(at) >= ENOUGH_TO_ASK:
            found = f"{n} of {len(at)} match a spectrum as hours" if n else f"all {len(at)} are below 24"
            self.problems.append(
                f"{table.where}: are its right ascensions in hours? None matches in degrees, {found}. "
                "If so, call the column ra_hours, or give it a unit"
            )

    def _tell_of_ids(self, table: ExampleTable, ids: list[str], matched: NDArray[np.bool_]) -> None:
        unknown = np.array([bool(id) for id in ids])
        if unknown.any():
            counts = f"{unknown.sum()}, {(unknown & matched).sum()} of them found by position"
            self.problems.append(f"{table.where}: ids that are not in the survey: {counts}")

    def _nearest_in_words(self, row: int, arcsec: float) -> str:
        return f"; the nearest, {self.survey.ids[row]}, is {_distance(arcsec)} away" if row >= 0 else ""

    def _why_missing(self, table: ExampleTable, ids: list[str], i: int) -> str:
        if not ids[i] and not table.unread[i]:
            return f"{table.where}, row {i + 1}: neither an id nor a position"
        where = f"{table.where}, row {i + 1}: " if table.where else ""
        no_id = f"no spectrum has the id {ids[i][:LONGEST_ID]!r}{self._suggestion(ids[i])}" if ids[i] else ""
        no_place = f"cannot read its position; {DEGREES}" if table.unread[i] else ""
        return where + "; and ".join(filter(None, (no_place, no_id)))  # which may end with a question

    def _suggestion(self, id: str) -> str:
        self._n_suggested += 1
        similar = self._similar.like(id) if self._n_suggested <= SUGGESTIONS else None
        return f"; did you mean {similar!r}?" if similar else ""


def _place(table: ExampleTable, ids: list[str], i: int) -> str:
    named = f"{ids[i]}, " if ids[i] else ""
    return f"{table.where}, row {i + 1} ({named}{table.ra[i]:.5f} {table.dec[i]:+.5f})"


def _distance(arcsec: float) -> str:
    if arcsec < 60:
        return f"{arcsec:.1f} arcsec"
    return f"{arcsec / 60:.1f} arcmin" if arcsec < 3600 else f"{arcsec / 3600:.1f} degrees"
