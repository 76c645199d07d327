"""Auto's part that follows a kind from neighbour to neighbour, in the space of signal.

What is known spreads along the edges of a graph (Zhou et al. 2004) whose weights fit the distances around each row
(Zelnik-Manor & Perona 2004). Neighbours after whitening, in the space of signal, are of the same kind far more often
than neighbours in the features as given: noise and the common differences between spectra are out of the way.

Notation: f = y + alpha S f with S = D^-1/2 W D^-1/2, by repeated products. What spreads from several rows is the sum of
what spreads from each, so that one hidden row is one subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rarespec.rankers.auto.trust import shares_by_places
from rarespec.rankers.graph.label_propagation import edge_weights, local_scales
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph

if TYPE_CHECKING:
    from rarespec.rankers.auto.query import Query


ALPHA = 0.99
N_STEPS = 100
"""How far what is known spreads, in edges. Each step keeps all scores positive, however small."""

N_STEPS_FAR, MAX_NEAR = 20, 20_000
"""After so many steps, only those rows are followed further to which most has spread: the order of the rest is of no
interest."""

TRUSTED_ALONE = 0.5
"""Weight of a lead where one example is known, and none can be hidden: it may be an odd one."""

PRIOR_OF_LEADS = {"without": 1.0, "with": 0.5}
"""Weights before the known examples are hidden in turn: several of them need leads less than one does."""

FIRST_BATCH, BATCH_SHARE = 100, 0.5
"""Rows of the first batches; later ones have this share of those asked before."""

Columns = NDArray[np.float32]
RowNumbers = NDArray[np.intp]
NeighboursOf = Callable[[RowNumbers], tuple[NDArray[np.int64], NDArray[np.float64]]]
"""Numbers and distances of the nearest rows of each of some rows, (m, k) each; a row itself may be among its own."""


def spreading(graph: NeighbourGraph) -> csr_array:
    """Compute S of a graph, (n, n) float32."""
    return scale_weights(edge_weights(graph, "self-tuned", local_scales(graph), np.float32))


def scale_weights(weights: csr_array) -> csr_array:
    """Compute D^-1/2 W D^-1/2, float32."""
    degrees = np.asarray(weights.sum(axis=1, dtype=np.float64)).ravel()
    scaling = (1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))).astype(np.float32)
    values = weights.data.astype(np.float32)
    values *= np.repeat(scaling, np.diff(weights.indptr))
    values *= scaling[weights.indices]
    return csr_array((values, weights.indices, weights.indptr), weights.shape)


def spread(S: csr_array, Y: Columns, n_steps: int = N_STEPS, f: Columns | None = None) -> Columns:
    """Compute f = y + alpha S f by repeated products.

    Parameters
    ----------
    S : (n, n) sparse float32
        Scaled weights of the edges.
    Y : (n,) or (n, q) float32
        One y, or one in each column.
    n_steps : int, optional
        Products, which is how many edges far y spreads.
    f : (n,) or (n, q) float32, optional
        Where to go on from; by default Y, where nothing has spread yet.

    Returns
    -------
    (n,) or (n, q) float32
        The f of each y.
    """
    f = Y if f is None else f
    for _ in range(n_steps):
        f = ALPHA * (S @ f) + Y
    return f


@dataclass(frozen=True)
class Leads:
    """Unlabelled rows that "expanded" puts first, in the numbers of the graph."""

    rows: RowNumbers
    """With all known rows."""
    without: Sequence[RowNumbers]
    """Without each hidden row in turn."""

    def all_rows(self) -> RowNumbers:
        """List the leads of every kind, (m,); a row may be there more than once."""
        return np.concatenate([self.rows, *self.without])

    def among(self, near: RowNumbers, rows: RowNumbers) -> Leads:
        """Translate numbers into `rows` to numbers into `near`, which rises; leads that are not there are left out."""

        def there(here: RowNumbers) -> RowNumbers:
            return np.flatnonzero(np.isin(near, rows[here], assume_unique=True))

        return Leads(there(self.rows), [there(one) for one in self.without])


def spread_scores(
    query: Query, S: csr_array, leads: Leads, balanced: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score every row by how much spreads to it from the known rows and from the leads.

    A known row at the edge of its kind has neighbours of other kinds. The leads are more typical, if they are right:
    they count as much as they help to find hidden rows. Where refused rows are near, their share of what arrives at a
    row counts against it.

    Parameters
    ----------
    query : Query
        Known, refused, hidden and unlabelled rows, in the numbers of S.
    S : (n, n) sparse float32
        Scaled weights of the edges.
    leads : Leads
        Rows that another part puts first.
    balanced : bool, default False
        Whether known rows count less the more spreads to them: many close together then count as one that lies alone.

    Returns
    -------
    scores : (n,) float64
        Scores, none negative.
    places : (h,) float64
        Places of the hidden rows among the unlabelled ones, when each is hidden in turn.
    """
    y = np.zeros(S.shape[0], np.float32)
    y[query.known] = y[leads.rows] = 1
    far = spread(S, y, N_STEPS_FAR)
    near = _near(far, np.concatenate([query.known, query.refused, leads.all_rows()]))
    inner, h = (S[near][:, near] if len(near) < len(far) else S), len(query.hidden)
    starts = (query.known, query.refused, leads.rows, *leads.without)
    sources = np.stack([np.isin(near, rows) for rows in starts], axis=1).astype(np.float32)
    hidden = (near[:, None] == query.hidden).astype(np.float32)
    columns = spread(inner, np.concatenate([sources, hidden], axis=1))
    # a lead is as unlabelled as the others: what starts from it does not count for itself
    columns[:, 2 : 3 + h] -= sources[:, 2:]
    f, against, from_leads, led, from_hidden = np.split(columns, [1, 2, 3, 3 + h], axis=1)
    if balanced:
        known = _balance(sources[:, 0], f[:, 0])
        f, from_hidden = spread(inner, known)[:, None], from_hidden * (known @ hidden)
    outside = np.sort(np.delete(far, near))

    def places_with(trusted: np.float32) -> NDArray[np.float64]:
        without = _share(f - from_hidden + trusted * led, against)
        return _places(query, near, without, (without * hidden).sum(axis=0), outside)

    trusted = _trust_leads(places_with(np.float32(0)), places_with(np.float32(1)), len(query.unlabelled))
    far[near] = _share(f + trusted * from_leads, against)[:, 0]
    return far.astype(np.float64), places_with(trusted)


