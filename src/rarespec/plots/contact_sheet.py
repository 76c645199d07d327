"""The contact sheet: the candidates of a search on paper, a dozen spectra a page."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.plots.candidates import draw_candidate
from rarespec.plots.canvas import BLUE, GREY, LABEL_SIZE, RED, SMALL_SIZE, WAVELENGTH, empty_figure
from rarespec.plots.spectra import FLUX, draw_weights_on
from rarespec.plots.yield_curve import draw_yield_curve
from rarespec.searching.explain.portrait import Portrait, mean_known
from rarespec.searching.explain.template import NoTemplate
from rarespec.searching.ranking import Ranking
from rarespec.searching.report_words import describe_search, describe_yield, number_or, sentence
from rarespec.storage.text import printable
from rarespec.storage.whole_file import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

A4 = 8.27, 11.69
"""Inches."""
ROWS, COLUMNS = 6, 2
LINE_LENGTH = 118
"""Letters of the small size in a line across the page."""
LONGEST_ID, LONGEST_CLASS = 34, 18
"""Letters that fit above a spectrum."""
MOST_LINES = 6
"""Of a paragraph; a longer one is cut, with a sign that it was."""
LINE_HEIGHT = 0.0155
"""Of a line of text on the first page, as a share of the page."""


def write_contact_sheet(
    ranking: Ranking,
    portraits: Sequence[Portrait],
    path: str | os.PathLike[str],
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a PDF: a page with the yield curve and the template, then the candidates in their order.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    portraits : sequence of Portrait
        The candidates to show; see `portraits_of`.
    path : path or str
        The PDF.
    progress : callable, optional
        Called with the pages done, and in all.

    Returns
    -------
    Path
        The PDF.

    Examples
    --------
    >>> from rarespec.plots import write_contact_sheet
    >>> from rarespec.searching.explain.portrait import portraits_of
    >>> write_contact_sheet(ranking, portraits_of(ranking, 40), "sheet.pdf")  # doctest: +SKIP
    PosixPath('sheet.pdf')
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    memory = BytesIO()
    title = f"Candidates in {printable(ranking.survey.path.name)}"
    # Letters stay letters: they can be searched and copied.
    with rc_context({"pdf.fonttype": 42}), PdfPages(memory, metadata={"Title": title, "CreationDate": None}) as sheet:
        for number, page in enumerate(sheets(ranking, portraits), start=1):
            sheet.savefig(page)
            if progress:
                progress(number, 1 + len(_starts(portraits)))
    write_whole(Path(path), memory.getvalue())
    return Path(path)


def sheets(ranking: Ranking, portraits: Sequence[Portrait]) -> Iterator[Figure]:
    """The pages, one after the other, so that memory holds a single one."""
    starts = _starts(portraits)
    n_pages = 1 + len(starts)
    yield _sign_page(_first_page(ranking, portraits), ranking, 1, n_pages)
    for number, start in enumerate(starts, start=2):
        yield _sign_page(_page_of_spectra(portraits[start : start + starts.step]), ranking, number, n_pages)


def _starts(portraits: Sequence[Portrait]) -> range:
    """The first spectrum of each page of spectra."""
    return range(0, len(portraits), ROWS * COLUMNS)


def _sign_page(page: Figure, ranking: Ranking, number: int, n_pages: int) -> Figure:
    """With header and page number."""
    created = str(ranking.provenance.get("created", ""))[:10]
    header = " · ".join(filter(None, [printable(ranking.survey.path.name)[:60], f"method {ranking.method}", created]))
    words: dict[str, Any] = {"fontsize": SMALL_SIZE, "color": "0.35", "va": "center", "parse_math": False}
    page.text(0.06, 0.975, header, ha="left", **words)
    page.text(0.94, 0.975, f"page {number} of {n_pages}", ha="right", **words)
    return page


def _first_page(ranking: Ranking, portraits: Sequence[Portrait]) -> Figure:
    page = _page()
    said = [ranking.why, ranking.yield_curve.why, ranking.template.said]
    words = [
        f"{describe_search(ranking, len(portraits))} {describe_yield(ranking)}",
        *map(sentence, filter(None, said)),
    ]
    text = "\n\n".join(map(_wrap, words))
    page.text(0.06, 0.945, "Candidates of a search", fontsize=14, va="top")
    page.text(0.06, 0.915, text, fontsize=LABEL_SIZE, va="top", linespacing=1.35, parse_math=False)
    top = 0.885 - LINE_HEIGHT * (1 + text.count("\n"))
    figures = page.add_gridspec(
        3, 1, left=0.11, right=0.94, bottom=0.06, top=top, height_ratios=(1.5, 1, 1), hspace=0.3
    )
    _draw_yield(page.add_subplot(figures[0]), ranking)
    _draw_template(page.add_subplot(figures[1]), page.add_subplot(figures[2]), ranking)
    return page


def _page() -> Figure:
    page = empty_figure(*A4)
    page.set_layout_engine("none")  # the places are given, and the same on every page
    return page


def _wrap(paragraph: str) -> str:
    return "\n".join(textwrap.wrap(paragraph, LINE_LENGTH, max_lines=MOST_LINES, placeholder=" [...]"))


def _draw_yield(panel: Axes, ranking: Ranking) -> None:
    if ranking.yield_curve.can_tell:
        draw_yield_curve(panel, ranking.yield_curve)
    else:
        _say(panel, "no yield curve: there is no estimate of how many are true")


def _draw_template(above: Axes, below: Axes, ranking: Ranking) -> None:
    template = ranking.template
    if isinstance(template, NoTemplate):
        _say(above, "no template in flux space")
        below.set_axis_off()
        return
    draw_weights_on(
        above, below, template.weights, mean_known(ranking), template.typical, template.wavelength, LABEL_SIZE
    )
    for panel in (above, below):
        panel.set_xlim(template.wavelength[0], template.wavelength[-1])
        panel.tick_params(labelsize=SMALL_SIZE)
    below.set_xlabel(WAVELENGTH, fontsize=LABEL_SIZE)


def _say(panel: Axes, words: str) -> None:
    panel.set_axis_off()
    panel.text(0.5, 0.5, words, ha="center", va="center", fontsize=LABEL_SIZE, color="0.35")


def _page_of_spectra(portraits: Sequence[Portrait]) -> Figure:
    page = _page()
    places = page.add_gridspec(ROWS, COLUMNS, left=0.06, right=0.955, bottom=0.035, top=0.915, hspace=0.42, wspace=0.13)
    for i, portrait in enumerate(portraits):
        panel = page.add_subplot(places[divmod(i, COLUMNS)])
        draw_candidate(panel, portrait)
        panel.set_title(_caption(portrait), loc="left", fontsize=SMALL_SIZE, pad=3, linespacing=1.25, parse_math=False)
    _explain(page)
    return page


def _caption(portrait: Portrait) -> str:
    """Two lines: who it is, and what is thought of it."""
    facts = portrait.facts
    kind = _short(" ".join(filter(None, (str(facts["class"]), str(facts["subclass"])))), LONGEST_CLASS)
    flags = str(facts["flags"]).replace(",", ", ")
    chance = number_or(facts["chance"], ".2f", "?")
    thought = [f"S/N {number_or(facts['snr'], '.1f', '?')}", f"score {number_or(facts['score'], '.3g', '?')}"]
    thought += [f"chance {chance}", _short(flags, LONGEST_ID)]
    who = f"{facts['rank']}  {_short(str(facts['id']), LONGEST_ID)}  {kind}"
    return f"{who}\n{', '.join(filter(None, thought))}"


def _short(text: str, longest: int) -> str:
    text = printable(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _explain(page: Figure) -> None:
    """What the axes and the colours are, once for all panels of a page."""
    from matplotlib.lines import Line2D

    keys = {"as observed": GREY, "median filter of 10 Å": BLUE, "nearest known example, scaled": RED}
    handles = [Line2D([], [], color=colour, label=words) for words, colour in keys.items()]
    place: dict[str, Any] = {"loc": "center right", "bbox_to_anchor": (0.95, 0.951), "handlelength": 1.5}
    page.legend(handles=handles, ncols=3, frameon=False, fontsize=SMALL_SIZE, columnspacing=1.2, **place)
    page.text(0.06, 0.951, f"{FLUX} against {WAVELENGTH}", fontsize=SMALL_SIZE, va="center")
