"""SkyFeatures learned on a GPU: it finds the components, while the CPU changes spectra as dust and motion would.

The steps are those of `SkyFeatures.fit_sample`, from the same random numbers.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rarespec.features.pca.passes import StreamPasses
from rarespec.features.pca.sky_components import SkyComponents
from rarespec.features.recipe import spread_rows
from rarespec.features.rows import Rows, RowStream
from rarespec.features.sky import SkyFeatures
from rarespec.gpu.device import on_device
from rarespec.gpu.device_passes import DevicePasses, fit_by
from rarespec.rankers.other_arrays import as_numpy
from rarespec.spectrum import PAPER_GRID

Tensor = Any


@dataclass(frozen=True, eq=False)
class SkySample:
    """Spectra to learn from, some of which are being changed."""

    recipe: SkyFeatures
    flux: NDArray[np.float32]
    """(n, pixels), NaN where a pixel is bad."""
    some: NDArray[np.intp]
    """Rows that are changed."""
    changed: Future[NDArray[np.floating]]
    """These rows as they might look otherwise."""


def begin_sky(recipe: SkyFeatures, flux: NDArray[np.float32]) -> SkySample:
    """Begin to change spectra, in a thread; no device is needed for that.

    Parameters
    ----------
    recipe : SkyFeatures
        The recipe, not fitted.
    flux : (n, pixels) float32
        `n_sample` spectra of the survey, NaN where a pixel is bad.

    Returns
    -------
    SkySample
        The spectra.
    """
    some, rng = spread_rows(np.arange(len(flux)), recipe.n_changed), np.random.default_rng(recipe.random_state)
    nuisance = recipe._chain()[-1].nuisance
    with_one_thread = ThreadPoolExecutor(1)
    changed = with_one_thread.submit(nuisance.change, flux[some], recipe.grid or PAPER_GRID, rng)
    with_one_thread.shutdown(wait=False)  # it ends when the work is done
    return SkySample(recipe, flux, some, changed)


def learn_sky(sample: SkySample, device: str) -> SkyFeatures:
    """Fit the recipe of a sample, with the components found on a device.

    Parameters
    ----------
    sample : SkySample
        What `begin_sky` gave.
    device : str
        A name of torch's; "cpu" will do, for comparison.

    Returns
    -------
    SkyFeatures
        The recipe, fitted.
    """
    recipe = sample.recipe
    recipe.fit_preparation(sample.flux[:1])
    prepared = _prepare(recipe, sample.flux, device)
    components = _fit(clone(recipe._chain()[-1]), spread_rows(prepared, recipe.n_learned), device)
    after = _prepare(recipe, sample.changed.result(), device)
    recipe.steps_.append(components.measure_changes(prepared[sample.some], after))
    return recipe


def _prepare(recipe: SkyFeatures, flux: NDArray[np.floating], device: str) -> NDArray[np.floating]:
    """As `Recipe.prepare`, on the device."""
    rows = on_device(flux, device)
    for step in recipe.steps_:
        rows = step.transform(rows)
    return as_numpy(rows)


def _fit(pca: SkyComponents, rows: NDArray[np.floating], device: str) -> SkyComponents:
    """By the solver that the CPU would take; the exact one is left to it."""
    if pca._choose_solver(rows.shape[1]) == "exact":
        return pca.fit(rows)
    fit_by(pca, _SamplePasses(rows, device))
    return pca


class _SamplePasses(DevicePasses):
    """Passes of rows in memory, whose first is that of the CPU: what is drawn in it decides where the search starts.

    Products are made in float64, in which all rows can be added up at once.
    """

    def __init__(self, rows: NDArray[np.floating], device: str) -> None:
        import torch

        there = on_device(rows, device).to(torch.float64)
        super().__init__(lambda: [there], [len(rows)])
        self._here = rows

    def mean_and_sample(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], Rows] | None:
        first = StreamPasses(RowStream(lambda: [self._here]))
        found = first.mean_and_sample(rng)
        self.n_rows = first.n_rows
        return found
