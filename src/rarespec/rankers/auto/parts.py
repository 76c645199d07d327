"""The parts of Auto, and what each has learned for one query.

- "expanded": the mean of the known and of the best candidates, cleared of noise. A row scores z . w / |z|^1/2, half-way
  between the discriminant, which lets extreme rows come first, and the cosine, which lets rows of pure noise come as
  high as strong ones.
- "push": BaggingTopPush in the space as given, the strongest of the paper's methods.
- "spread": from neighbour to neighbour, from the known rows and the first under "expanded"; see `spread.py`.
- "given": LRGA on the features as they are given, for small surveys. Noise and covariance, on which the other parts
  rest, are themselves uncertain where there are few rows to learn them from; neighbours in the features as given are
  not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.auto.query import Query, query_among, query_of, wide_query
from rarespec.rankers.auto.rows import Prepared, Wide
from rarespec.rankers.auto.signal import root_lengths
from rarespec.rankers.auto.spread import Leads, spread_scores
from rarespec.rankers.neighbours.neighbour_graph import neighbours_of
from rarespec.rankers.ranker import Flags, Preparation, Scores, weighted_sums
from rarespec.rankers.rows import Rows
from rarespec.rankers.toppush.bagging_top_push import BaggingTopPush

CANDIDATE_SHARES = (1 / 3000, 1 / 1000, 1 / 300, 1 / 300, 1 / 300)
"""Of the unlabelled rows, the best of which are added to the known, one round after the other.

