"""Auto's parts that follow a kind from neighbour to neighbour: the chance that a walk from a row meets a known one.

A walk steps from a row to one of its neighbours, the nearer the likelier, by weights that fit the distances around each
row (Zelnik-Manor & Perona 2004), and ends by chance now and then. A row whose walks nearly all meet a known one is of
its kind. Many known rows close together count no more than one: a walk that meets any of them has met the kind. That is
how this differs from label propagation, where what spreads from them adds up.

The same walk tells whether a known row is typical. From within a group that stands apart it comes back soon; from a row
at the edge of its kind it goes astray among other kinds.

Notation: f = (1 - LOST) P f on all rows but the known, and f = 1 on these (Zhu, Ghahramani & Lafferty 2003), after
N_STEPS steps. With Q = P between rows that are not known, and b the chance to meet a known row at the next step, that
is f = sum over k < N_STEPS of ((1 - LOST) Q)^k b, a polynomial of Q. Chebyshev's series of the same polynomial needs
half as many products: all eigenvalues of Q lie between -1 and 1, because the weights of the graph are symmetric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers.graph.label_propagation import edge_weights, local_scales
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph
from rarespec.rankers.ranker import Scores

if TYPE_CHECKING:
    from rarespec.rankers.auto.query import Query

LOST = 1e-3
"""Chance that a walk ends at a step: without it every walk would meet a known row in the end."""

SHARPNESS = 2
"""Power of the weights by which a walk chooses a neighbour: with 1, hardly any is likelier than the others, as rows of
many features are about equally far from all of their neighbours."""

N_STEPS = 100
"""Of a walk."""

LEFT_OUT = 1e-5
"""Sum of the terms of Chebyshev's series that are left out, about the error of a chance."""

N_STEPS_FAR, MAX_NEAR = 20, 20_000
"""After so many steps, only rows from which most walks meet a known one are followed further: the order of the rest is
of no interest."""

ASTRAY = 0.25
"""Chance to come back below which a known row is taken to lie at the edge of its kind."""

STEEPNESS = 4
"""Power of this chance, in units of ASTRAY, with which leads lose their weight."""

FIRST_BATCH, BATCH_SHARE = 100, 0.5
"""Rows of the first batches; later ones have this share of those asked before."""

Columns = NDArray[np.float32]
RowNumbers = NDArray[np.intp]
NeighboursOf = Callable[[RowNumbers], tuple[NDArray[np.int64], NDArray[np.float64]]]
"""Numbers and distances of the nearest rows of each of some rows, (m, k) each; a row itself may be among its own."""


class Walks(NamedTuple):
    """What walks say of all rows."""

    scores: Scores
    """(n,) chances to meet a known row, none negative."""
    places: NDArray[np.float64]
    """(h,) places of the hidden rows among the unlabelled ones, when each is hidden in turn."""
    returns: float
    """Chance that a walk from a known row comes back to a known one."""


def step_chances(graph: NeighbourGraph) -> csr_array:
    """Compute P of a graph, (n, n) float32: how likely each step of a walk is."""
    return _scale_rows(edge_weights(graph, "self-tuned", local_scales(graph) / np.sqrt(SHARPNESS), np.float32))


def _scale_rows(weights: csr_array) -> csr_array:
    sums = np.asarray(weights.sum(axis=1, dtype=np.float64)).ravel()
    scaling = (1 / np.where(sums > 0, sums, 1.0)).astype(np.float32)
    values = weights.data.astype(np.float32) * np.repeat(scaling, np.diff(weights.indptr))
    # small numbers of rows: a product spends most of its time on reading the graph
    places = weights.indices.astype(np.int32), weights.indptr.astype(np.int32 if len(values) < 2**31 else np.int64)
    return csr_array((values, *places), weights.shape)


def meeting_chances(P: csr_array, sets: Sequence[RowNumbers], n_steps: int = N_STEPS) -> Columns:
    """Compute the chance that a walk from each row meets a row of each set, from its first step on.

    Parameters
    ----------
    P : (n, n) sparse float32
        Chances of the steps.
    sets : sequence of (m,) int
        Row numbers; a set may be empty.
    n_steps : int, optional
        Steps of a walk, at most.

    Returns
    -------
    (n, q) float32
        For each of the q sets. A row of the set has the chance that its walk comes back to the set.
    """
    met = np.concatenate(sets), np.repeat(np.arange(len(sets)), [len(one) for one in sets])
    stays = np.float32(1 - LOST)
    f = np.zeros((P.shape[0], len(sets)), np.float32)
    f[met] = 1
    if n_steps > 1:
        f = stays * _sum_of_walks(P, P @ f, met, n_steps - 1)
        np.maximum(f, 0, out=f)  # what the series leaves out may be negative
        f[met] = 1
    return stays * (P @ f)


