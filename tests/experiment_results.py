"""Results of an experiment that nobody made: plausible numbers to draw tables and figures from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from rarespec.evaluation import tuning as paper_grids
from rarespec.evaluation.experiment.methods import OUR_METHODS, PAPER_METHODS
from rarespec.evaluation.experiment.plan import timing_tasks
from rarespec.evaluation.experiment.results import Facts, Results, Sensitivity, Shown, Timing, Trials
from rarespec.evaluation.experiment.setting import Setting
from rarespec.evaluation.places import Places

N_RARE, N_OTHER = 450, 100_000
N_SHOWN = 500

SKILL = {
    "ocsvm": (0.7, 0.25),
    "label_propagation": (3.0, -0.1),
    "emr": (1.3, 0.15),
    "lrga": (3.4, -0.2),
    "bagging_svm": (1.7, 0.55),
    "bagging_top_push": (2.6, 0.5),
    "lda": (2.7, 0.45),
    "cosine": (2.8, 0.3),
    "whitened_top_push": (2.8, 0.5),
}
"""How far the rare stand above the others with one known, in standard deviations; what each e-fold of known adds."""

SECONDS = {"label_propagation": (1.5, 6.0), "emr": (0.2, 3.0), "lrga": (6.0, 20.0), "bagging_svm": (4.0, 0.0)}
"""Query and set-up; others take a fraction of a second."""


def made_up_results(
    methods: tuple[str, ...] = PAPER_METHODS + OUR_METHODS,
    n_known: tuple[int, ...] = (1, 10, 30),
    trials: int = 5,
    rare: str = "CARBON",
    seed: int = 0,
) -> Results:
    """Rows 0 to 449 of the survey are rare. All methods share the draws, and how hard each draw is."""
    rng = np.random.default_rng(seed)
    setting = Setting(rare, methods, n_known, trials, seed=seed)
    luck = {known: rng.normal(scale=0.3, size=(trials, 1)) for known in n_known}
    cells = [(name, known) for name in methods for known in n_known]
    of_cell = {(name, known): _trials(name, known, luck[known], rng) for name, known in cells}
    known_rows = {known: rng.choice(N_RARE, known, replace=False) for known in n_known}
    return Results(
        setting,
        Facts("made-up survey", N_RARE + N_OTHER, 12, N_RARE, f"class is {rare}"),
        of_cell,
        shown={cell: _shown(of_cell[cell].places, known_rows[cell[1]], rng) for cell in cells},
        timings={(task.method, task.n_known): _timing(task.method, task.n_known) for task in timing_tasks(setting, {})},
        bags={known: _over_bags(known, rng) for known in n_known},
        strengths={known: _over_strengths(known, rng) for known in n_known},
        tuned={name: dict(of_cell[name, n_known[0]].params) for name in methods},
    )


def without_last_draw(results: Results, n_known: int) -> Results:
    """As after a failure of some method on that draw."""
    trials = {
        cell: Trials(Places(one.places.places[:-1], one.places.n_listed), one.auc[:-1], one.params)
        for cell, one in results.trials.items()
        if cell[1] == n_known
    }
    return replace(results, trials={**results.trials, **trials})


def _timing(name: str, n_known: int) -> Timing:
    return Timing(*SECONDS.get(name, (0.15 + 0.004 * n_known, 0.0)))


def _trials(name: str, n_known: int, luck: NDArray[np.float64], rng: np.random.Generator) -> Trials:
    start, growth = SKILL.get(name, (2.0, 0.2))
    skill = start + growth * np.log(n_known) + luck / np.sqrt(n_known)
    scores = rng.normal(skill, 0.7, size=(len(luck), N_RARE - n_known))
    others_before = np.sort(np.rint(N_OTHER * norm.sf(scores)).astype(int), axis=1)
    places = Places(others_before + np.arange(1, N_RARE - n_known + 1), N_RARE + N_OTHER - n_known)
    params = {"regularisation": 10.0} if name == "bagging_top_push" else {}
    return Trials(places, places.auc(), params)


def _shown(places: Places, known: NDArray[np.intp], rng: np.random.Generator) -> Shown:
    """The first draw: hidden rare rows at their places, other rows elsewhere."""
    hidden = np.setdiff1d(np.arange(N_RARE), known)
    top = N_RARE + rng.choice(N_OTHER, N_SHOWN, replace=False)
    hits = places.places[0][places.places[0] <= N_SHOWN] - 1
    top[hits] = rng.permutation(hidden)[: len(hits)]
    return Shown(known, top)


def _over_bags(n_known: int, rng: np.random.Generator, draws: int = 10) -> Sensitivity:
    """(values of K, values of T, draws), rising towards many large bags."""
    size, number = np.log(paper_grids.BAG_SIZE)[:, None, None], np.log(paper_grids.N_BAGS)[None, :, None]
    return _saturating(0.25 + 0.3 * size + 0.3 * number, n_known, draws, rng)


def _over_strengths(n_known: int, rng: np.random.Generator, draws: int = 10) -> Sensitivity:
    """(values of lambda, draws), falling off to both sides when few are known."""
    away = np.abs(np.log10(paper_grids.REGULARISATION) - 1.0)[:, None]
    return _saturating(3.0 - 0.4 * away / n_known, n_known, draws, rng)


def _saturating(skill: NDArray[np.float64], n_known: int, draws: int, rng: np.random.Generator) -> Sensitivity:
    drawn = skill + 0.3 * np.log(n_known) + rng.normal(scale=0.1, size=(*skill.shape[:-1], draws))
    return Sensitivity(auc=1 - 0.5 * np.exp(-drawn), average_precision=1 - 0.9 * np.exp(-0.6 * drawn))
