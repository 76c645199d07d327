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
    """The picture with its caption and a link to the PDF; a sentence where these results have no picture."""
    picture, document = f"{figure.stem}.png", f"{figure.stem}.pdf"
    if not figure.exists_for(results) or picture not in files:
        why = f"{picture} was not drawn" if figure.exists_for(results) else figure.why_missing
        return element("p", f"Figure {figure.number} is left out: {why}.", id=figure.stem)
    link = joined(" ", element("a", "PDF", href=document)) if document in files else ""
    said = f" {figure.caption}{figure.with_what(results)}"
    caption = element("figcaption", element("b", f"Figure {figure.number}."), said, link)
    return element("figure", element("img", src=picture, alt=figure.alt, loading="lazy"), caption, id=figure.stem)
