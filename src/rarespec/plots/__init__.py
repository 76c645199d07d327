"""The only room that imports matplotlib. For notebooks and scripts: plots that return matplotlib axes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rarespec.plots.axes import plot_candidate as plot_candidate
    from rarespec.plots.axes import plot_spectra as plot_spectra
    from rarespec.plots.axes import plot_spectrum as plot_spectrum
    from rarespec.plots.axes import plot_template as plot_template
    from rarespec.plots.axes import plot_yield as plot_yield

__all__ = ["plot_candidate", "plot_spectra", "plot_spectrum", "plot_template", "plot_yield"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'rarespec.plots' has no attribute {name!r}")
    return getattr(import_module("rarespec.plots.axes"), name)
