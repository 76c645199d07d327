"""How much text may stand beside a spectrum: a few packed bytes can say the same megabyte for every row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rarespec.spectrum import Defect, Reason, Spectra

MOST_TEXT = 1 << 18
"""Characters, of all columns of one spectrum: a header of three thousand cards. A survey holds 2048 rows in memory."""


def text_beside(spectra: Spectra) -> int:
    """Characters in the catalogue of these spectra."""
    return _characters(spectra.catalogue.values())


def _characters(columns: Iterable[list[Any]]) -> int:
    return sum([len(value) for column in columns for value in column if isinstance(value, str)])


def within_text_limit(spectra: Spectra, source: str) -> Iterator[Spectra | Defect]:
    """These spectra, less those with more text than a survey takes, which come as defects."""
    if text_beside(spectra) <= MOST_TEXT:
        yield spectra
        return
    rows = zip(*spectra.catalogue.values(), strict=True)
    lengths = np.array([_characters([list(row)]) for row in rows])
    for i in np.flatnonzero(lengths > MOST_TEXT).tolist():
        detail = f"{lengths[i]} characters of text with the spectrum; the limit is {MOST_TEXT}"
        yield Defect(source, Reason.TOO_LARGE, detail, spectra.ids[i][:200])
    kept = np.flatnonzero(lengths <= MOST_TEXT)
    if len(kept):
        yield spectra if len(kept) == len(spectra) else spectra.take(kept)
