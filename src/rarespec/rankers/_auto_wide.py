"""Auto on more rows than a graph is built for.

"spread" needs only those rows that it reaches from the known ones, and builds only their part of the graph. The other
parts learn from a sample of all rows, in which the common is as common as it is, and score every row by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers._auto_crawl import reached
from rarespec.rankers._auto_edges import n_neighbours, spreading
from rarespec.rankers._auto_filters import expanded_direction
from rarespec.rankers._auto_kept_rows import KeptRows
from rarespec.rankers._auto_parts import Parts
from rarespec.rankers._auto_prepared import same_rows, without_edges
from rarespec.rankers._auto_push import push_weights
from rarespec.rankers._auto_query import Query, query_of
from rarespec.rankers._auto_spread import spread_scores
from rarespec.rankers._auto_unusual import unusualness
from rarespec.rankers._faiss_neighbours import FaissSearch
from rarespec.rankers._known import Rows
from rarespec.rankers._linear import BLOCK_ROWS
from rarespec.rankers._ranker import Scores
from rarespec.rankers._signal import joined
from rarespec.rankers._signal_space import SignalSpace
from rarespec.rankers._unit_rows import unit_rows

N_REACHED, N_ALIKE = 10_000, 40_000
"""Rows that are joined in a graph: those reached from the known ones, and those most alike to them."""

N_DRAWN = 100_000
"""Rows of all kinds from which the other parts learn."""

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The rows reached from some known ones, and how they hang together."""

    known: NDArray[np.intp]
    rows: NDArray[np.intp]
    """Rising."""
    units: NDArray[np.float32]
    edges: csr_array


@dataclass(eq=False)
class Wide:
    """Many rows in the survey's own space, and the surroundings of what was known last."""

    X: Rows
    space: SignalSpace
    cells: Mapping[str, NDArray[Any]] = field(repr=False)
    _last: Surroundings | None = field(default=None, repr=False)

    @cached_property
    def unusual(self) -> Scores:
        """How unusual each row is, (n,)."""
        return unusualness(self.X, self.space)

    def is_of(self, X: Rows) -> bool:
        return same_rows(X, self.X)

    def surroundings(self, known: Marks, refused: Marks) -> Surroundings:
        """While more and more of them become known, as in a campaign, they stay the same."""
        labelled, last = np.flatnonzero(known | refused), self._last
        if last is None or not known[last.known].all() or not np.isin(labelled, last.rows).all():
            known_rows = np.flatnonzero(known)
            rows = np.union1d(np.union1d(self._reached(known_rows), self._alike(known_rows)), labelled)
            units = self._units[rows]
            self._last = last = Surroundings(np.flatnonzero(known), rows, units, spreading(joined(units, len(self.X))))
        return last

    def _reached(self, known: NDArray[np.intp]) -> NDArray[np.intp]:
        return reached(known, N_REACHED, lambda rows: self._search.nearest(self._units[rows], np.arange(len(rows))))

    @cached_property
    def _search(self) -> FaissSearch:
        return FaissSearch.restored(self._units, n_neighbours(len(self.X)) + 1, self.cells)

    def _alike(self, known: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those most alike to any of the known: edges that lead from them to the known are not found from the known."""
        units, examples, alike = self._units, self._units[known], np.empty(len(self.X), np.float32)
        for start in range(0, len(alike), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            alike[block] = (units[block] @ examples.T).max(axis=1)
        return np.argpartition(-alike, N_ALIKE)[:N_ALIKE]

    @property
    def _units(self) -> Rows:
        return unit_rows(self.X, self.space)


def wide_query(wide: Wide, known: Marks, refused: Marks, seed: int) -> tuple[Query, NDArray[np.intp]]:
    """On rows that are drawn and all labelled ones; and which rows these are, rising."""
    drawn = np.random.default_rng(seed).choice(len(wide.X), N_DRAWN, replace=False)
    rows = np.union1d(drawn, np.flatnonzero(known | refused))
    return query_of(without_edges(wide.X[rows], wide.space), known[rows], refused[rows], seed), rows


def wide_parts(wide: Wide, query: Query, rows: NDArray[np.intp], known: Marks, refused: Marks, balanced: bool) -> Parts:
    """`query` is on these rows; the places of hidden ones are those among all."""
    near, unlabelled = wide.surroundings(known, refused), ~known & ~refused
    directions = {"expanded": expanded_direction(query), "push": push_weights(query)}
    scale = unlabelled.sum() / len(query.unlabelled)
    places = {name: 1 + scale * (found - 1) for name, (_, found) in directions.items()}
    found, places["spread"] = spread_scores(_among(near.rows, query, rows, unlabelled), near.edges, balanced)
    spread = np.zeros(len(wide.X))
    spread[near.rows] = found
    return Parts(
        directions={name: direction for name, (direction, _) in directions.items()},
        whole={"spread": spread},
        kept={"spread": KeptRows.of(near.units, found, query.rng)},
        places=places,
    )


def _among(near: NDArray[np.intp], query: Query, rows: NDArray[np.intp], unlabelled: Marks) -> Query:
    """The same query in the numbers of other rows, which hold all labelled ones."""

    def there(here: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.searchsorted(near, rows[here])

    return replace(
        query,
        known=there(query.known),
        known_copies=there(query.known_copies),
        refused=there(query.refused),
        hidden=there(query.hidden),
        unlabelled=np.flatnonzero(unlabelled[near]),
    )
