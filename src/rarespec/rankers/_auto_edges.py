"""Along which edges what is known spreads: those of a neighbour graph, weighted by the distances around each row."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from rarespec.rankers.label_propagation import edge_weights, local_scales
from rarespec.rankers.neighbours import NeighbourGraph


def n_neighbours(n: int) -> int:
    """How many neighbours each of n rows has: more where rows lie denser, or a kind falls apart into islands."""
    return min(int(np.ceil(n**0.25)), n - 1)


def spreading(graph: NeighbourGraph) -> csr_array:
    """S, (n, n) float32."""
    return scaled(edge_weights(graph, "self-tuned", local_scales(graph), np.float32))


def scaled(weights: csr_array) -> csr_array:
    """D^-1/2 W D^-1/2, float32."""
    degrees = np.asarray(weights.sum(axis=1, dtype=np.float64)).ravel()
    scaling = (1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))).astype(np.float32)
    values = weights.data.astype(np.float32)
    values *= np.repeat(scaling, np.diff(weights.indptr))
    values *= scaling[weights.indices]
    return csr_array((values, weights.indices, weights.indptr), weights.shape)
