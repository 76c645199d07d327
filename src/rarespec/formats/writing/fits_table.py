"""One FITS file: a table with a spectrum per row (vectors flux, ivar, mask) and the catalogue, and the wavelengths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rarespec.formats.fits.writing import (
    Column,
    Header,
    Rows,
    hdu,
    image_hdu,
    primary_cards,
    row_dtype,
    write_rows,
)
from rarespec.formats.writing.catalogue_rows import fill_rows, table_columns
from rarespec.formats.writing.outgoing import Outgoing, Writer


def write(outgoing: Outgoing, path: Path) -> None:
    pixels = _pixel_columns(outgoing)
    catalogue = table_columns(outgoing.columns)
    columns = (*catalogue.values(), *pixels)
    with open(path, "wb") as file:
        file.write(hdu(Header([*primary_cards(), ("VACUUM", True, "wavelengths are in vacuum")])))
        file.write(image_hdu(outgoing.wavelength, "WAVELENGTH", [("BUNIT", "Angstrom", "")]))
        write_rows(file, columns, outgoing.n, "SPECTRA", _rows(outgoing, columns, catalogue))


def _pixel_columns(outgoing: Outgoing) -> tuple[Column, ...]:
    p = len(outgoing.wavelength)
    errors = (Column("ivar", f"{p}E"),) if outgoing.has_errors else ()
    return Column("flux", f"{p}E", fits_unit(outgoing.unit)), *errors, Column("mask", f"{p}L")


def fits_unit(unit: str) -> str:
    """A unit in the words of the FITS standard; empty if there is none."""
    from astropy import units as u

    return u.Unit(unit).to_string("fits") if unit else ""


def _rows(outgoing: Outgoing, columns: tuple[Column, ...], catalogue: dict[str, Column]) -> Iterator[Rows]:
    dtype = row_dtype(columns)
    for stack in outgoing.stacks:
        rows = np.zeros(len(stack), dtype)
        rows["flux"], rows["mask"] = stack.flux, np.where(stack.bad, b"T", b"F")
        if outgoing.has_errors:
            rows["ivar"] = stack.ivar
        fill_rows(rows, catalogue, stack.catalogue)
        yield rows


WRITER = Writer("fits", ".fits", write, "one FITS table, a spectrum per row")
