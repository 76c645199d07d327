"""Auto on more rows than a graph is built for.

"spread" needs only those rows that it reaches from the known ones, and builds only their part of the graph. The other
parts learn from a sample of all rows, in which the common is as common as it is, and score every row by itself.
"""

from __future__ import annotations

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
from rarespec.rankers._faiss_neighbours import FaissSearch
from rarespec.rankers._known import Rows
from rarespec.rankers._row_identity import row_digests
from rarespec.rankers._signal import joined
from rarespec.rankers._signal_space import RECALL, SignalSpace

N_REACHED, N_ALIKE = 20_000, 40_000
"""Rows that are joined in a graph: those reached from the known ones, and those most alike to them."""

N_DRAWN = 100_000
"""Rows of all kinds from which the other parts learn."""

N_SAMPLE = 300
"""Rows on which the recall of the search for neighbours is measured."""

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
    _search: FaissSearch | None = field(default=None, repr=False)
    _last: Surroundings | None = field(default=None, repr=False)

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
        order = np.arange(len(self.X))
        if self._search is None:
            sample = self._units[np.random.default_rng(0).choice(order, N_SAMPLE, replace=False)]
            k = n_neighbours(len(self.X)) + 1
            settings: dict[str, Any] = {"own_first": True, "target_recall": RECALL, "seed": 0}
            self._search = FaissSearch(self._units, np.argsort(row_digests(self._units)), sample, k, **settings)
        search = self._search
        return reached(known, N_REACHED, lambda rows: search.nearest(self._units[rows], np.arange(len(rows))))

    def _alike(self, known: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those most alike to any of the known: edges that lead from them to the known are not found from the known."""
        alike = (self._units @ self._units[known].T).max(axis=1)
        return np.argpartition(-alike, N_ALIKE)[:N_ALIKE]

    @cached_property
    def _units(self) -> NDArray[np.float32]:
        return self.space.unit_rows(self.space.all_whitened(self.X))


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
