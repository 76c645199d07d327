"""The parameters that tuning chooses: those with the best mean average precision over all its draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from rarespec.evaluation.experiment.bench import Outcome
from rarespec.evaluation.experiment.task import Task


def chosen_parameters(tried: Iterable[tuple[Task, Outcome]]) -> dict[str, dict[str, Any]]:
    """Method -> parameters that differ from its own; empty where its own did best.

    One choice for all numbers of known examples, as in the paper. Of equally good ones the first tried is taken; a
    combination that failed anywhere is not.
    """
    figures: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for task, outcome in tried:
        figures[task.method][task.params].append(outcome.get("ap", -np.inf))
    return {name: _parameters(name, by_params) for name, by_params in figures.items()}


def _parameters(name: str, figures: dict[str, list[float]]) -> dict[str, Any]:
    best = max(figures, key=lambda params: np.mean(figures[params]))
    return Task("tuning", name, best, 1, 0).parameters