def _balance(known: NDArray[np.float32], f: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weights of the known rows, (n,), with the mean 1."""
    weights = known / np.maximum(f, np.finfo(np.float32).tiny)
    return np.asarray(weights * (known.sum() / weights.sum()), np.float32)


def _trust_leads(without: NDArray[np.float64], with_them: NDArray[np.float64], n_unlabelled: int) -> np.float32:
    """Weigh a lead against a known row, from 0 to 1, by the places of hidden rows without and with leads."""
    if not len(without):
        return np.float32(TRUSTED_ALONE)
    shares = shares_by_places({"without": without, "with": with_them}, PRIOR_OF_LEADS, n_unlabelled)
    return np.float32(shares["with"])


def _near(f: NDArray[np.float32], always: RowNumbers) -> RowNumbers:
    """Rows to which most has spread, and some that are always among them, rising."""
    if len(f) <= MAX_NEAR:
        return np.arange(len(f))
    return np.union1d(np.argpartition(-f, MAX_NEAR)[:MAX_NEAR], always)


def _places(
    query: Query, near: NDArray[np.intp], without: Columns, own: NDArray[np.float32], far: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Place of each hidden row, whose score is `own`, among unlabelled ones: near, (m, h), and all others."""
    unlabelled = np.isin(near, query.unlabelled, assume_unique=True)
    return 1.0 + (without[unlabelled] > own).sum(axis=0) + len(far) - np.searchsorted(far, own, side="right")


def _share(f: Columns, against: Columns) -> Columns:
    positive = np.maximum(f, np.float32(1e-30))  # what is left after a subtraction may be rounding
    return np.asarray(positive * positive / (positive + against), np.float32)


def reach_rows(known: RowNumbers, n_wanted: int, neighbours_of: NeighboursOf) -> RowNumbers:
    """Collect the rows that are reached first when what is known spreads from neighbour to neighbour.

    Neighbours are looked up for a batch of rows at a time, always those to which most has spread so far. With a graph
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
        rows, f = _spread_so_far(known, asked, near, far)
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


def _spread_so_far(
    known: RowNumbers, asked: RowNumbers, near: NDArray[np.int64], far: NDArray[np.float64]
) -> tuple[RowNumbers, NDArray[np.float32]]:
    """All rows seen so far, and what has spread to each."""
    rows, place = np.unique(np.concatenate([asked, near.ravel()]), return_inverse=True)
    sources = np.repeat(place[: len(asked)], near.shape[1])
    widths = np.maximum(far[:, -1:], np.finfo(np.float32).tiny)
    weights = np.exp(-((far / widths) ** 2)).ravel()
    one_way = csr_array((weights, (sources, place[len(asked) :])), (len(rows), len(rows)))
    one_way.setdiag(0)
    y = np.isin(rows, known).astype(np.float32)
    return rows, spread(scale_weights(csr_array(one_way.maximum(one_way.T))), y, N_STEPS_FAR)
