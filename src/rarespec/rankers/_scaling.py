"""One unit for all features: rows around 0 with a mean squared length of 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from rarespec.rankers._kernel import Array, centre_and_variance
from rarespec.rankers.rows import Rows


@dataclass(frozen=True)
class Scaling:
    """z = (x - centre) / unit: one unit for all columns."""

    centre: Array
    unit: float

    @classmethod
    def of(cls, X: Rows) -> Self:
        """To a mean of 0 and a mean squared length of 1; constant rows keep their unit."""
        centre, variance = centre_and_variance(X)
        return cls(centre, float(np.sqrt(variance)) if variance > 0 else 1.0)

    def scaled(self, rows: Rows) -> Array:
        return (rows - self.centre) / self.unit
