"""A recipe whose work is done on a GPU, for blocks of NumPy rows: it learns there, and gives features from there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from sklearn.base import clone

from rarespec.features.pca.components import StreamingPCA
from rarespec.features.pca.solvers import find_subspace
from rarespec.features.recipe import Recipe, sample_survey, spread_rows
from rarespec.features.steps.bridging import Bridge
from rarespec.features.steps.rescaling import MinMax, RobustPercentiles, UnitNorm
from rarespec.features.steps.running_mean import MeanFilter
from rarespec.features.steps.running_median import MedianFilter
from rarespec.gpu.device import NoGPUWarning, has_triton, usable_device
from rarespec.gpu.device_passes import ArrayBlocks, DevicePasses
from rarespec.gpu.filled_stream import Batch, Fill, fill_through_device
from rarespec.gpu.fused_features import FusedFeatures
from rarespec.gpu.pinned_stream import through_device
from rarespec.rankers.other_arrays import as_numpy
from rarespec.storage.processes import available_cores

Array = Any
ReadBlocks = Callable[[Sequence[int]], Iterable[NDArray[Any]]]
"""Gives the blocks of these numbers, (n_i, p) each, in their order."""

ON_ANY_ARRAY = (Bridge, MeanFilter, MedianFilter, MinMax, UnitNorm, RobustPercentiles, StreamingPCA)
"""Steps that take arrays of other libraries."""
KEPT_ON_CPU = 1e9
"""Bytes, where the device is the CPU."""
SHARE_OF_MEMORY = 0.6
"""Of what is free on the device, for filtered rows that are kept while the components are learned."""


class BlockFeatures(NamedTuple):
    """Features of a block of n rows.

    Attributes
    ----------
    values : (n, k) float32
        The features.
    lost_at : (n,) int8
        Number of the step that could not use a row; 0 if all could.
    n_bad : (n,) int32
        NaN pixels of the row.
    """

    values: NDArray[np.float32]
    lost_at: NDArray[np.int8]
    n_bad: NDArray[np.int32]


def recipe_on(asked: str | None, recipe: Recipe) -> DeviceRecipe | None:
    """Put a recipe on a device.

    Parameters
    ----------
    asked : str or None
        "cpu", "cuda", "cuda:1" and so on; None is the CPU.
    recipe : Recipe
        The recipe.

    Returns
    -------
    DeviceRecipe or None
        None where the CPU does the work. A NoGPUWarning says why when a GPU was asked for.

    Examples
    --------
    >>> from rarespec.features import PaperFeatures
    >>> from rarespec.gpu import recipe_on
    >>> recipe_on("cpu", PaperFeatures()) is None
    True
    """
    device = usable_device(asked)
    if device is None:
        return None
    others = [type(step).__name__ for step in recipe._chain() if not isinstance(step, ON_ANY_ARRAY)]
    if others:
        names = ", ".join(others)
        warnings.warn(f"{names} cannot run on a GPU; the CPU computes these features", NoGPUWarning, stacklevel=2)
        return None
    return DeviceRecipe(recipe, device)


class DeviceRecipe:
    """The work of one recipe on one device.

    The recipe itself learns: after `fit_blocks` it is fitted, and can be kept or used anywhere.

    Parameters
    ----------
    recipe : Recipe
        The recipe.
    device : str
        A name of torch's; "cpu" will do, for comparison.

    Examples
    --------
    >>> from rarespec.features import PaperFeatures
    >>> from rarespec.gpu import DeviceRecipe
    >>> DeviceRecipe(PaperFeatures(), "cuda").device
    'cuda'
    """

    def __init__(self, recipe: Recipe, device: str) -> None:
        self.recipe, self.device = recipe, device
        self._fused: FusedFeatures | None = None
        self._fused_for: Any = None

    def fit_blocks(self, read: ReadBlocks, sizes: Sequence[int]) -> Recipe:
        """Learn from blocks of flux; those that fit on the device are read once.

        Parameters
        ----------
        read : callable
            `read(numbers)` gives the blocks with these numbers, (n_i, p) NumPy arrays, in their order.
        sizes : sequence of int
            Rows of each block.

        Returns
        -------
        Recipe
            The recipe, fitted.

        Raises
        ------
        ValueError
            If there are no blocks.
        """
        if not sizes:
            raise ValueError("no rows to learn from: there are no blocks")
        n_threads = available_cores() if self.recipe.n_sample else 1

        def read_some(i: int, n: int) -> NDArray[Any]:
            return spread_rows(next(iter(read([i]))), n)

        sample = sample_survey(read_some, len(sizes), self.recipe.n_sample, n_threads)
        if self.recipe.n_sample:
            return self.recipe.fit_sample(sample)
        self.recipe.fit_preparation(sample)
        for step in self.recipe._chain()[len(self.recipe.steps_) :]:
            prepared = _Kept(self.device, read, sizes, list(self.recipe.steps_))
            self.recipe.steps_.append(_fit(clone(step), prepared))
        return self.recipe

    def transform_and_locate(self, X: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Compute features, and say at which step each unusable row was lost, as `Recipe.transform_and_locate`.

        Parameters
        ----------
        X : ndarray
            Flux, (n, p), NaN where a pixel is bad.

        Returns
        -------
        features : (n, k) float32
            The features.
        lost_at : (n,) int8
            Number of the step, from 1, that could not use the row; 0 if all could.
        """
        (block,) = self.transform_blocks([X])
        return block.values, block.lost_at

    def transform_blocks(
        self, blocks: Iterable[NDArray[Any]], to_flux: Callable[[Array], Array] | None = None
    ) -> Iterator[BlockFeatures]:
        """Yield the features of blocks of flux, one after the other; copies to the device overlap with the work.

        Parameters
        ----------
        blocks : iterable of ndarray
            Flux, (n_i, p) each, or what `to_flux` makes flux of.
        to_flux : callable, optional
            Turns a block on the device into flux there.

        Yields
        ------
        BlockFeatures
            One for each block.
        """
        work = partial(self._block_features, to_flux)
        return (BlockFeatures(*arrays) for arrays in through_device(blocks, work, self.device))

    def transform_filled(
        self,
        batches: Iterable[Batch],
        row: NDArray[Any],
        fill: Fill,
        to_flux: Callable[[Array], Array],
        n_threads: int,
    ) -> Iterator[BlockFeatures]:
        """Yield the features of batches of rows that threads write, one after the other.

        Parameters
        ----------
        batches : iterable of sequences of Part
            What each batch is made of.
        row : array
            Any row, for its length and type.
        fill : callable
            Writes the rows of a part into an array.
        to_flux : callable
            Turns rows on the device into flux there.
        n_threads : int
            How many threads write.

        Yields
        ------
        BlockFeatures
            One for each batch.
        """
        work = partial(self._block_features, to_flux)
        found = fill_through_device(batches, row, fill, work, self.device, n_threads)
        return (BlockFeatures(*arrays) for arrays in found)

    def _block_features(self, to_flux: Callable[[Array], Array] | None, rows: Array) -> tuple[Array, Array, Array]:
        flux = rows if to_flux is None else to_flux(rows)
        xp = array_namespace(flux)
        return *self.features_of(flux), xp.sum(xp.isnan(flux), axis=1, dtype=xp.int32)

    def features_of(self, flux: Array) -> tuple[Array, Array]:
        """Compute the features of flux that is on the device.

        Parameters
        ----------
        flux : torch tensor
            (n, p), NaN where a pixel is bad.

        Returns
        -------
        features : (n, k) float32
            On the device.
        lost_at : (n,) int8
            Number of the step, from 1, that could not use the row; 0 if all could.
        """
        xp = array_namespace(flux)
        fused = self._fuse_if_fitted() if str(device(flux)).startswith("cuda") else None
        if fused is not None and flux.dtype == xp.float32:
            return fused(flux)
        values, lost_at = _locate_failures(self.recipe.steps_, flux)
        return xp.astype(values, xp.float32), lost_at

    def _fuse_if_fitted(self) -> FusedFeatures | None:
        if has_triton() and self._fused_for is not self.recipe.steps_:
            self._fused, self._fused_for = FusedFeatures.of(self.recipe), self.recipe.steps_
        return self._fused


