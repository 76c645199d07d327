"""Flux to vectors: bridging, median filter, rescaling, principal components, line indices, and the recipe of these."""

from rarespec.features.bridging import Bridge, bridge
from rarespec.features.continuum import ContinuumNormalised
from rarespec.features.indices import LineIndices, measure
from rarespec.features.paper import PaperFeatures
from rarespec.features.pca import StreamingPCA
from rarespec.features.recipe import Recipe
from rarespec.features.rescaling import MinMax, RobustPercentiles, UnitNorm
from rarespec.features.running_median import MedianFilter, median_filter
from rarespec.features.side_by_side import SideBySide

__all__ = [
    "Bridge",
    "ContinuumNormalised",
    "LineIndices",
    "MedianFilter",
    "MinMax",
    "PaperFeatures",
    "Recipe",
    "RobustPercentiles",
    "SideBySide",
    "StreamingPCA",
    "UnitNorm",
    "bridge",
    "measure",
    "median_filter",
]
