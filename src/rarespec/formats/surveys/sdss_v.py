"""SDSS-V spec-FIELD-MJD-CATALOGID.fits: with an SPALL row, or the PLUGMAP row of files without redshifts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rarespec.formats.columns import catalogue_of, own_row
from rarespec.formats.fits.header import Header
from rarespec.formats.reader import Reader, ReadOptions
from rarespec.formats.source import Container, Source
from rarespec.formats.surveys.sdss import field_mjd_catalogid, has_coadd, is_sdss_v, object_table, read_coadd
from rarespec.spectrum import DefectError, Reason, Spectra

_TAKEN = ("z", "class", "subclass")


def recognises(source: Source) -> bool:
    return has_coadd(source) and is_sdss_v(source)


def read(source: Source, options: ReadOptions) -> Iterator[Spectra]:
    yield read_coadd(source, _catalogue(source), options)


def _catalogue(source: Source) -> dict[str, Any]:
    own = own_row(object_table(source).table())
    common = {
        "id": _id(source, own),
        "ra": _first(own, "racat", "plug_ra", "ra"),
        "dec": _first(own, "deccat", "plug_dec", "dec"),
        "z": own.get("z"),
        "class": own.get("class"),
        "subclass": own.get("subclass"),
        "snr": own.get("sn_median_all"),
        "survey": "SDSS-V",
        "source": source.name,
    }
    return catalogue_of(common, own, _TAKEN)


def _id(source: Source, own: dict[str, Any]) -> str:
    label, header = source.hdus[2].label, source.hdus[0].header
    if not own.get("catalogid"):
        raise DefectError(Reason.MISSING_COLUMN, f"{label} has no column CATALOGID, so the spectrum has no id")
    # FIELD of a PLUGMAP row is a field of the imaging survey, mostly 0; only a row with redshifts has the SDSS-V one.
    row = own if "class" in own else {}
    field = _whole(row.get("field"), header, "FIELDID", "PLATEID")
    mjd = _whole(row.get("mjd"), header, "MJD")
    if field is None or mjd is None:
        missing = "FIELD" if field is None else "MJD"
        raise DefectError(Reason.MISSING_COLUMN, f"{label} and the primary header have no {missing}")
    return field_mjd_catalogid(field, mjd, own["catalogid"])


def _whole(value: Any, header: Header, *cards: str) -> int | None:
    """Read a whole number from the row, else from the first of these cards that has one (some write it as text)."""
    for candidate in (value, *(header.get(card) for card in cards)):
        text = str(candidate).strip()
        if text.isascii() and text.isdigit():
            return int(text)
    return None


def _first(own: dict[str, Any], *names: str) -> float | None:
    return next((own[name] for name in names if isinstance(own.get(name), float)), None)


READER = Reader("sdss-v", Container.FITS, recognises, read, "SDSS-V spec-FIELD-MJD-CATALOGID.fits")
