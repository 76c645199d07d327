"""A recipe: an ordered chain of steps from flux to feature vectors, with a fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from rarespec.engines.here import compute_ahead
from rarespec.features.rows import Blocks, after, through
from rarespec.features.steps.step import FluxStep

# ---- Text that tells transformers apart: the same kind with the same parameters has the same, anything else
# another.


EDITION = 1
"""Raised when the same parameters begin to give other features; part of every fingerprint."""


def fingerprint_of(steps: list[Any]) -> str:
    """Return text that is the same for the same kinds of step with the same parameters, and different otherwise."""
    content = json.dumps([EDITION, [_describe(step) for step in steps]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


SAMPLED_BLOCKS = 40
"""Blocks from which a sample of raw rows is taken: reading all of a large survey for it would double the work."""
FIRST_HOMES = {
    "rarespec.features.indices.line_indices.": "rarespec.features.indices.",
    "rarespec.features.pca.components.": "rarespec.features.pca.",
    "rarespec.features.recipe.SideBySide": "rarespec.features.side_by_side.SideBySide",
    "rarespec.features.steps.": "rarespec.features.",
}
"""Where a class is now -> where it was when the first fingerprints were made. Features and models are kept under these
for years: a file that moves must not change them."""


def _name_of(kind: type) -> str:
    name = f"{kind.__module__}.{kind.__qualname__}"
    for now, first in FIRST_HOMES.items():
        if name.startswith(now):
            return first + name.removeprefix(now)
    return name


def _describe(step: Any) -> list[Any]:
    """A step may say itself which values decide about its features, when its parameters alone do not."""
    parameters = getattr(step, "deciding_values", lambda: step.get_params(deep=False))()
    return [_name_of(type(step)), {name: _to_json(value) for name, value in parameters.items()}]


def _to_json(value: Any) -> Any:
    """The value in JSON, without loss; 10 and 10.0 are the same."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, BaseEstimator):
        return _describe(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__qualname__, _to_json(asdict(value))]
    if isinstance(value, Mapping):
        return {str(name): _to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = np.ascontiguousarray(value).tobytes()
        return [value.dtype.str, list(value.shape), hashlib.sha256(content).hexdigest()]
    raise TypeError(f"cannot make a fingerprint of {value!r}: use numbers, text, arrays or transformers")


class Recipe(FluxStep):
    """A chain of steps from flux to feature vectors, each applied to what the one before gives.

    A row that a step cannot use comes out as NaN; `transform_and_locate` says where it was lost. Steps that learn from
    the data (`fit_blocks`) may be anywhere in the chain; the others treat each row by itself. Not to be confused with a
    scikit-learn Pipeline, which cannot learn from a stream of blocks.

    Parameters
    ----------
    steps : list
        Transformers, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import MedianFilter, MinMax, Recipe
    >>> recipe = Recipe([MedianFilter(width_pixels=3), MinMax()])
    >>> recipe.fit_transform(np.array([[1.0, 1.0, 9.0, 2.0, 3.0]]))
    array([[0. , 0. , 0.5, 1. , 1. ]])
    """

    def __init__(self, steps: list[Any]) -> None:
        self.steps = steps

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit every step on rows in memory.

        Parameters
        ----------
        X : array
            Flux, (n, pixels), NaN where a pixel is bad.
        y : None
            Ignored.

        Returns
        -------
        Recipe
            Itself.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.floating]:
        """Fit every step on rows in memory, and return their features; each step sees the rows once.

        Parameters
        ----------
        X : array
            Flux, (n, pixels), NaN where a pixel is bad.
        y : None
            Ignored.

        Returns
        -------
        ndarray
            Features, (n, features).
        """
        X = self._check_rows(X, reset=True)
        if self.n_sample:
            return self.fit_sample(spread_rows(X, self.n_sample)).transform(X)
        self.steps_: list[Any] = []
        for step in self._chain():
            learner = clone(step)
            X = learner.fit_transform(X)
            self.steps_.append(learner)
        return X

    def fit_blocks(self, blocks: Blocks) -> Self:
        """Fit every step on a stream of blocks; steps that learn pass over it one after the other.

        Parameters
        ----------
        blocks : callable
            `blocks()` gives a fresh iterator over blocks of rows, (n_i, pixels) each.

        Returns
        -------
        Recipe
            Itself.

        Raises
        ------
        ValueError
            If there are no blocks.
        TypeError
            If a step learns but has no `fit_blocks`.
        """
        if self.n_sample:
            return self.fit_sample(sample_blocks(blocks, self.n_sample))
        self.fit_preparation(first_block(blocks)[:1])
        return self.fit_prepared(through(self.steps_, blocks))

    def fit_preparation(self, X: NDArray[np.floating]) -> Self:
        """Fit the steps before the first that learns; they only look at what kind of rows these are.

        Parameters
        ----------
        X : ndarray
            Some rows, (n, pixels).

        Returns
        -------
        Recipe
            Itself.
        """
        self.n_features_in_ = X.shape[1]
        self.steps_ = []
        for step in self._chain()[: self._n_preparing]:
            self.steps_.append(fit_step(step, through(self.steps_, lambda: [X])))
        return self

    def fit_prepared(self, prepared: Blocks) -> Self:
        """Fit the steps from the first that learns.

        Parameters
        ----------
        prepared : callable
            `prepared()` gives a fresh iterator over blocks of rows that `prepare` has made.

        Returns
        -------
        Recipe
            Itself.
        """
        n_preparing = self._n_preparing
        for step in self._chain()[n_preparing:]:
            self.steps_.append(fit_step(step, through(self.steps_[n_preparing:], prepared)))
        return self

    @property
    def n_sample(self) -> int:
        """How many spectra, spread over all, the recipe learns from with `fit_sample`; 0 when it learns from all."""
        return 0

    def fit_sample(self, X: NDArray[np.floating]) -> Self:
        """Fit every step on `n_sample` rows that stand for all.

        Parameters
        ----------
        X : ndarray
            Flux, (n, pixels), NaN where a pixel is bad.

        Returns
        -------
        Recipe
            Itself.
        """
        self.fit_preparation(X[:1])
        return self.fit_prepared(through(self.steps_, lambda: [X]))

    def preparation(self) -> Self:
        """Return a copy that can `prepare` and has learned nothing: small enough to send to other machines."""
        copy = clone(self)
        copy.n_features_in_, copy.steps_ = self.n_features_in_, self.steps_[: self._n_preparing]
        return copy

    def _chain(self) -> list[Any]:
        return self.steps

    @property
    def _n_preparing(self) -> int:
        """How many steps come before the first that learns."""
        learns = [hasattr(step, "fit_blocks") for step in self._chain()]
        return learns.index(True) if True in learns else len(learns)

    @property
    def prepares_to_learn(self) -> bool:
        """Whether there are steps that learn, and steps before them."""
        return 0 < self._n_preparing < len(self._chain())

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Compute the features of these rows.

        Parameters
        ----------
        X : array
            Flux, (n, pixels), NaN where a pixel is bad.

        Returns
        -------
        ndarray
            Features, (n, features); NaN for a row that a step cannot use.
        """
        check_is_fitted(self, "steps_")
        return after(self.steps_, self._check_rows(X, reset=False))

    def transform_and_locate(self, X: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.int8]]:
        """Compute features, and say at which step each unusable row was lost.

        A row is lost where it becomes NaN as a whole. One that only misses some features is lost at the last step.

        Parameters
        ----------
        X : ndarray
            Flux, (n, pixels), NaN where a pixel is bad.

        Returns
        -------
        features : ndarray
            (n, features).
        lost_at : ndarray of int8
            (n,) number of the step, from 1, that could not use the row; 0 if all could.
        """
        check_is_fitted(self, "steps_")
        return self.finish(*self.prepare(X))

    def prepare(self, X: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.int8]]:
        """Take rows through the steps before the first that learns.

        Parameters
        ----------
        X : ndarray
            Flux, (n, pixels), NaN where a pixel is bad.

        Returns
        -------
        prepared : ndarray
            The rows after these steps.
        lost_at : ndarray of int8
            (n,) as in `transform_and_locate`.
        """
        return self._locate_failures(X, np.zeros(len(X), np.int8), 0, self._n_preparing)

    def finish(
        self, X: NDArray[np.floating], lost_at: NDArray[np.int8]
    ) -> tuple[NDArray[np.floating], NDArray[np.int8]]:
        """Take prepared rows through the other steps.

        Parameters
        ----------
        X : ndarray
            Rows that `prepare` has made.
        lost_at : ndarray of int8
            (n,) where they were lost, from `prepare`.

        Returns
        -------
        features : ndarray
            (n, features).
        lost_at : ndarray of int8
            (n,) as in `transform_and_locate`.
        """
        X, lost_at = self._locate_failures(X, lost_at, self._n_preparing, len(self.steps_))
        lost_at[(lost_at == 0) & ~np.isfinite(X).all(axis=1)] = len(self.steps_)
        return X, lost_at

    def _locate_failures(
        self, X: NDArray[np.floating], lost_at: NDArray[np.int8], start: int, stop: int
    ) -> tuple[NDArray[np.floating], NDArray[np.int8]]:
        lost_at = lost_at.copy()
        for number, step in enumerate(self.steps_[start:stop], start=start + 1):
            X = step.transform(X)
            lost_at[(lost_at == 0) & _empty_rows(X)] = number
        return X, lost_at

    @property
    def could_learn_more(self) -> bool:
        """Whether a step had fewer rows to learn from than it needs."""
        return any(getattr(step, "could_learn_more", False) for step in self.steps_)

    def why_lost(self, number: int) -> str:
        """Say in words why a step could not use a row.

        Parameters
        ----------
        number : int
            Number of the step, from 1, as in `transform_and_locate`.

        Returns
        -------
        str
            The step and its reason.
        """
        step = self.steps_[number - 1]
        return f"{type(step).__name__}: {getattr(step, 'why_unusable', 'gave no value')}"

    def to_flux(self, weights: NDArray[np.floating]) -> NDArray[np.floating]:
        """Turn a linear model's weights on the features into weights on the pixels.

        A score is then, up to a constant, the sum over pixels of this template times the filtered, rescaled flux.

        Parameters
        ----------
        weights : ndarray
            (features,) or (m, features).

        Returns
        -------
        ndarray
            (pixels,) or (m, pixels), for the pixels that the first of the last linear steps is given.

        Raises
        ------
        TypeError
            If the last step is not linear.
        """
        check_is_fitted(self, "steps_")
        last = self.steps_[-1]
        if not hasattr(last, "to_flux"):
            raise TypeError(f"cannot convert weights of {type(last).__name__} features to weights of pixels")
        for step in reversed(self.steps_):
            if not hasattr(step, "to_flux"):
                break
            weights = step.to_flux(weights)
        return weights

    @property
    def fingerprint(self) -> str:
        """Text that tells recipes apart: the same steps with the same parameters have the same."""
        return fingerprint_of(self._chain())

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, as a dictionary of arrays."""
        return {"n_features_in": np.array(self.n_features_in_)} | state_of(self.steps_)

    def restore(self, state: dict[str, NDArray[Any]]) -> Self:
        """Become fitted as the recipe was whose `state` this is.

        Parameters
        ----------
        state : dict of str to ndarray
            What `state` returned.

        Returns
        -------
        Recipe
            Itself.
        """
        self.n_features_in_ = int(state["n_features_in"])
        self.steps_ = []
        probe = np.zeros((1, self.n_features_in_), np.float32)
        for number, step in enumerate(self._chain()):
            self.steps_.append(restore_step(step, number, state, after(self.steps_, probe)))
        return self


