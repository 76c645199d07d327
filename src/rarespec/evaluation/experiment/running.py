"""Tasks spread over processes, each outcome written down as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rarespec.evaluation.experiment.bench import Bench, carried_out
from rarespec.evaluation.experiment.journal import Journal
from rarespec.evaluation.experiment.plan import portions
from rarespec.evaluation.experiment.task import Task
from rarespec.processes import Died, map_in_order
from rarespec.survey import SurveyError


def run_tasks(
    tasks: Sequence[Task], bench: Bench, journal: Journal, jobs: int, finished: Callable[[int], None]
) -> None:
    """Carry out what the journal does not have; `finished` is called with the number of tasks that have just ended."""
    missing = [task for task in tasks if task not in journal]
    finished(len(tasks) - len(missing))
    if not missing:
        return
    for portion, outcomes in map_in_order(carried_out, bench, portions(missing), jobs):
        if isinstance(outcomes, Died) or outcomes is None:
            raise SurveyError(
                f"a process was killed while it ran {portion[0].method}; is there enough memory? "
                "Run the same command again with --jobs 1: it goes on where it stopped"
            )
        for task, outcome in zip(portion, outcomes, strict=True):
            journal.add(task, outcome)
        finished(len(portion))
