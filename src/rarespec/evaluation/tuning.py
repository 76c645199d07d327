"""Parameters of any ranker chosen by hiding known examples and looking how well they are found again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from rarespec.evaluation.hiding import MIN_KNOWN, Hiding, hide_known
from rarespec.evaluation.metrics import average_precision_at_k, relevance_in_order, roc_auc_of_scores
from rarespec.rankers.by_name import NAMES, name_of
from rarespec.rankers.neighbours.neighbour_graph import build_neighbours
from rarespec.rankers.parameters import is_whole
from rarespec.rankers.ranker import NOTHING_KEPT, Kept, Preparation, Ranker, Scores
from rarespec.rankers.rows import Rows

# ---- The values that parameters are tuned over: those of Du et al. (2016), and ours where the paper names none.
#
# The paper's are lambda, K and T of BaggingTopPush, nu of OCSVM and C of BaggingSVM. It kept k, alpha, sigma and d
# of LP, EMR and LRGA fixed, so the grids of these are ours, and so are those of all methods that it does not have.


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
    """Return the grid of a ranker, in the form of scikit-learn's ParameterGrid.

    Parameters
    ----------
    name : str
        One of `rarespec.rankers.NAMES`.
    product : bool, optional
        False varies one parameter at a time, the others as they are set (24 combinations for BaggingTopPush). True
        takes every combination (504). The paper does not say which it took.

    Returns
    -------
    list of dict
        Parameter to values.

    Raises
    ------
    ValueError
        If there is no such ranker.

    Examples
    --------
    >>> from rarespec.evaluation import paper_grid
    >>> paper_grid("ocsvm")
    [{'nu': (0.1, 0.2, 0.3, 0.4, 0.5)}]
    """
    if name not in PAPER_GRIDS:
        raise ValueError(f"there is no grid for {name!r}; choose from {', '.join(NAMES)}")
    values = PAPER_GRIDS[name]
    return [values] if product else [{parameter: values[parameter]} for parameter in values]


Judge = Callable[[NDArray[Any], NDArray[np.bool_]], float]
"""Scores and flags of what is to be found, in the same order, to a figure: the higher the better."""

Combination = dict[str, Any]


class Tuned(Ranker):
    """A ranker with the parameters that find its own known examples best.

    For every combination of parameters and every fold of the hide-known protocol the ranker is fitted with some known
    examples hidden among the unlabelled rows, and judged by how high it puts them among these. The combination with the
    best mean is fitted again with all known examples; of equally good ones the earliest in the grid is taken. Not to be
    confused with GridSearchCV, which would hold out unlabelled rows too and call them negatives.

    Parameters
    ----------
    ranker : Ranker
        The ranker to tune; parameters that are not in the grid stay as they are set here.
    grid : "paper", dict or list of dict, optional
        "paper" for the values of Du et al. (2016), one parameter at a time (`paper_grid`); or a dict of parameter to
        values to try, or a list of such dicts, as for scikit-learn's ParameterGrid.
    n_splits : int, optional
        Largest number of folds; with fewer known examples each is hidden alone.
    metric : str or callable, optional
        "average_precision" (default; ties count as the worst order), "auc" (ties count one half), or a function of
        relevance flags in ranked order, such as `lambda flags: recall_at_k(flags, 100)`. The higher the better.
    random_state : int, RandomState or None, optional
        Decides which known examples are hidden together. The ranker has its own.

    Attributes
    ----------
    best_ranker_ : Ranker
        Fitted with the chosen parameters and all known examples.
    best_params_ : dict
        The chosen combination; empty when nothing could be tuned.
    tuned_ : bool
        Whether anything was tuned. With one known example nothing can be hidden, and an empty grid has nothing to
        choose from: the parameters are then the ranker's own.
    why_not_ : str or None
        The reason when nothing was tuned.
    n_failed_ : int
        How many combinations could not be fitted or judged.
    results_ : dict
        `params` (list of combinations), `scores` ((combinations, folds) float64, NaN where not known), `mean`
        ((combinations,) float64, NaN for one that failed) and `error` (list of text, None for one that did not).

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.evaluation import Tuned
    >>> from rarespec.rankers import MatchedFilter
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> X[:6] += 3.0  # rare rows, of which three are known
    >>> tuned = Tuned(MatchedFilter(), {"shrinkage": [0.0, 0.5]}).fit(X, np.arange(60) < 3)
    >>> sorted(tuned.best_params_)
    ['shrinkage']
    """

    best_ranker_: Ranker

    def __init__(
        self,
        ranker: Ranker,
        grid: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] = "paper",
        n_splits: int = 5,
        metric: str | Callable[[NDArray[np.bool_]], float] = "average_precision",
        random_state: Any = 0,
    ) -> None:
        self.ranker = ranker
        self.grid = grid
        self.n_splits = n_splits
        self.metric = metric
        self.random_state = random_state

    def _fit(self, X: Rows, known: NDArray[np.bool_]) -> None:
        judge = _judge(self.metric)
        combinations = _combinations(self.grid, self.ranker)
        self.why_not_ = _why_not(known, combinations)
        self.tuned_ = self.why_not_ is None
        folds = list(hide_known(known, self.n_splits, self.random_state)) if self.tuned_ else []
        self.results_ = self._try_all(combinations if self.tuned_ else [], folds, judge, X)
        self.n_failed_ = sum(error is not None for error in self.results_["error"])
        self.best_params_ = _best(self.results_) if self.tuned_ else {}
        self.best_ranker_ = clone(self.ranker).set_params(**self.best_params_).fit(X, known)

    def _scores(self, X: Rows) -> Scores:
        return self.best_ranker_.decision_function(X)

    def _try_all(self, combinations: list[Combination], folds: list[Hiding], judge: Judge, X: Rows) -> dict[str, Any]:
        scores, kept = np.full((len(combinations), len(folds)), np.nan), _prepare_kept(self.ranker, combinations, X)
        errors: list[str | None] = [None] * len(combinations)
        for i, combination in enumerate(combinations):
            try:
                ranker = clone(self.ranker).set_params(**combination)
                for j, found in enumerate(_refound(ranker.prepare(X, kept), folds, judge)):
                    scores[i, j] = found
            except Exception as error:  # whatever one combination does, the others are tried
                errors[i] = f"{type(error).__name__}: {error}"
        means = scores.mean(axis=1) if folds else np.full(len(combinations), np.nan)
        return {"params": combinations, "scores": scores, "mean": means, "error": errors}


def _prepare_kept(ranker: Ranker, combinations: list[Combination], X: Rows) -> Kept:
    """With the neighbours that the most demanding combination needs, if any does and is not given them."""
    needed = [clone(ranker).set_params(**combination).needs().graph for combination in combinations]
    if not needed or None in needed:
        return NOTHING_KEPT
    # a value that is no number of neighbours fails in its own combination
    most = max([1, *(int(k) for k in needed if is_whole(k))])
    return Kept(graph=build_neighbours(X, min(most, len(X) - 1)))


def _refound(preparation: Preparation, folds: list[Hiding], judge: Judge) -> Iterator[float]:
    """How well each fold's hidden examples are found again."""
    found = preparation.scores_for(np.column_stack([fold.y for fold in folds]))
    for fold, scores in zip(folds, found.T, strict=True):
        figure = float(judge(*fold.select_judged(scores)))
        if not np.isfinite(figure):
            raise ValueError(f"the metric gave {figure}")
        yield figure


