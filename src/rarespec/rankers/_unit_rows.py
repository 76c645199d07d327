"""Unit rows in the space of signal that are made from the features when they are asked for, and never held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._known import Rows
from rarespec.rankers._signal_space import SignalSpace


@dataclass(frozen=True, eq=False)
class _UnitRows:
    """Stands for an (n, d) float32 array of which rows are taken."""

    X: Rows
    space: SignalSpace

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.X.shape
        return n, d

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        return self.space.all_units(self.X[rows])


def unit_rows(X: Rows, space: SignalSpace) -> Rows:
    """Of all rows of X, for whoever takes no more of an array than some of its rows at a time."""
    return cast(Rows, _UnitRows(X, space))
