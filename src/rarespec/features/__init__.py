"""Flux to vectors: bridging, filters, rescaling, principal components, line indices, and the recipe of these."""

from rarespec.features.indices.line_indices import LineIndices, measure
from rarespec.features.paper import PaperFeatures
from rarespec.features.pca.components import StreamingPCA
from rarespec.features.recipe import Recipe, SideBySide
from rarespec.features.sky import SkyFeatures
from rarespec.features.steps.bridging import Bridge, bridge
from rarespec.features.steps.continuum import ContinuumNormalised
from rarespec.features.steps.rescaling import MinMax, RobustPercentiles, UnitNorm
from rarespec.features.steps.running_mean import MeanFilter
from rarespec.features.steps.running_median import MedianFilter, median_filter

__all__ = [
    "Bridge",
    "ContinuumNormalised",
    "LineIndices",
    "MeanFilter",
    "MedianFilter",
    "MinMax",
    "PaperFeatures",
    "Recipe",
    "RobustPercentiles",
    "SideBySide",
    "SkyFeatures",
    "StreamingPCA",
    "UnitNorm",
    "bridge",
    "measure",
    "median_filter",
]
