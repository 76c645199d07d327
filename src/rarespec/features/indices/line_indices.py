"""Line and band indices: equivalent widths and band ratios of many spectra at once, with errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarespec.features.indices.definitions import IndexDefinition, load_definitions
from rarespec.features.indices.measuring import Array, Strip, light_in, strip_of, value_and_error
from rarespec.features.steps.step import FluxStep
from rarespec.spectrum import PAPER_GRID, WavelengthGrid

__all__ = ["IndexDefinition", "LineIndices", "Measured", "find_covered", "load_definitions", "measure"]

Definitions = Sequence[IndexDefinition] | str | os.PathLike[str] | None
ROWS_AT_ONCE = 512
"""Spectra measured together, so that the pixels of one index stay in the cache."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Indices of n spectra.

    Attributes
    ----------
    values : array
        (n, m), NaN where an index could not be measured.
    errors : array
        (n, m) standard errors, NaN where they are not known.
    names : list of str
        The m names.
    """

    values: Array
    errors: Array
    names: list[str]


def measure(
    flux: Array, ivar: Array | None, grid: WavelengthGrid, definitions: Definitions = None, z: Array | None = None
) -> Measured:
    """Measure line and band indices of all spectra, with errors.

    Widths are in rest-frame Angstrom: a spectrum and its redshifted self have the same. A value is NaN where good
    pixels cover less than 80 % of one of its windows, where the continuum is not positive, or where z is no redshift.
    Errors are those of independent pixels; without ivar they are NaN.

    Parameters
    ----------
    flux : array
        Spectra, (n, p) float32 or float64, NaN where bad; NumPy or any array of the array API standard.
    ivar : array or None
        Inverse variance, (n, p). It does not change the values; a pixel without weight has no error to give.
    grid : WavelengthGrid
        Vacuum wavelengths of the p pixels.
    definitions : list of IndexDefinition or path, optional
        The indices, or a TOML file of them. By default the built-in ones.
    z : array, optional
        Redshifts, (n,); windows move with 1 + z. By default the spectra are at rest.

    Returns
    -------
    Measured
        Values and errors, (n, m) each, in the precision of flux, and the m names.

    Raises
    ------
    ValueError
        If a shape does not match the grid or the flux.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import measure
    >>> from rarespec.spectrum import PAPER_GRID
    >>> found = measure(np.ones((1, 3601)), None, PAPER_GRID)
    >>> width = found.values[0, found.names.index("Halpha")]
    >>> bool(abs(width) < 1e-9)  # no line, no width
    True
    """
    flux, ivar, z = (x if x is None or is_array_api_obj(x) else np.asarray(x) for x in (flux, ivar, z))
    xp = array_namespace(flux)
    chosen = _choose_definitions(definitions)
    _refuse_other_shapes(flux, ivar, grid, z)
    dtype = flux.dtype if flux.dtype in (xp.float32, xp.float64) else xp.float64
    values, errors = _in_blocks(flux, ivar, grid, chosen, z, xp)
    return Measured(xp.astype(values, dtype), xp.astype(errors, dtype), [definition.name for definition in chosen])


def find_covered(grid: WavelengthGrid, definitions: Definitions = None) -> list[IndexDefinition]:
    """Those definitions of which every window lies on the grid, for spectra at rest."""
    low, high = float(grid.edges[0]), float(grid.edges[-1])
    return [index for index in _choose_definitions(definitions) if low <= index.reach[0] and index.reach[1] <= high]


def _choose_definitions(definitions: Definitions) -> list[IndexDefinition]:
    if definitions is None or isinstance(definitions, str | os.PathLike):
        return load_definitions(definitions)
    return list(definitions)


def _refuse_other_shapes(flux: Array, ivar: Array | None, grid: WavelengthGrid, z: Array | None) -> None:
    if flux.ndim != 2 or flux.shape[1] != grid.n_pixels:
        raise ValueError(f"flux of shape {tuple(flux.shape)} on a grid of {grid.n_pixels} pixels")
    if ivar is not None and tuple(ivar.shape) != tuple(flux.shape):
        raise ValueError(f"ivar of shape {tuple(ivar.shape)} for flux of shape {tuple(flux.shape)}")
    if z is not None and tuple(z.shape) != (flux.shape[0],):
        raise ValueError(f"z of shape {tuple(z.shape)} for {flux.shape[0]} spectra")


def _in_blocks(
    flux: Array, ivar: Array | None, grid: WavelengthGrid, chosen: list[IndexDefinition], z: Array | None, xp: Any
) -> tuple[Array, Array]:
    """Values and errors (n, m) float64, a block of rows at a time."""
    z = z if flux.shape[0] else None
    at_rest = None if z is not None else _strips(chosen, grid, _stretch(None, flux, xp)[0], xp)
    values, errors = [], []
    for start in range(0, max(flux.shape[0], 1), ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, flux.shape[0]))
        stretch, known = _stretch(None if z is None else z[rows], flux, xp)
        strips = at_rest if at_rest is not None else _strips(chosen, grid, stretch, xp)
        value, error = _block(flux[rows, :], None if ivar is None else ivar[rows, :], chosen, strips, xp)
        nothing = xp.full_like(value, xp.nan)
        values.append(xp.where(known, value, nothing))
        errors.append(xp.where(known, error, nothing))
    return xp.concat(values, axis=0), xp.concat(errors, axis=0)


def _strips(chosen: list[IndexDefinition], grid: WavelengthGrid, stretch: Array, xp: Any) -> list[Strip]:
    return [strip_of(definition.windows, grid, stretch, xp) for definition in chosen]


def _stretch(z: Array | None, flux: Array, xp: Any) -> tuple[Array, Array]:
    """1 + z, (rows, 1) float64, and where it is known; 1 where z is no redshift."""
    if z is None:
        one = xp.ones((1, 1), dtype=xp.float64, device=device(flux))
        return one, one > 0
    stretch = 1.0 + xp.asarray(z, dtype=xp.float64, device=device(flux))[:, None]
    known = xp.isfinite(stretch) & (stretch > 0)
    return xp.where(known, stretch, xp.ones_like(stretch)), known


def _block(
    flux: Array, ivar: Array | None, chosen: list[IndexDefinition], strips: list[Strip], xp: Any
) -> tuple[Array, Array]:
    columns = [
        value_and_error(definition, strip, light_in(strip, flux, ivar, xp), xp)
        for definition, strip in zip(chosen, strips, strict=True)
    ]
    if not columns:
        empty = xp.zeros((flux.shape[0], 0), dtype=xp.float64, device=device(flux))
        return empty, empty
    return xp.concat([value for value, _ in columns], axis=1), xp.concat([error for _, error in columns], axis=1)


class LineIndices(FluxStep):
    """Line and band indices as features, for spectra at rest.

    Not to be confused with `measure`, which also gives errors and follows redshifts.

    Parameters
    ----------
    grid : WavelengthGrid, optional
        Wavelengths of the spectra. By default the paper's grid, of 3601 pixels.
    definitions : list of IndexDefinition or path, optional
        The indices, or a TOML file of them. By default the built-in ones that lie on the grid.
    missing : {"nan", "median"}, optional
        "nan" leaves NaN where an index could not be measured, and needs no fit. "median" puts the median of the fitted
        spectra there, except in rows without any index, which stay NaN.

    Attributes
    ----------
    n_missing_ : ndarray of int
        (m,) how often each index was missing in the fitted spectra.
    medians_ : ndarray
        (m,) medians of the fitted spectra.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.features import LineIndices
    >>> indices = LineIndices()
    >>> X = indices.fit_transform(np.ones((2, 3601)))
    >>> X.shape == (2, len(indices.get_feature_names_out()))
    True
    """

    why_unusable = "an index could not be measured; missing='median' fills it in"

    def __init__(
        self,
        grid: WavelengthGrid | None = None,
        definitions: Definitions = None,
        missing: Literal["nan", "median"] = "nan",
    ) -> None:
        self.grid = grid
        self.definitions = definitions
        self.missing = missing

    def fit(self, X: NDArray[np.floating], y: object = None) -> LineIndices:
        """Learn medians and count missing indices.

        Parameters
        ----------
        X : array
            Spectra, (n, p), NaN where bad.
        y : None
            Ignored.

        Returns
        -------
        LineIndices
            Itself.
        """
        X = self._check_rows(X, reset=True)
        return self.fit_blocks(lambda: [X])

    def fit_blocks(self, blocks: Callable[[], Iterable[NDArray[np.floating]]]) -> LineIndices:
        """Learn from a stream of blocks; the median is then the median of the blocks' medians.

        Parameters
        ----------
        blocks : callable
            `blocks()` gives a fresh iterator over blocks of spectra, (n_i, p) each.

        Returns
        -------
        LineIndices
            Itself.

        Raises
        ------
        ValueError
            If `missing` is unknown.
        """
        if self.missing not in ("nan", "median"):
            raise ValueError(f"missing must be 'nan' or 'median', not {self.missing!r}")
        medians, n_missing = [], []
        for X in blocks():
            self.n_features_in_ = X.shape[1]
            values = self._measure(X)
            medians.append(_medians(values))
            n_missing.append(np.isnan(values).sum(axis=0))
        self.n_missing_ = np.sum(n_missing, axis=0)
        self.medians_ = _medians(np.array(medians))
        return self

    def deciding_values(self) -> dict[str, Any]:
        """Return what features depend on: the definitions themselves, not the name of the file they are in."""
        definitions = None if self.definitions is None else list(_choose_definitions(self.definitions))
        return {"grid": self.grid, "definitions": definitions, "missing": self.missing}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, as a dictionary of arrays."""
        n_pixels = np.array(self.n_features_in_)
        return {"medians": self.medians_, "n_missing": self.n_missing_, "n_features_in": n_pixels}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> LineIndices:
        """Become fitted as the indices were whose `state` this is.

        Parameters
        ----------
        state : mapping of str to ndarray
            What `state` returned.

        Returns
        -------
        LineIndices
            Itself.
        """
        self.medians_, self.n_missing_ = state["medians"], state["n_missing"]
        self.n_features_in_ = int(state["n_features_in"])
        return self

    def transform(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Measure the indices of these spectra.

        Parameters
        ----------
        X : array
            Spectra, (n, p), NaN where bad.

        Returns
        -------
        ndarray
            Indices, (n, m), in the precision of X.
        """
        if self.missing == "median":
            check_is_fitted(self, "medians_")
        values = self._measure(self._check_rows(X, reset=False))
        if self.missing == "median":
            absent = np.isnan(values) & ~np.isnan(values).all(axis=1, keepdims=True)
            values = np.where(absent, self.medians_.astype(values.dtype), values)
        return values

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the indices.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of object
            Names, (m,).
        """
        if self.missing == "median":
            check_is_fitted(self, "medians_")
        n_pixels = getattr(self, "n_features_in_", PAPER_GRID.n_pixels if self.grid is None else self.grid.n_pixels)
        return np.array([definition.name for definition in self._definitions(self._grid_of(n_pixels))], dtype=object)

    def _measure(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        grid = self._grid_of(X.shape[1])
        return measure(X, None, grid, self._definitions(grid)).values

    def _grid_of(self, n_pixels: int) -> WavelengthGrid:
        grid = PAPER_GRID if self.grid is None else self.grid
        if n_pixels != grid.n_pixels:
            which = "the paper's grid, as none was given," if self.grid is None else f"the grid {grid}"
            raise ValueError(f"spectra of {n_pixels} pixels, but {which} has {grid.n_pixels}")
        return grid

    def _definitions(self, grid: WavelengthGrid) -> list[IndexDefinition]:
        return find_covered(grid) if self.definitions is None else _choose_definitions(self.definitions)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = self.missing == "median"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _medians(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """(m,) medians of the columns of (n, m) values, NaN left out; NaN for a column of nothing else."""
    some = ~np.isnan(values).all(axis=0)
    medians = np.full(values.shape[1], np.nan)
    medians[some] = np.nanmedian(values[:, some], axis=0)
    return medians
