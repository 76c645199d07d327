"""The only room that imports matplotlib. For notebooks and scripts: plots that return matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.plots.axes import plot_candidate as plot_candidate
    from rarespec.plots.axes import plot_spectra as plot_spectra
    from rarespec.plots.axes import plot_spectrum as plot_spectrum
    from rarespec.plots.axes import plot_template as plot_template
    from rarespec.plots.axes import plot_yield as plot_yield
    from rarespec.plots.candidates import draw_candidate as draw_candidate
    from rarespec.plots.contact_sheet import write_contact_sheet as write_contact_sheet
    from rarespec.plots.search_report import write_report as write_report
    from rarespec.plots.spectra import draw_components as draw_components
    from rarespec.plots.spectra import draw_filtering as draw_filtering
    from rarespec.plots.spectra import draw_spectra as draw_spectra
    from rarespec.plots.spectra import draw_weights as draw_weights
    from rarespec.plots.yield_curve import draw_yield_curve as draw_yield_curve
    from rarespec.plots.yield_curve import looks_figure as looks_figure
    from rarespec.plots.yield_curve import yield_figure as yield_figure

__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "draw_candidate": "candidates",
        "draw_components": "spectra",
        "draw_filtering": "spectra",
        "draw_spectra": "spectra",
        "draw_weights": "spectra",
        "draw_yield_curve": "yield_curve",
        "looks_figure": "yield_curve",
        "plot_candidate": "axes",
        "plot_spectra": "axes",
        "plot_spectrum": "axes",
        "plot_template": "axes",
        "plot_yield": "axes",
        "write_contact_sheet": "contact_sheet",
        "write_report": "search_report",
        "yield_figure": "yield_curve",
    },
)
