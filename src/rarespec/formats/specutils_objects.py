"""Spectra out of `specutils.Spectrum` (or `Spectrum1D`) objects, for those who already have them in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import Column, find, generic_catalogue, ids_of, number_ids
from rarespec.formats.stacks import stack_of
from rarespec.formats.wavelength import Axis
from rarespec.spectrum import DefectError, Reason, Spectra

if TYPE_CHECKING:
    from specutils import Spectrum


SCALARS = (str, int, float, bytes)


def from_specutils(spectrum: Spectrum, id: str | list[str] | None = None, air: bool = False) -> Spectra:
    """Convert a `specutils.Spectrum` to a stack: its uncertainty to inverse variance, its mask to bad pixels.

    Scalars in `meta`, and lists of one value for each spectrum, become catalogue columns.

    Parameters
    ----------
    spectrum : specutils.Spectrum
        Flux of shape (p,) or (n, p), with an uncertainty of any kind.
    id : str or list of str, optional
        One text for one spectrum, or a list. By default the ids come from `spectrum.meta`.
    air : bool, optional
        Whether the spectral axis is in air; a header in `meta` that says so is believed.

    Returns
    -------
    Spectra
        The spectra, in vacuum wavelengths.

    Raises
    ------
    DefectError
        If the flux has more than two dimensions, or something else does not fit.
    """
    flux = _rows(spectrum, spectrum.flux.value)
    axis = Axis.of(_angstroms(spectrum), air=air or _says_air(spectrum.meta))
    mask = None if spectrum.mask is None else _rows(spectrum, np.broadcast_to(spectrum.mask, spectrum.flux.shape))
    return stack_of(axis, flux, _catalogue(spectrum, id, len(flux)), mask=mask, **_uncertainty(spectrum))


def _angstroms(spectrum: Spectrum) -> NDArray[np.float64]:
    from astropy import units as u

    return np.asarray(spectrum.spectral_axis.to_value(u.AA, equivalencies=u.spectral()), dtype=np.float64)


def _rows(spectrum: Spectrum, values: Any) -> NDArray[Any]:
    """(n, p), wherever the object keeps its spectral axis."""
    array = np.asarray(values)
    if array.ndim not in (1, 2):
        raise DefectError(Reason.LAYOUT, f"flux has {array.ndim} dimensions; give one spectrum or one per row")
    axis_first = array.ndim == 2 and getattr(spectrum, "spectral_axis_index", None) == 0
    return np.atleast_2d(array.T if axis_first else array)


def _uncertainty(spectrum: Spectrum) -> dict[str, NDArray[Any]]:
    if spectrum.uncertainty is None:
        return {}
    from astropy.nddata import InverseVariance, StdDevUncertainty, VarianceUncertainty

    unit, uncertainty = spectrum.flux.unit, spectrum.uncertainty
    if isinstance(uncertainty, StdDevUncertainty):
        return {"error": _rows(spectrum, uncertainty.quantity.to_value(unit))}
    if isinstance(uncertainty, VarianceUncertainty):
        return {"error": np.sqrt(np.maximum(_rows(spectrum, uncertainty.quantity.to_value(unit**2)), 0))}
    if isinstance(uncertainty, InverseVariance):
        return {"ivar": _rows(spectrum, uncertainty.quantity.to_value(unit**-2))}
    raise DefectError(Reason.LAYOUT, f"uncertainty of type {uncertainty.uncertainty_type!r}")


def _says_air(meta: Any) -> bool:
    header = meta.get("header") if hasattr(meta, "get") else None
    if header is None or not hasattr(header, "get"):
        return False
    return str(header.get("CTYPE1", "")).upper().startswith("AWAV") or header.get("VACUUM", True) in (False, 0, "F")


def _catalogue(spectrum: Spectrum, id: str | list[str] | None, n: int) -> dict[str, list[Any]]:
    meta = dict(spectrum.meta or {})
    columns: dict[str, Column] = {str(k): _one_each(v, n) for k, v in meta.items() if _is_column(v, n)}
    redshift = np.ravel(getattr(spectrum.redshift, "value", spectrum.redshift))
    if not find(columns, ("z", "redshift")) and redshift.any():
        columns["z"] = np.broadcast_to(redshift, (n,))
    catalogue = generic_catalogue(columns, "", number_ids("spectrum", 0, n, single=n == 1))
    if id is not None:
        catalogue["id"] = ids_of([id] if isinstance(id, str) else list(id), catalogue["id"])
    return catalogue


def _is_column(value: Any, n: int) -> bool:
    return isinstance(value, SCALARS) or (isinstance(value, list) and len(value) == n)


def _one_each(value: Any, n: int) -> Column:
    return value if isinstance(value, list) else [value] * n
