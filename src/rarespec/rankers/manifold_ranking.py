"""Manifold ranking: label propagation read as ranking around one or several queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers.label_propagation import Diffusion, LabelPropagation
from rarespec.rankers.neighbours import NeighbourGraph


class ManifoldRanking(LabelPropagation):
    """Rank rows by their place on the manifold around the known examples, which are its queries.

    Notes
    -----
    How it differs from `LabelPropagation`. The operator is the same, and so is the score (I - alpha S)^-1 y: given
    equal parameters the two rank alike. The papers differ in what they feed it with:

    - Manifold ranking has queries and no classes; several queries are several ones in y, as here.
    - Its graph joins pairs in order of distance until all rows are connected, or joins all pairs. That takes n^2
      distances, so the graph of nearest neighbours stands in for it here. It may have several parts; rows in a part
      without a query score 0 and come last, in the order of X.
    - Its weights are wider: sigma = 1.25 in the experiment on handwritten digits.
    - It has an unnormalised variant, (D - alpha W)^-1 y = D^-1/2 (I - alpha S)^-1 D^-1/2 y, here with
      `normalised=False`: scores are not multiplied by the root of the degree, so rows with weak edges rank higher.

    Parameters
    ----------
    n_neighbours, alpha, tol, graph
        As in `LabelPropagation`.
    sigma : float or "self-tuned", default 1.25
        As in `LabelPropagation`; the value of the paper.
    normalised : bool, default True
        Whether W is divided by the degrees on both sides, as in the paper's algorithm.

    Attributes
    ----------
    As in `LabelPropagation`.

    References
    ----------
    D. Zhou, J. Weston, A. Gretton, O. Bousquet & B. Schölkopf 2004, Ranking on Data Manifolds, NIPS 16.
    """

    def __init__(
        self,
        n_neighbours: int = 5,
        sigma: float | str = 1.25,
        alpha: float = 0.99,
        normalised: bool = True,
        tol: float = 1e-10,
        graph: NeighbourGraph | None = None,
    ) -> None:
        super().__init__(n_neighbours, sigma, alpha, tol, graph)
        self.normalised = normalised

    def _solve(self, ready: Diffusion, Y: NDArray[np.float64], fitting: bool = False) -> NDArray[np.float64]:
        if self.normalised:
            return super()._solve(ready, Y, fitting)
        roots = np.sqrt(ready.degrees)[:, None]
        return super()._solve(ready, Y / roots, fitting) / roots
