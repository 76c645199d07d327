"""Which rows an index means: a number, a slice, a mask, or a list of numbers."""

from __future__ import annotations

from operator import index
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

HOW = "use a row number, a slice, a mask of one truth value per row, or a list of row numbers"


def is_row_number(which: object) -> bool:
    """Say whether this is one whole number; True and False are none."""
    return isinstance(which, int | np.integer) and not isinstance(which, bool)


def row_number(which: Any, n: int) -> int:
    """Give the row, from 0, that a number means; a negative one counts from the end.

    Parameters
    ----------
    which : int
        The number.
    n : int
        How many rows there are.

    Returns
    -------
    int
        The row.

    Raises
    ------
    IndexError
        If there is no such row.
    """
    row = index(which)
    if not -n <= row < n:
        _refuse(row, n)
    return row % n


def row_numbers(which: Any, n: int) -> NDArray[np.intp]:
    """Give the rows, from 0, that a slice, a mask or a list of numbers means.

    Parameters
    ----------
    which : slice or array
        A slice, (n,) truth values, or row numbers of which negative ones count from the end.
    n : int
        How many rows there are.

    Returns
    -------
    (m,) intp array
        The rows, in the order asked for.

    Raises
    ------
    IndexError
        If there is no such row, or a mask has another length.
    TypeError
        If it is something else.
    """
    if isinstance(which, slice):
        return np.arange(*which.indices(n), dtype=np.intp)
    given = np.asarray(which)
    if given.dtype.kind == "b":
        if given.shape != (n,):
            raise IndexError(f"a mask of shape {given.shape} for {n} rows: it needs one truth value per row")
        return np.flatnonzero(given)
    if not given.size:
        return np.empty(0, np.intp)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(f"{type(which).__name__} does not say which rows; {HOW}")
    rows = given.astype(np.int64)
    outside = rows[(rows < -n) | (rows >= n)]
    if len(outside):
        _refuse(outside[0], n)
    return np.where(rows < 0, rows + n, rows).astype(np.intp)


def _refuse(row: Any, n: int) -> NoReturn:
    rows = f"rows go from 0 to {n - 1}" if n else "nothing is stored here yet"
    raise IndexError(f"there is no row {row}: {rows}")
