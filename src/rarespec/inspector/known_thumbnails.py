"""The nearest known examples of candidates, as small and on the same scale as their thumbnails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rarespec.inspector.spectrum_payload import POINTS, SpectrumCache, thumbnails_of
from rarespec.searching.explain.portrait import from_elsewhere, on_scale_of
from rarespec.searching.ranking import Ranking

Rows = NDArray[np.float32]


def known_thumbnails(ranking: Ranking, cache: SpectrumCache, rows: Rows, nearest: Sequence[str]) -> Rows:
    """Bring known examples to the scale of thumbnails, to be drawn behind them.

    Parameters
    ----------
    ranking : Ranking
        The newest ranking.
    cache : SpectrumCache
        Spectra that were read before.
    rows : (n, 160) array
        The thumbnails.
    nearest : sequence of str
        Id of the known example behind each; empty for none.

    Returns
    -------
    (n, 160) array
        Thumbnails of the examples; NaN where there is none, or only its features are known.
    """
    known = {id: row for id in set(nearest) - {""} if (row := _thumbnail(ranking, cache, id)) is not None}
    behind = np.full((len(rows), POINTS), np.nan, dtype="<f4")
    for i, (row, id) in enumerate(zip(rows, nearest, strict=True)):
        if id in known and (curve := on_scale_of(row, known[id])) is not None:
            behind[i] = curve
    return behind


def _thumbnail(ranking: Ranking, cache: SpectrumCache, id: str) -> Rows | None:
    if id in ranking.survey:
        return thumbnails_of(cache.fetch([id]))[0]
    given = from_elsewhere(ranking, [id])
    return None if given is None else thumbnails_of([given[0]])[0]
