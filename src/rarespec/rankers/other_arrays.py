"""Feature vectors as arrays of other libraries (torch, CuPy): checked where they are, small results brought here."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array
from numpy.typing import NDArray

Array = Any


def is_other_array(X: Any) -> bool:
    """Whether X is an array of a library other than NumPy."""
    return is_array_api_obj(X) and not is_numpy_array(X)


def as_numpy(x: Array) -> NDArray[Any]:
    """Copy numbers to a NumPy array, from whatever device they are on."""
    if hasattr(x, "get") and not hasattr(x, "numpy"):  # CuPy
        return x.get()
    return np.asarray(x.cpu() if hasattr(x, "cpu") else x)


def like(X: Array, values: NDArray[Any]) -> Array:
    """Copy NumPy values to the library of X, and to its device."""
    return array_namespace(X).asarray(values, device=device(X))


def rows_at(X: Array, numbers: NDArray[np.intp]) -> Array:
    """Take the rows of these numbers, in the library of X."""
    return X[numbers] if is_numpy_array(X) else array_namespace(X).take(X, like(X, numbers), axis=0)


def check_other_rows(ranker: Any, X: Array, reset: bool) -> Array:
    """Check feature vectors that are in an array of another library, where they are.

    Parameters
    ----------
    ranker : Ranker
        Remembers d, or has remembered it.
    X : (n, d) array
        Floating-point and finite.
    reset : bool
        Whether the ranker remembers d, as in `fit`; otherwise d must be what it remembers.

    Returns
    -------
    (n, d) array
        X itself.

    Raises
    ------
    ValueError
        If the shape, the type or d is wrong, or values are not finite.
    """
    xp = array_namespace(X)
    if X.ndim != 2 or not xp.isdtype(X.dtype, "real floating"):
        raise ValueError(f"X must be (n, d) floating-point numbers, not {tuple(X.shape)} {X.dtype}")
    if not reset and X.shape[1] != ranker.n_features_in_:
        kind, fitted = type(ranker).__name__, ranker.n_features_in_
        raise ValueError(f"X has {X.shape[1]} features, but {kind} is expecting {fitted} features as input")
    if not bool(xp.isfinite(xp.sum(X))) and not bool(xp.all(xp.isfinite(X))):
        bad = int(xp.sum(xp.astype(~xp.all(xp.isfinite(X), axis=1), xp.int64)))
        raise ValueError(f"{bad} of {X.shape[0]} rows contain NaN or inf: leave them out, or repair them")
    if reset:
        ranker.n_features_in_ = X.shape[1]
    return X
