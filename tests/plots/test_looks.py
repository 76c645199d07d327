"""The figure of looks: every way is drawn, and found against looked at is what is drawn."""

from __future__ import annotations

import numpy as np

from rarespec.plots.yield_curve import WAYS, looks_figure


def test_lines_are_the_mean_number_found() -> None:
    learning = np.array([[True, True, False, True], [True, False, False, False]])
    figure = looks_figure({1: {"learning": learning, "fixed": ~learning}, 3: {"learning": learning[:1]}}, n_members=5)
    first, second = figure.axes
    perfect, drawn, fixed = (line.get_ydata().tolist() for line in first.lines)
    assert perfect == [0, 1, 2, 3, 4] and drawn == [0, 1, 1.5, 1.5, 2] and fixed == [0, 0, 0.5, 1.5, 2]
    assert second.lines[0].get_ydata().tolist() == [0, 1, 2, 2, 2]  # three are known: two are to be found
    assert [panel.get_title() for panel in figure.axes] == [
        "1 known example, 4 to find",
        "3 known examples, 2 to find",
    ]
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == [WAYS["learning"][0], WAYS["fixed"][0], "every spectrum is a member"]
