"""What the feature kernel has to know of the median filter: the networks of its segments, as flat tuples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from rarespec.features._selection_network import Network, Value, running_median
from rarespec.features.running_median import Segment

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
        """For the kernel, which knows flat tuples only."""
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
    """None when a window is too wide."""
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
