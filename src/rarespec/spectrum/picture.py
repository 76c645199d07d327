"""A spectrum as a small picture and in words: for notebooks and for the prompt. No drawing library is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.pages.html import Html, element
from rarespec.pages.notebook import note, show_card
from rarespec.pages.svg import BELOW, Frame, scale_below
from rarespec.spectrum.spectra import Spectra, Spectrum
from rarespec.storage.text import printable

# ---- Spectra with as many points as a small picture can show.


Vector = NDArray[np.floating]


def mean_points(wavelength: Vector, values: Vector, n: int) -> tuple[Vector, Vector]:
    """Both (p,) -> (m,), m <= n: neighbouring pixels as one point, their mean; NaN where all of them are bad."""
    starts = _starts(len(values), n)
    good = np.isfinite(values)
    count = np.add.reduceat(good, starts, dtype=float)
    total = np.add.reduceat(np.where(good, values, 0), starts, dtype=float)
    mean = np.divide(total, count, out=np.full(len(starts), np.nan), where=count > 0)
    return _middles(wavelength, starts), mean


def extreme_points(wavelength: Vector, values: Vector, n: int) -> tuple[Vector, Vector]:
    """Both (p,) -> (2 m,), 2 m <= n: of neighbouring pixels the lowest and the highest, so that no spike is lost."""
    starts = _starts(len(values), max(n // 2, 1))
    good = np.isfinite(values)
    low = np.minimum.reduceat(np.where(good, values, np.inf), starts)
    high = np.maximum.reduceat(np.where(good, values, -np.inf), starts)
    ends = np.column_stack([low, high])
    ends[~np.isfinite(low)] = np.nan
    return np.repeat(_middles(wavelength, starts), 2), ends.ravel()


def _starts(n_pixels: int, n_points: int) -> NDArray[np.intp]:
    """First pixel of each point; as many pixels to each, the last may have fewer."""
    return np.arange(0, n_pixels, -(-n_pixels // n_points))


def _middles(wavelength: Vector, starts: NDArray[np.intp]) -> Vector:
    stops = np.append(starts[1:], len(wavelength))
    return (wavelength[starts] + wavelength[stops - 1]) / 2


# ---- A spectrum as a small picture in markup, for notebooks: no library that draws is needed.


WIDTH = 700
"""Units of the picture."""
POINTS = 350
"""Of the running mean; as many of the lowest and of the highest pixels."""
N_WAVELENGTHS = 7
MARGIN = 0.06


def spectrum_svg(spectrum: Spectrum, height: int = 140) -> Html | None:
    """Flux over wavelength: all pixels faint, their running mean over them, gaps where pixels are bad.

    None when no pixel can be drawn.
    """
    flux = np.where(spectrum.bad | ~np.isfinite(spectrum.flux), np.nan, spectrum.flux.astype(np.float64))
    if not np.isfinite(flux).any() or len(flux) < 2:
        return None
    x, mean = mean_points(spectrum.wavelength, flux, POINTS)
    first, last = spectrum.wavelength[[0, -1]].tolist()
    frame = Frame(first, last, *_limits(mean), WIDTH, height, beyond=0.01)  # the wavelengths are close below
    extremes = extreme_points(spectrum.wavelength, flux, 2 * POINTS)
    pixels = frame.draw(*extremes, fill="none", stroke="currentColor", stroke_opacity="0.25")
    curve = frame.draw(x, mean, fill="none", stroke="#2a8fd0", stroke_width="1.5")
    style = f"display:block;width:100%;max-width:{WIDTH}px;height:auto"
    view = {
        "viewBox": f"0 0 {WIDTH} {height + BELOW}",
        "role": "img",
        "aria_label": f"Spectrum {printable(spectrum.id)}",
    }
    return element("svg", pixels, curve, *scale_below(frame, "Å", N_WAVELENGTHS), style=style, **view)


def _limits(mean: NDArray[np.floating]) -> tuple[float, float]:
    """Of the picture: zero, and all of the curve but its rarest extremes."""
    low, high = np.nanpercentile(mean, [0.5, 99.5])
    margin = MARGIN * (high - low) or abs(high) or 1.0
    return float(min(0.0, low - margin)), float(max(0.0, high + margin))


# ---- What a spectrum, and a stack of them, shows of itself in a notebook and at the prompt.


MOST_SHOWN = 5
NUMBERS = (("z", "z", "z.5f"), ("snr", "S/N", "z.1f"), ("ra", "ra", ".5f"), ("dec", "dec", "+.5f"))
"""Catalogue column, what it is called, and how it is written."""


def spectrum_html(spectrum: Spectrum) -> str:
    return show_card(
        printable(spectrum.id), describe_row(spectrum.catalogue), *_draw(spectrum), note(_pixels(spectrum))
    )


def spectra_html(spectra: Spectra) -> str:
    """The first few, each with its picture."""
    parts: list[Html] = []
    for spectrum in list(spectra)[:MOST_SHOWN]:
        heading = " · ".join(filter(None, [printable(spectrum.id), describe_row(spectrum.catalogue)]))
        parts += [element("div", heading), *_draw(spectrum, height=70)]
    more = [note(f"and {len(spectra) - MOST_SHOWN} more")] if len(spectra) > MOST_SHOWN else []
    return show_card(stack_in_words(spectra), *parts, *more)


def spectrum_in_words(spectrum: Spectrum) -> str:
    kind = describe_row(spectrum.catalogue)
    where = f"{len(spectrum.flux)} pixels{span(spectrum.wavelength)}"
    return f"{printable(spectrum.id)}: {where}{f'; {kind}' if kind else ''}"


def stack_in_words(spectra: Spectra) -> str:
    return f"{len(spectra)} spectra of {len(spectra.wavelength)} pixels{span(spectra.wavelength)}"


def span(wavelength: NDArray[np.floating]) -> str:
    return f", {wavelength[0]:.1f} to {wavelength[-1]:.1f} Å (vacuum)" if len(wavelength) else ""


def describe_row(row: Mapping[str, Any]) -> str:
    """Class, redshift, S/N and position of a catalogue's row, as far as they are known."""
    kind = " ".join(printable(str(row[name])) for name in ("class", "subclass") if row.get(name))
    told = [f"{said} {row[name]:{form}}" for name, said, form in NUMBERS if _is_known(row.get(name))]
    return " · ".join(filter(None, [kind, *told]))


def _is_known(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))


def _draw(spectrum: Spectrum, height: int = 140) -> list[Html]:
    picture = spectrum_svg(spectrum, height)
    return [note("no usable pixels") if picture is None else picture]


def _pixels(spectrum: Spectrum) -> str:
    bad = int(spectrum.bad.sum())
    errors = "" if spectrum.ivar is not None else ", no errors"
    return f"{len(spectrum.flux)} pixels{span(spectrum.wavelength)}, {bad} bad{errors}"
