"""From the outcomes of single tasks to results: cells in the order of the draws, and what is missing in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rarespec.errors import SurveyError
from rarespec.evaluation.experiment.journal import Journal
from rarespec.evaluation.experiment.methods import method
from rarespec.evaluation.experiment.plan import (
    Kind,
    Task,
    cost_tasks,
    further_tasks,
    timing_tasks,
    trial_tasks,
    tuning_tasks,
)
from rarespec.evaluation.experiment.results import (
    Cell,
    CostCell,
    Facts,
    Results,
    Sensitivity,
    Shown,
    Timing,
    Trials,
    Tried,
)
from rarespec.evaluation.experiment.setting import Setting
from rarespec.evaluation.experiment.task_runner import Outcome, TaskRunner, unpack_places
from rarespec.evaluation.places import Places
from rarespec.evaluation.tuning import BAG_SIZE, N_BAGS, REGULARISATION


def collect_results(
    setting: Setting, facts: Facts, tuned: Mapping[str, Mapping[str, Any]], runner: TaskRunner, journal: Journal
) -> Results:
    """Collect the outcomes of all tasks into results, and leave out what cannot be compared.

    A draw on which one method failed is left out for all methods. So is a method that failed on every draw of some
    number of known examples, and then a number of known examples of which no draw is left.

    Parameters
    ----------
    setting : Setting
        The setting that the tasks were planned with.
    facts : Facts
        What the experiment was made on.
    tuned : mapping of str to mapping
        Method -> the parameters that tuning chose.
    runner : TaskRunner
        Draws the known rows of a task again.
    journal : Journal
        The outcome of every task.

    Returns
    -------
    Results
        Their setting has only the methods and numbers of known examples that are left.

    Raises
    ------
    SurveyError
        If nothing is left.
    """
    working = _working(setting, trial_tasks(setting, tuned), journal)
    tasks = trial_tasks(working, tuned)
    lost = _draws_lost(tasks, journal)
    further = replace(setting, methods=working.methods)  # figures 7 to 9 have draws of their own
    return Results(
        setting=working,
        facts=facts,
        trials=_trials([task for task in tasks if (task.n_known, task.draw) not in lost], journal, runner),
        shown={_cell(t): _show_draw(t, journal[t], runner) for t in tasks if t.draw == 0 and "top" in journal[t]},
        timings=_timings(further, tuned, journal),
        bags=_sensitivity("bags", further, journal, (len(BAG_SIZE), len(N_BAGS))),
        strengths=_sensitivity("strength", further, journal, (len(REGULARISATION),)),
        tuned={name: params for name, params in tuned.items() if params and name in working.methods},
        costs=_costs(further, journal),
        tried=_collect_tuning(further, journal),
        left_out=_methods_left_out(setting, working),
    )


def _cell(task: Task) -> Cell:
    return task.method, task.n_known


def _working(setting: Setting, tasks: Sequence[Task], journal: Journal) -> Setting:
    """Without the methods that failed on every draw of some number of known, and then without the numbers of known
    of which no draw is left on which all others succeeded."""
    succeeded = {_cell(task) for task in tasks if "error" not in journal[task]}
    methods = tuple(
        name for name in setting.methods if all((name, n_known) in succeeded for n_known in setting.n_known)
    )
    lost = _draws_lost([task for task in tasks if task.method in methods], journal)
    n_known = tuple(n for n in setting.n_known if any((n, draw) not in lost for draw in range(setting.trials)))
    if not methods or not n_known:
        raise SurveyError("no method succeeded on any draw for every number of known examples; see the journal")
    return replace(setting, methods=methods, n_known=n_known)


def _methods_left_out(setting: Setting, working: Setting) -> tuple[str, ...]:
    methods = [name for name in setting.methods if name not in working.methods]
    numbers = [n for n in setting.n_known if n not in working.n_known]
    return tuple(f"{method(name).label}: failed on every draw for some NP" for name in methods) + tuple(
        f"NP = {n}: some method failed on each draw" for n in numbers
    )


def _draws_lost(tasks: Sequence[Task], journal: Journal) -> set[tuple[int, int]]:
    """Draws on which a method failed: left out for all, as differences are taken draw by draw."""
    return {(task.n_known, task.draw) for task in tasks if "error" in journal[task]}


def _trials(tasks: Sequence[Task], journal: Journal, runner: TaskRunner) -> dict[Cell, Trials]:
    of_cell: dict[Cell, list[Task]] = {}
    for task in tasks:
        of_cell.setdefault(_cell(task), []).append(task)
    return {cell: _cell_trials(cell_tasks, journal, runner) for cell, cell_tasks in of_cell.items()}


def _cell_trials(tasks: Sequence[Task], journal: Journal, runner: TaskRunner) -> Trials:
    places = Places(
        np.stack([unpack_places(journal[task]["places"]) for task in tasks]), len(runner.X) - tasks[0].n_known
    )
    aucs, distances = ([journal[task].get(name) for task in tasks] for name in ("auc", "top_distance"))
    near = None if None in distances else np.array(distances, dtype=float)
    return Trials(places, np.array(aucs), tasks[0].parameters, near)


def _show_draw(task: Task, outcome: Outcome, runner: TaskRunner) -> Shown:
    return Shown(runner.known(task), np.array(outcome["top"]))


def _timings(setting: Setting, tuned: Mapping[str, Mapping[str, Any]], journal: Journal) -> dict[Cell, Timing]:
    timed = [task for task in timing_tasks(setting, tuned) if "error" not in journal[task]]
    return {_cell(task): Timing(journal[task]["query_s"], journal[task]["setup_s"]) for task in timed}


def _costs(setting: Setting, journal: Journal) -> dict[CostCell, float]:
    timed = [task for task in cost_tasks(setting) if "error" not in journal[task]]
    return {(task.method, *next(iter(task.parameters.items()))): journal[task]["query_s"] for task in timed}


def _collect_tuning(setting: Setting, journal: Journal) -> dict[str, list[Tried]]:
    """A combination that failed on some draw is left out, as it was not to be chosen."""
    of_params: dict[tuple[str, str], list[Task]] = {}
    for task in tuning_tasks(setting):
        of_params.setdefault((task.method, task.params), []).append(task)
    tried: dict[str, list[Tried]] = {}
    for (name, _), tasks in of_params.items():
        if not any("error" in journal[task] for task in tasks):
            tried.setdefault(name, []).append(Tried(tasks[0].parameters, _mean_ap(tasks, journal)))
    return tried


def _mean_ap(tasks: Sequence[Task], journal: Journal) -> dict[int, float]:
    numbers = dict.fromkeys(task.n_known for task in tasks)
    return {n: float(np.mean([journal[task]["ap"] for task in tasks if task.n_known == n])) for n in numbers}


def _sensitivity(kind: Kind, setting: Setting, journal: Journal, shape: tuple[int, ...]) -> dict[int, Sensitivity]:
    """The tasks are in the order of the parameter, then of the draws; an outcome may hold several values."""
    tasks = [task for task in further_tasks(setting) if task.kind == kind]
    found: dict[int, Sensitivity] = {}
    for n_known in dict.fromkeys(task.n_known for task in tasks):
        outcomes = [journal[task] for task in tasks if task.n_known == n_known]
        if not any("error" in outcome for outcome in outcomes):
            figures = [
                np.moveaxis(np.array([o[name] for o in outcomes]).reshape(shape[0], -1, *shape[1:]), 1, -1)
                for name in ("auc", "ap")
            ]
            found[n_known] = Sensitivity(*figures)
    return found
