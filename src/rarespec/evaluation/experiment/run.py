"""An experiment from a survey to its results: features, tuning, trials, and what the figures need besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rarespec.evaluation.experiment.bench import Bench, Outcome
from rarespec.evaluation.experiment.choice import chosen_parameters
from rarespec.evaluation.experiment.collected import collected
from rarespec.evaluation.experiment.ground import Ground
from rarespec.evaluation.experiment.journal import journal_in
from rarespec.evaluation.experiment.parquet_files import write_parquet
from rarespec.evaluation.experiment.plan import (
    cost_tasks,
    further_tasks,
    most_neighbours,
    timing_tasks,
    trial_tasks,
    tuning_tasks,
)
from rarespec.evaluation.experiment.provenance import identity, provenance
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.running import Count, run_tasks
from rarespec.evaluation.experiment.setting import Setting
from rarespec.evaluation.experiment.task import Task
from rarespec.processes import available_cores
from rarespec.progress import Progress
from rarespec.survey.manifest import WrongUseError
from rarespec.survey.neighbours import graph_of


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
    ground: Ground, setting: Setting, folder: Path, jobs: int | None = None, progress: Progress | None = None
) -> Experiment:
    """Run what the folder does not have yet, and write every outcome to Parquet files there."""
    setting, left_out = _possible(setting, ground)
    bench = Bench(ground.X, ground.rare, setting.seed, setting.trials, _graph(ground, setting))
    jobs, made_with = jobs or available_cores(), provenance(ground, setting)
    with journal_in(folder, identity(ground, setting)) as journal:
        count = Count(progress, _n_tasks(setting))
        tuning = tuning_tasks(setting)
        run_tasks(tuning, bench, journal, jobs, count)
        tuned = chosen_parameters((task, journal[task]) for task in tuning)
        reported = trial_tasks(setting, tuned) + further_tasks(setting)
        run_tasks(reported, bench, journal, jobs, count)
        timing = timing_tasks(setting, tuned) + cost_tasks(setting)
        run_tasks(timing, bench, journal, 1, count)  # alone: other work would be in the way of the memory
        done = [(task, journal[task]) for task in tuning + reported + timing]
        written = write_parquet(done, bench, ground.ids, made_with, folder)
        results = collected(setting, ground.facts, tuned, bench, journal)
    warnings = _warnings(done) + _tuned_on_reported(bench, tuning)
    return Experiment(results, made_with, written, left_out, [*results.left_out, *_failures(done)], warnings)


def _possible(setting: Setting, ground: Ground) -> tuple[Setting, list[str]]:
    """The setting without numbers of known examples that the class is too small for, and a word on these."""
    n_rare, words = ground.facts.n_rare, setting.rare_in_words
    possible = tuple(n for n in setting.n_known if n < n_rare)
    if not possible:
        raise WrongUseError(
            f"{ground.survey.path}: {n_rare} usable spectra are {words} ({ground.matched_by}); "
            f"{min(setting.n_known)} known and at least one hidden example are needed; choose another --rare or --np"
        )
    left_out = [n for n in setting.n_known if n >= n_rare]
    said = f"NP = {', '.join(map(str, left_out))} left out: only {n_rare} usable spectra are {words}"
    return replace(setting, n_known=possible), [said] if left_out else []


def _graph(ground: Ground, setting: Setting) -> Any:
    k = most_neighbours(tuning_tasks(setting) + trial_tasks(setting, {}))
    return None if k is None else graph_of(ground.features, min(k, len(ground.rows) - 1))


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


def _tuned_on_reported(bench: Bench, tuning: Sequence[Task]) -> list[str]:
    n = bench.tuned_on_reported(tuning)
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
