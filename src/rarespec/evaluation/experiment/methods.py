"""The methods that an experiment compares, by the name they have on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from rarespec.evaluation.experiment.own_ranker import OwnRanker, own_ranker, own_version
from rarespec.rankers import LRGA, BaggingTopPush, MatchedFilter, by_name
from rarespec.rankers.by_name import CLASS_OF
from rarespec.rankers.ranker import Ranker

PAPER_METHODS = ("ocsvm", "label_propagation", "emr", "lrga", "bagging_svm", "bagging_top_push")
"""Those of Table 1, in its order."""

OUR_METHODS = ("lda", "cosine", "whitened_top_push", "auto")
"""Baselines that the paper omits, and our own ranker."""


@dataclass(frozen=True)
class Method:
    """A ranker with its parameters, under one name in tables and figures."""

    name: str
    label: str
    make: Callable[[], Ranker]

    def ranker(self, seed: int) -> Ranker:
        """A new ranker; `seed` is for those that draw bags or anchors."""
        made = self.make()
        if "random_state" in made.get_params():
            made.set_params(random_state=seed)
        return made


VARIANTS = (
    Method("cosine", "Whitened cosine", lambda: MatchedFilter(method="cosine")),
    Method("lda", "Shrinkage LDA", lambda: MatchedFilter(method="lda")),
    Method("lrga_as_printed", "LRGA as printed", lambda: LRGA(extra_factor=False)),
    Method("published_top_push", "BaggingTopPush, published solver", lambda: BaggingTopPush(solver="published")),
    Method("whitened_top_push", "Whitened TopPush", lambda: BaggingTopPush(scaling="whiten", regularisation=1.0)),
)
"""Rankers with other parameters than their own."""

SHORT_LABELS = {"LabelPropagation": "LP", "ManifoldRanking": "MR"}

METHODS = {method.name: method for method in VARIANTS} | {
    name: Method(name, SHORT_LABELS.get(kind, kind), by_name(name))
    for name, kind in CLASS_OF.items()
    if name != "matched_filter"  # it stands under the names of its two kinds
}
"""Name -> method."""


def method(name: str) -> Method:
    """One of METHODS, or a class of the user's own as MODULE:CLASS, which is imported and tried at first."""
    if name in METHODS:
        return METHODS[name]
    if not is_own(name):
        known = ", ".join(sorted(METHODS))
        raise ValueError(f"there is no method {name!r}; choose from {known}, or MODULE:CLASS for your own")
    return _own_method(name)


def is_own(name: str) -> bool:
    """Whether this is the name of a class outside rarespec."""
    return ":" in name


def _own_method(name: str) -> Method:
    kind = _own_kind(name)
    return Method(name, kind.__name__, kind if issubclass(kind, Ranker) else lambda: OwnRanker(kind()))


_own_kind = cache(own_ranker)


def version_of(name: str) -> str:
    """What changes when the code of the user's own method does; empty for those of rarespec, which has a version."""
    return own_version(_own_kind(name)) if is_own(name) else ""
