"""HST x1d files of COS and STIS: a table with a row of arrays for each segment or order, joined into one spectrum.

A spectrum is of one object and calibrated in flux, so its rows are joined: each overlap is cut in its middle. DQ flags
that the header's SDQFLAGS calls serious make a pixel bad, as does a DQ_WGT of 0. Each table SCI is a spectrum.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarespec.formats.columns import generic_catalogue, number_ids, own_cards, stem_of
from rarespec.formats.fits.blocks import Hdu
from rarespec.formats.orders import JOINED, Pixels, join_rows
from rarespec.formats.pixels import flags, has_bits, numbers
from rarespec.formats.reader import Found, Reader, ReadOptions, noted
from rarespec.formats.source import Container, Source
from rarespec.formats.stacks import MOST_PIXELS, Arrays, spectrum_of_arrays
from rarespec.spectrum import Defect, DefectError, Reason

NEEDED = ("WAVELENGTH", "FLUX", "ERROR", "DQ")
ROW_NAMES = ("SEGMENT", "SPORDER")
"""One of these columns names the row: a segment of COS, an order of STIS."""
SERIOUS = 31743
"""SDQFLAGS of STIS, for a header that does not have them: all flags but those of small blemishes."""
"""wavelength, flux, error and mask of one or more rows."""


def recognises(source: Source) -> bool:
    return any(_is_x1d(hdu) and hdu.has_column("FLUX") for hdu in source.hdus)


def _is_x1d(hdu: Hdu) -> bool:
    named = hdu.is_table and any(hdu.has_column(name) for name in ROW_NAMES)
    return named and all(hdu.has_column(name) for name in NEEDED if name != "FLUX")


def read(source: Source, options: ReadOptions) -> Iterator[Found]:
    tables = [hdu for hdu in source.hdus if _is_x1d(hdu)]
    if not tables:
        raise DefectError(Reason.LAYOUT, f"contains no table with {', '.join(NEEDED)} and SEGMENT or SPORDER")
    for number, hdu in enumerate(tables):
        (id,) = number_ids(stem_of(source.path), number, 1, single=len(tables) == 1)
        try:
            yield from _spectrum(source, hdu, id, options)
        except DefectError as error:
            if len(tables) == 1:
                raise
            yield Defect(source.name, error.reason, error.detail, id)


def _spectrum(source: Source, hdu: Hdu, id: str, options: ReadOptions) -> Iterator[Found]:
    rows = _rows(hdu)
    joined = join_rows(rows)
    if len(rows) > 1:
        yield from noted(source, JOINED)
    cards = {**own_cards(source.hdus[0].header), **own_cards(hdu.header)}
    catalogue = generic_catalogue({key: [value] for key, value in cards.items()}, source.name, [id])
    catalogue = catalogue | {"survey": ["HST"], "id": [id]}
    unit = hdu.header.string(f"TUNIT{hdu.columns.index(hdu.column_named('WAVELENGTH')) + 1}") or "Angstrom"
    arrays = Arrays(joined["flux"], joined["error"], joined["mask"])
    yield from spectrum_of_arrays(source, joined["wavelength"], arrays, catalogue, unit, options.air)


def _rows(hdu: Hdu) -> list[Pixels]:
    """Rows with wavelengths, the bluest first, pixels increasing; a segment that was switched off has none."""
    table = hdu.table()
    columns = {name: table[hdu.column_named(name)] for name in NEEDED}
    if columns["FLUX"].ndim != 2 or columns["FLUX"].size > MOST_PIXELS:
        raise DefectError(
            Reason.LAYOUT, f"{hdu.label}: FLUX has shape {columns['FLUX'].shape}; rows of arrays are read"
        )
    if any(column.shape != columns["FLUX"].shape for column in columns.values()):
        raise DefectError(Reason.LAYOUT, f"{hdu.label}: {', '.join(NEEDED)} differ in length")
    serious = hdu.header.get("SDQFLAGS")
    mask = has_bits(columns["DQ"], serious if isinstance(serious, int) else SERIOUS)
    if hdu.has_column("DQ_WGT"):
        weight = table[hdu.column_named("DQ_WGT")]
        mask |= ~flags(weight) if weight.shape == mask.shape else False
    found = []
    for i, given in enumerate(numbers(columns["WAVELENGTH"], "wavelength").astype(np.float64)):
        filled = np.flatnonzero(np.isfinite(given) & (given > 0))
        if len(filled) >= 2:
            order = filled[:: -1 if given[filled[0]] > given[filled[-1]] else 1]
            parts = {"wavelength": given, "flux": columns["FLUX"][i], "error": columns["ERROR"][i], "mask": mask[i]}
            found.append({name: values[order] for name, values in parts.items()})
    if not found:
        raise DefectError(Reason.EMPTY, f"{hdu.label} has no row with wavelengths")
    return sorted(found, key=lambda row: row["wavelength"][0])


READER = Reader("hst-x1d", Container.FITS, recognises, read, "HST x1d of COS and STIS, segments or orders joined")
