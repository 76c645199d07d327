"""Figure 6 of an experiment."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex

from conftest import make_spectra
from rarespec.evaluation.experiment.methods import METHODS as ALL_METHODS
from rarespec.evaluation.experiment.results import Facts, Results, Shown
from rarespec.evaluation.experiment.setting import Setting
from rarespec.plots.canvas import KNOWN_COLOUR, RIGHT_COLOUR, WRONG_COLOUR
from rarespec.plots.experiment.top import CROSS, DEPTH, HEIGHT, LONGEST, _break_label, draw_figure_6, top_figure
from rarespec.survey import Survey

METHODS = ("lrga", "bagging_top_push")


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    """Each spectrum is a wave of its own length, so that none can be taken for another."""
    spectra = make_spectra(40, **{"class": ["CARBON" if i % 3 == 0 else "M" for i in range(40)]})
    spectra.flux[:] += 20 * np.sin(np.linspace(0, 1, spectra.flux.shape[1]) * np.arange(3, 43)[:, None])
    survey = Survey.create(tmp_path_factory.mktemp("survey") / "waves.survey")
    survey.append(spectra)
    return survey


@pytest.fixture(scope="module")
def rows(survey: Survey) -> np.ndarray:
    """The ranked rows are not those of the survey: the first four have no features."""
    return np.arange(4, len(survey))


@pytest.fixture(scope="module")
def rare(survey: Survey, rows: np.ndarray) -> np.ndarray:
    return survey.catalogue["class"][rows] == "CARBON"


@pytest.fixture(scope="module")
def results(rows: np.ndarray, rare: np.ndarray) -> Results:
    """The first method lists the rare ones first, the second the others."""
    known, *hidden = np.flatnonzero(rare)
    others = np.flatnonzero(~rare)
    tops = {"lrga": np.append(hidden, others), "bagging_top_push": np.append(others, hidden)}
    shown = {(name, n): Shown(np.array([known]), top) for name, top in tops.items() for n in (1, 3)}
    facts = Facts("m.survey", len(rows), 4, int(rare.sum()), "class is CARBON")
    return Results(Setting("CARBON", METHODS, (1, 3), 1), facts, {}, shown)


def test_right_and_wrong_have_their_colour_and_the_wrong_a_cross(
    results: Results, survey: Survey, rows: np.ndarray, rare: np.ndarray
) -> None:
    for name, column in zip(METHODS, top_figure(results, survey, rows, rare).axes, strict=True):
        right = rare[results.shown[name, 1].top[:DEPTH]]
        colours = [to_hex(line.get_color()) for line in column.lines[: DEPTH + 1]]
        assert colours == [KNOWN_COLOUR, *np.where(right, RIGHT_COLOUR, WRONG_COLOUR)]
        crosses = sorted(text.get_position()[1] for text in column.texts if text.get_text() == CROSS)
        assert np.allclose(crosses, np.flatnonzero(~right) + 1 - HEIGHT / 2)
        assert column.get_title().endswith(f"\n{right.sum()} of {DEPTH}")


def test_each_spectrum_is_that_of_its_row(results: Results, survey: Survey, rows: np.ndarray, rare: np.ndarray) -> None:
    """Compared with the flux as it was observed, which the filter and the scale leave nearly as it is."""
    column = top_figure(results, survey, rows, rare).axes[0]
    shown = results.shown["lrga", 1]
    for place, row in enumerate([*shown.known, *shown.top[:DEPTH]]):
        line = column.lines[place]
        spectrum = survey[survey.ids[rows[row]]]
        observed = np.interp(line.get_xdata(), spectrum.wavelength[~spectrum.bad], spectrum.flux[~spectrum.bad])
        assert np.corrcoef(place - line.get_ydata(), observed)[0, 1] > 0.9
        assert (place - line.get_ydata()).min() >= -1e-6 and (place - line.get_ydata()).max() <= HEIGHT + 1e-6


def test_short_lists_are_drawn_as_far_as_they_go(
    results: Results, survey: Survey, rows: np.ndarray, rare: np.ndarray, tmp_path: Path
) -> None:
    short = {cell: Shown(shown.known, shown.top[:5]) for cell, shown in results.shown.items()}
    paths = draw_figure_6(replace(results, shown=short), survey, rows, rare, tmp_path)
    assert [path.name for path in paths] == ["figure-6.png", "figure-6.pdf"]
    assert draw_figure_6(replace(results, shown={}), survey, rows, rare, tmp_path) == []


@pytest.mark.parametrize(
    ("label", "broken"),
    [
        ("BaggingTopPush", "Bagging\nTopPush"),
        ("Whitened cosine", "Whitened\ncosine"),
        ("BaggingSVM", "BaggingSVM"),
        ("LRGA", "LRGA"),
        ("LRGA as printed", "LRGA as\nprinted"),
        ("AVERYLONGNAMEWITHOUTABREAK", "AVERYLONGN\nAMEWITHOUT\nABREAK"),
    ],
)
def test_long_names_are_broken(label: str, broken: str) -> None:
    assert "\n".join(_break_label(label)) == broken


@pytest.mark.parametrize("label", [*(one.label for one in ALL_METHODS.values()), "MyPackagesVeryOwnRankerOfSpectra"])
def test_no_letter_of_a_name_is_lost_and_no_line_too_long(label: str) -> None:
    lines = _break_label(label)
    assert "".join(lines).replace(" ", "") == label.replace(" ", "") and max(map(len, lines)) <= LONGEST


def test_titles_do_not_overprint_and_crosses_do_not_touch_the_frame(
    results: Results, survey: Survey, rows: np.ndarray, rare: np.ndarray
) -> None:
    every = tuple(ALL_METHODS)
    shown = {(name, 1): results.shown["bagging_top_push", 1] for name in every}
    figure = top_figure(Results(Setting("CARBON", every, (1,), 1), results.facts, {}, shown), survey, rows, rare)
    figure.draw_without_rendering()
    titles = [column.title.get_window_extent() for column in figure.axes]
    assert all(one.x1 < other.x0 for one, other in pairwise(titles))
    gaps = [other.x0 - one.x1 for one, other in pairwise(column.get_window_extent() for column in figure.axes)]
    assert max(gaps) - min(gaps) < 1
    for column in figure.axes:
        frame = column.get_window_extent()
        crosses = [text.get_window_extent() for text in column.texts if text.get_text() == CROSS]
        assert crosses and all(frame.x0 < cross.x0 and cross.x1 < frame.x1 for cross in crosses)
