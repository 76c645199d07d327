"""The picture of a yield curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rarespec.plots.canvas import empty_figure
from rarespec.plots.yield_curve import BEYOND, depth_drawn, draw_yield_curve, yield_figure
from rarespec.searching.yields.yield_curve import YieldCurve, yield_curve


@pytest.fixture(scope="module")
def curve() -> YieldCurve:
    """Of a group of 60 that stands far above 2000 others."""
    rng = np.random.default_rng(2)
    scores = np.sort(np.concatenate([rng.normal(12, 1, 60), rng.normal(0, 1, 2000)]))[::-1]
    return yield_curve(scores, [3, 10, 18, 25, 40, 52], 6)


def test_the_curve_its_interval_and_where_to_stop_are_drawn(curve: YieldCurve) -> None:
    assert curve.can_tell and curve.stopping_rank
    panel = yield_figure(curve).axes[0]
    lines = {str(line.get_label()): line for line in panel.lines}
    x, y = lines["expected"].get_data()
    assert np.array_equal(x, np.arange(1, len(x) + 1)) and np.array_equal(y, curve.expected[: len(x)])
    assert lines[f"stop at {curve.stopping_rank}"].get_xdata()[0] == curve.stopping_rank
    (band,) = panel.collections
    assert band.get_label() == "90 % interval"
    assert band.get_datalim(panel.transData).y1 == pytest.approx(curve.high[len(x) - 1])
    assert panel.get_ylim()[1] >= curve.high[len(x) - 1]


def test_the_flat_rest_is_left_out(curve: YieldCurve) -> None:
    assert curve.stopping_rank and depth_drawn(curve) == max(100, round(BEYOND * curve.stopping_rank))
    assert depth_drawn(replace(curve, stopping_rank=10_000)) == len(curve.expected)
    assert depth_drawn(replace(curve, stopping_rank=0)) == 100


def test_without_a_place_to_stop_no_line_is_drawn(curve: YieldCurve) -> None:
    panel = yield_figure(replace(curve, stopping_rank=0)).axes[0]
    assert not any("stop" in str(line.get_label()) for line in panel.lines)


def test_nothing_is_pretended(curve: YieldCurve) -> None:
    unknown = yield_curve(np.linspace(1, 0, 50), [], 2)
    with pytest.raises(ValueError, match="no yield curve to plot"):
        draw_yield_curve(empty_figure(3, 2).subplots(), unknown)
