"""Rankers by their name: the text that the command line and model files use."""

from __future__ import annotations

from importlib import import_module
from inspect import isclass
from typing import Any

from rarespec.rankers.ranker import Ranker
from rarespec.storage.text import choose_from

CLASS_OF = {
    "auto": "Auto",
    "bagging_svm": "BaggingSVM",
    "bagging_top_push": "BaggingTopPush",
    "biased_svm": "BiasedSVM",
    "bipartite_boosting": "BipartiteBoosting",
    "bipartite_logistic": "BipartiteLogistic",
    "emr": "EMR",
    "label_propagation": "LabelPropagation",
    "lrga": "LRGA",
    "manifold_ranking": "ManifoldRanking",
    "matched_filter": "MatchedFilter",
    "ocsvm": "OCSVM",
    "svdd": "SVDD",
    "top_push": "TopPush",
}
"""Name -> class."""

MODULE_OF = {
    "auto": "auto.auto",
    "bagging_svm": "svm.bagging_svm",
    "bagging_top_push": "toppush.bagging_top_push",
    "biased_svm": "svm.biased_svm",
    "bipartite_boosting": "bipartite.bipartite_boosting",
    "bipartite_logistic": "bipartite.bipartite_logistic",
    "emr": "graph.emr",
    "label_propagation": "graph.label_propagation",
    "lrga": "graph.lrga",
    "manifold_ranking": "graph.label_propagation",
    "matched_filter": "matched_filter",
    "ocsvm": "svm.ocsvm",
    "svdd": "svm.svdd",
    "top_push": "toppush.top_push",
}
"""Name -> module of this room that holds the class."""

NAMES = tuple(CLASS_OF)
"""Every ranker's name, in alphabetical order."""


def by_name(name: str) -> type[Ranker]:
    """Return the class of the ranker with this name; only its own module is imported.

    Parameters
    ----------
    name : str
        One of `NAMES`.

    Returns
    -------
    type
        A subclass of Ranker.

    Raises
    ------
    ValueError
        If there is no such ranker.

    Examples
    --------
    >>> from rarespec.rankers import by_name
    >>> by_name("bagging_top_push").__name__
    'BaggingTopPush'
    """
    if name not in CLASS_OF:
        raise ValueError(f"there is no ranker {name!r}; {choose_from(NAMES, name)}")
    ranker: type[Ranker] = getattr(import_module(f"rarespec.rankers.{MODULE_OF[name]}"), CLASS_OF[name])
    return ranker


def name_of(ranker: Any) -> str:
    """Return the name under which `by_name` finds this ranker again.

    Parameters
    ----------
    ranker : Ranker or type
        A ranker, or its class.

    Returns
    -------
    str
        One of `NAMES`.

    Raises
    ------
    ValueError
        If it is not one of the rankers of rarespec.

    Examples
    --------
    >>> from rarespec.rankers import TopPush, name_of
    >>> name_of(TopPush())
    'top_push'
    """
    kind = ranker if isclass(ranker) else type(ranker)
    for name, class_name in CLASS_OF.items():
        if kind.__qualname__ == class_name and kind.__module__ == f"rarespec.rankers.{MODULE_OF[name]}":
            return name
    raise ValueError(f"{kind.__qualname__} is not one of the rankers of rarespec: {', '.join(NAMES)}")
