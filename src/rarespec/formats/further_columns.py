"""Columns on pixels that need more than a look at their name: flags, signal to noise, wavelengths in air or ln.

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
PERCENT_ERROR = (
    *("error_percent", "percent_error", "err_percent", "error_pct", "err_pct", "relative_error_percent"),
    *("flux_error_percent",),
)
PERCENT = ("%", "percent", "pct", "per cent")
"""Units of an error that is relative."""
FLAGS = ("flag", "flags", "dq", "qual", "quality", "quality_flag", "data_quality", "pixmask", "pixel_mask")
MOST_FLAGGED = 0.5
"""Share of the pixels. Flags that mark more say something else than that a pixel is bad."""
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
    if roles.mask is None and roles.good is None:
        roles = replace(roles, flag=find(names, FLAGS))
    if not roles.has_error:
        roles = replace(roles, percent_error=find(names, PERCENT_ERROR))
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


def told_by_units(roles: Roles, units: Mapping[str, str]) -> Roles:
    """Turn an error whose unit is percent into a relative one.

    Parameters
    ----------
    roles : Roles
        What the names of columns give.
    units : mapping of str to str
        Column -> its unit, where the file names one.

    Returns
    -------
    Roles
        The same, or with `percent_error` instead of `error`.
    """
    if roles.error and units.get(roles.error, "").strip().lower() in PERCENT:
        return replace(roles, error=None, percent_error=roles.error)
    return roles


def is_telling(name: str) -> bool:
    """Say whether the name is one of wavelengths that says more."""
    return TELLING_WAVELENGTH.fullmatch(name.lower()) is not None


def further_notes(roles: Roles) -> list[str]:
    """Say for the account what further columns were taken for."""
    notes = [f"column {roles.wavelength} read as {_wavelengths(roles)}"] if _wavelengths(roles) else []
    if roles.good:
        notes.append(f"column {roles.good} read as a mask: 1 is a good pixel")
    if roles.flag:
        notes.append(f"{roles.flag.strip('<>')} read as a mask: what is not 0 is a bad pixel")
    if roles.percent_error:
        notes.append(f"errors computed as flux * {roles.percent_error} / 100")
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


def marks_bad(values: Any) -> bool:
    """Say whether flags are whole numbers that leave at least half of the pixels at 0, so that they mark bad ones."""
    array = np.asarray(np.ma.getdata(values))
    if array.dtype.kind == "f":
        array = np.where(np.isfinite(array), array, 1)
        if (array != np.round(array)).any():
            return False
    return array.dtype.kind in "biuf" and array.size > 0 and bool(np.mean(array != 0) <= MOST_FLAGGED)


def usual_arrays(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Turn good pixels or flags into a mask, and relative errors or signal to noise into errors.

    Parameters
    ----------
    arrays : mapping of str to array
        By role, all of one shape.

    Returns
    -------
    dict
        By the roles that `stack_of` knows.
    """
    further = ("good", "flag", "snr", "relative_error", "percent_error")
    usual = {role: values for role, values in arrays.items() if role not in further}
    for role in arrays.keys() - usual.keys():
        if np.shape(arrays[role]) != np.shape(arrays["flux"]):
            detail = f"{role} has shape {np.shape(arrays[role])}, flux {np.shape(arrays['flux'])}"
            raise DefectError(Reason.LAYOUT, detail)
    if "good" in arrays:
        usual["mask"] = (np.ma.getdata(arrays["good"]) != 1) | np.ma.getmaskarray(arrays["good"])
    if "flag" in arrays:
        usual["mask"] = arrays["flag"]
    if "snr" in arrays:
        usual["error"] = _error(arrays["flux"], 1 / _positive(arrays["snr"], "snr"))
    if "relative_error" in arrays:
        usual["error"] = _error(arrays["flux"], _positive(arrays["relative_error"], "relative_error"))
    if "percent_error" in arrays:
        usual["error"] = _error(arrays["flux"], _positive(arrays["percent_error"], "percent_error") / 100)
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
        kinds += [IVAR, ERROR, VARIANCE, SNR, RELATIVE_ERROR, PERCENT_ERROR]
    quiet = {*roles.used, *(find(names, kind) for kind in kinds)}
    left = [name for name in names if name not in quiet]
    if not left:
        return ""
    more = f" and {len(left) - MOST_NAMES} more" if len(left) > MOST_NAMES else ""
    return f"{what} not used: {', '.join(name[:40] or 'one without a name' for name in left[:MOST_NAMES])}{more}"
