"""Columns on pixels that need more than a look at their name: good pixels, signal to noise, wavelengths in air or ln.

`further_roles` finds them among the columns of a table of one spectrum, `usual_arrays` turns them into errors and
masks, `columns_not_used` says what is left.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.columns import ERROR, IVAR, LOG_WAVELENGTH, VARIANCE, WAVELENGTH, Roles, find
from rarespec.formats.pixels import numbers
from rarespec.spectrum import DefectError, Reason

GOOD = ("good", "goodpix", "good_pixel", "good_pixels")
SNR = ("snr", "sn", "s_n", "s/n", "signal_to_noise")
RELATIVE_ERROR = ("relative_error", "rel_error", "relative_err", "rel_err", "fractional_error")
TELLING_WAVELENGTH = re.compile(
    r"(?P<log>ln_?|log10_?|log_?)?(wavelength|lambda|wave|lam|wl)(_?(?P<medium>air|vacuum|vac))?"
    r"(_(?P<unit>nm|um|micron|aa|ang|angstrom))?"
)
"""wave_air, lnwave, wavelength_nm, loglam_vac: the name says more than that these are wavelengths."""

MOST_NAMES = 8
"""Of unused columns, in a note."""


def further_roles(roles: Roles, names: Iterable[str]) -> Roles:
    """Find columns for what these roles lack.

    Parameters
    ----------
    roles : Roles
        What the usual names give.
    names : iterable of str
        Columns of numbers with a value for each pixel.

    Returns
    -------
    Roles
        With a wavelength, a mask and an error if the further names have them.
    """
    names = list(names)
    if roles.wavelength is None:
        roles = _with_telling_wavelength(roles, names)
    if roles.mask is None:
        roles = replace(roles, good=find(names, GOOD))
    if not roles.has_error:
        roles = replace(roles, relative_error=find(names, RELATIVE_ERROR))
    if not roles.has_error:
        roles = replace(roles, snr=find(names, SNR))
    return roles


def _with_telling_wavelength(roles: Roles, names: list[str]) -> Roles:
    found = [match for name in names if (match := TELLING_WAVELENGTH.fullmatch(name.lower()))]
    if not found:
        return roles
    match = min(found, key=lambda match: match["medium"] == "air")  # in vacuum, if the file has both
    log = (match["log"] or "").rstrip("_")
    return replace(
        roles,
        wavelength=find(names, (match[0],)),
        log=bool(log),
        natural=log == "ln",
        air=match["medium"] == "air",
        named_unit=match["unit"] or "",
    )


def is_telling(name: str) -> bool:
    """Say whether the name is one of wavelengths that says more."""
    return TELLING_WAVELENGTH.fullmatch(name.lower()) is not None


def further_notes(roles: Roles) -> list[str]:
    """Say for the account what further columns were taken for."""
    notes = [f"column {roles.wavelength} read as {_wavelengths(roles)}"] if _wavelengths(roles) else []
    if roles.good:
        notes.append(f"column {roles.good} read as a mask: 1 is a good pixel")
    if roles.snr:
        notes.append(f"errors computed as flux / {roles.snr}")
    if roles.relative_error:
        notes.append(f"errors computed as flux * {roles.relative_error}")
    return notes


def _wavelengths(roles: Roles) -> str:
    if not (roles.air or roles.natural or roles.named_unit):
        return ""
    unit = f" in {roles.named_unit}" if roles.named_unit else ""
    return ("ln of " if roles.natural else "") + "wavelengths" + unit + (" in air" if roles.air else "")


def marks_good(values: Any) -> bool:
    """Say whether a column of good pixels holds nothing but 0 and 1, so that its meaning is plain."""
    array = np.asarray(np.ma.getdata(values))
    return array.dtype.kind == "b" or bool((~np.isfinite(array) | (array == 0) | (array == 1)).all())


def usual_arrays(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Turn good pixels into a mask, and relative errors or signal to noise into errors.

    Parameters
    ----------
    arrays : mapping of str to array
        By role, all of one shape.

    Returns
    -------
    dict
        By the roles that `stack_of` knows.
    """
    usual = {role: values for role, values in arrays.items() if role not in ("good", "snr", "relative_error")}
    for role in arrays.keys() - usual.keys():
        if np.shape(arrays[role]) != np.shape(arrays["flux"]):
            detail = f"{role} has shape {np.shape(arrays[role])}, flux {np.shape(arrays['flux'])}"
            raise DefectError(Reason.LAYOUT, detail)
    if "good" in arrays:
        usual["mask"] = (np.ma.getdata(arrays["good"]) != 1) | np.ma.getmaskarray(arrays["good"])
    if "snr" in arrays:
        usual["error"] = _error(arrays["flux"], 1 / _positive(arrays["snr"], "snr"))
    if "relative_error" in arrays:
        usual["error"] = _error(arrays["flux"], _positive(arrays["relative_error"], "relative_error"))
    return usual


def _positive(values: Any, name: str) -> NDArray[np.float64]:
    """Signal to noise is negative where flux is; an unknown one, or 0, becomes NaN."""
    array = np.abs(numbers(values, name).astype(np.float64))
    return np.where(array > 0, array, np.nan)


def _error(flux: Any, share: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.abs(numbers(flux, "flux").astype(np.float64)) * share


def columns_not_used(roles: Roles, names: Collection[str], what: str = "columns") -> str:
    """Say for the account which columns on pixels were not used; nothing if they say the same as those used.

    Parameters
    ----------
    roles : Roles
        What was used.
    names : collection of str
        Columns with a value for each pixel.
    what : str, optional
        What the file calls them.

    Returns
    -------
    str
        A sentence that is the same for all files with the same columns, or nothing.
    """
    kinds = [WAVELENGTH, LOG_WAVELENGTH] if roles.wavelength else []
    if roles.has_error:
        kinds += [IVAR, ERROR, VARIANCE, SNR, RELATIVE_ERROR]
    quiet = {*roles.used, *(find(names, kind) for kind in kinds)}
    left = [name for name in names if name not in quiet]
    if not left:
        return ""
    more = f" and {len(left) - MOST_NAMES} more" if len(left) > MOST_NAMES else ""
    return f"{what} not used: {', '.join(name[:40] for name in left[:MOST_NAMES])}{more}"
