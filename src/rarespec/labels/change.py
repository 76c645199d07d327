"""What a relearning did to the list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Change:
    """From one revision of a ranking to the next.

    revision : the new one
    moved    : id -> rank before and now, of the candidates listed now whose rank is another. Both count the spectra
        that are listed now alone, so taking labelled ones off the list moves nothing. None: it was not ranked before
    n_yes    : spectra labelled yes
    n_no     : spectra labelled no
    seconds  : it took
    """

    revision: int
    moved: dict[str, tuple[int | None, int]]
    n_yes: int
    n_no: int
    seconds: float


def moved_between(ids: Sequence[str], before: NDArray[np.int64]) -> dict[str, tuple[int | None, int]]:
    """Candidates that moved: `ids` best first, `before` (n,) their earlier ranks, 0 where they had none."""
    pairs = zip(ids, before.tolist(), strict=True)
    return {id: (old or None, new) for new, (id, old) in enumerate(pairs, start=1) if old != new}
