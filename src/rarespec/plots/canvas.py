"""Figures without a window and without global state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WAVELENGTH = "vacuum wavelength [Å]"
BLUE, RED, GREY = "#0072b2", "#d55e00", "0.75"
"""Colours that people with colour-blindness can tell apart."""


def stacked_panels(n: int, height: float = 1.5, width: float = 9.0) -> tuple[Figure, list[Axes]]:
    """n panels one above the other that share their wavelength axis."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 0.6 + height * n), layout="constrained")
    FigureCanvasAgg(figure)
    panels = list(figure.subplots(n, 1, sharex=True, squeeze=False)[:, 0])
    for panel in panels:
        panel.margins(x=0)
        panel.tick_params(labelsize=8)
    panels[-1].set_xlabel(WAVELENGTH)
    return figure, panels


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    figure.savefig(path, dpi=130)
