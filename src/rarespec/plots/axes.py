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
    """Plot a spectrum: its flux, the running mean, and gaps where pixels are bad.

    Parameters
    ----------
    spectrum : Spectrum
        The spectrum.
    ax : matplotlib.axes.Axes, optional
        Where to plot; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The plot.

    Examples
    --------
    >>> import rarespec
    >>> ax = rarespec.plot_spectrum(rarespec.MockSky(1, seed=1).block(0)[0])
    >>> "wavelength" in ax.get_xlabel().lower()
    True
    """
    (panel,) = _new_panels(1, 2.8) if ax is None else [ax]
    draw_spectrum(panel, spectrum)
    panel.margins(x=0)
    panel.set_xlabel(WAVELENGTH)
    panel.set_ylabel(FLUX)
    return panel


def plot_spectra(spectra: Sequence[Spectrum] | Spectra, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Plot several spectra, one above the other.

    Parameters
    ----------
    spectra : Spectra or sequence of Spectrum
        The spectra; not too many to tell apart.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to plot, one for each; by default a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each spectrum.

    Raises
    ------
    UsageError
        If there is no spectrum, or too many, or not as many axes.

    Examples
    --------
    >>> import rarespec
    >>> len(rarespec.plot_spectra(rarespec.MockSky(3, seed=1).block(0)))
    3
    """
    if not 0 < len(spectra) <= MOST_PANELS:
        raise UsageError(f"{len(spectra)} spectra: choose between 1 and {MOST_PANELS} to plot at once")
    panels = _new_panels(len(spectra), 1.5) if axes is None else _as_many(axes, len(spectra), "spectra")
    for panel, spectrum in zip(panels, iter(spectra), strict=True):
        draw_spectrum(panel, spectrum)
        panel.margins(x=0)
    panels[-1].set_xlabel(WAVELENGTH)
    return panels


def plot_yield(ranking: Ranking | YieldCurve, ax: Axes | None = None) -> Axes:
    """Plot how many true objects to expect in the first k candidates.

    Parameters
    ----------
    ranking : Ranking or YieldCurve
        The answer of a search, or its yield curve.
    ax : matplotlib.axes.Axes, optional
        Where to plot; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The plot.

    Raises
    ------
    UsageError
        If there is no estimate.

    Examples
    --------
    >>> import numpy as np
    >>> import rarespec
    >>> from rarespec.searching.yields.yield_curve import yield_curve
    >>> curve = yield_curve(-np.log(np.arange(1, 1001)), hidden_places=[1, 3, 5], n_known=3)
    >>> rarespec.plot_yield(curve).get_ylabel()
    'expected true objects'
    """
    curve = ranking.yield_curve if isinstance(ranking, Ranking) else ranking
    if not curve.can_tell:
        raise UsageError(f"no yield curve to plot. {curve.why}")
    (panel,) = _new_panels(1, 3.2, width=5.2) if ax is None else [ax]
    draw_yield_curve(panel, curve)
    return panel


def plot_template(ranking: Ranking, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Plot what a ranking looks for.

    Above: the mean of the known examples and of the survey. Below: what counts in favour and against.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    axes : sequence of matplotlib.axes.Axes, optional
        Two panels; by default a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes
        The two panels.

    Raises
    ------
    UsageError
        If the ranking has no template.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     axes = rarespec.plot_template(rarespec.search(survey, carbon[:4], "matched_filter", top=5))
    >>> len(axes)
    2
    """
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
    """Plot a candidate in front of the nearest known example, with the lines to look at.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    rank : int
        Rank of the candidate, from 1.
    ax : matplotlib.axes.Axes, optional
        Where to plot; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The plot.

    Raises
    ------
    UsageError
        If the table has no such rank.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     ax = rarespec.plot_candidate(rarespec.search(survey, carbon[:4], "matched_filter", top=5), rank=2)
    >>> ax.get_title(loc="left").startswith("2.")
    True
    """
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
