"""What the parts of Auto have learned for one query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._auto_filters import expanded_direction
from rarespec.rankers._auto_given import given_scores
from rarespec.rankers._auto_kept_rows import KeptRows
from rarespec.rankers._auto_push import push_weights
from rarespec.rankers._auto_query import Query
from rarespec.rankers._auto_spread import spread_scores
from rarespec.rankers._ranker import Scores


@dataclass(frozen=True, eq=False)
class Parts:
    """By the name of the part."""

    directions: dict[str, NDArray[np.float64]]
    """Of those that score each row by itself, (d,)."""
    whole: dict[str, Scores]
    """Scores of all rows, (n,), under those that find them as a whole."""
    kept: dict[str, KeptRows]
    """Rows of these among which new ones are placed."""
    places: dict[str, NDArray[np.float64]]
    """Places of hidden rows under every part, (h,)."""


def learned_parts(query: Query, balanced: bool) -> Parts:
    """Let every part learn; the rows prepared are all rows."""
    ready = query.ready
    directions = {"expanded": expanded_direction(query), "push": push_weights(query)}
    whole = {"spread": spread_scores(query, ready.edges, balanced)}
    if ready.lrga is not None:
        whole["given"] = given_scores(query, ready.lrga)
    scores = {name: found for name, (found, _) in whole.items()}
    rows = {"spread": ready.units, "given": ready.X}
    return Parts(
        directions={name: direction for name, (direction, _) in directions.items()},
        whole=scores,
        kept={name: KeptRows.of(rows[name], scores[name], query.rng) for name in scores},
        places={name: places for name, (_, places) in (directions | whole).items()},
    )
