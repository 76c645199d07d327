"""What all LAMOST files share: the primary header, and how a pixel is flagged.

A pixel is bad when ANDMASK is not 0: a bit is set there only when all exposures had the problem. In real files each
such pixel has no inverse variance either. ORMASK, set when any exposure had a problem, is ignored.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from rarespec.formats.columns import catalogue_of, one_row, own_cards
from rarespec.formats.fits.header import Header
from rarespec.formats.pixels import bad_pixels, native
from rarespec.formats.reader import ReadOptions
from rarespec.formats.source import Source
from rarespec.formats.wavelength import coefficients, is_air, log_linear, vacuum
from rarespec.spectrum import DefectError, Reason, Spectra

UNKNOWN = -9000.0
"""LAMOST writes -9999 for a redshift that it could not measure."""

_TAKEN = ("ra", "dec", "z", "class", "subclass")


def is_lamost(header: Header) -> bool:
    """Recognise LAMOST by the cards that only it has: local Julian day and plan."""
    return "LMJD" in header and ("PLANID" in header or "OBSID" in header)


def lamost_spectrum(
    source: Source, flux: NDArray[Any], ivar: NDArray[Any], andmask: NDArray[Any], options: ReadOptions
) -> Spectra:
    """Make the spectrum of a LAMOST file of any era.

    Its wavelengths are computed from the header: those in the files are float32, or not there.

    Parameters
    ----------
    source : Source
        The open file; its primary header gives wavelengths and catalogue.
    flux : (p,) array
        Flux.
    ivar : (p,) array
        Inverse variance.
    andmask : (p,) array
        A pixel is bad where this is not 0.
    options : ReadOptions
        Tells whether the user says that wavelengths are in air.

    Returns
    -------
    Spectra
        A stack of one.

    Raises
    ------
    DefectError
        If the header lacks the wavelengths or an id.
    """
    header = source.hdus[0].header
    flux, ivar = native(flux)[None], native(ivar)[None]
    wavelength = log_linear(*coefficients(header), flux.shape[1])
    bad = bad_pixels(flux, ivar, (andmask != 0)[None])
    wavelength = vacuum(wavelength, is_air(header, options), header.label)
    return Spectra(wavelength, flux, ivar, bad, one_row(lamost_catalogue(source, header)))


def lamost_catalogue(source: Source, header: Header) -> dict[str, Any]:
    """Take the common columns and the survey's own from the primary header."""
    z = header.number("Z")
    common = {
        "id": _id(header),
        "ra": header.number("RA"),
        "dec": header.number("DEC"),
        "z": z if z is None or z > UNKNOWN else None,
        "class": header.get("CLASS"),
        "subclass": header.get("SUBCLASS"),
        "survey": "LAMOST",
        "source": source.name,
    }
    return catalogue_of(common, own_cards(header), _TAKEN)


def _id(header: Header) -> str:
    """OBSID; DR1 has none, so the four numbers that its file names are made of."""
    if obsid := header.string("OBSID"):  # a damaged card may be there and say nothing
        return obsid
    if not header.string("PLANID"):
        raise DefectError(
            Reason.MISSING_COLUMN, f"{header.label} has neither OBSID nor PLANID, so the spectrum has no id"
        )
    spectrograph, fibre = header.integer("SPID"), header.integer("FIBERID")
    return f"{header.integer('LMJD')}-{header.string('PLANID')}_sp{spectrograph:02d}-{fibre:03d}"
