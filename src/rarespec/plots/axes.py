"""Plots for notebooks and scripts: each draws into the axes it is given, or into a new figure, and returns its axes.

A new figure is one of pyplot's, so that a notebook shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rarespec.errors import UsageError
from rarespec.plots.candidates import draw_candidate
from rarespec.plots.canvas import LABEL_SIZE, SMALL_SIZE, WAVELENGTH
from rarespec.plots.spectra import FLUX, draw_spectrum, draw_weights_on
from rarespec.plots.yield_curve import draw_yield_curve
from rarespec.searching.explain.portrait import mean_known, portraits_of
from rarespec.searching.explain.template import NoTemplate
from rarespec.searching.ranking import Ranking
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.spectrum import Spectra, Spectrum
from rarespec.storage.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS = 50


def plot_spectrum(spectrum: Spectrum, ax: Axes | None = None) -> Axes:
    """Flux, its running mean, gaps where pixels are bad."""
    (panel,) = _new_panels(1, 2.8) if ax is None else [ax]
    draw_spectrum(panel, spectrum)
    panel.margins(x=0)
    panel.set_xlabel(WAVELENGTH)
    panel.set_ylabel(FLUX)
    return panel


def plot_spectra(spectra: Sequence[Spectrum] | Spectra, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """One panel per spectrum, one above the other."""
    if not 0 < len(spectra) <= MOST_PANELS:
        raise UsageError(f"{len(spectra)} spectra: choose between 1 and {MOST_PANELS} to plot at once")
    panels = _new_panels(len(spectra), 1.5) if axes is None else _as_many(axes, len(spectra), "spectra")
    for panel, spectrum in zip(panels, iter(spectra), strict=True):
        draw_spectrum(panel, spectrum)
        panel.margins(x=0)
    panels[-1].set_xlabel(WAVELENGTH)
    return panels


def plot_yield(ranking: Ranking | YieldCurve, ax: Axes | None = None) -> Axes:
    """How many true objects are expected in the first k; a UsageError where that cannot be told."""
    curve = ranking.yield_curve if isinstance(ranking, Ranking) else ranking
    if not curve.can_tell:
        raise UsageError(f"no yield curve to plot. {curve.why}")
    (panel,) = _new_panels(1, 3.2, width=5.2) if ax is None else [ax]
    draw_yield_curve(panel, curve)
    return panel


def plot_template(ranking: Ranking, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Above the mean of the known examples and of the survey, below what counts in favour and against."""
    template = ranking.template
    if isinstance(template, NoTemplate):
        raise UsageError(f"no template to plot. {template.said}")
    above, below = _new_panels(2, 2.0) if axes is None else _as_many(axes, 2, "panels")
    known = mean_known(ranking)
    draw_weights_on(above, below, template.weights, known, template.typical, template.wavelength, LABEL_SIZE)
    for panel in (above, below):
        panel.margins(x=0)
        panel.tick_params(labelsize=SMALL_SIZE)
    below.set_xlabel(WAVELENGTH)
    return [above, below]


def plot_candidate(ranking: Ranking, rank: int = 1, ax: Axes | None = None) -> Axes:
    """The candidate at this place of the table before the nearest known example, with the lines to look at."""
    if not 1 <= rank <= len(ranking):
        raise UsageError(f"rank {rank}: choose from 1 to {len(ranking)}, the number of candidates")
    (portrait,) = portraits_of(ranking, 1, first=rank - 1)
    (panel,) = _new_panels(1, 2.8) if ax is None else [ax]
    draw_candidate(panel, portrait)
    for name in panel.texts:
        name.set_clip_on(True)  # else names of lines stay in sight when somebody zooms in
    facts = portrait.facts
    kind = " ".join(word for word in (str(facts["class"]), str(facts["subclass"])) if word)
    caption = printable(f"{rank}. {facts['id']}   {kind}, nearest known {facts['nearest_known']}")
    panel.set_title(caption, loc="left", fontsize=8.5, pad=3, parse_math=False)
    panel.set_xlabel(WAVELENGTH)
    return panel


def _new_panels(n: int, height: float, width: float = 9.0) -> list[Axes]:
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(width, 0.6 + height * n), layout="constrained")
    return list(figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0])


def _as_many(axes: Sequence[Axes], n: int, what: str) -> list[Axes]:
    panels = list(axes)
    if len(panels) != n:
        raise UsageError(f"axes: {len(panels)} given for {n} {what}; give one for each")
    return panels
