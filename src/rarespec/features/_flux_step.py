"""What all transformers of flux share: rows may hold NaN, and keep the precision they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data


class FluxStep(TransformerMixin, BaseEstimator):
    """A transformer of (n, p) rows in which NaN marks a bad pixel."""

    def _checked(self, X: Any, reset: bool) -> NDArray[np.floating]:
        """X as float32 or float64; a masked array with NaN where it is masked."""
        return validate_data(self, unmasked(X), reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def unmasked(X: Any) -> Any:
    """A NumPy masked array with NaN where it is masked; anything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return np.ma.filled(X if X.dtype.kind == "f" else X.astype(np.float64), np.nan)
