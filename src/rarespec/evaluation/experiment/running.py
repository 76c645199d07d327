"""Tasks spread over processes, each outcome written down as soon as it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rarespec.evaluation.experiment.bench import Bench, carried_out
from rarespec.evaluation.experiment.journal import Journal
from rarespec.evaluation.experiment.plan import portions
from rarespec.evaluation.experiment.task import Task
from rarespec.processes import Died, map_as_finished
from rarespec.progress import Progress


@dataclass
class Count:
    """How much this run has done of what it has to do; what an earlier run did would spoil the time left."""

    progress: Progress | None
    total: int
    done: int = 0

    def known_before(self, n: int) -> None:
        self.total -= n
        self.finished(0)

    def finished(self, n: int) -> None:
        self.done += n
        if self.progress:
            self.progress(self.done, self.total)


def run_tasks(tasks: Sequence[Task], bench: Bench, journal: Journal, jobs: int, count: Count) -> None:
    """Carry out what the journal does not have; a task whose process is killed has failed, and the others go on."""
    missing = [task for task in tasks if task not in journal]
    count.known_before(len(tasks) - len(missing))
    if not missing:
        return
    for portion, outcomes in map_as_finished(carried_out, bench, portions(missing), jobs):
        if isinstance(outcomes, Died):
            killed = f"its process was killed (status {outcomes.status}), perhaps for lack of memory; try --jobs 1"
            outcomes = [{"error": killed} for _ in portion]
        for task, outcome in zip(portion, outcomes, strict=True):
            journal.add(task, outcome)
        count.finished(len(portion))
