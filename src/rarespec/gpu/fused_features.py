"""The paper's chain (bridge, median, min-max, components) on CUDA tensors through two Triton kernels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rarespec.features.pca.components import StreamingPCA
from rarespec.features.recipe import Recipe
from rarespec.features.steps.bridging import least_good
from rarespec.features.steps.median_network import Network, Value, running_median
from rarespec.features.steps.rescaling import MinMax
from rarespec.features.steps.running_median import MedianFilter, Segment

# ---- What the feature kernel has to know of the median filter: the networks of its segments, as flat tuples.


TILE = 4
"""Pixels whose medians one thread finds together; 16 bytes, which it reads at once."""
WIDEST = 17
"""Pixels. The windows of a tile have to fit into registers."""

Step = tuple[int, int, int]
"""Whether the maximum is taken, and of which two values."""


@dataclass(frozen=True)
class SegmentPlan:
    """How the medians of a tile come from the pixels around it.

    Values are numbered: first the pixels of n_quads quads, of which the first lies first_quad quads from the tile,
    then what each step gives. `medians` says which values the four medians are.
    """

    segment: Segment
    first_quad: int
    n_quads: int
    steps: tuple[Step, ...]
    medians: tuple[int, ...]


@dataclass(frozen=True)
class MedianPlan:
    """Of all segments of a row."""

    segments: tuple[SegmentPlan, ...]

    @property
    def reach(self) -> int:
        """Pixels before and behind a tile that are read, a multiple of four."""
        return TILE * max(max(-s.first_quad, s.first_quad + s.n_quads) for s in self.segments)

    def constants(self) -> dict[str, tuple[int, ...]]:
        """Return the plan as flat tuples, which is all that the kernel can read."""
        return {
            "STARTS": tuple(s.segment.start for s in self.segments),
            "STOPS": tuple(s.segment.stop for s in self.segments),
            "FIRST_QUADS": tuple(s.first_quad for s in self.segments),
            "N_QUADS": tuple(s.n_quads for s in self.segments),
            "STEPS": tuple(number for s in self.segments for step in s.steps for number in step),
            "FIRST_STEPS": _running_sums(len(s.steps) for s in self.segments),
            "MEDIANS": tuple(number for s in self.segments for number in s.medians),
        }


@lru_cache(maxsize=16)
def median_plan(segments: tuple[Segment, ...]) -> MedianPlan | None:
    """Plan the medians of a row for the kernel; None when a window is too wide."""
    if max(segment.width for segment in segments) > WIDEST:
        return None
    return MedianPlan(tuple(_segment_plan(segment) for segment in segments))


def _segment_plan(segment: Segment) -> SegmentPlan:
    reach = segment.width // 2
    first_quad = -reach // TILE
    n_quads = (TILE - 1 + reach) // TILE - first_quad + 1
    plans = [_steps(segment.width, m, -reach - TILE * first_quad, TILE * n_quads) for m in (1, 2, 4)]
    steps, medians = min((plan for plan in plans if plan), key=lambda plan: len(plan[0]))
    return SegmentPlan(segment, first_quad, n_quads, steps, medians)


def _steps(width: int, n_phases: int, skipped: int, n_pixels: int) -> tuple[tuple[Step, ...], tuple[int, ...]] | None:
    """Of a tile, from the network for n_phases pixels, used again for the others; None when there is no such network.

    skipped : pixels of the quads before the first window
    """
    if width - n_phases + 1 < n_phases:
        return None
    network, medians = running_median(width, n_phases)
    writer = _Writer(network, skipped, n_pixels)
    shifts = range(TILE // n_phases)
    found = [writer.number(Value(median.node, median.shift + shift)) for shift in shifts for median in medians]
    return tuple(writer.steps), tuple(found)


class _Writer:
    """Numbers values, and writes a step for each that is not a pixel, once."""

    def __init__(self, network: Network, skipped: int, n_pixels: int) -> None:
        self._network, self._skipped, self._n_pixels = network, skipped, n_pixels
        self._numbers: dict[Value, int] = {}
        self.steps: list[Step] = []

    def number(self, value: Value) -> int:
        comparison = self._network.comparison(value.node)
        if comparison is None:
            return self._skipped + value.node + value.shift * self._network.n_phases
        if value not in self._numbers:
            sides = (Value(side.node, side.shift + value.shift) for side in (comparison.left, comparison.right))
            left, right = (self.number(side) for side in sides)
            self.steps.append((int(comparison.take_maximum), left, right))
            self._numbers[value] = self._n_pixels + len(self.steps) - 1
        return self._numbers[value]


def _running_sums(lengths: Iterable[int]) -> tuple[int, ...]:
    sums = [0]
    for length in lengths:
        sums.append(sums[-1] + length)
    return tuple(sums)


# ---- fused features


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


FUSED_CHAIN = [MedianFilter, MinMax, StreamingPCA]
"""Exactly these classes: a subclass, or a step in between, may do anything."""


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
            self._pad(projection.sum(axis=0)),
            self._pad(pca.mean_ @ projection),
        )
        self._on: dict[Any, tuple[Array, ...]] = {}

    @classmethod
    def of(cls, recipe: Recipe, tiling: Tiling | None = None) -> FusedFeatures | None:
        """Make the fused features of a fitted recipe; None when it is another chain, or its windows are too wide."""
        steps = recipe.steps_
        if [type(step) for step in steps] != FUSED_CHAIN:
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
        """Write the bridged rows into `copy`, (n or more, n_slots); return the bad pixels of each row, (n,) int32."""
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
        """Compute the features of rows that `bridge` has copied.

        Parameters
        ----------
        copy : (n or more, n_slots) float32 CUDA tensor
            Bridged rows.
        n_bad : (n,) int32 CUDA tensor
            Bad pixels of each row.
        features : (n, k) float32 CUDA tensor
            Written; NaN in rows that cannot be used.
        lost_at : (n,) int8 CUDA tensor
            Written: 0, or the number of the step, from 1, that could not use the row.
        """
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

    def _pad(self, values: Any) -> Any:
        return np.pad(values, (0, self.n_columns - len(values)))


def _multiple(number: int, of: int) -> int:
    return -(-number // of) * of
