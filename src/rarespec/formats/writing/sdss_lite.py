"""A file for each spectrum in the layout of SDSS spec files, lite: primary header, COADD, SPECOBJ.

Only what is known is written: no sky, no model, no dispersion. Ids that are not plate, MJD and fibre are kept in
SPECOBJ, as RARESPEC_ID.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.formats.fits.writing import Card, Header, hdu, parse_columns, primary_cards, row_dtype, table_hdu
from rarespec.formats.writing.catalogue_rows import one_row
from rarespec.formats.writing.fits_table import fits_unit
from rarespec.formats.writing.outgoing import ColumnKind, FileNames, Outgoing, Writer
from rarespec.spectrum import Spectrum

COADD = parse_columns("flux E, loglam D, ivar E, and_mask J, or_mask J")
"""loglam in double precision, so that pixels come back where they were."""
NODATA = 1 << 24
"""The flag of a bad pixel."""
THEIR_NAMES = {
    "id": "RARESPEC_ID",
    "survey": "RARESPEC_SURVEY",
    "ra": "PLUG_RA",
    "dec": "PLUG_DEC",
    "snr": "SN_MEDIAN_ALL",
    "source": "FILE_SOURCE",
}
"""Common column -> what it is called in SPECOBJ."""
PLATE_MJD_FIBRE = re.compile(r"(\d{4,5})-(\d{5})-(\d{4})", re.ASCII)


def write(outgoing: Outgoing, folder: Path) -> None:
    folder.mkdir()
    names = FileNames()
    for stack in outgoing.stacks:
        for spectrum in stack:
            content = _primary(spectrum, outgoing) + _coadd(spectrum) + _specobj(spectrum, outgoing)
            (folder / names.name(spectrum.id)).write_bytes(content)


def _primary(spectrum: Spectrum, outgoing: Outgoing) -> bytes:
    cards: list[Card] = [("BUNIT", fits_unit(outgoing.unit), "empty where the unit is not known")]
    named = PLATE_MJD_FIBRE.fullmatch(spectrum.id)
    if named and spectrum.catalogue.get("survey") in ("SDSS", "BOSS"):
        plate, mjd, fibre = map(int, named.groups())
        cards += [
            ("TELESCOP", "SDSS 2.5-M", ""),
            ("PLATEID", plate, ""),
            ("MJD", mjd, ""),
            ("FIBERID", fibre, ""),
            ("VERS2D", "v5", "of an SDSS file, written by rarespec"),
        ]
    cards += [
        (key, float(value), "")
        for key, name in (("PLUG_RA", "ra"), ("PLUG_DEC", "dec"))
        if (value := spectrum.catalogue.get(name)) is not None and np.isfinite(value)
    ]
    return hdu(Header([*primary_cards(), *cards, ("VACUUM", True, "wavelengths are in vacuum")]))


def _coadd(spectrum: Spectrum) -> bytes:
    rows = np.zeros(len(spectrum.flux), row_dtype(COADD))
    rows["flux"], rows["ivar"], rows["loglam"] = spectrum.flux, spectrum.ivar, np.log10(spectrum.wavelength)
    rows["and_mask"] = rows["or_mask"] = np.where(spectrum.bad, NODATA, 0)
    return table_hdu(COADD, rows, "COADD")


def _specobj(spectrum: Spectrum, outgoing: Outgoing) -> bytes:
    """Common columns under SDSS's names, then the others; of two with one name the common one counts."""
    kinds: dict[str, ColumnKind] = {}
    row: dict[str, Any] = {}
    for name in sorted(outgoing.columns, key=lambda name: name not in (*THEIR_NAMES, "z", "class", "subclass")):
        theirs = THEIR_NAMES.get(name, name.upper())
        if theirs not in kinds:
            kinds[theirs], row[theirs] = outgoing.columns[name], spectrum.catalogue[name]
    return table_hdu(*one_row(kinds, row), "SPECOBJ")


WRITER = Writer("sdss-lite", "", write, "a file for each spectrum in SDSS's layout (spec, lite)", needs_errors=True)
