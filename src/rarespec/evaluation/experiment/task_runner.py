"""Where tasks are carried out: the features of a survey, which rows are rare, and rankers prepared once."""

from __future__ import annotations

import base64
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.methods import method
from rarespec.evaluation.experiment.plan import Kind, Task
from rarespec.evaluation.experiment.results import Facts
from rarespec.evaluation.experiment.setting import rare_class
from rarespec.evaluation.metrics import roc_auc_of_scores
from rarespec.evaluation.places import Places
from rarespec.evaluation.tuning import N_BAGS
from rarespec.features import PaperFeatures
from rarespec.progress import Progress
from rarespec.rankers import BaggingTopPush
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph
from rarespec.rankers.ranker import Kept, Preparation, Ranker, Scores
from rarespec.survey import Survey
from rarespec.survey.features.computing import features_of
from rarespec.survey.features.feature_set import FeatureSet

# ---- What an experiment stands on: the features of a survey, and which of its spectra are rare.


@dataclass(frozen=True)
class LabelledRows:
    """The rows that are ranked are those of the survey that have features."""

    features: FeatureSet
    rows: NDArray[np.intp]
    """Row in the survey of each ranked row."""
    rare: NDArray[np.bool_]
    """Which of the ranked rows are rare."""
    matched_by: str

    @property
    def survey(self) -> Survey:
        return self.features.survey

    @cached_property
    def X(self) -> NDArray[np.float32]:
        """Features of the ranked rows, (n, d)."""
        return self.features.values[self.rows]

    @cached_property
    def ids(self) -> NDArray[Any]:
        """Id of each ranked row."""
        return self.survey.ids[self.rows]

    @property
    def facts(self) -> Facts:
        n_unusable = len(self.features) - len(self.rows)
        return Facts(self.survey.path.name, len(self.rows), n_unusable, int(self.rare.sum()), self.matched_by)


def label_survey(survey: Survey, rare: str, progress: Progress | None = None) -> LabelledRows:
    """Compute the paper's features of a survey, and find the members of the rare class.

    The components are learned from all spectra of the survey, by the exact solver. The randomised one, which a search
    takes, could find others where components are nearly equally strong.

    Parameters
    ----------
    survey : Survey
        The survey.
    rare : str
        The rare class, or several with commas between them; see `rare_class`.
    progress : callable, optional
        Called while the features are computed.

    Returns
    -------
    LabelledRows
        The spectra that have features, and which of them are rare.

    Raises
    ------
    UsageError
        If no spectrum is of the class, or all are.
    """
    members = rare_class(survey, rare)
    features = features_of(survey, PaperFeatures(solver="exact"), progress=progress)
    rows = np.flatnonzero(features.usable)
    return LabelledRows(features, rows, members.members[rows], members.matched_by)


# ---- Places as short text: a class of thousands would make the journal, and the memory it is read into, very
# large.


def pack_places(places: NDArray[np.integer]) -> str:
    """Compress rising places, by their differences, to text."""
    steps = np.diff(places, prepend=0).astype("<u4")
    return base64.b64encode(zlib.compress(steps.tobytes())).decode()


def unpack_places(text: str) -> NDArray[np.int64]:
    """Turn the text of `pack_places` back into places."""
    steps = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u4")
    return np.cumsum(steps, dtype=np.int64)


# ---- Tasks carried out on those rows, with rankers that are prepared once.


Outcome = dict[str, Any]
"""What came of a task, in values that JSON knows; under "error" the reason when nothing did."""

N_TOP = 500
"""Rows of the first draw that are kept for the figures."""

MAX_ATTEMPTS = 100
"""Draws for tuning before one that is reported too is accepted."""

N_NEAR = 20
"""Rows at the top whose distance from a single known example is taken, as many as figure 6 shows."""

N_TIMED = 3
"""Queries that are timed, one after the other, for one figure."""

LONG_S = 1.0


@dataclass(eq=False)
class TaskRunner:
    """Sent once to every worker."""

    X: NDArray[np.float32]
    rare: NDArray[np.bool_]
    seed: int
    trials: int
    """Reported draws for each number of known examples."""
    graph: NeighbourGraph | None
    """With as many neighbours as any task asks for; None when no method walks on a graph."""
    _prepared: dict[tuple[str, str], Preparation] = field(default_factory=dict)

    @property
    def rare_rows(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.rare)

    def known(self, task: Task) -> NDArray[np.intp]:
        """Draw the known rows of a task. A draw for tuning is drawn again when it is among those that are reported."""
        if task.kind != "tuning":
            return task.known(self.rare_rows, self.seed)
        reported = self._reported_draws(task.n_known)
        draws = (task.known(self.rare_rows, self.seed, attempt) for attempt in range(MAX_ATTEMPTS))
        drawn = next(draws)
        while tuple(drawn) in reported and (again := next(draws, None)) is not None:
            drawn = again
        return drawn

    def count_tuned_on_reported(self, tasks: Iterable[Task]) -> int:
        """Count the tuning tasks that share their draw with a reported one: a class of few members has no others."""
        tuning = (task for task in tasks if task.kind == "tuning")
        return sum(tuple(self.known(task)) in self._reported_draws(task.n_known) for task in tuning)

    @lru_cache  # noqa: B019 - a TaskRunner lives as long as its process
    def _reported_draws(self, n_known: int) -> frozenset[tuple[int, ...]]:
        trials = (Task("trial", "", "{}", n_known, draw) for draw in range(self.trials))
        return frozenset(tuple(task.known(self.rare_rows, self.seed)) for task in trials)

    def preparation(self, task: Task) -> Preparation:
        """Prepare the task's ranker on the rows, and keep the last one. Fits draw by the seed of their own task."""
        key = (task.method, task.params)
        if key not in self._prepared:
            self._prepared = {key: self.ranker(task).prepare(self.X, Kept(graph=self.graph))}
        return self._prepared[key]

    def ranker(self, task: Task) -> Ranker:
        """Make the task's ranker, not fitted."""
        ranker = method(task.method).ranker(self.seed).set_params(**task.parameters)
        return ranker.set_params(n_jobs=1) if "n_jobs" in ranker.get_params() else ranker

    def marks(self, tasks: Sequence[Task]) -> NDArray[np.float64]:
        """Mark the known rows of each task with 1, (n, tasks)."""
        Y = np.zeros((len(self.X), len(tasks)))
        for column, task in zip(Y.T, tasks, strict=True):
            column[self.known(task)] = 1
        return Y