def _best(results: dict[str, Any]) -> Combination:
    """The first of the best; a ValueError when all failed, one warning when some did."""
    failures = [f"{p}: {e}" for p, e in zip(results["params"], results["error"], strict=True) if e is not None]
    if len(failures) == len(results["params"]):
        raise ValueError(f"all {len(failures)} combinations of parameters failed:\n" + "\n".join(failures))
    if failures:
        counted = f"{len(failures)} of {len(results['params'])} combinations of parameters failed and were skipped"
        warnings.warn(f"{counted} (see results_['error']); the first: {failures[0]}", stacklevel=5)
    best: Combination = results["params"][int(np.nanargmax(results["mean"]))]
    return best


def _why_not(known: NDArray[np.bool_], combinations: list[Combination]) -> str | None:
    if known.sum() < MIN_KNOWN:
        return "a single known example cannot be hidden, so tuning is skipped and the ranker's own parameters are used"
    if not any(combinations):
        return "the grid has nothing to choose from, so the ranker's own parameters are used"
    return None


def _combinations(grid: Any, ranker: Ranker) -> list[Combination]:
    if isinstance(grid, str) and grid != "paper":
        raise ValueError(f"grid must be 'paper', a dict of parameter -> values or a list of these, not {grid!r}")
    grids = paper_grid(name_of(ranker)) if isinstance(grid, str) else [grid] if isinstance(grid, Mapping) else grid
    combinations = list(ParameterGrid(grids)) if len(grids) else []
    unknown = sorted({name for combination in combinations for name in combination} - set(ranker.get_params()))
    if unknown:
        raise ValueError(f"grid has {', '.join(unknown)}; {type(ranker).__name__} has {', '.join(ranker.get_params())}")
    return combinations


def _judge(metric: Any) -> Judge:
    if metric == "average_precision":
        return lambda scores, wanted: average_precision_at_k(relevance_in_order(scores, wanted))
    if metric == "auc":
        return roc_auc_of_scores
    if callable(metric):
        return lambda scores, wanted: metric(relevance_in_order(scores, wanted))
    raise ValueError(f"metric must be 'average_precision', 'auc' or a function of relevance flags, not {metric!r}")
