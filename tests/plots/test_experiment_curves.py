"""Figures 2, 3 and 4, and how every figure is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from experiment_results import made_up_results
from rarespec.evaluation.experiment.methods import METHODS
from rarespec.evaluation.experiment.plan import choose_shown_numbers
from rarespec.evaluation.experiment.results import Results, Trials
from rarespec.evaluation.experiment.setting import DEFAULT_METHODS
from rarespec.evaluation.places import Places
from rarespec.plots.canvas import PAGE_WIDTH, SMALL_SIZE, panels, save_both
from rarespec.plots.experiment import curves as experiment_curves
from rarespec.plots.experiment.curves import AVERAGE_PRECISION, PRECISION, RECALL, Curve, curves_figure
from rarespec.plots.method_style import style_of
from rarespec.storage.text import thousands

TWO = ("lrga", "bagging_top_push")
DRAW = (experiment_curves.draw_figure_2, experiment_curves.draw_figure_3, experiment_curves.draw_figure_4)


def lines_of_methods(panel: Axes) -> list:
    """Those with a point for each k: caps of bars and the line of the hidden have few."""
    return [line for line in panel.lines if len(line.get_xdata()) > 50]


def bars_of(panel: Axes) -> list[np.ndarray]:
    """Of each method, (bars, 2 ends, x and y)."""
    return [np.array(bars.get_segments()) for bars in panel.collections]


def with_places(results: Results, n_hidden: int, n_listed: int) -> Results:
    """The same experiment, with perfect lists of this length."""
    places = Places(np.arange(1, n_hidden + 1)[None], n_listed)
    return replace(results, trials={cell: Trials(places, np.ones(1), {}) for cell in results.trials})


@pytest.mark.parametrize(
    ("curve", "metric"), [(PRECISION, "precision"), (RECALL, "recall"), (AVERAGE_PRECISION, "average_precision")]
)
def test_lines_are_the_means_of_the_metric(curve: Curve, metric: str) -> None:
    results = made_up_results(TWO)
    figure = curves_figure(results, curve)
    depths = np.arange(1, 2 * 449 + 1)
    assert [panel.get_title().split(",")[0] for panel in figure.axes] == [
        "1 known example",
        "10 known examples",
        "30 known examples",
    ]
    for panel, n_known in zip(figure.axes, (1, 10, 30), strict=True):
        for line, name in zip(lines_of_methods(panel), TWO, strict=True):
            values = getattr(results.trials[name, n_known].places, metric)(depths)
            np.testing.assert_array_equal(line.get_xdata(), depths)
            np.testing.assert_allclose(line.get_ydata(), values.mean(axis=0))


def test_bars_are_one_standard_deviation_within_0_and_1() -> None:
    results = made_up_results(("lrga",))
    panel = curves_figure(results, PRECISION).axes[0]
    (bars,) = bars_of(panel)
    at = bars[:, 0, 0].astype(int)
    values = results.trials["lrga", 1].places.precision(at)
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1)
    np.testing.assert_allclose(bars[:, 0, 1], np.maximum(0, mean - spread))
    np.testing.assert_allclose(bars[:, 1, 1], np.minimum(1, mean + spread))
    assert 3 <= len(at) <= 6


def test_bars_of_different_methods_stand_beside_each_other() -> None:
    """Bands would blend into one grey, and bars at the same k hide each other."""
    for methods in (DEFAULT_METHODS, tuple(METHODS)):
        for panel in curves_figure(made_up_results(methods, trials=2), PRECISION).axes:
            at = [x for bars in bars_of(panel) for x in bars[:, 0, 0]]
            assert len(set(at)) == len(at)


def test_auto_covers_no_other_method() -> None:
    panel = curves_figure(made_up_results(("auto", "lda", "emr"), trials=2), PRECISION).axes[0]
    auto, *others = lines_of_methods(panel)
    assert to_hex(auto.get_color()) == style_of("auto").colour
    assert auto.get_zorder() < min(line.get_zorder() for line in others)


def test_one_trial_has_no_bars() -> None:
    figure = curves_figure(made_up_results(TWO, trials=1), RECALL)
    assert not any(panel.collections for panel in figure.axes)
    assert figure.legends[0].get_title().get_text() == "one draw, no error bars"


def test_a_method_looks_the_same_whoever_stands_beside_it() -> None:
    for methods in (("bagging_top_push",), tuple(METHODS)):
        figure = curves_figure(made_up_results(methods, trials=1), PRECISION)
        for panel in figure.axes:
            line = lines_of_methods(panel)[methods.index("bagging_top_push")]
            style = style_of("bagging_top_push")
            assert (to_hex(line.get_color()), line.get_marker()) == (style.colour, style.marker)
        handle = figure.legends[0].get_lines()[methods.index("bagging_top_push")]
        assert to_hex(handle.get_color()) == style.colour


def test_legend_names_every_method_and_stays_on_the_page() -> None:
    for methods in (("emr",), tuple(METHODS)):
        figure = curves_figure(made_up_results(methods, trials=1), PRECISION)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert [text.get_text() for text in legend.get_texts()][:-1] == [METHODS[name].label for name in methods]
        assert box.x0 >= 0 and box.x1 <= PAGE_WIDTH * figure.dpi
        assert all(box.y1 <= panel.get_tightbbox().y0 for panel in figure.axes)


@pytest.mark.parametrize(
    ("n_hidden", "n_listed", "last", "marked"),
    [(449, 100_000, 898, True), (12, 100_000, 100, True), (4000, 100_000, 1000, False), (12, 60, 60, True)],
)
def test_the_axis_reaches_beyond_the_hidden_where_it_can(n_hidden: int, n_listed: int, last: int, marked: bool) -> None:
    figure = curves_figure(with_places(made_up_results(TWO, trials=1), n_hidden, n_listed), RECALL)
    for panel in figure.axes:
        assert panel.get_xlim() == (0, last)
        assert panel.get_ylim() == experiment_curves.FROM_0_TO_1
        assert panel.get_title().endswith(f"{thousands(n_hidden)} hidden")
        assert any(list(line.get_xdata()) == [n_hidden] * 2 for line in panel.lines) == marked


def test_a_method_without_trials_is_named_in_its_panel() -> None:
    results = made_up_results(TWO)
    cells = {cell: trials for cell, trials in results.trials.items() if cell != ("lrga", 10)}
    titles = [panel.get_title() for panel in curves_figure(replace(results, trials=cells), PRECISION).axes]
    assert ["no trials for LRGA" in title for title in titles] == [False, True, False]


@given(st.sets(st.integers(1, 60), min_size=1))
def test_up_to_three_numbers_are_shown_from_the_smallest_to_the_largest(available: set[int]) -> None:
    numbers = choose_shown_numbers(available)
    assert numbers == sorted(set(numbers)) and set(numbers) <= available
    assert len(numbers) == min(3, len(available))
    assert numbers == [1, 10, 30] if {1, 10, 30} <= available else numbers[::-1][0] == max(available)


def test_all_text_can_be_read_in_print() -> None:
    figure = curves_figure(made_up_results(tuple(METHODS), trials=1), PRECISION)
    assert figure.get_figwidth() == PAGE_WIDTH
    assert min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text()) >= SMALL_SIZE


@pytest.mark.parametrize("number", [2, 3, 4])
def test_figures_are_written_as_png_and_pdf(tmp_path: Path, number: int) -> None:
    paths = DRAW[number - 2](made_up_results(TWO, n_known=(1,), trials=2), tmp_path)
    assert paths == [tmp_path / f"figure-{number}.png", tmp_path / f"figure-{number}.pdf"]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert imread(paths[0]).shape[1] == 200 * PAGE_WIDTH
    assert paths[1].read_bytes().startswith(b"%PDF-")


def test_a_figure_drawn_twice_is_the_same_files(tmp_path: Path) -> None:
    results = made_up_results(TWO, n_known=(1,), trials=2)
    first = [path.read_bytes() for path in DRAW[0](results, tmp_path)]
    assert [path.read_bytes() for path in DRAW[0](results, tmp_path)] == first


def test_no_trials_no_figures(tmp_path: Path) -> None:
    nothing = replace(made_up_results(TWO, n_known=(1,), trials=1), trials={})
    assert [draw(nothing, tmp_path) for draw in DRAW] == [[], [], []]
    assert not list(tmp_path.iterdir())


def small_figure() -> Figure:
    figure, ((panel,),) = panels(1, 1)
    panel.set_xlabel("wavelength")
    return figure


def test_text_in_a_pdf_is_text_in_truetype_fonts_without_a_date(tmp_path: Path) -> None:
    _, path = save_both(small_figure(), tmp_path, "one")
    content = path.read_bytes()
    assert content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF")
    assert b"/FontFile2" in content and b"/Type3" not in content
    assert b"CreationDate" not in content


def test_saving_changes_no_settings_and_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(matplotlib.rcParams)
    save_both(small_figure(), tmp_path, "one")
    assert dict(matplotlib.rcParams) == before
    old = (tmp_path / "one.png").read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_both(small_figure(), tmp_path, "one")
    assert (tmp_path / "one.png").read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 2


def test_panels_come_in_rows_of_the_width_of_a_page() -> None:
    figure, grid = panels(2, 3, height=1.5, sharey=True)
    assert [len(row) for row in grid] == [3, 3]
    assert tuple(figure.get_size_inches()) == (PAGE_WIDTH, 3.0)
    grid[0][0].set_ylim(0, 7)
    assert grid[1][2].get_ylim() == (0, 7)
