"""Features of a survey on a graphics card: blocks stream through its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.here import computed_ahead
from rarespec.features.recipe import Recipe
from rarespec.survey.survey import Survey

if TYPE_CHECKING:
    from rarespec.gpu.device_recipe import DeviceRecipe
    from rarespec.survey.feature_set import FeatureSet


def learned_on(on_device: DeviceRecipe, survey: Survey) -> Recipe:
    """The recipe, fitted to all spectra."""
    sizes = [record.rows for record in survey.manifest.blocks]
    return on_device.fit_blocks(lambda numbers: _flux(survey, numbers), sizes)


def compute_on(on_device: DeviceRecipe, features: FeatureSet, progress: Callable[[int, int], None] | None) -> None:
    """Write the files of the blocks that have none."""
    survey = features.survey
    missing = [i for i in range(survey.n_blocks) if not features.file(i).exists()]
    computed = on_device.transform_blocks(_flux(survey, missing))
    for n_done, (i, block) in enumerate(zip(missing, computed, strict=True), start=1):
        arrays: dict[str, NDArray[Any]] = block._asdict()
        features.keep(i, arrays)
        if progress:
            progress(survey.n_blocks - len(missing) + n_done, survey.n_blocks)


def _flux(survey: Survey, blocks: Iterable[int]) -> Iterator[NDArray[np.float32]]:
    return computed_ahead(survey.masked_flux, blocks)