def _sum_of_walks(P: csr_array, b: Columns, met: tuple[RowNumbers, RowNumbers], n_steps: int) -> Columns:
    """Sum ((1 - LOST) Q)^k b over k < n_steps: T_0 = b, T_1 = Q b, T_k+1 = 2 Q T_k - T_k-1; b is overwritten."""
    b[met] = 0  # a walk that has met a known row goes no further, here and below
    series = _chebyshev_series(n_steps)
    before, now, total = None, b, series[0] * b
    for factor in series[1:]:
        after = P @ now
        if before is not None:
            after *= 2
            after -= before
        after[met] = 0
        before, now = now, after
        total += factor * now
    return total


@lru_cache(maxsize=8)
def _chebyshev_series(n_steps: int) -> NDArray[np.float32]:
    """Coefficients of the sum of ((1 - LOST) x)^k over k < n_steps, without the smallest ones."""

    def total(x: Any) -> Any:
        return (1 - ((1 - LOST) * x) ** n_steps) / (1 - (1 - LOST) * x)

    series = chebinterpolate(total, n_steps - 1)  # exact: the polynomial is of this degree
    left_out = np.cumsum(np.abs(series[::-1]))[::-1]
    return series[: max(int(np.count_nonzero(left_out >= LEFT_OUT)), 1)].astype(np.float32)


class FarAndNear(NamedTuple):
    """What walks find in a few steps."""

    far: NDArray[np.float32]
    """(n,) chances of all rows to meet a known one."""
    near: RowNumbers
    """Rows to follow further, rising."""


def far_and_near(P: csr_array, starts: Sequence[tuple[Query, RowNumbers]]) -> list[FarAndNear]:
    """Take a few steps from everywhere, for several queries at once.

    Parameters
    ----------
    P : (n, n) sparse float32
        Chances of the steps.
    starts : sequence of (Query, (m,) int)
        Queries in the numbers of P, each with its leads.

    Returns
    -------
    list of FarAndNear
        One for each query: all rows, and which of them to follow further.
    """
    n, known = P.shape[0], [np.union1d(query.known, leads) for query, leads in starts]
    if n <= MAX_NEAR:
        return [FarAndNear(np.zeros(n, np.float32), np.arange(n)) for _ in starts]
    chances = meeting_chances(P, known, N_STEPS_FAR)
    found = []
    for (query, _), with_leads, column in zip(starts, known, chances.T, strict=True):
        far = np.ascontiguousarray(column)
        nearest = np.argpartition(-far, MAX_NEAR)[:MAX_NEAR]
        found.append(FarAndNear(far, np.unique(np.concatenate([nearest, with_leads, query.refused]))))
    return found


def walk_scores(query: Query, P: csr_array, leads: RowNumbers, begun: FarAndNear | None = None) -> Walks:
    """Score every row by the chance that a walk from it meets a known row.

    A single known row at the edge of its kind has neighbours of other kinds. The leads, if they are right, are more
    typical: they count as known as far as walks from the known row go astray. Where walks meet refused rows as well,
    that counts against a row.

    Parameters
    ----------
    query : Query
        Known, refused, hidden and unlabelled rows, in the numbers of P.
    P : (n, n) sparse float32
        Chances of the steps.
    leads : (m,) int
        Rows that another part puts first; none where several rows are known.
    begun : FarAndNear, optional
        What `far_and_near` found of this query, where it was asked before; it is used up.

    Returns
    -------
    Walks
        Scores, places of hidden rows, and whether the known rows are typical.
    """
    with_leads = np.union1d(query.known, leads)
    scores, near = begun or far_and_near(P, [(query, leads)])[0]
    inner = P[near][:, near] if len(near) < len(scores) else P
    sets = [query.known, query.refused, with_leads, *query.left_over()]
    chances = _meet_each(inner, [np.searchsorted(near, one) for one in sets])
    f, against, led, without = np.split(chances, [1, 2, 3], axis=1)
    returns = float(f[np.searchsorted(near, query.known)].mean())
    outside = np.sort(np.delete(scores, near))
    without = _share(without, against)
    own = without[np.searchsorted(near, query.hidden), np.arange(len(query.hidden))]
    scores[near] = _share(f + np.float32(trust_leads(returns)) * (led - f), against)[:, 0]
    scores[query.known], scores[query.refused] = 1, 0
    return Walks(scores.astype(np.float64), _places(query, near, without, own, outside), returns)


