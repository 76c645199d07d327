"""Curves as paths of an SVG picture, and the frame that they are drawn in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.pages.html import Html, element

Values = NDArray[np.floating]


@dataclass(frozen=True)
class Frame:
    """From values to places in a picture of `width` by `height` whole units."""

    left: float
    right: float
    bottom: float
    top: float
    width: int
    height: int
    beyond: float = 0.02
    """Share of the height by which a curve may leave the frame."""

    def across(self, x: Values | float) -> Values:
        """Units from the left."""
        return np.asarray(self.width * (np.asarray(x) - self.left) / (self.right - self.left))

    def down(self, y: Values | float) -> Values:
        """Units from the top."""
        return np.asarray(self.height * (self.top - np.asarray(y)) / (self.top - self.bottom))

    def draw(self, x: Values, y: Values, **look: object) -> Html:
        """The curve; what is outside the frame ends just beyond its edge."""
        down = np.clip(self.down(y), -self.beyond * self.height, (1 + self.beyond) * self.height)
        return element("path", **look, d=path_through(self.across(x), down))

    def fill(self, x: Values, low: Values, high: Values, **look: object) -> Html:
        """The area between two finite curves."""
        around = np.concatenate([high, low[::-1]])
        down = np.clip(self.down(around), 0, self.height)
        return element("path", **look, d=f"{path_through(self.across(np.concatenate([x, x[::-1]])), down)}z")


BELOW = 18
"""Units of room for the numbers below the curves."""


def scale_below(frame: Frame, unit: str, most: int) -> list[Html]:
    """Round numbers below a line; those that would be cut at the edges are left out."""
    line = element("path", d=f"M0 {frame.height}H{frame.width}", stroke="currentColor", stroke_opacity="0.4")
    places = [(tick, float(frame.across(tick))) for tick in round_numbers(frame.left, frame.right, most)]
    look = {"y": frame.height + 13, "font_size": 11, "fill": "currentColor", "text_anchor": "middle"}
    return [
        line,
        *(element("text", f"{tick:g} {unit}", x=f"{x:.0f}", **look) for tick, x in places if 25 < x < frame.width - 25),
    ]


def path_through(x: Values, y: Values) -> str:
    """Write the `d` of a path through points in whole units, both (n,); a gap where y is not finite."""
    return "".join(_pieces(np.round(x), np.round(y)))


def _pieces(x: Values, y: Values) -> Iterator[str]:
    """Steps from point to point; a new start after every gap."""
    drawn = np.isfinite(y)
    before = None
    for this_x, this_y, is_drawn in zip(x.tolist(), np.where(drawn, y, 0).tolist(), drawn.tolist(), strict=True):
        if not is_drawn:
            before = None
        elif before is None:
            yield f"M{this_x:.0f} {this_y:.0f}l0 0"  # so that a point between two gaps is seen
            before = this_x, this_y
        else:
            step_y = f"{this_y - before[1]:.0f}"
            yield f" {this_x - before[0]:.0f}{step_y if step_y.startswith('-') else ' ' + step_y}"
            before = this_x, this_y


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """Choose round numbers for the ticks of a scale.

    Parameters
    ----------
    low : float
        Where the scale begins.
    high : float
        Where it ends, above low.
    most : int
        Steps between ticks, at most, so there is one tick more at most.

    Returns
    -------
    list of float
        Multiples of 1, 2 or 5 times a power of ten from low to high, rising.
    """
    step = 10.0 ** np.floor(np.log10((high - low) / most))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= most)
    return [float(number * step) for number in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)]
