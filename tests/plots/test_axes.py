"""Plots for notebooks: into axes that are given or into a new figure, and always the axes come back."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec import plots
from rarespec.errors import UsageError
from rarespec.searching.ranking import Ranking
from rarespec.searching.yields.yield_curve import yield_curve
from search_rankings import HOSTILE, ranking_of, survey_with_bands

FORMULA = HOSTILE[3]


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    from matplotlib import pyplot

    matplotlib.use("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> Ranking:
    return ranking_of(survey_with_bands(tmp_path_factory.mktemp("axes") / "b.survey"))


def test_one_spectrum() -> None:
    from matplotlib import pyplot

    pyplot.close("all")  # what other tests of this process have drawn
    spectrum = make_spectra(1, SMALL_GRID)[0]
    new = plots.plot_spectrum(spectrum)
    assert pyplot.get_fignums() == [new.figure.number]
    given = pyplot.figure().subplots()
    assert plots.plot_spectrum(spectrum, ax=given) is given and len(pyplot.get_fignums()) == 2
    drawn = given.lines[0].get_ydata()
    assert np.array_equal(np.isnan(drawn), spectrum.bad)
    assert np.array_equal(drawn[~spectrum.bad], spectrum.flux[~spectrum.bad])


def test_a_spectrum_without_usable_pixels_is_an_empty_panel() -> None:
    spectra = make_spectra(1, SMALL_GRID)
    spectra.flux[:] = np.nan
    assert "s00000" in plots.plot_spectrum(spectra[0]).get_title(loc="left")


def test_several_spectra() -> None:
    from matplotlib import pyplot

    spectra = make_spectra(3, SMALL_GRID)
    assert [panel.get_title(loc="left")[:6] for panel in plots.plot_spectra(spectra)] == spectra.ids
    given = pyplot.figure().subplots(3)
    assert plots.plot_spectra(list(spectra), axes=given) == list(given)
    with pytest.raises(UsageError, match="2 given for 3"):
        plots.plot_spectra(spectra, axes=given[:2])
    with pytest.raises(UsageError, match="51 spectra"):
        plots.plot_spectra(make_spectra(51, SMALL_GRID))


def test_yield_template_and_candidate(ranking: Ranking) -> None:
    from matplotlib import pyplot

    figure = pyplot.figure()
    axes = figure.subplots(4)
    assert plots.plot_yield(ranking, ax=axes[0]) is axes[0]
    assert plots.plot_template(ranking, axes=axes[1:3]) == list(axes[1:3])
    rank = 1 + ranking.table["id"].tolist().index(FORMULA)
    assert plots.plot_candidate(ranking, rank, ax=axes[3]) is axes[3]
    figure.canvas.draw()  # such a name is text, no formula
    assert axes[3].get_title(loc="left").startswith(f"{rank}. {FORMULA}")
    assert plots.plot_yield(ranking.yield_curve).lines and len(plots.plot_template(ranking)) == 2


def test_names_of_lines_outside_a_narrow_range_are_gone(ranking: Ranking) -> None:
    panel = plots.plot_candidate(ranking)
    assert panel.texts
    panel.set_xlim(5800, 5900)
    panel.figure.canvas.draw()
    assert panel.get_tightbbox().width < 1.2 * panel.get_window_extent().width


def test_what_cannot_be_drawn_is_told(ranking: Ranking) -> None:
    with pytest.raises(UsageError, match=r"no yield curve to plot\. There is no estimate"):
        plots.plot_yield(yield_curve(np.linspace(1, 0, 50), [], 2))
    for rank in (0, len(ranking) + 1):
        with pytest.raises(UsageError, match="the number of candidates"):
            plots.plot_candidate(ranking, rank)


def test_names() -> None:
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
    with pytest.raises(AttributeError, match="no attribute 'plot_x'"):
        plots.plot_x  # noqa: B018