First a few, which are like the known, then about as many as there are of what is looked for.
"""

CANDIDATES_COUNT_AS = 10
"""Known examples: so that they weigh less the more are known."""

N_LEADS = 5
"""Unlabelled rows, the first under "expanded", from which "spread" starts as well."""

N_FOLDS = 3
"""Groups in which the known are hidden: a fit for each of them would take too long."""

N_BAGS, TOLERANCE = 20, 1e-3
"""Of the fits in which known rows are hidden."""

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
        """Score new rows by the mean of the nearest kept ones, (n,); a row that is kept has its own score."""
        indices, distances = neighbours_of(self.rows, rows, min(N_NEAREST, len(self.rows)))
        return np.where(distances[:, 0] < SAME, self.scores[indices[:, 0]], self.scores[indices].mean(axis=1))


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


def learn_parts(ready: Prepared | Wide, known: Flags, refused: Flags, seed: int, balanced: bool) -> tuple[Query, Parts]:
    """Let every part learn from the known and the refused rows.

    Parameters
    ----------
    ready : Prepared or Wide
        All n rows, prepared once for all queries.
    known : (n,) bool
        Which rows are known examples.
    refused : (n,) bool
        Which rows are known not to be of the kind.
    seed : int
        Seed of every random draw.
    balanced : bool
        Whether known rows that lie close together count as one in "spread"; see `spread_scores`.

    Returns
    -------
    query : Query
        The query. Of a `Wide` survey its row numbers refer to the rows that were drawn.
    parts : Parts
        What each part learned. Its scores and places refer to all n rows.
    """
    if isinstance(ready, Wide):
        query, rows = wide_query(ready, known, refused, seed)
        return query, _wide_parts(ready, query, rows, known, refused, balanced)
    query = query_of(ready, known, refused, seed)
    return query, _parts(query, balanced)


def _parts(query: Query, balanced: bool) -> Parts:
    """Where the rows prepared are all rows."""
    ready = query.ready
    direction, hidden_places, leads = expand_direction(query)
    directions = {"expanded": (direction, hidden_places), "push": push_weights(query)}
    whole = {"spread": spread_scores(query, ready.edges, leads, balanced)}
    if ready.lrga is not None:
        whole["given"] = score_as_given(query, ready.lrga)
    scores = {name: found for name, (found, _) in whole.items()}
    rows = {"spread": ready.units, "given": ready.X}
    return Parts(
        directions={name: direction for name, (direction, _) in directions.items()},
        whole=scores,
        kept={name: KeptRows.of(rows[name], scores[name], query.rng) for name in scores},
        places={name: places for name, (_, places) in (directions | whole).items()},
    )


def _wide_parts(
    wide: Wide, query: Query, rows: NDArray[np.intp], known: Flags, refused: Flags, balanced: bool
) -> Parts:
    """`query` is on these rows; the places of hidden ones are those among all."""
    near, unlabelled = wide.surroundings(known, refused), ~known & ~refused
    direction, hidden_places, leads = expand_direction(query)
    directions = {"expanded": (direction, hidden_places), "push": push_weights(query)}
    # these two were placed among the drawn rows only: there are `scale` times as many unlabelled ones in all
    scale = unlabelled.sum() / len(query.unlabelled)
    places = {name: 1 + scale * (found - 1) for name, (_, found) in directions.items()}
    among = query_among(near.rows, query, rows, unlabelled)
    found, places["spread"] = spread_scores(among, near.edges, leads.among(near.rows, rows), balanced)
    spread = np.zeros(len(wide.X))
    spread[near.rows] = found
    return Parts(
        directions={name: direction for name, (direction, _) in directions.items()},
        whole={"spread": spread},
        kept={"spread": KeptRows.of(near.units, found, query.rng)},
        places=places,
    )


def along(Z: NDArray[np.float64], direction: Direction) -> NDArray[np.float64]:
    """Score whitened rows along a direction, (n,)."""
    return Z @ direction / root_lengths(Z)


def expand_direction(query: Query) -> tuple[Direction, NDArray[np.float64], Leads]:
    """Find the direction of "expanded", the places of the known rows that are hidden in turn, and the first rows."""
    labelled = np.concatenate([query.known_copies, query.refused])
    candidates = _Candidates(query.ready.halved, query.ready.root_length, labelled)
    direction = _expand(query, query.known, candidates)
    compared = _Candidates(query.ready.halved[query.compared], query.ready.root_length[query.compared], labelled[:0])
    without = [_expand(query, left, compared) for left in query.left_over()]
    leads = Leads(
        candidates.best(direction, N_LEADS),
        [query.compared[compared.best(one, N_LEADS)] for one in without],
    )
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


def _of_mean(query: Query, known: NDArray[np.intp]) -> Direction:
    rows = query.ready.whiten(known)
    return query.ready.space.direction(rows.mean(axis=0, dtype=np.float64), len(known), query.ready.space.beyond(rows))


def _expand(query: Query, known: NDArray[np.intp], candidates: _Candidates) -> Direction:
    rows, m, direction = query.ready.whiten(known), len(known), _of_mean(query, known)
    mean, beyond = rows.mean(axis=0, dtype=np.float64), query.ready.space.beyond(rows)
    length, count = float((query.ready.root_length[known] ** 2).mean()), m + CANDIDATES_COUNT_AS
    for n in (int(share * len(candidates.halved)) for share in CANDIDATE_SHARES):
        if not n:
            continue
        found = candidates.best_of_length_1(direction, n).mean(axis=0, dtype=np.float64) * length
        direction = query.ready.space.direction((m * mean + CANDIDATES_COUNT_AS * found) / count, count, beyond)
    return direction


def _expanded_places(query: Query, compared: _Candidates, directions: list[Direction]) -> NDArray[np.float64]:
    if not directions:
        return np.empty(0)
    D = np.stack(directions, axis=1).astype(np.float32)
    return query.places(compared.halved @ D, (query.ready.halved[query.hidden] * D.T).sum(axis=1))


def push_weights(query: Query) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find the weights of "push", and the places of the known rows that are hidden, a group at a time."""
    y = np.zeros(len(query.ready.X), dtype=np.int8)
    y[query.known] = 1
    weights = BaggingTopPush(random_state=query.seed).fit(query.ready.X, y).coef_
    places = np.empty(len(query.hidden))
    for fold in np.array_split(query.rng.permutation(len(query.hidden)), min(N_FOLDS, len(query.hidden)) or 1):
        places[fold] = _push_places(query, query.hidden[fold])
    return weights, places


def _push_places(query: Query, fold: NDArray[np.intp]) -> NDArray[np.float64]:
    if not len(fold):
        return np.empty(0)
    left = np.setdiff1d(query.known, fold)
    rows = np.concatenate([left, query.compared])
    ranker = BaggingTopPush(n_bags=N_BAGS, tol=TOLERANCE, random_state=query.seed)
    ranker.fit(query.ready.X[rows], np.arange(len(rows)) < len(left))
    return query.places(
        weighted_sums(query.ready.X[query.compared], ranker.coef_), weighted_sums(query.ready.X[fold], ranker.coef_)
    )


def score_as_given(query: Query, lrga: Preparation) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score every row by LRGA on the features as given, (n,), and place the known rows that are hidden in turn."""
    Y = np.zeros((len(query.ready.X), 1 + len(query.hidden)))
    Y[query.known] = 1
    Y[query.hidden, 1 + np.arange(len(query.hidden))] = 0
    scores = lrga.scores_for(Y)
    without = scores[:, 1:]
    own = without[query.hidden, np.arange(len(query.hidden))]
    return scores[:, 0], query.places(without[query.compared], own)
