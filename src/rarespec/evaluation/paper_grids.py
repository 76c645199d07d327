"""The values that parameters are tuned over: those of Du et al. (2016), and ours where the paper names none.

The paper's are lambda, K and T of BaggingTopPush, nu of OCSVM and C of BaggingSVM. It kept k, alpha, sigma and d of LP,
EMR and LRGA fixed, so the grids of these are ours, and so are those of all methods that it does not have.
"""

from __future__ import annotations

from math import exp

from rarespec.rankers.by_name import NAMES

REGULARISATION = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
"""lambda of BaggingTopPush (section 4 of the paper)."""

BAG_SIZE = (1, 5, 10, 20, 50, 100, 200, 300)
"""K of BaggingTopPush."""

N_BAGS = (1, 5, 10, 15, 25, 40, 60, 80, 100)
"""T of BaggingTopPush."""

NU = (0.1, 0.2, 0.3, 0.4, 0.5)
"""nu of OCSVM; SVDD has the same."""

C = tuple(exp(power) for power in range(-8, 9, 2))
"""C of BaggingSVM, e^-8, e^-6 ... e^8. It refers to rows that the ranker has centred and divided by their rms distance
from the mean; the paper gave LIBSVM the components as they are, where the same machine has a C smaller by that squared.
"""

ALPHA = (0.5, 0.9, 0.99, 0.999)
"""Ours: the paper kept the weight of smoothness of LP, MR and EMR at .99."""

N_NEIGHBOURS = (5, 10, 20)
"""Ours: the paper kept k = 5."""

TUNED_IN_PAPER = ("bagging_svm", "bagging_top_push", "ocsvm")
"""Rankers that the paper tuned. It kept the parameters of the other three fixed, at the values that are their defaults
here."""

ValuesOf = dict[str, tuple[object, ...]]
"""Parameter -> the values to try."""

PAPER_GRIDS: dict[str, ValuesOf] = {
    "auto": {},
    "bagging_svm": {"C": C},
    "bagging_top_push": {"regularisation": REGULARISATION, "bag_size": BAG_SIZE, "n_bags": N_BAGS},
    "biased_svm": {},
    "bipartite_boosting": {"n_rounds": (10, 30, 100)},
    "bipartite_logistic": {"regularisation": REGULARISATION},
    "emr": {"alpha": ALPHA, "n_anchors": (300, 1000), "n_nearest": (3, 5, 10)},
    "label_propagation": {"alpha": ALPHA, "n_neighbours": N_NEIGHBOURS, "sigma": (1.0, "self-tuned")},
    "lrga": {"regularisation": (1.0, 1e2, 1e4, 1e6), "n_neighbours": N_NEIGHBOURS},
    "manifold_ranking": {"alpha": ALPHA, "n_neighbours": N_NEIGHBOURS, "sigma": (1.0, "self-tuned")},
    "matched_filter": {"method": ("lda", "cosine")},
    "ocsvm": {"nu": NU},
    "svdd": {"nu": NU},
    "top_push": {"regularisation": REGULARISATION},
}
"""Name of a ranker -> its grid. Empty where the ranker chooses its parameters itself."""


def paper_grid(name: str, product: bool = False) -> list[ValuesOf]:
    """The grid of the ranker of this name, in the form of scikit-learn's ParameterGrid.

    Parameters
    ----------
    name : one of `rarespec.rankers.by_name.NAMES`.
    product : False varies one parameter at a time, the others as they are set (24 combinations for BaggingTopPush);
        True takes every combination (504). The paper does not say which it took.
    """
    if name not in PAPER_GRIDS:
        raise ValueError(f"there is no grid for {name!r}; choose from {', '.join(NAMES)}")
    values = PAPER_GRIDS[name]
    return [values] if product else [{parameter: values[parameter]} for parameter in values]
