"""The page that ties an experiment together: what was found, tables, figures, settings, and how to repeat it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarespec.evaluation.experiment.finding import (
    Finding,
    Verdict,
    default_of_studied,
    draws_in_words,
    format_parameters,
    parameters_in_words,
)
from rarespec.evaluation.experiment.findings import findings
from rarespec.evaluation.experiment.metric_table import metric_table, metrics
from rarespec.evaluation.experiment.paired_table import paired_table, paired_title, reference_method
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.table_formats import Entry, Table
from rarespec.pages.html import STYLE, Html, contents, element, join_html, sections_of
from rarespec.storage.text import flatten_names, thousands
from rarespec.storage.whole_file import write_whole

# ---- What the figures on the page show, and why one of them may be missing.


@dataclass(frozen=True)
class Figure:
    number: int
    caption: str
    alt: str
    """What one sees, for those who do not."""
    exists_for: Callable[[Results], bool] = lambda results: True
    why_missing: str = ""
    """When it does not exist for these results."""
    with_what: Callable[[Results], str] = lambda results: ""
    """The parameters behind it, at the end of the caption."""

    @property
    def stem(self) -> str:
        return f"figure-{self.number}"


def _has_trials(results: Results) -> bool:
    return bool(results.trials)


def _has_shown(results: Results) -> bool:
    return bool(results.shown)


NO_TRIALS, NO_LISTS = "no trial finished", "no ranked list was saved"
NOT_VARIED = "BaggingTopPush is not among the methods, or no draws were requested"
OVER_K = "mean over the draws, with bars of one standard deviation at a few k, for several numbers of known examples"

FIGURES = (
    Figure(
        1,
        "A spectrum of the rare class with typical signal-to-noise, as observed and after the median filter of 10 Å. "
        "Right: zoom on the pixel that the filter changes most. Left: a line far above the filtered spectrum, such as "
        "the night-sky line at 5577 Å, is clipped and labelled.",
        "Flux against wavelength: a noisy observed spectrum and the smoother filtered one.",
    ),
    Figure(2, f"Precision P@k: {OVER_K}.", "Precision against k, one curve per method.", _has_trials, NO_TRIALS),
    Figure(3, f"Recall R@k: {OVER_K}.", "Recall against k, one curve per method.", _has_trials, NO_TRIALS),
    Figure(
        4,
        f"Average precision AP@k: {OVER_K}.",
        "Average precision against k, one curve per method.",
        _has_trials,
        NO_TRIALS,
    ),
    Figure(
        5,
        "The survey (grey) in its first three principal components, in the first draw. Two planes, components 1 and 2 "
        "(top) and 1 and 3 (bottom), replace the paper's three-dimensional figure, where objects hide each other. "
        "Green triangles: known examples; blue dots: rare objects found at the top of the list; magenta rings: "
        "rare objects not found there.",
        "Scatter plots of the first component against the second and third, for three methods and several numbers of "
        "known examples; the number found is in each title.",
        _has_shown,
        NO_LISTS,
    ),
    Figure(
        6,
        "The top 20 spectra of each method with the fewest known examples, in the first draw: a known example in green "
        "at the top, right ones in blue, wrong ones in magenta with a cross.",
        "Columns of small spectra, one per method, with the number of right ones above each.",
        _has_shown,
        NO_LISTS,
    ),
    Figure(
        7,
        "Total CPU time of a first query with each method. Hatched: the part that is set up once for all queries "
        "(graph, anchors).",
        "Bars of CPU seconds, one per method, from 0.",
        lambda results: bool(results.timings),
        "nothing was timed",
        lambda results: f" Timed with {parameters_in_words(results, results.setting.methods)}.",
    ),
    Figure(
        8,
        "BaggingTopPush against the number of bags T and the bag size K: means over the draws, shaded from the lowest "
        "to the highest in each column.",
        "Maps of average precision and AUC against T and K, for several numbers of known examples.",
        lambda results: bool(results.bags),
        NOT_VARIED,
        lambda results: f" λ is always the default, {default_of_studied('regularisation'):g}.",
    ),
    Figure(
        9,
        "BaggingTopPush against the regularisation λ, for each number of known examples.",
        "Average precision and AUC against λ.",
        lambda results: bool(results.strengths),
        NOT_VARIED,
        lambda results: (
            f" K and T are always the defaults, {default_of_studied('bag_size')} and {default_of_studied('n_bags')}."
        ),
    ),
)
"""Those of the paper, by its numbers."""


def figure_on_page(figure: Figure, results: Results, files: Collection[str]) -> Html:
    """Show a figure with its caption and a link to its PDF, or say why it is missing.

    Parameters
    ----------
    figure : Figure
        Which figure of the paper.
    results : Results
        Results of the experiment, which decide whether there is such a figure.
    files : collection of str
        Names of the files beside the page.

    Returns
    -------
    Html
        A figure, or a paragraph with the reason.
    """
    picture, document = f"{figure.stem}.png", f"{figure.stem}.pdf"
    if not figure.exists_for(results) or picture not in files:
        why = f"{picture} was not drawn" if figure.exists_for(results) else figure.why_missing
        return element("p", f"Figure {figure.number} is left out: {why}.", id=figure.stem)
    link = join_html(" ", element("a", "PDF", href=document)) if document in files else ""
    said = f" {figure.caption}{figure.with_what(results)}"
    caption = element("figcaption", element("b", f"Figure {figure.number}."), said, link)
    return element("figure", element("img", src=picture, alt=figure.alt, loading="lazy"), caption, id=figure.stem)


FILE = "index.html"
IN_WORDS = {
    "rare": "rare class",
    "n_known": "numbers of known examples (NP)",
    "trials": "draws per number",
    "tune": "tuning",
    "tuning_draws": "draws for tuning (not reported)",
    "sensitivity_draws": "draws for figures 8 and 9",
    "seed": "seed",
}
"""Field of a Setting -> what it is."""
_PAPER_GRID = (
    "Tuning tried the values that the paper names: λ, K and T of BaggingTopPush, ν of OCSVM, C of BaggingSVM. C refers "
    "to rows divided by their rms distance from the mean, which BaggingSVM does inside. "
)
TUNING = {
    "none": "Nothing was tuned: every method uses its default parameters.",
    "paper": f"{_PAPER_GRID}LP, EMR and LRGA use the k, α, σ and d of the paper.",
    "all": f"{_PAPER_GRID}The paper fixed k, α, σ and d of LP, EMR and LRGA; the values tried for these are ours.",
}
"""What was tuned -> what that means."""
STACKED = ".stacked td span { display: block; font-size: .72rem; } .quote { margin: 0 0 .3rem; font-style: italic; }"
"""Spreads and intervals below their values, so that a table with one for every method fits on a screen."""
CLASS_OF_VERDICT = {Verdict.HOLDS: "verdict holds", Verdict.FAILS: "verdict fails"}


def write_page(
    results: Results,
    folder: str | os.PathLike[str],
    provenance: Mapping[str, Any] | None = None,
    command: str | None = None,
    troubles: Sequence[str] = (),
    written: Collection[Path] | None = None,
) -> Path:
    """Write index.html into the folder in which the tables and figures are.

    Parameters
    ----------
    results : Results
        Results of the experiment.
    folder : path or str
        The folder.
    provenance : mapping of str to object, optional
        Versions and whatever else the results depend on; mappings within it are written out.
    command : str, optional
        The command that repeats the experiment.
    troubles : sequence of str, optional
        What was left out, failed or was warned of.
    written : collection of Path, optional
        Tables, figures and data that belong to these results; others in the folder, of an earlier run, are neither
        shown nor linked. By default whatever is there.

    Returns
    -------
    Path
        The page.
    """
    path = Path(folder) / FILE
    files = {path.name for path in Path(folder).iterdir()}
    if written is not None:
        files &= {path.name for path in written}
    write_whole(path, page(results, files, provenance or {}, command, troubles).encode())
    return path


def page(
    results: Results,
    files: Collection[str],
    provenance: Mapping[str, Any],
    command: str | None,
    troubles: Sequence[str],
) -> str:
    """Make the page of an experiment: findings, tables, figures, settings, and how to repeat it.

    Parameters
    ----------
    results : Results
        Results of the experiment.
    files : collection of str
        Names of the files beside the page that belong to the results; only these are shown and linked.
    provenance : mapping of str to object
        What the results depend on; may be empty.
    command : str or None
        The command that repeats the experiment; without it that section is left out.
    troubles : sequence of str
        What was left out, failed or was warned of; without any that section is left out.

    Returns
    -------
    str
        A whole HTML document.
    """
    found = findings(results)
    title = f"Finding {results.setting.rare_in_words} in {results.facts.survey}"
    sections = {
        "Results": [_finding(finding) for finding in found if finding.quote is None],
        "Claims of the paper": _claims([finding for finding in found if finding.quote]),
        "Troubles": [element("ul", *(element("li", trouble) for trouble in troubles))] if troubles else [],
        "Tables": _tables(results, files),
        "Figures": [figure_on_page(figure, results, files) for figure in FIGURES],
        "Settings": _settings(results, provenance),
        "How to repeat this": [element("pre", element("code", command))] if command else [],
    }
    present = {heading: parts for heading, parts in sections.items() if parts}
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Html(STYLE + STACKED)),
    )
    main = element("main", element("h1", title), _what_was_done(results), contents(present), *sections_of(present))
    return f"<!DOCTYPE html>\n{element('html', head, element('body', main), lang='en')}\n"


def _what_was_done(results: Results) -> Html:
    facts, setting = results.facts, results.setting
    unusable = (
        f" {thousands(facts.n_unusable)} more had no features and could not be ranked." if facts.n_unusable else ""
    )
    return element(
        "p",
        f"The experiments of Du et al. (2016) on {thousands(facts.n_spectra)} spectra, of which "
        f"{thousands(facts.n_rare)} are rare ({facts.matched_by}).{unusable} Each method gets NP of them as "
        "known examples; the others are hidden among the rest, and a method is better the higher it ranks them. "
        f"Every method had the same draws: {draws_in_words(results)} for each NP of "
        f"{', '.join(map(str, setting.n_known))}. AP is the average precision.",
    )


def _finding(finding: Finding) -> Html:
    verdict = finding.verdict
    sentences = element("ul", *(element("li", sentence) for sentence in finding.sentences))
    quote = element("p", f"The paper, {finding.quote}", class_="caption quote") if finding.quote else Html()
    where = element("p", f"The claim {finding.where}.") if finding.where else Html()
    return join_html(element("h3", finding.title, " ", _tag(verdict)), quote, where, sentences)


def _tag(verdict: Verdict | None) -> Html:
    return element("span", verdict, class_=CLASS_OF_VERDICT.get(verdict, "verdict")) if verdict else Html()


def _claims(claims: Sequence[Finding]) -> list[Html]:
    """All at a glance, and then each with its figures, for whoever asks."""
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in ("claim", "here", "where"))))
    rows = [
        element("tr", element("td", claim.title), element("td", _tag(claim.verdict)), element("td", claim.where))
        for claim in claims
    ]
    grid = element("div", element("table", head, element("tbody", *rows), class_="words"), class_="wide")
    return [grid, *map(_finding, claims)]


def _tables(results: Results, files: Collection[str]) -> list[Html]:
    parts = [
        join_html(
            _table(metric_table(results, metric), f"Table {number}", class_="stacked"),
            _links(files, f"table-{number}."),
        )
        for number, metric in enumerate(metrics(results), start=1)
    ]
    links = [
        _links(files, start, end) for start, end in (("paired-differences.", ""), ("claims.", ""), ("", ".parquet"))
    ]
    return [*parts, *_differences(results), *links]


def _differences(results: Results) -> list[Html]:
    """Those of AUC, AP and recall from the reference method; all others are in the files."""
    name = reference_method(results)
    if len(results.setting.methods) == 1:
        return []
    return [
        _table(paired_table(results, metric, name), paired_title(results, metric, name), class_="stacked")
        for metric in metrics(results)[:3]
    ]


def _table(table: Table, title: str, **attributes: str) -> Html:
    bodies = [element("tbody", *map(_row, rows)) for rows in (table.rows, table.footer) if rows]
    head = element("thead", element("tr", *(element("th", heading, scope="col") for heading in table.header)))
    caption = element("p", element("b", f"{title}."), f" {table.caption}", class_="caption")
    grid = element("table", head, *bodies, aria_label=title, **attributes)
    return join_html(caption, element("div", grid, class_="wide"))


def _row(entries: Sequence[Entry]) -> Html:
    values = (element("b", entry.value) if entry.bold else entry.value for entry in entries)
    cells = [element("td", value, element("span", entry.rest)) for value, entry in zip(values, entries, strict=True)]
    return element("tr", *cells)


def _links(files: Collection[str], start: str, end: str = "") -> Html:
    """To those whose names begin and end so."""
    names = sorted(name for name in files if name.startswith(start) and name.endswith(end))
    links = join_html(*(element("a", name, href=f"./{name}") for name in names), between=", ")
    return element("p", links, class_="files") if names else Html()


def _settings(results: Results, provenance: Mapping[str, Any]) -> list[Html]:
    setting = results.setting
    methods = {
        f"{results.label(name)} ({name})": _in_words(results.tuned.get(name, {}) or "default")
        for name in setting.methods
    }
    choices = {said: _in_words(getattr(setting, field)) for field, said in IN_WORDS.items()}
    tuning = element("p", TUNING[setting.tuned])
    parts = [_words("method", "parameters", methods), tuning, _words("setting", "value", choices)]
    further = {key: value for key, value in provenance.items() if key != "setting"}  # which is written above
    made_with = {name: _in_words(value) for name, value in flatten_names(further)}
    return parts + ([_words("made with", "value", made_with)] if further else [])


def _words(left: str, right: str, rows: Mapping[str, str]) -> Html:
    head = element("thead", element("tr", element("th", left, scope="col"), element("th", right, scope="col")))
    body = element("tbody", *(element("tr", element("td", key), element("td", value)) for key, value in rows.items()))
    return element("div", element("table", head, body, class_="words"), class_="wide")


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        return format_parameters(value)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