def _meet_each(P: csr_array, sets: Sequence[RowNumbers]) -> Columns:
    """As `meeting_chances`, but without walks for a set that is empty or equal to an earlier one."""
    names = [one.tobytes() for one in sets]
    different = {name: one for name, one in zip(names, sets, strict=True) if len(one)}
    found = dict(zip(different, meeting_chances(P, list(different.values())).T, strict=True))
    never = np.zeros(P.shape[0], np.float32)
    return np.stack([found.get(name, never) for name in names], axis=1)


def trust_leads(returns: float) -> float:
    """Weigh leads against the known row, from 0 to 1, by the chance that a walk from this comes back to it."""
    return 1 / (1 + (returns / ASTRAY) ** STEEPNESS)


def _places(
    query: Query, near: RowNumbers, without: Columns, own: NDArray[np.float32], far: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Place of each hidden row, whose score is `own`, among unlabelled ones: near, (m, h), and all others."""
    unlabelled = np.isin(near, query.unlabelled, assume_unique=True)
    return 1.0 + (without[unlabelled] > own).sum(axis=0) + len(far) - np.searchsorted(far, own, side="right")


def _share(f: Columns, against: Columns) -> Columns:
    positive = np.maximum(f, np.float32(1e-30))
    return np.asarray(positive * positive / (positive + against), np.float32)


def reach_rows(known: RowNumbers, n_wanted: int, neighbours_of: NeighboursOf) -> RowNumbers:
    """Collect the rows that walks from the known ones reach first.

    Neighbours are looked up for a batch of rows at a time, always those from which most walks so far meet a known row,
    the near ones first: of rows that have been reached from the same one only, all walks so far are equal. With a graph
    of all rows, most of the time would go into rows that nothing ever reaches.

    Parameters
    ----------
    known : (m,) int
        Row numbers of the known examples.
    n_wanted : int
        Rows to collect, the known among them.
    neighbours_of : callable
        Row numbers, (r,), to numbers and distances of their nearest rows, (r, k) each.

    Returns
    -------
    (n_wanted,) int
        Row numbers, rising; fewer when no more can be reached.
    """
    asked = known
    near, far = neighbours_of(known)
    while len(asked) < n_wanted:
        rows, f = _chances_so_far(known, asked, near, far)
        waiting = ~np.isin(rows, asked)
        rows, f = rows[waiting], f[waiting]
        if not len(rows):
            break
        n_next = min(max(FIRST_BATCH, int(BATCH_SHARE * len(asked))), n_wanted - len(asked), len(rows))
        batch = rows[np.argpartition(-f, n_next - 1)[:n_next]]
        found = neighbours_of(batch)
        asked = np.concatenate([asked, batch])
        near, far = np.concatenate([near, found[0]]), np.concatenate([far, found[1]])
    return np.sort(asked)


def _chances_so_far(
    known: RowNumbers, asked: RowNumbers, near: NDArray[np.int64], far: NDArray[np.float64]
) -> tuple[RowNumbers, NDArray[np.float32]]:
    """All rows seen so far, and the chance that a walk from each meets a known one, times its largest weight."""
    rows, place = np.unique(np.concatenate([asked, near.ravel()]), return_inverse=True)
    sources = np.repeat(place[: len(asked)], near.shape[1])
    widths = np.maximum(far[:, -1:], np.finfo(np.float32).tiny)
    weights = np.exp(-SHARPNESS * (far / widths) ** 2).ravel()
    one_way = csr_array((weights, (sources, place[len(asked) :])), (len(rows), len(rows)))
    one_way.setdiag(0)
    joined = csr_array(one_way.maximum(one_way.T))
    chances = meeting_chances(_scale_rows(joined), [np.flatnonzero(np.isin(rows, known))], N_STEPS_FAR)[:, 0]
    return rows, chances * joined.max(axis=1).toarray()
