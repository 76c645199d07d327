"""Telling whether rows, and whole matrices of them, are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._known import Rows
from rarespec.rankers._linear import BLOCK_ROWS


def fingerprint_of_rows(X: Rows) -> str:
    """Text that tells feature matrices apart by their shape and values, whatever their precision and layout."""
    digest = hashlib.blake2b(repr(X.shape).encode(), digest_size=16)
    for block in _normalised_blocks(X):
        digest.update(block.data)
    return digest.hexdigest()


def row_digests(X: Rows) -> NDArray[np.bytes_]:
    """A digest of 16 bytes for each row, (n,): equal rows have equal digests, others do not."""
    digests = np.empty(len(X), "S16")
    done = 0
    for block in _normalised_blocks(X):
        digests[done : done + len(block)] = [hashlib.blake2b(row, digest_size=16).digest() for row in block]
        done += len(block)
    return digests


def _normalised_blocks(X: Rows) -> Iterator[NDArray[np.float64]]:
    """Blocks as float64 in C order; the sum turns -0 into 0."""
    for start in range(0, len(X), BLOCK_ROWS):
        yield np.ascontiguousarray(X[start : start + BLOCK_ROWS], dtype=np.float64) + 0.0
