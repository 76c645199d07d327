"""The paper's chain (bridge, median, min-max, components) on CUDA tensors through two Triton kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rarespec.features.bridging import least_good
from rarespec.features.pca import StreamingPCA
from rarespec.features.recipe import Recipe
from rarespec.features.rescaling import MinMax
from rarespec.features.running_median import MedianFilter
from rarespec.gpu.median_plan import TILE, MedianPlan, median_plan

Array = Any

ROWS_AT_ONCE = 1 << 17
"""Rows of which a bridged copy is held at a time: 1.9 GB for the paper's grid."""


@dataclass(frozen=True)
class Tiling:
    """How the feature kernel is cut; the default was the fastest of those tried on an H200."""

    rows: int = 64
    tiles: int = 8
    n_warps: int = 4
    n_stages: int = 1
    number: str = "bfloat16"
    """Of the two parts of every factor."""


class FusedFeatures:
    """What a fitted recipe gives, for float32 CUDA tensors."""

    def __init__(self, plan: MedianPlan, min_good: float, pca: StreamingPCA, tiling: Tiling) -> None:
        projection = np.ascontiguousarray(pca.to_flux(np.eye(pca.n_components_)).T)
        self.n_pixels, self.n_features = projection.shape
        self.most_bad = self.n_pixels - least_good(min_good, self.n_pixels)
        self.plan, self.tiling = plan, tiling
        self.first_slot = plan.reach
        self.n_slots = _multiple(2 * plan.reach + self.n_pixels + TILE * tiling.tiles, 32)
        self.n_columns = max(16, 1 << (self.n_features - 1).bit_length())
        self._numbers = (
            np.pad(projection, [(0, TILE * tiling.tiles), (0, self.n_columns - self.n_features)]),
            self._padded(projection.sum(axis=0)),
            self._padded(pca.mean_ @ projection),
        )
        self._on: dict[Any, tuple[Array, ...]] = {}

    @classmethod
    def of(cls, recipe: Recipe, tiling: Tiling | None = None) -> FusedFeatures | None:
        """None when the recipe is another chain, or its windows are too wide."""
        steps = recipe.steps_
        if [type(step) for step in steps] != [MedianFilter, MinMax, StreamingPCA]:
            return None
        plan = median_plan(steps[0].segments(recipe.n_features_in_))
        return None if plan is None else cls(plan, steps[0].min_good, steps[2], tiling or Tiling())

    def __call__(self, flux: Array) -> tuple[Array, Array]:
        """Features (n, k) float32 and, per row, the step that could not use it, (n,) int8, of flux (n, p) float32."""
        import torch

        n, flux = flux.shape[0], flux.contiguous()
        features = torch.empty((n, self.n_features), dtype=torch.float32, device=flux.device)
        lost_at = torch.empty(n, dtype=torch.int8, device=flux.device)
        copy = torch.empty((min(n, ROWS_AT_ONCE), self.n_slots), dtype=torch.float32, device=flux.device)
        for start in range(0, n, ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            n_bad = self.bridge(flux[part], copy)
            self.project(copy, n_bad, features[part], lost_at[part])
        return features, lost_at

    def bridge(self, flux: Array, copy: Array) -> Array:
        """Write the bridged rows into `copy`, (n or more, n_slots); the bad pixels of each row, (n,) int32."""
        import torch

        from rarespec.gpu.bridge_kernel import bridge_kernel

        n_bad = torch.empty(flux.shape[0], dtype=torch.int32, device=flux.device)
        bridge_kernel[(flux.shape[0],)](
            flux,
            copy,
            n_bad,
            self.n_pixels,
            self.n_slots,
            self.most_bad,
            n_pixels=self.n_pixels,
            FIRST=self.first_slot,
            SLOTS=self.n_slots,
            LANES=1 << (-(-self.n_slots // 32) - 1).bit_length(),
            num_warps=1,
        )
        return n_bad

    def project(self, copy: Array, n_bad: Array, features: Array, lost_at: Array) -> None:
        """Fill features (n, k) and lost_at (n,) from bridged rows."""
        from rarespec.gpu.feature_kernel import features_kernel

        tiling, n = self.tiling, features.shape[0]
        features_kernel[(-(-n // tiling.rows),)](
            copy,
            n_bad,
            *self._numbers_on(copy.device),
            features,
            lost_at,
            n,
            self.most_bad,
            FIRST=self.first_slot,
            SLOTS=self.n_slots,
            n_features=self.n_features,
            **self.plan.constants(),
            ROWS=tiling.rows,
            TILES=tiling.tiles,
            COLUMNS=self.n_columns,
            num_warps=tiling.n_warps,
            num_stages=tiling.n_stages,
        )

    def _numbers_on(self, device: Any) -> tuple[Array, ...]:
        """Weights in two parts, their sums and the offsets."""
        import torch

        if device not in self._on:
            number = getattr(torch, self.tiling.number)
            weights, *rest = (torch.asarray(values, dtype=torch.float32, device=device) for values in self._numbers)
            large = weights.to(number)
            self._on[device] = (large, (weights - large.to(torch.float32)).to(number), *rest)
            if torch.device(device).type == "cuda":
                torch.cuda.current_stream(device).synchronize()  # other streams will read them too
        return self._on[device]

    def _padded(self, values: Any) -> Any:
        return np.pad(values, (0, self.n_columns - len(values)))


def _multiple(number: int, of: int) -> int:
    return -(-number // of) * of
