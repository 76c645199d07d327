"""A FITS file for each spectrum, in the layout that specutils writes itself (tabular-fits) and recognises.

Beside it stands a table of one row, CATALOGUE, which specutils leaves alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from rarespec.formats.fits.writing import Card, Column, Header, Value, hdu, primary_cards, row_dtype, table_hdu
from rarespec.formats.writing.catalogue_rows import one_row
from rarespec.formats.writing.fits_table import fits_unit
from rarespec.formats.writing.outgoing import FileNames, Outgoing, Writer, errors_of
from rarespec.spectrum import Spectrum

LONGEST_CARD = 60
IN_HEADER = ("id", "ra", "dec", "z", "class", "subclass")
"""What stands in the primary header too, where people look first."""


def write(outgoing: Outgoing, folder: Path) -> None:
    folder.mkdir()
    names, columns = FileNames(), _columns(outgoing)
    for stack in outgoing.stacks:
        errors = errors_of(stack) if outgoing.has_errors else None
        for i, spectrum in enumerate(stack):
            pixels = np.zeros(len(spectrum.flux), row_dtype(columns))
            pixels["wavelength"], pixels["flux"] = spectrum.wavelength, spectrum.flux
            pixels["mask"] = np.where(spectrum.bad, b"T", b"F")
            if errors is not None:
                pixels["uncertainty"] = errors[i]
            about = table_hdu(*one_row(outgoing.columns, spectrum.catalogue), "CATALOGUE")
            content = _primary(spectrum) + table_hdu(columns, pixels, "DATA") + about
            (folder / names.name(spectrum.id)).write_bytes(content)


def _columns(outgoing: Outgoing) -> tuple[Column, ...]:
    unit = fits_unit(outgoing.unit)
    errors = (Column("uncertainty", "D", unit),) if outgoing.has_errors else ()
    return Column("wavelength", "D", "Angstrom"), Column("flux", "E", unit), *errors, Column("mask", "L")


def _primary(spectrum: Spectrum) -> bytes:
    known = {name: spectrum.catalogue.get(name) for name in IN_HEADER}
    cards: list[Card] = [(name.upper(), value, "") for name, value in known.items() if _fits_a_card(value)]
    return hdu(Header([*primary_cards(), *cards, ("VACUUM", True, "wavelengths are in vacuum")]))


def _fits_a_card(value: Any) -> TypeGuard[Value]:
    if isinstance(value, str):
        return value.isascii() and value.isprintable() and len(value) <= LONGEST_CARD
    return isinstance(value, int | float) and bool(np.isfinite(value))


WRITER = Writer("specutils", "", write, "a FITS file for each spectrum, as specutils writes them (tabular-fits)")
