"""Which strings (ids, input files) a survey already holds, in 16 bytes each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rarespec.survey.catalogue import Catalogue
from rarespec.survey.manifest import Manifest
from rarespec.survey.survey import Survey

Run = tuple[NDArray[np.uint64], NDArray[np.int64]]
"""Sorted hashes, and the row of each."""


class StoredValues:
    """The values of one text column of a survey, and those added since.

    Published values are kept as 64-bit hashes with their rows; a hash that is met again is compared with the value
    in the catalogue, so two values with one hash are never confused.
    """

    def __init__(self, survey: Survey, column: str) -> None:
        self._survey = survey
        self._column = column
        self._fresh: list[str] = []
        self._fresh_set: set[str] = set()
        self._runs: list[Run] = []
        self._n_published = 0
        self._show(survey.catalogue)
        if column in survey.catalogue:
            for table in survey.catalogue.blocks([column]):
                self._absorb(table.column(0).to_pylist())

    def _show(self, catalogue: Catalogue) -> None:
        column, rows = self._column, self._survey.manifest.block_rows
        read_block = lru_cache(maxsize=4)(lambda block: catalogue.block(block, [column]).column(0).to_pylist())
        self._value_at = lambda row: read_block(row // rows)[row % rows]

    def __contains__(self, value: str) -> bool:
        if value in self._fresh_set:
            return True
        key = _hash(value)
        return any(self._value_at(row) == value for hashes, rows in self._runs for row in _rows_with(key, hashes, rows))

    def add(self, values: Sequence[str]) -> None:
        """Values of the next rows, not published yet."""
        self._fresh += values
        self._fresh_set.update(values)

    def published(self, manifest: Manifest) -> None:
        """The survey now has the rows of this manifest on disk: forget the text of their values."""
        n_new = manifest.n_rows - self._n_published
        self._show(Catalogue(self._survey.path, manifest))
        self._absorb(self._fresh[:n_new])
        self._fresh = self._fresh[n_new:]
        self._fresh_set = set(self._fresh)

    def _absorb(self, values: Sequence[str | None]) -> None:
        hashes = np.fromiter((_hash(value or "") for value in values), np.uint64, len(values))
        # The rows of one file carry the same value: its first row is enough.
        first = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]])[: len(hashes)])
        self._runs.append(_sorted_run(hashes[first], first + self._n_published))
        self._n_published += len(values)
        # Runs of like size are merged, so that their number stays logarithmic and each value moves only a few times.
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            (hashes, rows), (more, their) = self._runs.pop(), self._runs.pop()
            self._runs.append(_sorted_run(np.concatenate([more, hashes]), np.concatenate([their, rows])))


def _sorted_run(hashes: NDArray[np.uint64], rows: NDArray[np.int64]) -> Run:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], rows[order]


def _rows_with(key: np.uint64, hashes: NDArray[np.uint64], rows: NDArray[np.int64]) -> list[int]:
    start, stop = np.searchsorted(hashes, key, "left"), np.searchsorted(hashes, key, "right")
    return rows[start:stop].tolist()


def _hash(value: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "little"))
