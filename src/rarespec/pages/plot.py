"""A plot on a page: curves stretch with the page while letters keep their size.

The lines are SVG and the words around them HTML; both take their colours from the page, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rarespec.pages.html import Html, element
from rarespec.pages.svg import Frame, round_numbers

MOST_ACROSS, MOST_UP = 7, 5
"""Numbers on the scales at most."""


def plot_html(
    frame: Frame, drawn: Iterable[Html], label: str, words: Iterable[Html] = (), across: str = "", up: str = ""
) -> Html:
    """Put curves into their frame, with numbers on both scales.

    Parameters
    ----------
    frame : Frame
        Of the curves.
    drawn : iterable of Html
        Elements of SVG, in the frame's units.
    label : str
        What the plot shows, for those who do not see it.
    words : iterable of Html
        Elements that stand over the curves; see `css_left`.
    across : str
        What the numbers below are.
    up : str
        What the numbers on the left are.

    Returns
    -------
    Html
        The plot.
    """
    size = f"0 0 {frame.width} {frame.height}"
    drawing = element("svg", *drawn, viewBox=size, preserveAspectRatio="none", role="img", aria_label=label)
    names = [element("span", name, class_=kind) for name, kind in ((across, "of-across"), (up, "of-up")) if name]
    looks = " ".join(["spectrum", *(["titled"] if names else [])])
    return element("div", drawing, *words, *_write_scales(frame), *names, class_=looks)


def css_left(frame: Frame, x: float) -> str:
    """Place a word above or below this value."""
    return f"left:{100 * float(frame.across(x)) / frame.width:.1f}%"


def _write_scales(frame: Frame) -> Iterator[Html]:
    for tick in round_numbers(frame.left, frame.right, MOST_ACROSS):
        yield element("span", f"{tick:.0f}", class_="across", style=css_left(frame, tick))
    for tick in round_numbers(frame.bottom, frame.top, MOST_UP):
        style = f"top:{100 * float(frame.down(tick)) / frame.height:.1f}%"
        yield element("span", f"{tick:.6g}", class_="up", style=style)
