"""Plots of a report's page, in the colours of the page: the yield curve, the template, and mean spectra."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rarespec.pages.html import Html, element, join_html
from rarespec.pages.plot import plot_html
from rarespec.pages.svg import Frame
from rarespec.plots.candidates import HEIGHT, SVG_POINTS, WIDTH
from rarespec.plots.canvas import WAVELENGTH
from rarespec.plots.spectra import weight_limits
from rarespec.plots.yield_curve import depth_drawn
from rarespec.searching.explain.template import Template
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.spectrum.picture import mean_points
from rarespec.storage.text import thousands

Vector = NDArray[np.floating]

MARGIN = 0.06
RESCALED = "rescaled flux"


def yield_plot(curve: YieldCurve) -> Html:
    """How many true objects to expect, with the interval and where to stop; of a curve that has an estimate."""
    depth = depth_drawn(curve)
    at = np.unique(np.linspace(1, depth, min(depth, SVG_POINTS)).round().astype(int))
    expected, low, high = (array[at - 1] for array in (curve.expected, curve.low, curve.high))
    frame = Frame(0, max(depth, 2), 0, 1.08 * max(float(high.max()), 1.0), WIDTH, HEIGHT)
    all_true = np.array([0.0, min(depth, frame.top)])  # up to the edge: what is outside would be bent to it
    drawn = [
        frame.fill(at, low, high, class_="interval"),
        frame.draw(all_true, all_true, class_="all-true"),
        frame.draw(at, expected, class_="filtered"),
    ]
    keys = {"filtered": "expected", "interval": f"{100 * curve.confidence:.0f} % interval"}
    keys["all-true"] = "if all candidates were true"
    if curve.stopping_rank:
        stop = np.full(2, min(curve.stopping_rank, depth))
        drawn.append(frame.draw(stop, np.array([frame.bottom, frame.top]), class_="stop"))
        keys["stop"] = f"stop at {thousands(curve.stopping_rank)}"
    label = "Expected number of true objects against the number of candidates inspected."
    plot = plot_html(frame, drawn, label, across="number of candidates inspected", up="expected true objects")
    return join_html(plot, legend(keys))


def template_plot(template: Template, known: Vector) -> Html:
    """The means of the known examples and of the survey, and below them the weights on a scale with 0 at its middle."""
    wavelength, weights = mean_points(template.wavelength, template.weights, SVG_POINTS)
    frame = Frame(*_ends(template.wavelength), *weight_limits(template.weights), WIDTH, HEIGHT)
    nothing = np.zeros(len(weights))
    drawn = [
        frame.fill(wavelength, nothing, np.maximum(weights, 0), class_="favour"),
        frame.fill(wavelength, np.minimum(weights, 0), nothing, class_="against"),
        frame.draw(np.array([frame.left, frame.right]), np.zeros(2), class_="zero"),
    ]
    above = means_plot(template.wavelength, {"typical": template.typical, "known": known})
    below = plot_html(frame, drawn, "Weight of the flux against wavelength.", across=WAVELENGTH, up="weight")
    return join_html(above, below, legend({"favour": "in favour", "against": "against"}))


MEANS = {
    "typical": "mean of the survey",
    "known": "mean of the known examples",
    "filtered": "mean of the best candidates",
}
"""Look of a curve -> what it is."""


def means_plot(wavelength: Vector, means: Mapping[str, Vector]) -> Html:
    """Mean spectra, (p,) each, by their look, which is one of MEANS."""
    curves = {kind: mean_points(wavelength, mean, SVG_POINTS) for kind, mean in means.items()}
    values = np.concatenate([y for _, y in curves.values()])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = MARGIN * (high - low) or 1.0
    frame = Frame(*_ends(wavelength), low - margin, high + margin, WIDTH, HEIGHT)
    drawn = [frame.draw(*curve, class_=kind) for kind, curve in curves.items()]
    keys = {kind: MEANS[kind] for kind in means}
    label = f"Spectra against wavelength: {', '.join(keys.values())}."
    return join_html(plot_html(frame, drawn, label, across=WAVELENGTH, up=RESCALED), legend(keys))


def legend(keys: Mapping[str, str]) -> Html:
    """What the looks of a plot mean."""
    told = (element("span", element("i", class_=f"key {kind}"), f" {words}") for kind, words in keys.items())
    return element("p", *told, class_="legend")


def _ends(wavelength: Vector) -> tuple[float, float]:
    first, last = wavelength[[0, -1]].tolist()
    return first, last
