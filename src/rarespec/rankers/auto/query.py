"""What every part of Auto is given: the rows in their own space, and which known ones are hidden in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.auto.rows import Prepared, Wide, without_steps
from rarespec.rankers.ranker import Flags

MAX_HIDDEN = 10
"""Known rows that are hidden in turn, at most."""

MAX_COMPARED = 20_000
"""Unlabelled rows among which the places of hidden ones are counted."""

N_DRAWN = 100_000
"""Rows of all kinds from which the other parts learn."""


@dataclass(frozen=True, eq=False)
class Query:
    """Row numbers refer to the rows that were prepared."""

    ready: Prepared
    known: NDArray[np.intp]
    """One row of each group of equal ones."""
    known_copies: NDArray[np.intp]
    """All known rows."""
    refused: NDArray[np.intp]
    """Rows known not to be of the kind."""
    unlabelled: NDArray[np.intp]
    hidden: NDArray[np.intp]
    """Known rows that are hidden in turn; none when only one is known."""
    compared: NDArray[np.intp]
    """Unlabelled rows among which hidden ones are placed."""
    rng: np.random.Generator
    seed: int

    def left_over(self) -> list[NDArray[np.intp]]:
        """List the known rows that are left when each hidden one is hidden."""
        return [self.known[self.known != row] for row in self.hidden]

    def places(self, compared: NDArray[np.floating], hidden: NDArray[np.floating]) -> NDArray[np.float64]:
        """Place each hidden row among all unlabelled ones, (h,); `compared` has scores (c, h), or (c,) for all."""
        before = (compared.reshape(len(compared), -1) > hidden).sum(axis=0) if len(hidden) else np.empty(0)
        return 1 + before * (len(self.unlabelled) / len(compared))


def query_of(ready: Prepared, known: Flags, refused: Flags, seed: int) -> Query:
    """Choose which known rows to hide in turn, and the unlabelled rows to place them among.

    Parameters
    ----------
    ready : Prepared
        The n rows.
    known : (n,) bool
        Which rows are known examples; at least one is.
    refused : (n,) bool
        Which rows are known not to be of the kind.
    seed : int
        Seed of the choice, and of whatever the parts draw later.

    Returns
    -------
    Query
        Row numbers into the n rows. Equal known rows are taken once, and nothing is hidden when only one is left.
    """
    rng = np.random.default_rng(seed)
    unlabelled, copies = np.flatnonzero(~known & ~refused), np.flatnonzero(known)
    # a copy of an example would find it when it is hidden, however poor the ranking
    rows = copies[np.sort(np.unique(ready.X[copies], axis=0, return_index=True)[1])]
    return Query(
        ready=ready,
        known=rows,
        known_copies=copies,
        refused=np.flatnonzero(refused),
        unlabelled=unlabelled,
        hidden=some(rows, MAX_HIDDEN, rng) if len(rows) > 1 else rows[:0],
        compared=some(unlabelled, MAX_COMPARED, rng),
        rng=rng,
        seed=seed,
    )


def some(rows: NDArray[np.intp], n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw n of these rows, or take all when there are no more.

    Parameters
    ----------
    rows : (m,) int
        Row numbers, rising.
    n : int
        Rows to draw, at most.
    rng : numpy.random.Generator
        Draws without repetition.

    Returns
    -------
    (min(m, n),) int
        Row numbers, rising.
    """
    return rows if len(rows) <= n else np.sort(rng.choice(rows, n, replace=False))


def wide_query(wide: Wide, known: Flags, refused: Flags, seed: int) -> tuple[Query, NDArray[np.intp]]:
    """Make a query on a random draw of a large survey and on all its labelled rows.

    Parameters
    ----------
    wide : Wide
        All n rows, more than N_DRAWN.
    known : (n,) bool
        Which rows are known examples.
    refused : (n,) bool
        Which rows are known not to be of the kind.
    seed : int
        Seed of the draw and of the query.

    Returns
    -------
    query : Query
        Row numbers into the r rows that take part.
    rows : (r,) int
        Which of the n rows these are, rising.
    """
    drawn = np.random.default_rng(seed).choice(len(wide.X), N_DRAWN, replace=False)
    rows = np.union1d(drawn, np.flatnonzero(known | refused))
    return query_of(without_steps(wide.X[rows], wide.space), known[rows], refused[rows], seed), rows


def query_among(near: NDArray[np.intp], query: Query, rows: NDArray[np.intp], unlabelled: Flags) -> Query:
    """Translate a query into the numbers of other rows, for walks.

    Parameters
    ----------
    near : (m,) int
        Numbers, among all n rows, of the rows to translate to. They rise and hold every labelled row.
    query : Query
        A query on the rows `rows`.
    rows : (r,) int
        Numbers, among all n rows, of the rows that the query was made on.
    unlabelled : (n,) bool
        Which of all rows carry no label.

    Returns
    -------
    Query
        Row numbers into `near`; `ready` and `compared` are left as they were.
    """

    def there(here: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.searchsorted(near, rows[here])

    # `ready` and `compared` stay as they are: `walk_scores` looks at neither
    return replace(
        query,
        known=there(query.known),
        known_copies=there(query.known_copies),
        refused=there(query.refused),
        hidden=there(query.hidden),
        unlabelled=np.flatnonzero(unlabelled[near]),
    )
