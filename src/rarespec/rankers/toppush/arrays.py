"""What the array API standard lacks and the interior-point method needs; NumPy's own way where it is faster."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_namespace

Array = Any


def at_least(x: Array, floor: float) -> Array:
    return np.maximum(x, floor) if is_numpy_array(x) else array_namespace(x).clip(x, min=floor)


def at_most(x: Array, ceiling: float) -> Array:
    return np.minimum(x, ceiling) if is_numpy_array(x) else array_namespace(x).clip(x, max=ceiling)


def times_log(x: Array) -> Array:
    """Compute x log x, 0 at 0."""
    if is_numpy_array(x):
        from scipy.special import entr

        return -entr(x)
    xp = array_namespace(x)
    return x * xp.log(xp.where(x > 0, x, xp.ones_like(x)))


def no_columns(x: Array) -> Array:
    """Make an array (B, 0), of the kind of x (B, n)."""
    return array_namespace(x).zeros((x.shape[0], 0), dtype=x.dtype, device=device(x))


def largest_places(x: Array, k: int) -> Array:
    """Find the columns (B, k) of the k largest values of each row of x, in any order."""
    if is_numpy_array(x):
        return np.argpartition(-x, k - 1, axis=1)[:, :k]
    return array_namespace(x).argsort(x, axis=1, descending=True)[:, :k]


def mean_of_largest(x: Array, k: int) -> Array:
    """Take the mean of the k largest values along the last axis, of more than k."""
    n = x.shape[-1]
    if is_numpy_array(x):
        return np.partition(x, n - k, axis=-1)[..., n - k :].mean(axis=-1)
    xp = array_namespace(x)
    return xp.mean(xp.sort(x, axis=-1)[..., n - k :], axis=-1)


def replace_columns(x: Array, places: Array, values: Array) -> Array:
    """Replace values in columns that each row has of its own.

    Parameters
    ----------
    x : (B, n) array
        Stays as it is.
    places : (B, k) int
        Columns of each row, all different.
    values : (B, k) array
        What goes there.

    Returns
    -------
    (B, n) array
        A new array.
    """
    if is_numpy_array(x):
        x = x.copy()
        np.put_along_axis(x, places, values, axis=1)
        return x
    xp = array_namespace(x)
    # the standard has no assignment by index: a product with a matrix of zeros and ones puts values in their columns
    columns = xp.arange(x.shape[1], dtype=places.dtype, device=device(x))
    here = xp.astype(places[:, :, None] == columns[None, None, :], x.dtype)
    kept = 1 - xp.sum(here, axis=1)
    return x * kept + xp.matmul(values[:, None, :], here)[:, 0, :]


def rows_replaced(x: Array, rows: Array, values: Array) -> Array:
    """Replace some rows as a whole.

    Parameters
    ----------
    x : (B, ...) array
        Stays as it is.
    rows : (k,) int
        Row numbers, rising.
    values : (k, ...) array
        What goes there.

    Returns
    -------
    (B, ...) array
        A new array; x itself may come back where k is 0.
    """
    if is_numpy_array(x):
        x = x.copy()
        x[rows] = values
        return x
    xp = array_namespace(x)
    if rows.shape[0] == 0:
        return x
    here = xp.any(xp.arange(x.shape[0], dtype=rows.dtype, device=device(x))[:, None] == rows[None, :], axis=1)
    # the i-th replaced row takes values[i], so counting the replaced rows from the top gives i: they must rise
    number = xp.clip(xp.cumulative_sum(xp.astype(here, xp.int64)) - 1, min=0)
    return xp.where(xp.reshape(here, (-1, *[1] * (x.ndim - 1))), xp.take(values, number, axis=0), x)


def solve_systems(matrix: Array, right: Array) -> Array:
    """Solve matrix (B, n, n) x = right (B, n) for x (B, n)."""
    return array_namespace(matrix).linalg.solve(matrix, right[..., None])[..., 0]


def singular_errors(xp: Any) -> tuple[type[Exception], ...]:
    """List what `solve_systems` raises for a singular matrix."""
    if is_torch_namespace(xp):
        import torch

        return (np.linalg.LinAlgError, torch.linalg.LinAlgError)
    return (np.linalg.LinAlgError,)
