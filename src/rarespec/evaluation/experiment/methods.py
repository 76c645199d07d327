"""The methods that an experiment compares, by the name they have on the command line."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers import LRGA, BaggingTopPush, MatchedFilter, by_name
from rarespec.rankers.by_name import CLASS_OF
from rarespec.rankers.ranker import Flags, Ranker, Scores
from rarespec.rankers.rows import Rows

# ---- A ranker of the user's own, given as MODULE:CLASS: imported, and tried on a few rows before anything is
# computed.


CONTRACT = "see docs/add-a-ranker for what a ranker must do"
NEEDED = ("fit", "decision_function", "get_params", "set_params")
"""What an experiment calls; scikit-learn's BaseEstimator has the last two."""


def own_ranker(name: str) -> type[Any]:
    """The class; a ValueError that says what is wrong where it is no ranker.

    It is looked for in the directory where the user is, too. Importing runs its module: nothing but the user's own
    words may name it.
    """
    module_name, _, class_name = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a command that is installed does not look there
    try:
        module = import_module(module_name)
    except Exception as error:  # whatever somebody's module does when it is imported
        raise ValueError(f"{name}: {module_name} cannot be imported: {_describe_error(error)}") from error
    kind = getattr(module, class_name, None)
    if not inspect.isclass(kind):
        classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
        there = f"; it has {', '.join(classes)}" if classes else ""
        raise ValueError(f"{name}: {module_name} has no class {class_name!r}{there}")
    reason = _why_no_ranker(kind)
    if reason:
        raise ValueError(f"{name} cannot be used: {reason}; {CONTRACT}")
    return kind


class OwnRanker(Ranker):
    """An estimator that is no `Ranker`, behind the contract of one: nothing is prepared, each fit is a whole one."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Those of the estimator."""
        params: dict[str, Any] = self.estimator.get_params()
        return params

    def set_params(self, **params: Any) -> OwnRanker:
        """On a copy of the estimator, as others may hold it too."""
        self.estimator = deepcopy(self.estimator).set_params(**params)
        return self

    def decision_function(self, X: Any) -> Scores:
        """What the estimator says of the rows."""
        scores: Scores = self.fitted_.decision_function(X)
        return scores

    def _fit(self, X: Rows, known: Flags) -> None:
        self.fitted_ = deepcopy(self.estimator).fit(X, known.astype(np.float64))

    def _scores(self, X: Rows) -> Scores:
        return self.decision_function(X)

    def _copy_unfitted(self) -> OwnRanker:
        return OwnRanker(self.estimator)


def own_version(kind: type[Any]) -> str:
    """Changes with the file that the class is in; of a class without a file, only with its name."""
    source = inspect.getsourcefile(kind)
    return hashlib.sha256(Path(source).read_bytes() if source else repr(kind).encode()).hexdigest()[:12]


def _why_no_ranker(kind: type[Any]) -> str | None:
    missing = [method for method in NEEDED if not callable(getattr(kind, method, None))]
    if missing:
        return f"it has no {', '.join(missing)}"
    if inspect.isabstract(kind):
        return f"it does not implement {', '.join(sorted(kind.__abstractmethods__))}"
    try:
        ranker = kind()
    except Exception as error:
        return f"{kind.__name__}() without parameters fails: {_describe_error(error)}"
    return _why_scores_are_wrong(ranker)


def _why_scores_are_wrong(ranker: Any) -> str | None:
    """On a few rows with one and with several known ones: a score for each row, finite, repeatable, rows unchanged."""
    X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    X[:6] += 4
    for n_known in (1, 3):
        given, y = X.copy(), (np.arange(len(X)) < n_known).astype(float)
        try:
            first, second = (_scores(ranker, given, y) for _ in range(2))
        except Exception as error:
            return f"with {n_known} of {len(X)} rows known it fails: {_describe_error(error)}"
        if not (isinstance(first, np.ndarray) and first.shape == (len(X),) and first.dtype.kind in "fiu"):
            return f"decision_function must give one number for each row, ({len(X)},), not {_describe(first)}"
        if not np.isfinite(first).all():
            return f"{np.sum(~np.isfinite(first))} of {len(X)} scores are not finite"
        if not np.array_equal(given, X):
            return "it modifies its input rows"
        if not np.array_equal(first, second):
            return "a second fit gives the same rows different scores; random numbers must depend only on random_state"
    return None


def _scores(ranker: Any, X: NDArray[np.float32], y: NDArray[np.float64]) -> Any:
    """As an experiment gets them: a seed where one is taken, and a new fit."""
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=1)
    fitted = ranker.fit(X, y)
    if fitted is not ranker:
        raise TypeError("fit must return the ranker itself")
    return fitted.decision_function(X)


def _describe(value: Any) -> str:
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


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
