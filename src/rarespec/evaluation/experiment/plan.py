"""The tasks of an experiment, and in which portions they are handed out."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid

from rarespec.evaluation.experiment.methods import is_own, method, version_of
from rarespec.evaluation.experiment.setting import Setting, Tune
from rarespec.evaluation.tuning import BAG_SIZE, N_BAGS, REGULARISATION, TUNED_IN_PAPER, ValuesOf, paper_grid
from rarespec.rankers.by_name import name_of

# ---- One piece of an experiment: a method, its parameters, and the draw of known examples it is given.


Kind = Literal["trial", "tuning", "bags", "strength", "timing"]

STREAM: dict[Kind, int] = {"trial": 0, "timing": 0, "tuning": 1, "bags": 2, "strength": 2}
"""Kinds of one stream share their draws: figures 8 and 9 agree where their parameters do."""


@dataclass(frozen=True)
class Task:
    """Known by its key, under which its outcome is found again after an interruption."""

    kind: Kind
    method: str
    params: str
    """Parameters other than the method's own, as JSON with sorted names."""
    n_known: int
    draw: int

    @property
    def key(self) -> str:
        """Of a method of the user's own, also the version of its code: what an older one did counts for nothing."""
        version = version_of(self.method)
        name = f"{self.method}@{version}" if version else self.method
        return "|".join((self.kind, name, self.params, str(self.n_known), str(self.draw)))

    @property
    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = json.loads(self.params)
        return parameters

    def known(self, rare_rows: NDArray[np.intp], seed: int, attempt: int = 0) -> NDArray[np.intp]:
        """Draw the known examples of this task, the same for every method.

        Parameters
        ----------
        rare_rows : (r,) int
            Rows of the rare class, at least as many as are known.
        seed : int
            Seed of the experiment.
        attempt : int, default 0
            Another number gives another draw, for a task whose draw must not be one that is reported.

        Returns
        -------
        (n_known,) int
            Rows, rising.
        """
        return np.sort(self._random(seed, purpose=2 * attempt).choice(rare_rows, self.n_known, replace=False))

    def ranker_seed(self, seed: int) -> int:
        """Return the seed of what a method draws itself, another one with every draw of known examples."""
        return int(self._random(seed, purpose=1).integers(2**31))

    def _random(self, seed: int, purpose: int = 0) -> np.random.Generator:
        return np.random.default_rng([seed, STREAM[self.kind], self.n_known, self.draw, purpose])


def as_text(params: dict[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)


STUDIED = "bagging_top_push"
"""The method of figures 8 and 9."""

PUBLISHED = "published_top_push"
"""The same method with the solver of its authors."""

STUDIED_GRID: dict[str, tuple[float, ...]] = {"regularisation": REGULARISATION, "bag_size": BAG_SIZE, "n_bags": N_BAGS}

COST_DRAW = 1
"""The draw that costs are measured on: not that of figure 7, so that its timings are other tasks."""

SHOWN_N_KNOWN = (1, 10, 30)
"""Numbers of known examples in the figures with several panels."""

QUERIES_AT_ONCE = 8
"""Queries that a ranker on a graph answers together: products with its matrix are shared."""

USED_UP = {"matched_filter": ("method",)}
"""Ranker -> parameters that tell two of our methods apart, and so are not tuned."""


def choose_shown_numbers(available: Collection[int]) -> list[int]:
    """Choose the paper's 1, 10 and 30 known examples; where one is missing, the smallest, a middle and the largest."""
    numbers = sorted(available)
    if set(SHOWN_N_KNOWN) <= set(numbers):
        return list(SHOWN_N_KNOWN)
    return sorted({numbers[0], numbers[len(numbers) // 2], numbers[-1]})


def tuning_tasks(setting: Setting) -> list[Task]:
    return [
        Task("tuning", name, as_text(params), n_known, draw)
        for name in setting.methods
        if len(tried := combinations(name, setting.tuned)) > 1
        for params in tried
        for n_known in setting.n_known
        for draw in range(setting.tuning_draws)
    ]


def combinations(name: str, tune: Tune) -> list[dict[str, Any]]:
    """List what tuning tries: the method's own parameters, and those of its grid (`paper_grid`), one at a time."""
    own = method(name).make().get_params()
    grid = _grid(name, tune)
    tried: list[dict[str, Any]] = [{}]
    for combination in ParameterGrid(grid) if grid else ():
        other = {key: value for key, value in combination.items() if own[key] != value}
        if other and other not in tried:
            tried.append(other)
    return tried


def _grid(name: str, tune: Tune) -> list[ValuesOf]:
    """Empty for what is not tuned; a method of the user's own has no grid."""
    if tune == "none" or is_own(name):
        return []
    kind = name_of(method(name).make())
    if tune == "paper" and kind not in TUNED_IN_PAPER:
        return []
    return [values for values in paper_grid(kind) if not set(values) & set(USED_UP.get(kind, ()))]


def trial_tasks(setting: Setting, tuned: Mapping[str, Mapping[str, Any]]) -> list[Task]:
    return [
        Task("trial", name, as_text(dict(tuned.get(name, {}))), n_known, draw)
        for name in setting.methods
        for n_known in setting.n_known
        for draw in range(setting.trials)
    ]


def further_tasks(setting: Setting) -> list[Task]:
    """Plan the tasks for figures 8 and 9."""
    draws = range(setting.sensitivity_draws if STUDIED in setting.methods else 0)
    bags = [
        Task("bags", STUDIED, as_text({"bag_size": size}), n_known, draw)
        for n_known in choose_shown_numbers(setting.n_known)
        for size in BAG_SIZE
        for draw in draws
    ]
    strengths = [
        Task("strength", STUDIED, as_text({"regularisation": strength}), n_known, draw)
        for n_known in setting.n_known
        for strength in REGULARISATION
        for draw in draws
    ]
    return bags + strengths


def timing_tasks(setting: Setting, tuned: Mapping[str, Mapping[str, Any]]) -> list[Task]:
    n_known = _choose_timed_number(setting)
    return [Task("timing", name, as_text(dict(tuned.get(name, {}))), n_known, 0) for name in setting.methods]


def cost_tasks(setting: Setting) -> list[Task]:
    """Plan timings of BaggingTopPush over each of its parameters, and of the published solver over lambda."""
    if STUDIED not in setting.methods or not setting.sensitivity_draws:
        return []
    varied = [(STUDIED, {name: value}) for name, values in STUDIED_GRID.items() for value in values]
    varied += [(PUBLISHED, {"regularisation": value}) for value in REGULARISATION[::3]]  # it is slow
    n_known = _choose_timed_number(setting)
    return [Task("timing", name, as_text(params), n_known, COST_DRAW) for name, params in varied]


def _choose_timed_number(setting: Setting) -> int:
    return 10 if 10 in setting.n_known else max(setting.n_known)


def portions(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    """Group tasks of one kind, method and parameters; several at once only where a ranker gains by it."""

    def same(task: Task) -> tuple[Kind, str, str]:
        return task.kind, task.method, task.params

    for (kind, name, _), group in groupby(tasks, same):
        together = kind in ("trial", "tuning") and method(name).make().answers_together
        while portion := list(islice(group, QUERIES_AT_ONCE if together else 1)):
            yield portion


def most_neighbours(tasks: Iterable[Task]) -> int | None:
    """Return how many neighbours the most demanding ranker needs; None where none needs a graph."""
    different = {(task.method, task.params): task for task in tasks}.values()
    needed = [method(task.method).make().set_params(**task.parameters).needs().graph for task in different]
    return max((k for k in needed if k is not None), default=None)