def first_block(blocks: Blocks) -> NDArray[Any]:
    first = next(iter(blocks()), None)
    if first is None:
        raise ValueError("no rows to learn from: there are no blocks")
    return first


def spread_rows(X: NDArray[Any], n: int) -> NDArray[Any]:
    """n rows, evenly spread; all when there are no more."""
    return X if len(X) <= n else X[np.linspace(0, len(X) - 1, n).astype(int)]


def sample_survey(read: Callable[[int, int], NDArray[Any]], n_blocks: int, n: int, n_threads: int = 1) -> NDArray[Any]:
    """About n rows, spread over all; one row when n is 0. `read(i, m)` gives at most m rows, spread over block i."""
    numbers = spread_rows(np.arange(n_blocks), SAMPLED_BLOCKS if n else 1).tolist()
    each = max(n // len(numbers), 1)
    return np.concatenate(list(compute_ahead(lambda number: read(number, each), numbers, n_threads)))


def sample_blocks(blocks: Blocks, n: int) -> NDArray[Any]:
    """About n rows, evenly spread over a stream of which the length is not known."""
    kept: list[NDArray[Any]] = []
    every, n_kept, n_seen = 1, 0, 0
    for block in blocks():
        rows = block[-n_seen % every :: every]
        kept.append(rows.copy())
        n_kept, n_seen = n_kept + len(rows), n_seen + len(block)
        if n_kept >= 2 * n:
            kept = [np.concatenate(kept)[::2]]
            every, n_kept = 2 * every, len(kept[0])
    if not kept:
        raise ValueError("no rows to learn from: there are no blocks")
    return spread_rows(np.concatenate(kept), n)


def n_columns(blocks: Blocks) -> int:
    return first_block(blocks).shape[1]


def fit_step(step: Any, blocks: Blocks) -> Any:
    """Fit a copy of this step to the blocks; one that learns nothing looks at the first block only."""
    learner = clone(step)
    if hasattr(learner, "fit_blocks"):
        return learner.fit_blocks(blocks)
    if get_tags(learner).requires_fit:
        raise TypeError(
            f"{type(step).__name__} learns from data and cannot do so block by block: it needs fit_blocks(blocks), "
            "state() and restore(state). Rows in memory can be fitted with Recipe.fit"
        )
    return learner.fit(next(iter(blocks())))


def state_of(steps: Iterable[Any]) -> dict[str, NDArray[Any]]:
    """Return what these steps learned, each name after the number of its step."""
    learners = ((number, step) for number, step in enumerate(steps) if hasattr(step, "state"))
    return {f"{number}.{name}": value for number, step in learners for name, value in step.state().items()}


def restore_step(step: Any, number: int, state: dict[str, NDArray[Any]], probe: NDArray[np.floating]) -> Any:
    """Make a fitted copy of a step, as it was when `state_of` described it.

    Parameters
    ----------
    step : transformer
        With the same parameters as then; it stays as it is.
    number : int
        Place of the step among the steps, from 0.
    state : dict of str to ndarray
        What `state_of` returned, for all steps.
    probe : (1, p) array
        A row as the step is given it. A step that learned nothing is fitted to it, for its length alone.

    Returns
    -------
    transformer
        The copy.
    """
    own = {name.partition(".")[2]: value for name, value in state.items() if name.startswith(f"{number}.")}
    return clone(step).restore(own) if own else clone(step).fit(probe)


def _empty_rows(X: NDArray[np.floating]) -> NDArray[np.bool_]:
    """(n,) bool, True where a row is NaN as a whole; only rows that begin with NaN are looked at."""
    empty = np.isnan(X[:, :1]).all(axis=1)
    empty[empty] = np.isnan(X[empty]).all(axis=1)
    return empty


# ---- Features of several kinds in one vector, such as principal components beside line indices.


class SideBySide(FluxStep):
    """Transformers that are all given the same rows; their features stand next to each other.

    A row that one of them cannot use is NaN in the features of that one only, and counts as lost.

    Parameters
    ----------
    parts : list
        Transformers, in the order of their features.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import MinMax, SideBySide, UnitNorm
    >>> SideBySide([MinMax(), UnitNorm()]).fit_transform(np.array([[3.0, 4.0]]))
    array([[0. , 1. , 0.6, 0.8]])
    """

    why_unusable = "one of its parts could not use the row"

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit every part on rows in memory.

        Parameters
        ----------
        X : array
            Rows, (n, p), NaN where a pixel is bad.
        y : None
            Ignored.

        Returns
        -------
        SideBySide
            Itself.
        """
        X = self._check_rows(X, reset=True)
        self.parts_ = [clone(part).fit(X) for part in self.parts]
        return self

    def fit_blocks(self, blocks: Blocks) -> Self:
        """Fit every part on a stream of blocks.

        Parameters
        ----------
        blocks : callable
            `blocks()` gives a fresh iterator over blocks of rows, (n_i, p) each.

        Returns
        -------
        SideBySide
            Itself.
        """
        self.n_features_in_ = n_columns(blocks)
        self.parts_ = [fit_step(part, blocks) for part in self.parts]
        return self

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Compute the features of all parts.

        Parameters
        ----------
        X : array
            Rows, (n, p), NaN where a pixel is bad.

        Returns
        -------
        ndarray
            Features, (n, features of all parts).
        """
        check_is_fitted(self, "parts_")
        X = self._check_rows(X, reset=False)
        return np.hstack([part.transform(X) for part in self.parts_])

    @property
    def could_learn_more(self) -> bool:
        """Whether a part had fewer rows to learn from than it needs."""
        return any(getattr(part, "could_learn_more", False) for part in self.parts_)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, as a dictionary of arrays."""
        return {"n_features_in": np.array(self.n_features_in_)} | state_of(self.parts_)

    def restore(self, state: dict[str, NDArray[Any]]) -> Self:
        """Become fitted as the transformer was whose `state` this is.

        Parameters
        ----------
        state : dict of str to ndarray
            What `state` returned.

        Returns
        -------
        SideBySide
            Itself.
        """
        self.n_features_in_ = int(state["n_features_in"])
        probe = np.zeros((1, self.n_features_in_), np.float32)
        self.parts_ = [restore_step(part, number, state, probe) for number, part in enumerate(self.parts)]
        return self
