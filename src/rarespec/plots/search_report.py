"""The report of a search: a page and a contact sheet, with their pictures."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rarespec.errors import UsageError
from rarespec.plots.candidates import candidate_svg, thumbnail_svg
from rarespec.plots.contact_sheet import write_contact_sheet
from rarespec.plots.report_plots import means_plot, template_plot, yield_plot
from rarespec.searching.explain.portrait import Portrait, mean_known, portraits_of
from rarespec.searching.explain.template import NoTemplate
from rarespec.searching.in_common import InCommon, find_in_common
from rarespec.searching.ranking import Ranking
from rarespec.searching.report import Pictures, report_page
from rarespec.storage.whole_file import write_whole

PAGE, SHEET = "report.html", "contact-sheet.pdf"


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
    return [
        write_page(ranking, portraits, into / PAGE),
        write_contact_sheet(ranking, portraits, into / SHEET, progress),
    ]


def write_page(ranking: Ranking, portraits: list[Portrait], path: Path) -> Path:
    """Write the page alone.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    portraits : list of Portrait
        The candidates to show, best first.
    path : Path
        The page.

    Returns
    -------
    Path
        The page.
    """
    common = find_in_common(ranking, portraits)
    page = report_page(ranking, portraits, common, _pictures(ranking, portraits, common))
    write_whole(path, page.encode())
    return path


def _pictures(ranking: Ranking, portraits: list[Portrait], common: InCommon) -> Pictures:
    curve, template = ranking.yield_curve, ranking.template
    weights = means = None
    if not isinstance(template, NoTemplate):
        known = mean_known(ranking)
        weights = template_plot(template, known)
        if common.mean is not None:
            three = {"typical": template.typical, "known": known, "filtered": common.mean}
            means = means_plot(template.wavelength, three)
    return Pictures(
        yield_curve=yield_plot(curve) if curve.can_tell else None,
        template=weights,
        means=means,
        candidates=[candidate_svg(one, _describe_seen(one)) for one in portraits],
        thumbnails=[thumbnail_svg(one) for one in portraits],
    )


def _describe_seen(portrait: Portrait) -> str:
    beside = "" if portrait.known is None else ", over the nearest known example"
    return f"Spectrum of candidate {portrait.facts['rank']}{beside}."
