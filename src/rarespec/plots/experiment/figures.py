"""All figures of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.task_runner import LabelledRows
from rarespec.progress import Progress


def draw_figures(
    labelled: LabelledRows, results: Results, folder: Path, progress: Progress | None = None
) -> list[Path]:
    """Draw Figures 1 to 9 as PNG and PDF.

    Parameters
    ----------
    labelled : LabelledRows
        The rows that were ranked, and which of them are rare.
    results : Results
        Results of the experiment.
    folder : Path
        Where the files go.
    progress : callable, optional
        Called with the number of figures done and in all.

    Returns
    -------
    list of Path
        The files; figures that the results have no data for are left out.
    """
    from rarespec.plots.experiment.curves import draw_figure_2, draw_figure_3, draw_figure_4
    from rarespec.plots.experiment.filtering import draw_figure_1, row_to_show
    from rarespec.plots.experiment.sensitivity import draw_figure_8, draw_figure_9
    from rarespec.plots.experiment.space import draw_figure_5
    from rarespec.plots.experiment.times import draw_figure_7
    from rarespec.plots.experiment.top import draw_figure_6

    of_results = (draw_figure_2, draw_figure_3, draw_figure_4, draw_figure_7, draw_figure_8, draw_figure_9)
    drawings: list[Callable[[], list[Path]]] = [
        lambda: draw_figure_1(labelled.survey, row_to_show(labelled.survey, labelled.rows[labelled.rare]), folder),
        lambda: draw_figure_5(results, labelled.X, labelled.rare, folder),
        lambda: draw_figure_6(results, labelled.survey, labelled.rows, labelled.rare, folder),
        *(partial(draw, results, folder) for draw in of_results),
    ]
    paths = []
    for number, drawing in enumerate(drawings, start=1):
        paths += drawing()
        if progress:
            progress(number, len(drawings))
    return paths
