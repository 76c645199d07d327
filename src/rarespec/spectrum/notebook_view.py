"""What a spectrum, and a stack of them, shows of itself in a notebook and at the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.pages.html_element import Html, element
from rarespec.pages.notebook import note, shown
from rarespec.spectrum.picture import spectrum_svg
from rarespec.spectrum.printable import printable
from rarespec.spectrum.spectra import Spectra, Spectrum

MOST_SHOWN = 5
NUMBERS = (("z", "z", "z.5f"), ("snr", "S/N", "z.1f"), ("ra", "ra", ".5f"), ("dec", "dec", "+.5f"))
"""Catalogue column, what it is called, and how it is written."""


def spectrum_html(spectrum: Spectrum) -> str:
    return shown(printable(spectrum.id), described(spectrum.catalogue), *_drawn(spectrum), note(_pixels(spectrum)))


def spectra_html(spectra: Spectra) -> str:
    """The first few, each with its picture."""
    parts: list[Html] = []
    for spectrum in list(spectra)[:MOST_SHOWN]:
        heading = " · ".join(filter(None, [printable(spectrum.id), described(spectrum.catalogue)]))
        parts += [element("div", heading), *_drawn(spectrum, height=70)]
    more = [note(f"and {len(spectra) - MOST_SHOWN} more")] if len(spectra) > MOST_SHOWN else []
    return shown(stack_in_words(spectra), *parts, *more)


def spectrum_in_words(spectrum: Spectrum) -> str:
    kind = described(spectrum.catalogue)
    where = f"{len(spectrum.flux)} pixels{span(spectrum.wavelength)}"
    return f"{printable(spectrum.id)}: {where}{f'; {kind}' if kind else ''}"


def stack_in_words(spectra: Spectra) -> str:
    return f"{len(spectra)} spectra of {len(spectra.wavelength)} pixels{span(spectra.wavelength)}"


def span(wavelength: NDArray[np.floating]) -> str:
    return f", {wavelength[0]:.1f} to {wavelength[-1]:.1f} Å (vacuum)" if len(wavelength) else ""


def described(row: Mapping[str, Any]) -> str:
    """Class, redshift, S/N and position of a catalogue's row, as far as they are known."""
    kind = " ".join(printable(str(row[name])) for name in ("class", "subclass") if row.get(name))
    told = [f"{said} {row[name]:{form}}" for name, said, form in NUMBERS if _is_known(row.get(name))]
    return " · ".join(filter(None, [kind, *told]))


def _is_known(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))


def _drawn(spectrum: Spectrum, height: int = 140) -> list[Html]:
    picture = spectrum_svg(spectrum, height)
    return [note("no usable pixels") if picture is None else picture]


def _pixels(spectrum: Spectrum) -> str:
    bad = int(spectrum.bad.sum())
    errors = "" if spectrum.ivar is not None else ", no errors"
    return f"{len(spectrum.flux)} pixels{span(spectrum.wavelength)}, {bad} bad{errors}"
