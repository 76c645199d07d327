"""Figures 8 and 9."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from matplotlib.axes import Axes
from matplotlib.image import imread
from matplotlib.text import Text

from experiment_results import made_up_results
from rarespec.evaluation.experiment.results import Sensitivity
from rarespec.evaluation.tuning import BAG_SIZE, N_BAGS, REGULARISATION
from rarespec.plots.canvas import SMALL_SIZE, panels
from rarespec.plots.experiment.sensitivity import (
    FLAT,
    _outline,
    bags_figure,
    draw_figure_8,
    draw_figure_9,
    short,
    strengths_figure,
)

RESULTS = made_up_results(("bagging_top_push",), trials=1)
STRENGTHS = strengths_figure(RESULTS.strengths)


def maps(bags: dict[int, Sensitivity]) -> list[Axes]:
    return [panel for panel in bags_figure(bags).axes if panel.images]


def test_maps_are_the_means_over_the_draws_ap_beside_auc() -> None:
    for panel, (n, (field, decimals)) in zip(
        maps(RESULTS.bags), product((1, 10, 30), (("average_precision", 2), ("auc", 3))), strict=True
    ):
        mean = getattr(RESULTS.bags[n], field).mean(axis=-1)
        np.testing.assert_allclose(panel.images[0].get_array(), mean)
        assert [text.get_text() for text in panel.texts] == [short(value, decimals) for value in mean.ravel()]


def test_maps_of_a_measure_share_their_colours_from_the_lowest_to_the_highest() -> None:
    limits = [panel.images[0].get_clim() for panel in maps(RESULTS.bags)]
    assert len(set(limits[::2])) == len(set(limits[1::2])) == 1
    means = [one.auc.mean(axis=-1) for one in RESULTS.bags.values()]
    assert limits[1] == (np.min(means), np.max(means))


def test_numbers_beside_the_diamond_can_be_read() -> None:
    figure = bags_figure({n: Sensitivity(0 * s.auc + 1, s.average_precision) for n, s in RESULTS.bags.items()})
    figure.draw_without_rendering()
    for panel in (panel for panel in figure.axes if panel.images):
        (mark,) = [line for line in panel.lines if line.get_marker() == "D"]
        x, _ = panel.transData.transform((mark.get_xdata()[0], mark.get_ydata()[0]))
        half = 0.75 * mark.get_markersize() * figure.dpi / 72  # a diamond is broader than its side
        boxes = [text.get_window_extent() for text in panel.texts if text.get_position()[1] == mark.get_ydata()[0]]
        assert all(box.x1 <= x - half or box.x0 >= x + half for box in boxes)


def test_axes_of_the_maps_are_the_papers_grid_with_its_choice_marked() -> None:
    drawn = maps(RESULTS.bags)
    assert [label.get_text() for label in drawn[0].get_yticklabels()] == [str(k) for k in BAG_SIZE]
    assert [label.get_text() for label in drawn[-1].get_xticklabels()] == [str(t) for t in N_BAGS]
    for panel in drawn:
        (mark,) = [line for line in panel.lines if line.get_marker() == "D"]
        assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (N_BAGS.index(40) + 0.5, BAG_SIZE.index(200))
        assert panel.images[0].origin == "lower"


def segments(panel: Axes) -> set[tuple[tuple[float, float], ...]]:
    return {tuple(map(tuple, segment)) for segment in panel.collections[0].get_segments()}


@settings(max_examples=25, deadline=None)
@given(arrays(bool, (3, 4)))
def test_the_outline_lies_between_cells_that_are_set_and_those_that_are_not(cells: np.ndarray) -> None:
    _, ((panel,),) = panels(1, 1)
    _outline(panel, cells)
    expected = set()
    for i, j in np.argwhere(cells):
        sides = {
            (0, -1): ((j - 0.5, i - 0.5), (j - 0.5, i + 0.5)),
            (0, 1): ((j + 0.5, i - 0.5), (j + 0.5, i + 0.5)),
            (-1, 0): ((j - 0.5, i - 0.5), (j + 0.5, i - 0.5)),
            (1, 0): ((j - 0.5, i + 0.5), (j + 0.5, i + 0.5)),
        }
        for (up, right), side in sides.items():
            inside = 0 <= i + up < 3 and 0 <= j + right < 4
            if not (inside and cells[i + up, j + right]):
                expected.add(side)
    assert segments(panel) == expected


def test_cells_within_a_hundredth_of_the_best_are_outlined() -> None:
    values = np.full((len(BAG_SIZE), len(N_BAGS), 1), 0.5)
    values[2, 3], values[2, 4], values[0, 0] = 0.9, 0.9 - 0.9 * FLAT, 0.9 - 1.1 * FLAT
    panel = maps({5: Sensitivity(values, values)})[0]
    xs = {x for segment in segments(panel) for x, _ in segment}
    ys = {y for segment in segments(panel) for _, y in segment}
    assert xs == {2.5, 3.5, 4.5} and ys == {1.5, 2.5}


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [(0.0, 2, ".00"), (0.066, 2, ".07"), (0.99, 2, ".99"), (0.9951, 2, "1.00"), (0.9951, 3, ".995"), (1.0, 3, "1.000")],
)
def test_short_numbers(value: float, decimals: int, expected: str) -> None:
    assert short(value, decimals) == expected


def test_lines_over_lambda_are_the_means_for_every_number_of_known() -> None:
    results = made_up_results(("lda",), n_known=(1, 3, 5, 10, 15, 30, 50), trials=1)
    figure = strengths_figure(results.strengths)
    for panel, field in zip(figure.axes, ("average_precision", "auc"), strict=True):
        lines = [line for line in panel.lines if line.get_linestyle() != "None" and line.get_marker() != "None"]
        for line, n_known in zip(lines, results.setting.n_known, strict=True):
            assert np.ptp(line.get_xdata() / REGULARISATION) < 1e-12 and 0.5 < line.get_xdata()[3] < 2
            np.testing.assert_allclose(line.get_ydata(), getattr(results.strengths[n_known], field).mean(axis=-1))
        assert panel.get_xscale() == "log"
        assert [label.get_text() for label in panel.get_xticklabels()][:3] == ["0.001", "0.01", "0.1"]
        assert len(panel.collections) == 7
        assert len({line.get_marker() for line in lines}) == len({line.get_color() for line in lines}) == 7
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [f"{n_known} known" for n_known in results.setting.n_known]


def test_the_papers_lambda_is_marked_in_both_panels() -> None:
    for panel in strengths_figure(RESULTS.strengths).axes:
        assert any(list(line.get_xdata()) == [100.0, 100.0] for line in panel.lines)
        assert not panel.texts  # words stand in the legend, off the axes
    assert "λ = 100, the paper's choice" in STRENGTHS.legends[0].get_title().get_text()


def test_the_axis_is_that_of_the_data() -> None:
    panel = STRENGTHS.axes[1]
    auc = np.array([one.auc for one in RESULTS.strengths.values()])
    low, high = panel.get_ylim()
    mean, spread = auc.mean(axis=-1), auc.std(axis=-1, ddof=1)
    assert low <= (mean - spread).min() and high >= (mean + spread).max()
    assert high - low < 1.2 * ((mean + spread).max() - (mean - spread).min())


def test_one_draw_has_no_bars_and_says_so() -> None:
    one = {n: Sensitivity(s.auc[:, :1], s.average_precision[:, :1]) for n, s in RESULTS.strengths.items()}
    figure = strengths_figure(one)
    assert not any(panel.collections for panel in figure.axes)
    assert "one draw" in figure.legends[0].get_title().get_text()


def test_what_is_not_varied_is_said() -> None:
    titles = [figure.legends[0].get_title().get_text() for figure in (bags_figure(RESULTS.bags), STRENGTHS)]
    assert titles[0].startswith("BaggingTopPush with λ = 100, mean of 10 draws")
    assert titles[1].startswith("BaggingTopPush with K = 200 and T = 50, mean of 10 draws")


def test_all_is_on_the_page_and_can_be_read() -> None:
    for figure in (bags_figure(RESULTS.bags), strengths_figure(RESULTS.strengths)):
        figure.draw_without_rendering()
        texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        assert min(text.get_fontsize() for text in texts) >= SMALL_SIZE
        box = figure.legends[0].get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


def test_numbers_in_cells_do_not_touch() -> None:
    figure = bags_figure(RESULTS.bags)
    figure.draw_without_rendering()
    for panel in (panel for panel in figure.axes if panel.images):
        cell = panel.get_window_extent().width / len(N_BAGS)
        assert max(text.get_window_extent().width for text in panel.texts) < 0.9 * cell


def test_figures_are_written_twice_alike(tmp_path: Path) -> None:
    results = made_up_results(("lda",), n_known=(7,), trials=1)
    paths = draw_figure_8(results, tmp_path) + draw_figure_9(results, tmp_path)
    assert [path.name for path in paths] == ["figure-8.png", "figure-8.pdf", "figure-9.png", "figure-9.pdf"]
    assert all(imread(path).size if path.suffix == ".png" else path.read_bytes()[:5] == b"%PDF-" for path in paths)
    first = [path.read_bytes() for path in paths]
    draw_figure_8(results, tmp_path)
    draw_figure_9(results, tmp_path)
    assert [path.read_bytes() for path in paths] == first


def test_nothing_varied_no_figures(tmp_path: Path) -> None:
    nothing = replace(RESULTS, bags={}, strengths={})
    assert draw_figure_8(nothing, tmp_path) == draw_figure_9(nothing, tmp_path) == []
    assert not list(tmp_path.iterdir())
