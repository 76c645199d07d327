"""What the figures on the page show, and why one of them may be missing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from rarespec.evaluation.experiment.basis import default_of_studied, parameters_in_words
from rarespec.evaluation.experiment.results import Results
from rarespec.pages.html_element import Html, element, joined


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


NO_TRIALS, NO_LISTS = "no trial was finished", "no ranked list was kept"
NOT_VARIED = "BaggingTopPush is not among the methods, or no draws were asked for"
OVER_K = "mean over the draws, with bars of one standard deviation at a few k, for several numbers of known examples"

FIGURES = (
    Figure(
        1,
        "A spectrum of the rare class of middling signal-to-noise, as observed and after the median filter of 10 Å; on "
        "the right around the pixel that the filter changes most. Left, a line that is far higher than the filtered "
        "spectrum, such as that of the night sky at 5577 Å, is cut off; where it is, is written there.",
        "Two curves over wavelength: a noisy observed spectrum and the smoother filtered one.",
    ),
    Figure(2, f"Precision P@k: {OVER_K}.", "Curves of precision over k, one for each method.", _has_trials, NO_TRIALS),
    Figure(3, f"Recall R@k: {OVER_K}.", "Curves of recall over k, one for each method.", _has_trials, NO_TRIALS),
    Figure(
        4,
        f"Average precision AP@k: {OVER_K}.",
        "Curves of average precision over k, one for each method.",
        _has_trials,
        NO_TRIALS,
    ),
    Figure(
        5,
        "The survey (grey) in its first three principal components, in the first draw. Two planes, components 1 and 2 "
        "and below them 1 and 3, replace the three dimensions of the paper's figure, in which objects hide each other. "
        "Green triangles: known examples; blue dots: rare objects found at the top of the list; magenta rings: "
        "rare objects not found there.",
        "Scatter plots of the first component against the second and third, for three methods and several numbers of "
        "known examples; the number found is in each title.",
        _has_shown,
        NO_LISTS,
    ),
    Figure(
        6,
        "The first 20 spectra of each method with the fewest known examples, in the first draw: a known example in "
        "green on top, right ones blue, wrong ones magenta and with a cross.",
        "Columns of small spectra, one column for each method; the number of right ones is above each.",
        _has_shown,
        NO_LISTS,
    ),
    Figure(
        7,
        "CPU time of a first query with each method, as one total; hatched is the part that is set up once for all "
        "queries (graph, anchors).",
        "Bars of CPU seconds, one for each method, from 0.",
        lambda results: bool(results.timings),
        "nothing was timed",
        lambda results: f" Timed with {parameters_in_words(results, results.setting.methods)}.",
    ),
    Figure(
        8,
        "BaggingTopPush over the number of bags T and their size K: means over the draws, shades from the lowest to "
        "the highest of each column.",
        "Maps of average precision and AUC over T and K, for several numbers of known examples.",
        lambda results: bool(results.bags),
        NOT_VARIED,
        lambda results: f" Whatever tuning chose, λ is the default, {default_of_studied('regularisation'):g}.",
    ),
    Figure(
        9,
        "BaggingTopPush over the regularisation λ, for each number of known examples.",
        "Curves of average precision and AUC over λ.",
        lambda results: bool(results.strengths),
        NOT_VARIED,
        lambda results: (
            f" Whatever tuning chose, K and T are the defaults, {default_of_studied('bag_size')} and "
            f"{default_of_studied('n_bags')}."
        ),
    ),
)
"""Those of the paper, by its numbers."""


def figure_on_page(figure: Figure, results: Results, files: Collection[str]) -> Html:
    """The picture with its caption and a link to the PDF; a sentence where these results have no picture."""
    picture, document = f"{figure.stem}.png", f"{figure.stem}.pdf"
    if not figure.exists_for(results) or picture not in files:
        why = f"{picture} was not drawn" if figure.exists_for(results) else figure.why_missing
        return element("p", f"Figure {figure.number} is left out: {why}.", id=figure.stem)
    link = joined(" ", element("a", "PDF", href=document)) if document in files else ""
    said = f" {figure.caption}{figure.with_what(results)}"
    caption = element("figcaption", element("b", f"Figure {figure.number}."), said, link)
    return element("figure", element("img", src=picture, alt=figure.alt, loading="lazy"), caption, id=figure.stem)
