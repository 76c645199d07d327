"""Single spectra as PNG pictures in memory, for programs that show them."""

from __future__ import annotations

from io import BytesIO

from rarespec.plots.candidates import draw_candidate
from rarespec.plots.canvas import stacked_panels
from rarespec.plots.spectra import FLUX, draw_spectrum
from rarespec.searching.explain.portrait import Portrait
from rarespec.spectrum import Spectrum
from rarespec.storage.text import printable

DPI = 130


def spectrum_png(spectrum: Spectrum) -> bytes:
    """A spectrum with its id, class and S/N above it."""
    figure, (panel,) = stacked_panels(1, height=3.0)
    draw_spectrum(panel, spectrum)
    panel.set_ylabel(FLUX, fontsize=9)
    return _png(figure)


def candidate_png(portrait: Portrait) -> bytes:
    """A candidate in front of the nearest known example, with the lines to look at."""
    figure, (panel,) = stacked_panels(1, height=3.0)
    draw_candidate(panel, portrait)
    facts = portrait.facts
    kind = " ".join(word for word in (str(facts["class"]), str(facts["subclass"])) if word)
    caption = printable(f"{facts['rank']}. {facts['id']}   {kind}, nearest known {facts['nearest_known']}")
    panel.set_title(caption, loc="left", fontsize=8.5, pad=3, parse_math=False)
    panel.set_ylabel(FLUX, fontsize=9)
    return _png(figure)


def _png(figure: object) -> bytes:
    memory = BytesIO()
    figure.savefig(memory, format="png", dpi=DPI)  # type: ignore[attr-defined]
    return memory.getvalue()
