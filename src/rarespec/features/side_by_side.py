"""Features of several kinds in one vector, such as principal components beside line indices."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rarespec.features._flux_step import FluxStep
from rarespec.features._rows import Blocks
from rarespec.features.recipe import fitted_step, n_columns, restored_step, state_of


class SideBySide(FluxStep):
    """Transformers that are all given the same rows; their features stand next to each other.

    A row that one of them cannot use is NaN in the features of that one only, and counts as lost.
    """

    why_unusable = "one of its parts could not use the row"

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def fit(self, X: Any, y: Any = None) -> Self:
        X = self._checked(X, reset=True)
        self.parts_ = [clone(part).fit(X) for part in self.parts]
        return self

    def fit_blocks(self, blocks: Blocks) -> Self:
        self.n_features_in_ = n_columns(blocks)
        self.parts_ = [fitted_step(part, blocks) for part in self.parts]
        return self

    def transform(self, X: Any) -> NDArray[np.floating]:
        check_is_fitted(self, "parts_")
        X = self._checked(X, reset=False)
        return np.hstack([part.transform(X) for part in self.parts_])

    @property
    def could_learn_more(self) -> bool:
        """Whether a part had fewer rows to learn from than it needs."""
        return any(getattr(part, "could_learn_more", False) for part in self.parts_)

    def state(self) -> dict[str, NDArray[Any]]:
        return {"n_features_in": np.array(self.n_features_in_)} | state_of(self.parts_)

    def restore(self, state: dict[str, NDArray[Any]]) -> Self:
        self.n_features_in_ = int(state["n_features_in"])
        probe = np.zeros((1, self.n_features_in_), np.float32)
        self.parts_ = [restored_step(part, number, state, probe) for number, part in enumerate(self.parts)]
        return self
