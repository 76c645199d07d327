"""Principal components of rows that stream past: exact from the covariance, or randomised from a few passes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rarespec.errors import UsageError
from rarespec.features.pca.passes import BlockPasses, Moments, Passes, StreamPasses
from rarespec.features.pca.solvers import DENSE_SHARE, DENSE_SIZE, Search, Subspace, find_subspace, leading_eigenpairs
from rarespec.features.rows import Blocks, RowBlocks, Rows, RowStream, finite_rows

Array = Any
SOLVERS = ("exact", "randomised", "auto")


class TooFewRowsError(UsageError):
    """There is no variance to be found in fewer than two rows."""


class StreamingPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal component analysis of an array, or of blocks of rows that are read one after the other.

    A row with a NaN or an infinity is left out of the fit and comes out of `transform` as a row of NaN.
    The sign of a component is such that its largest loading is positive.

    Parameters
    ----------
    n_components : int or None, optional
        Components kept. None means min(n, p). Centred rows have n - 1 and p directions at most; where that is fewer,
        so many are kept, and a warning says so.
    solver : {"auto", "exact", "randomised"}, optional
        "exact" adds up the covariance matrix in one pass, with memory for about three p x p matrices. "randomised"
        reads the rows n_passes + 1 times or more, with memory for a few thousand rows and some
        p x (n_components + oversampling) matrices. "auto" is exact up to 1000 columns or when more than one in eight
        components is wanted, else randomised.
    whiten : bool, optional
        Divide each feature by its standard deviation. One without any variance is left as it is.
    random_state : int, optional
        Seed of the randomised solver.
    oversampling : int, optional
        Directions that the randomised solver follows beyond n_components.
    n_passes : int, optional
        Passes of the randomised solver after the first, which takes the mean and a sample.
    tol : float, optional
        While more than this share of the variance seems to be missed, the randomised solver makes two more passes.

    Attributes
    ----------
    components_ : ndarray of float64
        (k, p), orthonormal rows, the one with the most variance first.
    mean_ : ndarray of float64
        (p,).
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of float64
        (k,) each, as in scikit-learn.
    n_components_, n_features_in_ : int
        k and p.
    n_samples_seen_ : int
        Rows that were fitted.
    n_left_out_ : int
        Rows that were not, because they were not finite.
    solver_ : str
        "exact" or "randomised".

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import StreamingPCA
    >>> rows = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [np.nan, 0.0]])
    >>> pca = StreamingPCA(n_components=1).fit(rows)
    >>> pca.components_.round(4)
    array([[0.7071, 0.7071]])
    >>> pca.n_left_out_
    1
    """

    why_unusable = "the row contains NaN or infinity"

    def __init__(
        self,
        n_components: int | None = 50,
        solver: str = "auto",
        whiten: bool = False,
        random_state: int = 0,
        oversampling: int = 18,
        n_passes: int = 3,
        tol: float = 1e-4,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.whiten = whiten
        self.random_state = random_state
        self.oversampling = oversampling
        self.n_passes = n_passes
        self.tol = tol

    # ---- fitting

    def fit(self, X: Array, y: Any = None) -> Self:
        """Learn from rows in memory.

        Parameters
        ----------
        X : array
            Rows, (n, p).
        y : None
            Ignored.

        Returns
        -------
        StreamingPCA
            Itself.

        Raises
        ------
        TooFewRowsError
            If fewer than two rows are finite.
        """
        X = self._check_rows(X, reset=True)
        return self._fit(lambda: [X])

    def fit_blocks(self, blocks: Blocks) -> Self:
        """Learn from a stream; the result is that of `fit` on all rows at once, whatever the size of the blocks.

        RowBlocks, as those of a survey, are looked at where they are; the result is then the same to the last bit
        wherever that is.

        Parameters
        ----------
        blocks : callable
            `blocks()` gives a fresh iterator over blocks of rows, (n_i, p) each.

        Returns
        -------
        StreamingPCA
            Itself.

        Raises
        ------
        TooFewRowsError
            If fewer than two rows are finite.
        """
        return self._fit(blocks)

    def fit_transform(self, X: Array, y: Any = None) -> NDArray[np.floating]:
        """Learn from rows in memory, and return their features; the randomised solver has them from its last pass.

        Parameters
        ----------
        X : array
            Rows, (n, p).
        y : None
            Ignored.

        Returns
        -------
        ndarray
            Features, (n, k).
        """
        X = self._check_rows(X, reset=True)
        seen: list[Rows] = []
        self._fit(lambda: [X], seen)
        return self._place_features(X, np.concatenate(seen)) if seen else self._project(X)

    def _fit(self, blocks: Blocks, seen: list[Rows] | None = None) -> Self:
        self._check_parameters()
        n_features = _n_features(blocks)
        solver, passes = self._choose_solver(n_features), _passes_of(blocks)
        if solver == "exact":
            moments = passes.moments()
            self._check_size(passes, n_features)
            assert moments is not None
            self._publish_moments(moments)
        else:
            subspace = find_subspace(passes, self._search(), seen)
            self._check_size(passes, n_features)
            assert subspace is not None
            self._publish_subspace(subspace)
        self.solver_ = solver
        self.n_left_out_ = passes.n_left_out
        return self

    def _publish_moments(self, moments: Moments) -> None:
        covariance = moments.covariance()
        total = float(np.trace(covariance))
        k = self._n_kept(moments.n, len(covariance))
        variance, vectors = leading_eigenpairs(covariance, k, self.random_state)
        self._publish(moments.n, moments.mean, vectors.T, np.maximum(variance, 0.0), total)

    def _publish_subspace(self, subspace: Subspace) -> None:
        k = self._n_kept(subspace.n, len(subspace.mean))
        freedom = max(subspace.n - 1, 1)
        self.subspace_ = subspace
        variance = subspace.scatter[:k] / freedom
        self._publish(subspace.n, subspace.mean, subspace.basis[:k], variance, subspace.total / freedom)

    def _publish(
        self, n: int, mean: NDArray[Any], components: NDArray[Any], variance: NDArray[Any], total: float
    ) -> None:
        self.components_ = components * _signs(components)[:, None]
        self.mean_ = mean
        self._projections: dict[tuple[str, str, str], list[Array]] = {}
        self.n_samples_seen_ = n
        self.n_components_, self.n_features_in_ = components.shape
        self.explained_variance_ = variance
        self.explained_variance_ratio_ = variance / total if total > 0 else np.zeros_like(variance)
        self.singular_values_ = np.sqrt(variance * max(n - 1, 0))

    # ---- using

    def transform(self, X: Array) -> Array:
        """Compute the features of these rows.

        Parameters
        ----------
        X : array
            Rows, (n, p), of any array API library.

        Returns
        -------
        array
            Features, (n, k), in the precision of X; NaN for a row that is not finite.
        """
        check_is_fitted(self, "components_")
        return self._project(self._check_rows(X, reset=False))

    def inverse_transform(self, X: Array) -> Array:
        """Return the rows that have these features.

        Parameters
        ----------
        X : array
            Features, (n, k).

        Returns
        -------
        array
            Rows, (n, p).
        """
        check_is_fitted(self, "components_")
        X = X if is_array_api_obj(X) else np.asarray(X, dtype=np.float64)
        patterns, mean = _like(X, self._patterns(), self.mean_)
        return X @ patterns + mean

    def _patterns(self) -> NDArray[np.float64]:
        """What one unit of each feature looks like in a row, (k, p)."""
        return self._scale()[:, None] * self.components_

    def to_flux(self, weights: Any) -> NDArray[np.floating]:
        """Turn a linear model's weights on the features into weights on the input columns.

        The score of a row is the same either way: transform(x) @ weights = (x - mean_) @ to_flux(weights).

        Parameters
        ----------
        weights : array
            (k,) or (m, k).

        Returns
        -------
        ndarray
            (p,) or (m, p).
        """
        check_is_fitted(self, "components_")
        return (np.asarray(weights) / self._scale()) @ self.components_

    def _project(self, X: Array) -> Array:
        """X W - mean W: centred after the product, so that X is never copied."""
        xp = array_namespace(X)
        projection, offset = self._projection_like(X)
        with np.errstate(invalid="ignore", over="ignore"):
            features = X @ projection
            features -= offset
        usable = xp.all(xp.isfinite(features), axis=1)
        if bool(xp.all(usable)):
            return features
        return xp.where(usable[:, None], features, xp.full_like(features, float("nan")))

    def _projection_like(self, X: Array) -> tuple[Array, Array]:
        """W and mean W in the library, the precision and the place of X; kept for the next rows of the kind."""
        kind = array_namespace(X).__name__, str(X.dtype), str(device(X))
        if kind not in self._projections:
            projection = np.ascontiguousarray(self.components_.T / self._scale())
            self._projections[kind] = _like(X, projection, self.mean_ @ projection)
        projection, offset = self._projections[kind]
        return projection, offset

    def _place_features(self, X: NDArray[np.floating], coordinates: Rows) -> NDArray[np.floating]:
        """Features of X from the coordinates of its finite rows in the subspace that was found."""
        k = self.n_components_
        features = np.full((len(X), k), np.nan, X.dtype)
        scale = _signs(self.subspace_.basis[:k]) / self._scale()
        features[finite_rows(X)] = coordinates[:, :k] * scale.astype(X.dtype)
        return features

    def _scale(self) -> NDArray[np.float64]:
        """What each feature is divided by, (k,)."""
        if not self.whiten:
            return np.ones(self.n_components_)
        variance = self.explained_variance_
        # rounding of float32 rows alone can leave about this much variance in a direction: do not blow it up
        negligible = np.finfo(np.float32).eps ** 2 * self.n_features_in_ * variance[0]
        return np.sqrt(np.where(variance > negligible, variance, 1.0))

    # ---- files

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, as a dictionary of arrays."""
        check_is_fitted(self, "components_")
        arrays = {
            "components": self.components_,
            "mean": self.mean_,
            "explained_variance": self.explained_variance_,
            "explained_variance_ratio": self.explained_variance_ratio_,
            "n_samples_seen": np.array(self.n_samples_seen_),
            "n_left_out": np.array(self.n_left_out_),
            "whiten": np.array(self.whiten),
        }
        if self.solver_ == "randomised":
            found = self.subspace_
            return arrays | {"basis": found.basis, "scatter": found.scatter, "total": np.array(found.total)}
        return arrays

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Become fitted as the model was whose `state` this is.

        Parameters
        ----------
        state : mapping of str to ndarray
            What `state` returned.

        Returns
        -------
        StreamingPCA
            Itself.

        Raises
        ------
        ValueError
            If no model can have this state.
        """
        _require_state(state)
        n, mean, variance = int(state["n_samples_seen"]), state["mean"], state["explained_variance"]
        self._publish(n, mean, state["components"], variance, 0.0)
        self.explained_variance_ratio_ = state["explained_variance_ratio"]
        self.n_left_out_ = int(state["n_left_out"])
        self.solver_ = "randomised" if "basis" in state else "exact"
        if self.solver_ == "randomised":
            self.subspace_ = Subspace(n, mean, state["basis"], state["scatter"], float(state["total"]))
        return self

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], **parameters: Any) -> Self:
        """Make the model whose `state` this is.

        Parameters
        ----------
        state : mapping of str to ndarray
            What `state` returned.
        **parameters : object
            Parameters of the class; the state knows only n_components and whiten.

        Returns
        -------
        StreamingPCA
            The fitted model.
        """
        known = {"n_components": len(state["components"]), "whiten": bool(state["whiten"])}
        return cls(**(known | parameters)).restore(state)

    # ---- checks

    @property
    def could_learn_more(self) -> bool:
        """Whether there were too few rows for all components that were asked for."""
        wanted = min(self.n_components or 0, self.n_features_in_)
        return self.n_components_ < wanted

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _check_rows(self, X: Array, reset: bool) -> Array:
        if is_array_api_obj(X) and not is_numpy_array(X) and not reset:
            if X.ndim != 2 or X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has shape {tuple(X.shape)}; expected (n, {self.n_features_in_})")
            return X
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False)

    def _check_parameters(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, not {self.solver!r}")
        if self.n_components is not None and not (isinstance(self.n_components, Integral) and self.n_components >= 1):
            raise ValueError(f"n_components={self.n_components!r} must be None or a whole number of at least 1")
        if self.oversampling < 0 or self.n_passes < 1:
            raise ValueError(f"oversampling={self.oversampling!r} must be >= 0 and n_passes={self.n_passes!r} >= 1")

    def _check_size(self, passes: Passes, n_features: int) -> None:
        n = passes.n_rows or 0
        if n == 0:
            raise TooFewRowsError(f"no rows to fit: none of {passes.n_left_out} rows is finite")
        if n == 1:
            raise TooFewRowsError("one sample has no variance: n_samples=1, but at least 2 finite rows are needed")
        kept = self._n_kept(n, n_features)
        if self.n_components is not None and kept < self.n_components:
            left_out = f" ({passes.n_left_out} cannot be used)" if passes.n_left_out else ""
            warnings.warn(
                f"{n} rows to learn from{left_out}: {kept} components instead of {self.n_components}",
                stacklevel=2,
            )

    def _choose_solver(self, n_features: int) -> str:
        if self.n_components is None:
            return "exact"
        if self.solver != "auto":
            return self.solver
        few_columns = n_features <= DENSE_SIZE or (self._n_sought or 0) * DENSE_SHARE > n_features
        return "exact" if few_columns else "randomised"

    def _n_kept(self, n: int, n_features: int) -> int:
        """Centred rows have n - 1 directions at most; beyond them a component is arbitrary."""
        return min(n, n_features) if self._n_sought is None else min(self._n_sought, n - 1, n_features)

    @property
    def _n_sought(self) -> int | None:
        """Principal components that are looked for; None for all."""
        return self.n_components

    def _search(self) -> Search:
        assert self._n_sought is not None
        k = self._n_sought
        measured = k + (self.oversampling + 3) // 4
        return Search(k, measured, k + self.oversampling, self.n_passes, self.tol, self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _passes_of(blocks: Blocks) -> Passes:
    return BlockPasses(blocks) if isinstance(blocks, RowBlocks) else StreamPasses(RowStream(blocks))


def _n_features(blocks: Blocks) -> int:
    first = next(iter(blocks()), None)
    if first is None:
        raise ValueError("no rows to fit: there are no blocks")
    return first.shape[1]


def _require_state(state: Mapping[str, NDArray[Any]]) -> None:
    """A ValueError for arrays that do not fit together, or are not finite."""
    k, p = state["components"].shape if state["components"].ndim == 2 else (0, 0)
    shapes = {"components": (k, p), "mean": (p,), "explained_variance": (k,), "explained_variance_ratio": (k,)}
    shapes |= {"n_samples_seen": (), "n_left_out": ()}
    if "basis" in state:
        m = len(state["basis"])
        shapes |= {"basis": (m, p), "scatter": (m,), "total": ()}
    wrong = [name for name, shape in shapes.items() if state[name].shape != shape or state[name].dtype.kind not in "if"]
    if not k or not p or wrong:
        raise ValueError(
            f"not the state of principal components: {', '.join(wrong) or 'components'} has the wrong shape"
        )
    for name in shapes:
        if not np.isfinite(state[name]).all():
            raise ValueError(f"not the state of principal components: {name} is not finite")


def _signs(components: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k,) the sign of the largest loading of each component; 1 for a component of zeros."""
    largest = np.argmax(np.abs(components), axis=1)
    return np.where(components[np.arange(len(components)), largest] < 0, -1.0, 1.0)


def _like(X: Array, *values: NDArray[np.float64]) -> list[Array]:
    """These arrays in the library, the precision and the place of X."""
    xp = array_namespace(X)
    return [xp.asarray(value, dtype=X.dtype, device=device(X)) for value in values]
