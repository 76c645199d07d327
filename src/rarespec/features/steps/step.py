"""What the steps of a recipe share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data


class FluxStep(TransformerMixin, BaseEstimator):
    """A transformer of (n, p) rows in which NaN marks a bad pixel."""

    def _check_rows(self, X: Any, reset: bool) -> NDArray[np.floating]:
        """X as float32 or float64; a masked array with NaN where it is masked."""
        return validate_data(self, unmask(X), reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def unmask(X: Any) -> Any:
    """A NumPy masked array with NaN where it is masked; anything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    return np.ma.filled(X if X.dtype.kind == "f" else X.astype(np.float64), np.nan)


# ---- What the steps share that treat each row by itself and learn nothing.


Array = Any


class RowStep(OneToOneFeatureMixin, FluxStep):
    """A transformer of single rows. NaN marks a bad pixel; a row that the step cannot use comes out as all NaN.

    `fit` only checks the input. Arrays of other libraries that follow the array API stay what they are.
    """

    why_unusable: str
    """Why the step may be unable to use a row, in the words of a report."""

    def fit(self, X: Array, y: Any = None) -> Self:
        """Check the input and remember its number of columns; nothing is learned.

        Parameters
        ----------
        X : array
            Rows, (n, p), NaN where a pixel is bad.
        y : None
            Ignored.

        Returns
        -------
        RowStep
            Itself.
        """
        self._check_rows(X, reset=True)
        return self

    def transform(self, X: Array) -> Array:
        """Treat the rows of X one by one.

        Parameters
        ----------
        X : array
            Rows, (n, p), NaN where a pixel is bad.

        Returns
        -------
        array
            Rows, (n, p), float32 when X is float32. A row that the step cannot use is all NaN.
        """
        return self._transform_rows(self._check_rows(X, reset=False))

    def unusable(self, X: Array) -> Array:
        """Say which rows this step cannot use and would turn into NaN.

        Parameters
        ----------
        X : array
            Rows, (n, p), NaN where a pixel is bad.

        Returns
        -------
        array of bool
            One value per row, (n,).
        """
        transformed = self.transform(X)
        xp = array_namespace(transformed)
        return xp.all(xp.isnan(transformed), axis=1)

    @abstractmethod
    def _transform_rows(self, X: Array) -> Array:
        """X is (n, p), float32 or float64."""

    def _check_rows(self, X: Array, reset: bool) -> Array:
        if is_array_api_obj(X) and not is_numpy_array(X):
            return X
        return super()._check_rows(X, reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
