"""The report of a search: a page and a contact sheet, with their pictures."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from rarespec.errors import UsageError
from rarespec.pages.html import Html, element
from rarespec.plots.candidates import candidate_svg
from rarespec.plots.canvas import LABEL_SIZE, SMALL_SIZE, WAVELENGTH, empty_figure
from rarespec.plots.contact_sheet import write_contact_sheet
from rarespec.plots.spectra import draw_weights_on
from rarespec.plots.yield_curve import yield_figure
from rarespec.searching.explain.portrait import Portrait, mean_known, portraits_of
from rarespec.searching.explain.template import NoTemplate, Template
from rarespec.searching.ranking import Ranking
from rarespec.searching.report import Pictures, report_page
from rarespec.storage.whole_file import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE, SHEET = "report.html", "contact-sheet.pdf"
WIDTH = 4.8
"""Inches of a figure on the page: narrow, so that its letters can be read on a phone."""
DPI = 200


def write_report(
    ranking: Ranking,
    folder: str | os.PathLike[str],
    n: int = 100,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write report.html and contact-sheet.pdf with the best candidates.

    Both stand alone: the page has its pictures in itself and loads nothing.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    folder : path or str
        Where to write, made if it does not exist.
    n : int
        How many candidates to show.
    progress : callable, optional
        Called with the printed pages done, and in all.

    Returns
    -------
    list of Path
        The page and the contact sheet.

    Raises
    ------
    UsageError
        If n is below 1.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> from rarespec.plots import write_report
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     ranking = rarespec.search(survey, carbon[:4], "matched_filter", top=5)
    ...     files = write_report(ranking, f"{folder}/report", n=1)
    >>> [file.name for file in files]
    ['report.html', 'contact-sheet.pdf']
    """
    if n < 1:
        raise UsageError(f"n must be at least 1, not {n}")
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    portraits = portraits_of(ranking, n)
    write_whole(into / PAGE, report_page(ranking, portraits, _pictures(ranking, portraits)).encode())
    return [into / PAGE, write_contact_sheet(ranking, portraits, into / SHEET, progress)]


def _pictures(ranking: Ranking, portraits: list[Portrait]) -> Pictures:
    curve, template = ranking.yield_curve, ranking.template
    rising = (
        _png(yield_figure(curve, WIDTH), "Expected number of true objects against rank.") if curve.can_tell else None
    )
    weights = None
    if not isinstance(template, NoTemplate):
        weights = _png(template_figure(template, ranking), "Weight of the flux against wavelength.")
    return Pictures(rising, weights, [candidate_svg(one, _describe_seen(one)) for one in portraits])


def template_figure(template: Template, ranking: Ranking) -> Figure:
    figure = empty_figure(WIDTH, 0.8 * WIDTH)
    above, below = figure.subplots(2, 1, sharex=True)
    draw_weights_on(
        above, below, template.weights, mean_known(ranking), template.typical, template.wavelength, LABEL_SIZE
    )
    for panel in (above, below):
        panel.margins(x=0)
        panel.tick_params(labelsize=SMALL_SIZE)
    below.set_xlabel(WAVELENGTH, fontsize=LABEL_SIZE)
    return figure


def _describe_seen(portrait: Portrait) -> str:
    beside = "" if portrait.known is None else ", over the nearest known example"
    return f"Spectrum of candidate {portrait.facts['rank']}{beside}."


def _png(figure: Figure, alt: str) -> Html:
    memory = BytesIO()
    figure.savefig(memory, format="png", dpi=DPI)
    return element("img", src=f"data:image/png;base64,{b64encode(memory.getvalue()).decode()}", alt=alt)
