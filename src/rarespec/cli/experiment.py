"""`rarespec experiment`: the evaluation of Du et al. (2016) on any survey, with its table and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarespec.cli.exits import Exit, arguments, report_failures
from rarespec.cli.terminal import console, say, say_json

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from rarespec.evaluation.experiment.results import Results, Trials
    from rarespec.evaluation.experiment.run import Experiment
    from rarespec.evaluation.experiment.setting import Setting
    from rarespec.evaluation.experiment.task_runner import LabelledRows
    from rarespec.survey import Survey

MOCK_SIZE, QUICK_MOCK_SIZE = (100_000, 450), (10_000, 100)
"""Common and rare objects of the mock survey."""


@report_failures
def command(
    survey: Annotated[Path | None, typer.Argument(help="Survey directory. Default: a mock survey.")] = None,
    rare: Annotated[
        str, typer.Option(help="Class or subclass to treat as rare; separate several with commas.")
    ] = "CARBON",
    out: Annotated[Path, typer.Option(help="Output directory for results, tables, figures and the page.")] = Path(
        "experiment"
    ),
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas. Default: the paper's six and ours.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="Also compare your own ranker. May be repeated. Importing its module runs its code.",
        ),
    ] = None,
    n_known: Annotated[str | None, typer.Option("--np", help="Numbers of known examples, separated by commas.")] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Random draws per number of known examples. Default: 50.")
    ] = None,
    tune: Annotated[
        str | None,
        typer.Option(
            help="Methods to tune: those tuned in the paper (paper), all with a grid (all), or none. Default: paper."
        ),
    ] = None,
    tuning_draws: Annotated[int | None, typer.Option(min=0, help="Draws used for tuning. Default: 3.")] = None,
    sensitivity_draws: Annotated[
        int | None, typer.Option(min=0, help="Draws for figures 8 and 9. Default: 10.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the draws and of the mock survey.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="Quick look: few draws, no tuning, a small mock survey.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of worker processes. Default: one per core.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Compare rankers as in the paper: draw known examples, hide the rest of the class, and see how high it ranks.

    Writes all results as Parquet, the tables, figures 1 to 9 and an HTML page. If interrupted, run the same command
    again: finished trials are not repeated.

    Example: rarespec experiment paper.survey --rare Carbon,Carbon_lines --out carbon
    """
    from rarespec.evaluation.experiment.setting import Setting

    with arguments():
        asked: dict[str, Any] = {
            "methods": _methods(methods, method or []),
            "n_known": _numbers(n_known),
            "trials": trials,
            "tune": tune,
            "tuning_draws": tuning_draws,
            "sensitivity_draws": sensitivity_draws,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        setting = (Setting.quick if quick else Setting)(rare, seed=seed, **given)
    opened = _open(survey, setting, quick, out, jobs)
    labelled, experiment = _run(opened, setting, out, jobs)
    written = _write_results(labelled, experiment, out, _command(survey, setting, out, quick))
    _tell(experiment, written, as_json)
    if experiment.failures or (n_known is not None and experiment.left_out):
        raise typer.Exit(Exit.DEFECTS)


def _methods(methods: str | None, own: list[str]) -> tuple[str, ...] | None:
    """Those asked for, or by default, and the user's own after them."""
    from rarespec.evaluation.experiment.methods import is_own
    from rarespec.evaluation.experiment.setting import DEFAULT_METHODS

    if wrong := [name for name in own if not is_own(name)]:
        raise ValueError(
            f"--method {wrong[0]}: write MODULE:CLASS; use --methods for the methods that come with rarespec"
        )
    words = _words(methods)
    return None if words is None and not own else (*(DEFAULT_METHODS if words is None else words), *own)


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(word.strip() for word in text.split(",") if word.strip())


def _numbers(text: str | None) -> tuple[int, ...] | None:
    words = _words(text)
    if words and not all(word.isdigit() for word in words):
        raise ValueError(f"--np {text}: write whole numbers separated by commas, for example 1,10,30")
    return None if words is None else tuple(dict.fromkeys(int(word) for word in words))


def _open(path: Path | None, setting: Setting, quick: bool, out: Path, jobs: int | None) -> Survey:
    """The survey asked for, or a mock survey, which is made in `out` when it is not there."""
    from rarespec.survey import Survey

    if path is not None:
        return Survey.open(path)
    n_common, n_rare = QUICK_MOCK_SIZE if quick else MOCK_SIZE
    with arguments():
        rare = _mock_class(setting.rare)
    mock = out / f"mock-{n_common}-{rare}-{n_rare}-seed-{setting.seed}.survey"
    if not mock.exists():
        _simulate(mock, n_common, rare, n_rare, setting.seed, jobs)
    return Survey.open(mock)


def _simulate(mock: Path, n_common: int, rare: str, n_rare: int, seed: int, jobs: int | None) -> None:
    """Under another name until it is whole: a run that is killed leaves no survey that looks finished."""
    from uuid import uuid4

    from rarespec.cli.progress import progress
    from rarespec.mock.simulate import SkyChoice, simulate_survey

    unfinished = mock.with_name(f"unfinished-{uuid4().hex}")
    mock.parent.mkdir(parents=True, exist_ok=True)
    with progress("simulate", "spectra") as show:
        simulate_survey(SkyChoice(n_common, ((rare, n_rare),), seed), unfinished, jobs, show)
    unfinished.rename(mock)


def _mock_class(rare: str) -> str:
    from rarespec.mock.classes import class_of

    return class_of(rare).lower()


def _run(survey: Survey, setting: Setting, out: Path, jobs: int | None) -> tuple[LabelledRows, Experiment]:
    from rarespec.cli.progress import progress
    from rarespec.evaluation.experiment.journal import require_ours
    from rarespec.evaluation.experiment.outcome_files import cheap_identity
    from rarespec.evaluation.experiment.run import run_experiment
    from rarespec.evaluation.experiment.task_runner import label_survey

    require_ours(out, cheap_identity(survey, setting))
    with progress("features", "blocks") as show:
        labelled = label_survey(survey, setting.rare, show)
    facts = labelled.facts
    say(
        f"{facts.survey}: {facts.n_spectra} spectra, {facts.n_rare} of them rare ({facts.matched_by})"
        + (f"; {facts.n_unusable} have no features and cannot be ranked" if facts.n_unusable else ""),
        err=True,
    )
    with progress("experiment", "tasks") as show:
        return labelled, run_experiment(labelled, setting, out, jobs, show)


def _write_results(labelled: LabelledRows, experiment: Experiment, out: Path, command: str) -> list[Path]:
    """Tables, figures and the page."""
    from rarespec.cli.progress import progress
    from rarespec.evaluation.experiment.page import write_page
    from rarespec.evaluation.experiment.tables import write_tables
    from rarespec.plots.experiment.figures import draw_figures

    tables = write_tables(experiment.results, out)
    with progress("draw", "figures") as show:
        figures = draw_figures(labelled, experiment.results, out, show)
    written = [*tables, *figures, *experiment.written]
    page = write_page(experiment.results, out, experiment.provenance, command, experiment.troubles, written)
    return [*written, page]


def _command(survey: Path | None, setting: Setting, out: Path, quick: bool) -> str:
    """What repeats this experiment, every choice written out."""
    import shlex

    words = ["rarespec", "experiment", *([str(survey)] if survey else []), "--rare", setting.rare, "--out", str(out)]
    words += ["--methods", ",".join(setting.methods), "--np", ",".join(map(str, setting.n_known))]
    for name in ("trials", "tune", "tuning_draws", "sensitivity_draws", "seed"):
        words += [f"--{name.replace('_', '-')}", str(getattr(setting, name))]
    return shlex.join(words + (["--quick"] if quick and survey is None else []))


def _tell(experiment: Experiment, written: list[Path], as_json: bool) -> None:
    results = experiment.results
    if as_json:
        summary = {
            "trials": _summary(results),
            "files": [str(path) for path in written],
            "left_out": experiment.left_out,
            "failures": experiment.failures,
            "warnings": experiment.warnings,
        }
        say_json(summary)
    else:
        _show(results)
        say(f"wrote {len(written)} files; start with {written[-1]}")
    for trouble in experiment.troubles:
        say(trouble, err=True)


def _summary(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "method": name,
            "n_known": n_known,
            "trials": len(trials.auc),
            "auc": float(trials.auc.mean()),
            "average_precision": float(trials.average_precision.mean()),
        }
        for (name, n_known), trials in results.trials.items()
    ]


def _show(results: Results) -> None:
    """Means for a person at a terminal."""

    from rarespec.evaluation.experiment.finding import draws_in_words

    out = console()
    of_trials = {"average precision": lambda trials: trials.average_precision, "AUC": lambda trials: trials.auc}
    for title, values in of_trials.items():
        out.print(f"mean {title} over {draws_in_words(results)} of NP known examples")
        out.print(_means(results, values))


def _means(results: Results, values: Callable[[Trials], NDArray[np.float64]]) -> Table:
    from rich.table import Table

    n_known = results.setting.n_known
    table = Table("NP", *map(str, n_known), box=None, pad_edge=False)
    for name in results.setting.methods:
        table.add_row(results.label(name), *(f"{values(results.trials[name, n]).mean():.3f}" for n in n_known))
    return table
