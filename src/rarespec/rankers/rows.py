"""Feature vectors: the checks that every ranker makes of X and y, and when rows are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

Rows = NDArray[Any]
"""Feature vectors, (n, d), float32 or float64."""

BLOCK_ROWS = 8192
"""Rows converted to float64 at a time: they stay in the cache, and no float64 copy of X is ever made."""

N_NAMED = 10
"""How many offending rows a message names."""


def check_rows(ranker: BaseEstimator, X: Any, reset: bool) -> Rows:
    """Check feature vectors, as every ranker does first.

    Parameters
    ----------
    ranker : BaseEstimator
        Remembers the number and the names of the features, or has remembered them.
    X : (n, d) array
        Whatever scikit-learn takes for a matrix.
    reset : bool
        Whether the ranker remembers them, as in `fit`; otherwise they must be what it remembers.

    Returns
    -------
    (n, d) float32 or float64
        The vectors; other types of numbers become float64.

    Raises
    ------
    ValueError
        If X is no matrix of that width, or has rows that are not finite, which are named.
    """
    rows = validate_data(ranker, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)
    require_finite(rows)
    return rows


def require_finite(X: Rows) -> None:
    # one sum tells in most cases without a second matrix of booleans; an overflow of it is looked at again below
    """Refuse rows with NaN or inf; the ValueError names the first few."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        named = ", ".join(map(str, bad[:N_NAMED])) + (", ..." if len(bad) > N_NAMED else "")
        raise ValueError(
            f"{len(bad)} of {len(X)} rows contain NaN or inf (rows {named}): leave them out, for instance with "
            "X[features.usable], or repair them"
        )


def check_known(X: Rows, y: Any) -> NDArray[np.bool_]:
    """Find the known examples, (n,) bool: where y marks one.

    y holds two values, of which the larger marks the known: 1 and 0, True and False, 1 and -1.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: 1 = known, 0 = unlabelled")
    y = np.asarray(column_or_1d(y, warn=True))
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)} values: give one value per row")
    if y.dtype.kind not in "biuf" or not np.isfinite(y).all():
        raise ValueError("Unknown label type: y must be finite numbers, 1 = known, 0 = unlabelled")
    values = np.unique(y)
    if len(values) > 2:
        raise ValueError(f"Unknown label type: y has {len(values)} different values, only 1 = known, 0 = unlabelled")
    if len(values) < 2:
        raise ValueError(f"y has only one class ({values[0]}): both known (1) and unlabelled (0) rows are needed")
    return y == values[1]


def split_marks(X: Rows, y: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Split y into known rows and rows known not to be of the kind, both (n,) bool; y may hold -1 beside 1 and 0."""
    marks = np.asarray(y)
    if marks.shape != (len(X),) or set(np.unique(marks).tolist()) != {-1, 0, 1}:
        known = check_known(X, y)
        return known, np.zeros(len(X), bool)
    return marks == 1, marks == -1


def same_rows(X: Rows, Y: Rows) -> bool:
    return X is Y or (X.shape == Y.shape and np.array_equal(X, Y))


def fingerprint_of_rows(X: Rows) -> str:
    """Make a text that differs between matrices of other shape or values, whatever their precision and layout."""
    digest = hashlib.blake2b(repr(X.shape).encode(), digest_size=16)
    for block in _normalise_blocks(X):
        digest.update(block.data)
    return digest.hexdigest()


def row_digests(X: Rows) -> NDArray[np.bytes_]:
    """Make a digest of 16 bytes for each row, (n,): equal rows have equal digests, others do not."""
    digests = np.empty(len(X), "S16")
    done = 0
    for block in _normalise_blocks(X):
        digests[done : done + len(block)] = [hashlib.blake2b(row, digest_size=16).digest() for row in block]
        done += len(block)
    return digests


def choose_rows(X: Rows, n: int) -> NDArray[np.intp]:
    """Choose n rows, or all if there are fewer, by their contents alone: in another order, the same ones are chosen.

    Each row is given a number that has nothing to do with where it lies, and those with the smallest are taken, in this
    order. Unlike digests these numbers are made of whole blocks, which is quick for millions of rows.
    """
    numbers, factors = np.empty(len(X), np.uint64), _odd_numbers(X.shape[1])
    done = 0
    for block in _normalise_blocks(X):
        with np.errstate(over="ignore"):
            mixed = (block.view(np.uint64) * factors).sum(axis=1)
            for shift in (32, 29):
                mixed = (mixed ^ (mixed >> np.uint64(shift))) * factors[0]
        numbers[done : done + len(block)] = mixed ^ (mixed >> np.uint64(32))
        done += len(block)
    n = min(n, len(X))
    chosen = np.argpartition(numbers, n - 1)[:n]
    return np.asarray(chosen[np.argsort(numbers[chosen], kind="stable")])


def _odd_numbers(n: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(0, 2**63, n, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _normalise_blocks(X: Rows) -> Iterator[NDArray[np.float64]]:
    """Blocks as float64 in C order; the sum turns -0 into 0."""
    for start in range(0, len(X), BLOCK_ROWS):
        yield np.ascontiguousarray(X[start : start + BLOCK_ROWS], dtype=np.float64) + 0.0
