"""Flux to vectors: bridging, filters, rescaling, principal components, line indices, and the recipe of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.features.indices.line_indices import LineIndices as LineIndices
    from rarespec.features.indices.line_indices import measure as measure
    from rarespec.features.paper import PaperFeatures as PaperFeatures
    from rarespec.features.pca.components import StreamingPCA as StreamingPCA
    from rarespec.features.recipe import Recipe as Recipe
    from rarespec.features.recipe import SideBySide as SideBySide
    from rarespec.features.sky import SkyFeatures as SkyFeatures
    from rarespec.features.steps.bridging import Bridge as Bridge
    from rarespec.features.steps.bridging import bridge as bridge
    from rarespec.features.steps.continuum import ContinuumNormalised as ContinuumNormalised
    from rarespec.features.steps.rescaling import MinMax as MinMax
    from rarespec.features.steps.rescaling import RobustPercentiles as RobustPercentiles
    from rarespec.features.steps.rescaling import UnitNorm as UnitNorm
    from rarespec.features.steps.running_mean import MeanFilter as MeanFilter
    from rarespec.features.steps.running_median import MedianFilter as MedianFilter
    from rarespec.features.steps.running_median import median_filter as median_filter

# Storing spectra needs a little of this room, and none of scikit-learn, which the rest of it loads.
__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "Bridge": "steps.bridging",
        "ContinuumNormalised": "steps.continuum",
        "LineIndices": "indices.line_indices",
        "MeanFilter": "steps.running_mean",
        "MedianFilter": "steps.running_median",
        "MinMax": "steps.rescaling",
        "PaperFeatures": "paper",
        "Recipe": "recipe",
        "RobustPercentiles": "steps.rescaling",
        "SideBySide": "recipe",
        "SkyFeatures": "sky",
        "StreamingPCA": "pca.components",
        "UnitNorm": "steps.rescaling",
        "bridge": "steps.bridging",
        "measure": "indices.line_indices",
        "median_filter": "steps.running_median",
    },
)
