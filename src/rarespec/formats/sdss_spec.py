"""SDSS I-IV spec-PLATE-MJD-FIBER.fits, lite and full, of the SDSS and the BOSS spectrographs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rarespec.formats.own_columns import catalogue_of, own_row
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.sdss_coadd import coadded_spectrum, has_coadd, object_table
from rarespec.formats.sdss_id import plate_mjd_fiber, survey_of
from rarespec.formats.source import Container, Source
from rarespec.spectrum import DefectError, Reason, Spectra

_TAKEN = ("z", "class", "subclass")


def recognises(source: Source) -> bool:
    return has_coadd(source) and not is_sdss_v(source)


def is_sdss_v(source: Source) -> bool:
    """SDSS-V names its objects by CATALOGID, and has a resolution column in place of the model."""
    hdus = source.hdus
    return hdus[1].has_column("WRESL") or (len(hdus) > 2 and hdus[2].has_column("CATALOGID"))


def read(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    yield coadded_spectrum(source, _catalogue(source), options)


def _catalogue(source: Source) -> dict[str, Any]:
    own = own_row(object_table(source).table())
    mjd = _integer(source, own, "mjd", "MJD")
    common = {
        "id": plate_mjd_fiber(
            _integer(source, own, "plate", "PLATEID"), mjd, _integer(source, own, "fiberid", "FIBERID")
        ),
        "ra": _position(source, own, "plug_ra"),
        "dec": _position(source, own, "plug_dec"),
        "z": own.get("z"),
        "class": own.get("class"),
        "subclass": own.get("subclass"),
        "snr": own.get("sn_median_all"),
        "survey": survey_of(own.get("instrument"), mjd),
        "source": source.name,
    }
    return catalogue_of(common, own, _TAKEN)


def _integer(source: Source, own: dict[str, Any], column: str, card: str) -> int:
    value = own.get(column, source.hdus[0].header.get(card))
    if isinstance(value, bool) or not isinstance(value, int):
        raise DefectError(
            Reason.MISSING_COLUMN,
            f"{source.hdus[2].label} has no column {column.upper()} with a whole number, nor has the primary header "
            f"a card {card}, so it has no id",
        )
    return value


def _position(source: Source, own: dict[str, Any], column: str) -> float | None:
    """Of the object. RA and DEC of the primary header are where the telescope pointed."""
    value = own.get(column)
    return value if value is not None else source.hdus[0].header.number(column.upper())


READER = Reader("sdss-spec", Container.FITS, recognises, read, "SDSS I-IV spec-PLATE-MJD-FIBER.fits, lite and full")
