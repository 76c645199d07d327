"""Columns of numbers that nobody named, in a text file or as the rows of an image: what each of them is.

They are wavelength, flux, error and flags, in this order. The numbers themselves are asked whether that can be: pixels
may be counted in front, the error may come behind the sky or be missing, and the flags may stand in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.further_columns import marks_bad
from rarespec.spectrum import DefectError, Reason

LOOKED_AT = 5
"""Columns: pixel number, wavelength, flux, and two that may be error and mask."""
COUNTED = "pixel number"
FEWEST_COUNTED = 8
"""Pixels: fewer may count by chance."""
CLAIMED_NOISE, SEEN_NOISE = 0.5, 0.05
"""Of the flux. What claims more noise than the first, where the flux shows less than the second, is no error."""

Numbers = NDArray[np.float64]


def roles_of_unnamed(columns: Sequence[Numbers]) -> list[str]:
    """Find what each column is.

    Parameters
    ----------
    columns : sequence of (p,) arrays
        Two or more, in the order of the file.

    Returns
    -------
    list of str
        For each column pixel number, wavelength, flux, error, mask, or nothing if it is left out.

    Raises
    ------
    DefectError
        If the first column counts the pixels and the second is no wavelength.
    """
    roles = []
    if _counts_pixels(columns[0]):
        if len(columns) < 3 or not _runs_one_way(columns[1]):
            raise DefectError(Reason.LAYOUT, "the first column counts pixels, and the second is no wavelength")
        roles = [COUNTED]
    flux = columns[len(roles) + 1]
    roles += ["wavelength", "flux"]
    for values in columns[len(roles) : LOOKED_AT]:
        if "mask" not in roles and marks_bad(values) and ("error" in roles or np.nan_to_num(values).any()):
            roles.append("mask")
        elif "error" not in roles and may_be_error(values, flux):
            roles.append("error")
        else:
            roles.append("")
    return roles + [""] * (len(columns) - len(roles))


def left_out(roles: Sequence[str], what: str) -> str:
    """Say for the account which columns, or rows, were left out; nothing if none was."""
    found = [i for i, role in enumerate(roles, 1) if not role]
    if len(found) < 2:
        return f"{what} {found[0]} left out" if found else ""
    in_a_row = found[-1] - found[0] == len(found) - 1
    return f"{what}s {f'{found[0]} to {found[-1]}' if in_a_row else ', '.join(map(str, found))} left out"


def _counts_pixels(values: Numbers) -> bool:
    return len(values) >= FEWEST_COUNTED and values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def _runs_one_way(values: Numbers) -> bool:
    steps = np.diff(values[np.isfinite(values)])
    return bool((steps > 0).all() or (steps < 0).all())


def may_be_error(values: Numbers, flux: Numbers) -> bool:
    """Say whether these can be the errors of this flux: not negative, and not far above what the flux shows itself.

    Sky, continuum, signal to noise and inverse variance are none. One negative number may stand for an unknown error.
    """
    if len(np.unique(values[values < 0])) > 1:
        return False
    usable = np.isfinite(values) & (values > 0) & np.isfinite(flux)
    if usable.sum() < FEWEST_COUNTED:
        return True
    flux = flux[usable]
    level, claimed = np.median(np.abs(flux)), np.median(values[usable])
    with np.errstate(all="ignore"):
        # A pixel against the mean of its neighbours: noise of this size scatters by sqrt(1.5) of it.
        seen = 1.4826 * np.median(np.abs(flux[1:-1] - (flux[:-2] + flux[2:]) / 2)) / np.sqrt(1.5)
    return not (claimed > CLAIMED_NOISE * level and seen < SEEN_NOISE * level)