def carry_out(runner: TaskRunner, tasks: list[Task]) -> list[Outcome]:
    """Carry out tasks of one kind, method and parameters. The outcome of one that fails says why."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            outcomes = list(_DOES[tasks[0].kind](runner, tasks))
        except Exception as error:  # whatever one query does, the others are tried
            if len(tasks) > 1:
                return [outcome for task in tasks for outcome in carry_out(runner, [task])]
            outcomes = [{"error": f"{type(error).__name__}: {error}"}]
    said = sorted({str(warning.message) for warning in heard})
    return [outcome | {"warnings": said} if said else outcome for outcome in outcomes]


def _judge(runner: TaskRunner, tasks: Sequence[Task]) -> Iterator[Outcome]:
    Y = runner.marks(tasks)
    for task, y, scores in zip(tasks, Y.T, _scores(runner, tasks, Y), strict=True):
        left = np.flatnonzero(y == 0)
        places = Places.of_scores(scores[left], runner.rare[left])
        auc = roc_auc_of_scores(scores[left], runner.rare[left])
        outcome: Outcome = {"auc": auc, "ap": float(places.average_precision()[0])}
        if task.kind == "trial":
            top = left[_first(scores[left], runner.rare[left], N_TOP)]
            outcome |= {"places": pack_places(places.places[0])} | ({"top": top.tolist()} if task.draw == 0 else {})
            if task.n_known == 1:
                outcome["top_distance"] = _distance(runner.X, runner.known(task)[0], top[:N_NEAR])
        yield outcome


def _first(scores: Scores, rare: NDArray[np.bool_], n: int) -> NDArray[np.intp]:
    """The n rows of the highest scores, best first; of equal scores the rare last, as for the places."""
    reached = np.flatnonzero(scores >= np.partition(scores, -n)[-n]) if n < len(scores) else np.arange(len(scores))
    return reached[np.lexsort((rare[reached], -scores[reached]))[:n]]


def _distance(X: NDArray[np.float32], known: np.intp, rows: NDArray[np.intp]) -> float:
    """Mean Euclidean distance of rows from a known one: how alike the first 20 of figure 6 are to what was given."""
    return float(np.linalg.norm(X[rows].astype(np.float64) - X[known], axis=1).mean())


def _scores(runner: TaskRunner, tasks: Sequence[Task], Y: NDArray[np.float64]) -> Iterator[Scores]:
    preparation = runner.preparation(tasks[0])
    if preparation.ranker.answers_together:
        yield from preparation.scores_for(Y).T
    else:
        for task, y in zip(tasks, Y.T, strict=True):
            yield preparation.fit(y == 1, random_state=task.ranker_seed(runner.seed)).scores


def _over_bags(runner: TaskRunner, tasks: Sequence[Task]) -> Iterator[Outcome]:
    """AUC and AP for every T: the bags of a smaller T are the first ones of the largest."""
    for task, y in zip(tasks, runner.marks(tasks).T, strict=True):
        seed = task.ranker_seed(runner.seed)
        ranker = BaggingTopPush(n_bags=max(N_BAGS), keep_bags=True, n_jobs=1, random_state=seed, **task.parameters)
        ranker.fit(runner.X, y)
        means = np.cumsum(ranker.bag_coef_, axis=0)[np.array(N_BAGS) - 1] / np.array(N_BAGS)[:, None]
        left = np.flatnonzero(y == 0)
        scores, rare = means @ runner.X[left].T, runner.rare[left]
        aps = Places.of_scores(scores, rare).average_precision()
        yield {"auc": [roc_auc_of_scores(one, rare) for one in scores], "ap": aps.tolist()}


def _time(runner: TaskRunner, tasks: Sequence[Task]) -> Iterator[Outcome]:
    return (_timing(runner, task) for task in tasks)


def _timing(runner: TaskRunner, task: Task) -> Outcome:
    """CPU seconds of single queries, and of the set-up that all queries share, the graph's building included."""
    ranker, known, made = runner.ranker(task), runner.marks([task])[:, 0] == 1, []
    seed = task.ranker_seed(runner.seed)
    setup_s = _cpu_seconds(lambda: made.append(ranker.prepare(runner.X)))  # without the graph: its building is timed
    queries_s = _repeat(lambda: made[0].fit(known, random_state=seed).scores)
    return {"setup_s": setup_s if ranker.prepares_rows else 0.0, "query_s": float(np.median(queries_s))}


def _repeat(work: Callable[[], Any]) -> list[float]:
    """CPU seconds of each time; what takes long is done once, as chance matters little then."""
    first = _cpu_seconds(work)
    return [first, *(_cpu_seconds(work) for _ in range(N_TIMED - 1 if first < LONG_S else 0))]


def _cpu_seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


_DOES: dict[Kind, Callable[[TaskRunner, Sequence[Task]], Iterator[Outcome]]] = {
    "trial": _judge,
    "tuning": _judge,
    "strength": _judge,
    "bags": _over_bags,
    "timing": _time,
}
