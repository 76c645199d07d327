"""The parts of Auto, and what each has learned for one query.

- "signal": walks from neighbour to neighbour in the space of signal, where noise and the common differences between
  spectra are out of the way; see `walks.py`.
- "given": the same in the features as given. Whitening hides a kind that differs where the survey varies much anyway.
- "expanded": the mean of the known and of the best candidates, where rows are whitened in part. A row scores
  z . w / |z|^1/2, half-way between the discriminant, which lets extreme rows come first, and the cosine, which lets
  rows of pure noise come as high as strong ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import compute_ahead
from rarespec.rankers.auto.query import Query, query_among, query_of, wide_query
from rarespec.rankers.auto.rows import Prepared, Wide
from rarespec.rankers.auto.signal import root_lengths
from rarespec.rankers.auto.walks import FarAndNear, Walks, far_and_near, walk_scores
from rarespec.rankers.neighbours.neighbour_graph import neighbours_of
from rarespec.rankers.ranker import Flags, Scores
from rarespec.rankers.rows import Rows

CANDIDATE_SHARES = (1 / 3000, 1 / 1000, 1 / 300, 1 / 300, 1 / 300)
"""Of the unlabelled rows, the best of which are added to the known, one round after the other.

First a few, which are like the known, then about as many as there are of what is looked for.
"""

CANDIDATES_COUNT_AS = 10
"""Known examples: so that they weigh less the more are known."""

N_LEADS = 5
"""Unlabelled rows, the first under "expanded", that walks may take for known where one example is known."""

MAX_KEPT = 10_000
"""Rows that are kept: half of them the best, the others drawn."""

N_NEAREST, SAME = 5, 1e-6
"""Kept rows whose scores a new row takes the mean of; the distance below which it is one of them."""

Direction = NDArray[np.float64]


@dataclass(frozen=True)
class KeptRows:
    """Rows with their scores, among which new ones are placed."""

    rows: Rows
    scores: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows, scores: NDArray[np.float64], rng: np.random.Generator) -> KeptRows:
        """Keep all rows, or of more than MAX_KEPT the best half and a random draw of the others.

        Parameters
        ----------
        rows : (n, d) array
            Rows in the space in which neighbours are looked for.
        scores : (n,) float64
            Their scores, the higher the better.
        rng : numpy.random.Generator
            Draws the rows that are not among the best; it is not used where all rows fit.

        Returns
        -------
        KeptRows
            The rows and scores, in their old order.
        """
        if len(rows) <= MAX_KEPT:
            return cls(rows, scores)
        best_first = np.argpartition(-scores, MAX_KEPT // 2)
        best, others = best_first[: MAX_KEPT // 2], best_first[MAX_KEPT // 2 :]
        kept = np.sort(np.concatenate([best, rng.choice(others, MAX_KEPT // 2, replace=False)]))
        return cls(rows[kept], scores[kept])

    def scores_of(self, rows: Rows) -> NDArray[np.float64]:
        """Score new rows by the mean of the nearest kept ones, the nearer the more, (n,); kept rows have their own."""
        indices, distances = neighbours_of(self.rows, rows, min(N_NEAREST, len(self.rows)))
        closeness = np.maximum(distances, SAME) ** -2.0
        mean = (self.scores[indices] * closeness).sum(axis=1) / closeness.sum(axis=1)
        return np.where(distances[:, 0] < SAME, self.scores[indices[:, 0]], mean)


@dataclass(frozen=True, eq=False)
class Parts:
    """By the name of the part."""

    directions: dict[str, NDArray[np.float64]]
    """Of those that score each row by itself, (d,)."""
    whole: dict[str, Scores]
    """Scores of all rows, (n,), under those that find them as a whole."""
    kept: dict[str, KeptRows]
    """Rows of these among which new ones are placed."""
    places: dict[str, NDArray[np.float64]]
    """Places of hidden rows under every part, (h,)."""
    returns: float
    """Chance that a walk from a known row, in the space of signal, comes back to a known one."""


@dataclass(frozen=True, eq=False)
class Begun:
    """A query on rows that are all joined, up to where walks follow it further."""

    query: Query
    direction: Direction
    """Of "expanded"."""
    hidden_places: NDArray[np.float64]
    """Under "expanded"."""
    leads: NDArray[np.intp]
    far: Mapping[str, FarAndNear] = field(default_factory=dict)
    """Part -> what its walks found in a few steps from everywhere; filled when several queries begin together."""


def begin_query(ready: Prepared, known: Flags, refused: Flags, seed: int) -> Begun:
    """Let "expanded" learn, which walks may start from.

    Parameters
    ----------
    ready : Prepared
        All n rows, prepared once for all queries.
    known : (n,) bool
        Which rows are known examples.
    refused : (n,) bool
        Which rows are known not to be of the kind.
    seed : int
        Seed of every random draw.

    Returns
    -------
    Begun
        The query, to go on with.
    """
    query = query_of(ready, known, refused, seed)
    return Begun(query, *expand_direction(query))


def begin_together(
    ready: Prepared, queries: Sequence[tuple[Flags, Flags]], seed: int, n_threads: int = 1
) -> list[Begun]:
    """Begin several queries, with the first steps of their walks taken at once: the graph is read once for all.

    Parameters
    ----------
    ready : Prepared
        All n rows.
    queries : sequence of pairs of (n,) bool
        Known and refused rows of each query.
    seed : int
        Of each query.
    n_threads : int, optional
        How many threads to work in.

    Returns
    -------
    list of Begun
        One for each query; what is learned from it is the same as from `begin_query`.
    """
    begun = list(compute_ahead(lambda one: begin_query(ready, *one, seed), queries, n_threads))
    starts = [(one.query, one.leads) for one in begun]
    far = compute_ahead(lambda steps: far_and_near(steps, starts), ready.steps.values(), n_threads)
    by_part = dict(zip(ready.steps, far, strict=True))
    return [replace(one, far={name: found[i] for name, found in by_part.items()}) for i, one in enumerate(begun)]


def parts_of(begun: Begun) -> Parts:
    """Let every part learn, where the rows prepared are all rows."""
    query, ready = begun.query, begun.query.ready
    walks = {name: walk_scores(query, steps, begun.leads, begun.far.get(name)) for name, steps in ready.steps.items()}
    rows = {"signal": ready.units, "given": ready.X}
    kept = {name: KeptRows.of(rows[name], found.scores, query.rng) for name, found in walks.items()}
    scores = {name: found.scores for name, found in walks.items()}
    return _put_together(begun.direction, begun.hidden_places, walks, scores, kept)


def wide_parts(wide: Wide, known: Flags, refused: Flags, seed: int) -> tuple[Query, Parts]:
    """Let every part learn, of rows that are too many to be joined.

    Parameters
    ----------
    wide : Wide
        All n rows.
    known : (n,) bool
        Which rows are known examples.
    refused : (n,) bool
        Which rows are known not to be of the kind.
    seed : int
        Seed of every random draw.

    Returns
    -------
    query : Query
        The query; its row numbers refer to the rows that were drawn.
    parts : Parts
        What each part learned. Its scores and places refer to all n rows.
    """
    query, rows = wide_query(wide, known, refused, seed)
    return query, _wide_parts(wide, query, rows, known, refused)


def _wide_parts(wide: Wide, query: Query, rows: NDArray[np.intp], known: Flags, refused: Flags) -> Parts:
    """`query` is on these rows; the places of hidden ones are those among all."""
    direction, hidden_places, leads = expand_direction(query)
    near, unlabelled = wide.surroundings(known, rows[leads], np.flatnonzero(refused)), ~known & ~refused
    # hidden rows were placed among the drawn ones only: there are `scale` times as many unlabelled ones in all
    scale = unlabelled.sum() / len(query.unlabelled)
    among = query_among(near.rows, query, rows, unlabelled)
    there = np.searchsorted(near.rows, rows[leads])
    found_by = compute_ahead(lambda steps: walk_scores(among, steps, there), near.steps.values(), len(near.steps))
    walks = dict(zip(near.steps, found_by, strict=True))
    kept = {name: KeptRows.of(near.spaces[name], found.scores, query.rng) for name, found in walks.items()}
    scores = {name: np.zeros(len(wide.X)) for name in walks}
    for name, found in walks.items():
        scores[name][near.rows] = found.scores
    return _put_together(direction, 1 + scale * (hidden_places - 1), walks, scores, kept)


def _put_together(
    direction: Direction,
    hidden_places: NDArray[np.float64],
    walks: dict[str, Walks],
    scores: dict[str, Scores],
    kept: dict[str, KeptRows],
) -> Parts:
    return Parts(
        directions={"expanded": direction},
        whole=scores,
        kept=kept,
        places={name: found.places for name, found in walks.items()} | {"expanded": hidden_places},
        returns=walks["signal"].returns,
    )


def along(Z: NDArray[np.float64], direction: Direction) -> NDArray[np.float64]:
    """Score rows that are whitened in part along a direction, (n,)."""
    return Z @ direction / root_lengths(Z)


def expand_direction(query: Query) -> tuple[Direction, NDArray[np.float64], NDArray[np.intp]]:
    """Find the direction of "expanded", the places of the known rows that are hidden in turn, and the leads.

    Leads are the first rows. With several known rows there are none: they would help less than these rows do.
    """
    labelled = np.concatenate([query.known_copies, query.refused])
    candidates = _Candidates(query.ready.halved, query.ready.root_length, labelled)
    direction = _expand(query, query.known, candidates)
    compared = _Candidates(query.ready.halved[query.compared], query.ready.root_length[query.compared], labelled[:0])
    without = [_expand(query, left, compared) for left in query.left_over()]
    leads = candidates.best(direction, N_LEADS if len(query.known) == 1 else 0)
    return direction, _expanded_places(query, compared, without), leads


class _Candidates(NamedTuple):
    """Rows from which the best are taken."""

    halved: NDArray[np.float32]
    """(n, d)."""
    root_length: NDArray[np.float32]
    """(n,)."""
    left_out: NDArray[np.intp]
    """Rows that are no candidates."""

    def best(self, direction: Direction, n: int) -> NDArray[np.intp]:
        """Row numbers of the first n rows, or of all candidates if there are fewer."""
        scores = self.halved @ direction.astype(np.float32)
        scores[self.left_out] = -np.inf
        n = min(n, len(scores) - len(self.left_out))
        return np.argpartition(-scores, n - 1)[:n] if n else self.left_out[:0]

    def best_of_length_1(self, direction: Direction, n: int) -> NDArray[np.float32]:
        best = self.best(direction, n)
        return self.halved[best] / self.root_length[best, None]


def _expand(query: Query, known: NDArray[np.intp], candidates: _Candidates) -> Direction:
    m, mean = len(known), query.ready.whiten_in_part(known).mean(axis=0, dtype=np.float64)
    length, direction = float((query.ready.root_length[known] ** 2).mean()), mean
    for n in (int(share * len(candidates.halved)) for share in CANDIDATE_SHARES):
        if not n:
            continue
        found = candidates.best_of_length_1(direction, n).mean(axis=0, dtype=np.float64) * length
        direction = (m * mean + CANDIDATES_COUNT_AS * found) / (m + CANDIDATES_COUNT_AS)
    return direction


def _expanded_places(query: Query, compared: _Candidates, directions: list[Direction]) -> NDArray[np.float64]:
    if not directions:
        return np.empty(0)
    D = np.stack(directions, axis=1).astype(np.float32)
    return query.places(compared.halved @ D, (query.ready.halved[query.hidden] * D.T).sum(axis=1))