def _locate_failures(steps: list[Any], X: Array) -> tuple[Array, Array]:
    """Rows after the steps, and the number of the step that could not use them."""
    xp = array_namespace(X)
    lost_at = xp.zeros(X.shape[0], dtype=xp.int8, device=device(X))
    for number, step in enumerate(steps, start=1):
        X = step.transform(X)
        empty = xp.all(xp.isnan(X), axis=1) if number < len(steps) else ~xp.all(xp.isfinite(X), axis=1)
        lost_at = xp.where((lost_at == 0) & empty, xp.full_like(lost_at, number), lost_at)
    return X, lost_at


def _fit(pca: StreamingPCA, prepared: _Kept) -> StreamingPCA:
    """By the solver that the CPU would take; the exact one is left to it."""
    if pca._choose_solver(next(prepared()).shape[1]) == "exact":
        return pca.fit_blocks(lambda: (as_numpy(rows) for rows in prepared()))
    return fit_components(pca, prepared, prepared.sizes)


def fit_components(pca: StreamingPCA, blocks: ArrayBlocks, sizes: Sequence[int]) -> StreamingPCA:
    """Learn components by the randomised solver, with products made where the blocks are.

    Parameters
    ----------
    pca : StreamingPCA
        The step that learns.
    blocks : callable
        Gives a fresh iterator over blocks of rows, of any array library.
    sizes : sequence of int
        Rows of each block.

    Returns
    -------
    StreamingPCA
        The step, fitted.
    """
    passes = DevicePasses(blocks, sizes)
    pca._check_parameters()
    found = find_subspace(passes, pca._search())
    pca._check_size(passes, 0 if found is None else len(found.mean))
    assert found is not None
    pca._publish_subspace(found)
    pca.solver_, pca.n_left_out_ = "randomised", passes.n_left_out
    return pca


class _Kept:
    """Blocks after some steps, on the device: as many as fit there are kept, the others are made again each time."""

    def __init__(self, device: str, read: ReadBlocks, sizes: Sequence[int], steps: list[Any]) -> None:
        self.sizes = sizes
        self._device, self._read, self._steps = device, read, steps
        self._kept: dict[int, Array] = {}
        self._room = _free_memory(device) * SHARE_OF_MEMORY

    def __call__(self) -> Iterator[Array]:
        missing = [number for number in range(len(self.sizes)) if number not in self._kept]
        read = iter(self._read(missing))
        for number in range(len(self.sizes)):
            yield self._kept[number] if number in self._kept else self._prepare(number, next(read))

    def _prepare(self, number: int, block: NDArray[Any]) -> Array:
        import torch

        rows = torch.as_tensor(block, device=self._device)
        for step in self._steps:
            rows = step.transform(rows)
        if rows.nbytes <= self._room:
            self._kept[number] = rows
            self._room -= rows.nbytes
        return rows


def _free_memory(device: str) -> float:
    import torch

    return float(torch.cuda.mem_get_info(device)[0]) if torch.device(device).type == "cuda" else KEPT_ON_CPU
