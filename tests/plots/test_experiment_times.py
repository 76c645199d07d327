"""Figure 7."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.image import imread

from experiment_results import made_up_results
from rarespec.evaluation.experiment.methods import METHODS
from rarespec.evaluation.experiment.results import Timing
from rarespec.plots.experiment.times import choose_timed_number, draw_figure_7, in_words, times_figure
from rarespec.plots.method_style import style_of

METHODS_HERE = ("lda", "emr", "lrga")


def words(panel: Axes) -> list[str]:
    return [text.get_text() for text in panel.texts]


def test_one_bar_for_each_method_is_its_total_with_the_set_up_apart() -> None:
    results = made_up_results(METHODS_HERE, trials=1)
    (panel,) = times_figure(results).axes
    timings = [results.timings[name, 10] for name in METHODS_HERE]
    queries = [bar for bar in panel.patches if not bar.get_hatch()]
    setups = [bar for bar in panel.patches if bar.get_hatch()]
    assert [bar.get_width() for bar in queries] == [timing.query_s for timing in timings]
    assert [bar.get_width() for bar in setups] == [timing.setup_s for timing in timings if timing.setup_s]
    assert [bar.get_x() for bar in setups] == [timing.query_s for timing in timings if timing.setup_s]
    assert [to_hex(bar.get_facecolor()) for bar in queries] == [style_of(name).colour for name in METHODS_HERE]
    assert [label.get_text() for label in panel.get_yticklabels()] == [METHODS[name].label for name in METHODS_HERE]
    assert [round(bar.get_y() + bar.get_height() / 2) for bar in setups] == [1, 2]
    assert panel.yaxis_inverted()


def test_values_stand_at_the_bars_and_the_axis_begins_at_0() -> None:
    (panel,) = times_figure(made_up_results(METHODS_HERE, trials=1)).axes
    assert words(panel) == ["0.19 s", "3.2 s; each query 0.20 s", "26 s; each query 6.0 s"]
    assert panel.get_xscale() == "linear" and panel.get_xlim()[0] == 0


def test_words_and_bars_stay_within_their_panel() -> None:
    results = made_up_results(METHODS_HERE, trials=1)
    extreme = {("lda", 10): Timing(0.00021, 0.0), ("emr", 10): Timing(0.4, 3.0), ("lrga", 10): Timing(12.0, 81_234.0)}
    figure = times_figure(replace(results, timings=extreme))
    figure.draw_without_rendering()
    (panel,) = figure.axes
    assert all(text.get_window_extent().x1 <= panel.get_window_extent().x1 for text in panel.texts)


def test_the_number_of_known_the_size_of_the_survey_and_the_parameters_are_said() -> None:
    results = made_up_results(METHODS_HERE, trials=1)
    said = "100\u202f450 spectra ranked with 10 known examples"
    assert times_figure(results).axes[0].get_title() == f"{said}, default parameters"
    tuned = replace(results, tuned={"emr": {"alpha": 0.5}})
    assert times_figure(tuned).axes[0].get_title() == f"{said}, tuned parameters"


def test_the_number_most_methods_were_timed_with_is_shown() -> None:
    results = made_up_results(METHODS_HERE, trials=1)
    assert choose_timed_number(results) == 10
    further = dict.fromkeys([("emr", 1), ("emr", 3), ("lda", 3), ("emr", 30)], Timing(1.0, 1.0))
    assert choose_timed_number(replace(results, timings=further)) == 3
    assert choose_timed_number(replace(results, timings=further | {("lda", 30): Timing(1.0, 1.0)})) == 30


def test_a_method_that_was_not_timed_is_said_to_be_so() -> None:
    results = made_up_results(METHODS_HERE, n_known=(10,), trials=1)
    without = {cell: timing for cell, timing in results.timings.items() if cell[0] != "emr"}
    (panel,) = times_figure(replace(results, timings=without)).axes
    assert words(panel)[1] == "not timed"
    assert len(panel.patches) == 3  # two queries, one set-up


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0, "0 s"), (0.00021, "0.00021 s"), (0.026, "0.026 s"), (1.23, "1.2 s"), (41.4, "41 s")],
)
def test_times_in_words(seconds: float, expected: str) -> None:
    assert in_words(seconds) == expected


@given(st.floats(1e-9, 1e9))
def test_times_in_words_are_right_to_two_digits(seconds: float) -> None:
    read = float(in_words(seconds).removesuffix(" s").replace("\u202f", ""))
    assert read == pytest.approx(seconds, rel=0.051)


@pytest.mark.parametrize("methods", [("lda",), tuple(METHODS)])
def test_bars_of_one_method_and_of_all_are_equally_thick(methods: tuple[str, ...]) -> None:
    figure = times_figure(made_up_results(methods, n_known=(10,), trials=1))
    figure.draw_without_rendering()
    thickness = figure.axes[0].patches[0].get_window_extent().height / figure.dpi
    assert len([bar for bar in figure.axes[0].patches if not bar.get_hatch()]) == len(methods)
    assert 0.1 < thickness < 0.3


def test_the_figure_is_written_twice_alike(tmp_path: Path) -> None:
    results = made_up_results(METHODS_HERE, n_known=(10,), trials=1)
    paths = draw_figure_7(results, tmp_path)
    assert [path.name for path in paths] == ["figure-7.png", "figure-7.pdf"]
    assert imread(paths[0]).size and paths[1].read_bytes().startswith(b"%PDF-")
    first = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in draw_figure_7(results, tmp_path)] == first


def test_nothing_timed_no_figure(tmp_path: Path) -> None:
    assert draw_figure_7(replace(made_up_results(("lda",), trials=1), timings={}), tmp_path) == []
    assert not list(tmp_path.iterdir())
