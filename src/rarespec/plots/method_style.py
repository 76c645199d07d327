"""One look for each method, the same in every figure, whichever other methods are drawn beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rarespec.evaluation.experiment.methods import is_own

LineStyle = str | tuple[float, tuple[float, ...]]

LONG_DASHES: LineStyle = (0, (7, 1.5))
SHORT_DASHES: LineStyle = (0, (2.5, 1))
DASH_DOT_DOT: LineStyle = (0, (5, 1, 1, 1, 1, 1))
DASH_DASH_DOT: LineStyle = (0, (5, 1, 5, 1, 1, 1))
WIDE_DOTS: LineStyle = (0, (1, 1.8))

MARKERS_PER_LINE = 4


@dataclass(frozen=True)
class MethodStyle:
    """How the line and the points of a method are drawn."""

    colour: str
    linestyle: LineStyle
    marker: str
    linewidth: float = 1.3

    def line(self) -> dict[str, Any]:
        """Return how its line looks, as arguments for matplotlib."""
        return {
            "color": self.colour,
            "linestyle": self.linestyle,
            "linewidth": self.linewidth,
            "marker": self.marker,
            "markersize": 3.5,
        }


def choose_marked_places(number: int, n: int, of: int = 10) -> tuple[int, int | None, int]:
    """Choose the points of a line that get a marker.

    The markers of different lines stand beside each other, so that neither they nor bars on them hide each other.

    Parameters
    ----------
    number : int
        Number of the line, from 0.
    n : int
        Points of each line.
    of : int, default 10
        Lines in the figure; below 10 it counts as 10.

    Returns
    -------
    tuple of (int, None, int)
        Start, end and step, for `slice`.
    """
    step = max(1, n // MARKERS_PER_LINE)
    return (step // 4 + number * step // max(of, 10)) % step, None, step


STYLES = {
    # Those of the paper, in the colours of Okabe and Ito (2008).
    "ocsvm": MethodStyle("#56b4e9", ":", "P"),
    "label_propagation": MethodStyle("#009e73", "-.", "^"),
    "emr": MethodStyle("#e69f00", SHORT_DASHES, "D"),
    "lrga": MethodStyle("#d55e00", "--", "s"),
    "bagging_svm": MethodStyle("#cc79a7", DASH_DOT_DOT, "v"),
    "bagging_top_push": MethodStyle("#0072b2", "-", "o", linewidth=1.6),
    # Darker colours for ours.
    "lda": MethodStyle("#882255", LONG_DASHES, "X"),
    "cosine": MethodStyle("#7f3b08", DASH_DASH_DOT, "p"),
    "whitened_top_push": MethodStyle("#332288", WIDE_DOTS, "*"),
    # The rest. Colours alone would be too close: none has both the line and the marker of another method.
    "biased_svm": MethodStyle("#762a83", "--", "<"),
    "bipartite_boosting": MethodStyle("#661100", "-", "h"),
    "bipartite_logistic": MethodStyle("#999933", "-.", "d"),
    "lrga_as_printed": MethodStyle("#8c564b", ":", "s"),
    "manifold_ranking": MethodStyle("#117733", LONG_DASHES, ">"),
    "published_top_push": MethodStyle("#555555", SHORT_DASHES, "o"),
    "svdd": MethodStyle("#44aa99", DASH_DASH_DOT, "8"),
    "top_push": MethodStyle("#004488", DASH_DOT_DOT, "H"),
    "auto": MethodStyle("#000000", "-", "x", linewidth=1.8),
}
"""Name of a method -> how it is drawn."""


OWN_STYLES = (
    MethodStyle("#e8000b", "-", "*"),
    MethodStyle("#1ac938", "--", "p"),
    MethodStyle("#8b2be2", "-.", "X"),
    MethodStyle("#9f4800", ":", "d"),
)
"""For methods of the user's own, in the order in which they are compared; a fifth looks as the first."""


def style_of(name: str, among: Sequence[str] = ()) -> MethodStyle:
    """Return the style of a method. `among` are all methods of the figure: the user's own get their styles in turn."""
    own = [other for other in among if is_own(other)]
    if name in own:
        return OWN_STYLES[own.index(name) % len(OWN_STYLES)]
    if name not in STYLES:
        raise ValueError(f"there is no plot style for the method {name!r}; choose from {', '.join(sorted(STYLES))}")
    return STYLES[name]
