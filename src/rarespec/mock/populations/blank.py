"""Sky fibres: nothing there."""

from __future__ import annotations

import numpy as np

from rarespec.mock.light import Population


def draw(rng: np.random.Generator, n: int) -> Population:
    return Population((), (), [""] * n, np.full(n, np.nan), np.zeros(n))
