"""An experiment from a survey to its results: features, tuning, trials, and what the figures need besides."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.errors import UsageError
from rarespec.evaluation.experiment.collect import collect_results
from rarespec.evaluation.experiment.journal import Journal, journal_in
from rarespec.evaluation.experiment.outcome_files import identity, provenance, write_parquet
from rarespec.evaluation.experiment.plan import (
    Task,
    cost_tasks,
    further_tasks,
    most_neighbours,
    portions,
    timing_tasks,
    trial_tasks,
    tuning_tasks,
)
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.setting import Setting
from rarespec.evaluation.experiment.task_runner import LabelledRows, Outcome, TaskRunner, carry_out
from rarespec.progress import Progress
from rarespec.storage.processes import Died, Workers, available_cores, map_as_finished, workers_calling
from rarespec.survey.features.neighbours import graph_of

# ---- Tasks spread over processes, each outcome written down as soon as it is there.


@dataclass
class Count:
    """How much this run has done of what it has to do; what an earlier run did would spoil the time left."""

    progress: Progress | None
    total: int
    done: int = 0

    def count_earlier(self, n: int) -> None:
        """Take tasks of an earlier run off the total."""
        self.total -= n
        self.count_finished(0)

    def count_finished(self, n: int) -> None:
        """Add tasks that are done, and report."""
        self.done += n
        if self.progress:
            self.progress(self.done, self.total)


def run_tasks(tasks: Sequence[Task], workers: Workers, journal: Journal, jobs: int, count: Count) -> None:
    """Carry out the tasks that the journal does not have, and write each outcome there at once.

    A task whose process is killed has failed; the others go on.

    Parameters
    ----------
    tasks : sequence of Task
        What to carry out. Neighbours of one kind, method and parameters may go to a process together.
    workers : Workers
        Processes that carry out a portion of tasks each.
    journal : Journal
        Gets the outcomes, as they come.
    jobs : int
        Processes.
    count : Count
        Counts the tasks for the progress bar; those of an earlier run are taken off its total.
    """
    missing = [task for task in tasks if task not in journal]
    count.count_earlier(len(tasks) - len(missing))
    if not missing:
        return
    for portion, outcomes in map_as_finished(workers, portions(missing), jobs):
        if isinstance(outcomes, Died):
            killed = f"its process was killed (status {outcomes.status}), perhaps for lack of memory; try --jobs 1"
            outcomes = [{"error": killed} for _ in portion]
        for task, outcome in zip(portion, outcomes, strict=True):
            journal.add(task, outcome)
        count.count_finished(len(portion))


# ---- The parameters that tuning chooses: those with the best mean average precision over all its draws.


def choose_parameters(tried: Iterable[tuple[Task, Outcome]]) -> dict[str, dict[str, Any]]:
    """Choose, for each method, the parameters that differ from its own; none where its own did best.

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


@dataclass(frozen=True)
class Experiment:
    """Results, with what they were made from."""

    results: Results
    provenance: dict[str, Any]
    written: list[Path]
    """Parquet files."""
    left_out: list[str]
    """Numbers of known examples that the class is too small for."""
    failures: list[str]
    """What failed, with how often."""
    warnings: list[str]
    """What the methods warned of, with how often."""

    @property
    def troubles(self) -> list[str]:
        return [*self.left_out, *self.failures, *self.warnings]


def run_experiment(
    labelled: LabelledRows, setting: Setting, folder: Path, jobs: int | None = None, progress: Progress | None = None
) -> Experiment:
    """Run what the folder does not have yet, and write every outcome to Parquet files there.

    Parameters
    ----------
    labelled : LabelledRows
        The rows to rank, and which of them are rare.
    setting : Setting
        What to run. Numbers of known examples for which the class is too small are left out.
    folder : Path
        Holds the journal and the files; it is made where it does not exist.
    jobs : int, optional
        Processes; by default one for each processor. Timings always run one at a time.
    progress : callable, optional
        Called with the number of tasks done and in all.

    Returns
    -------
    Experiment
        Results, files, and what failed or was left out.

    Raises
    ------
    UsageError
        If the class is too small for every number of known examples, or the folder is in use, damaged, or holds another
        experiment.
    SurveyError
        If too many tasks failed to compare any methods.
    """
    setting, left_out = _possible(setting, labelled)
    runner = TaskRunner(labelled.X, labelled.rare, setting.seed, setting.trials, _graph(labelled, setting))
    jobs, made_with = jobs or available_cores(), provenance(labelled, setting)
    with (
        journal_in(folder, identity(labelled, setting)) as journal,
        closing(workers_calling(carry_out, runner)) as workers,
    ):
        count = Count(progress, _n_tasks(setting))
        tuning = tuning_tasks(setting)
        run_tasks(tuning, workers, journal, jobs, count)
        tuned = choose_parameters((task, journal[task]) for task in tuning)
        reported = trial_tasks(setting, tuned) + further_tasks(setting)
        run_tasks(reported, workers, journal, jobs, count)
        timing = timing_tasks(setting, tuned) + cost_tasks(setting)
        run_tasks(timing, workers, journal, 1, count)  # alone: other work would be in the way of the memory
        done = [(task, journal[task]) for task in tuning + reported + timing]
        written = write_parquet(done, runner, labelled.ids, made_with, folder)
        results = collect_results(setting, labelled.facts, tuned, runner, journal)
    warnings = _warnings(done) + _warn_of_reported_tuning(runner, tuning)
    return Experiment(results, made_with, written, left_out, [*results.left_out, *_failures(done)], warnings)


def _possible(setting: Setting, labelled: LabelledRows) -> tuple[Setting, list[str]]:
    """The setting without numbers of known examples that the class is too small for, and a word on these."""
    n_rare, words = labelled.facts.n_rare, setting.rare_in_words
    possible = tuple(n for n in setting.n_known if n < n_rare)
    if not possible:
        raise UsageError(
            f"{labelled.survey.path}: {n_rare} usable spectra are {words} ({labelled.matched_by}); "
            f"{min(setting.n_known)} known and at least one hidden example are needed; choose another --rare or --np"
        )
    left_out = [n for n in setting.n_known if n >= n_rare]
    said = f"NP = {', '.join(map(str, left_out))} left out: only {n_rare} usable spectra are {words}"
    return replace(setting, n_known=possible), [said] if left_out else []


def _graph(labelled: LabelledRows, setting: Setting) -> Any:
    k = most_neighbours(tuning_tasks(setting) + trial_tasks(setting, {}))
    return None if k is None else graph_of(labelled.features, min(k, len(labelled.rows) - 1))


def _n_tasks(setting: Setting) -> int:
    return sum(
        len(tasks)
        for tasks in (
            tuning_tasks(setting),
            trial_tasks(setting, {}),
            further_tasks(setting),
            timing_tasks(setting, {}),
            cost_tasks(setting),
        )
    )


def _warn_of_reported_tuning(runner: TaskRunner, tuning: Sequence[Task]) -> list[str]:
    n = runner.count_tuned_on_reported(tuning)
    return (
        [f"{n} of {len(tuning)} tuning tasks share a draw with the reported ones, because the class has few members"]
        if n
        else []
    )


def _failures(done: Sequence[tuple[Task, Outcome]]) -> list[str]:
    failed = Counter((task.kind, task.method, outcome["error"]) for task, outcome in done if "error" in outcome)
    return [f"{name}: {n} of kind {kind} failed: {why}" for (kind, name, why), n in failed.items()]


def _warnings(done: Sequence[tuple[Task, Outcome]]) -> list[str]:
    """The first of each method, with the number of tasks in which there was any."""
    warned: dict[str, list[str]] = {}
    for task, outcome in done:
        if "warnings" in outcome:
            warned.setdefault(task.method, []).append(outcome["warnings"][0])
    return [f"{name}: a warning in {len(said)} tasks, the first: {said[0]}" for name, said in warned.items()]
