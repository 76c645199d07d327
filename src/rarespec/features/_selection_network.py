"""The running median as minima and maxima of shifted views, with the work that neighbouring windows share done once.

Notation
--------
w : width of the window, odd
m : windows of one tile, a power of two. A row is cut into tiles of m pixels; x[m t + k] is phase k of tile t
c : the w - m + 1 pixels that lie in all m windows of a tile, its core

The core is sorted once for m windows. What can no longer become a median is dropped: with r pixels still to come, only
the r + 1 middle values of those seen matter. Then the tile is halved, each half merges the sorted pixels that its own
windows share, and so on down to single windows (the one-dimensional form of Adams 2021, ACM Trans. Graph. 40, 4).
Sorted runs are merged by Batcher's odd-even network (1968). Equal expressions that differ only by whole tiles are one
node, so a sorted pair or quad serves every window it lies in.
"""

from __future__ import annotations

from typing import NamedTuple


class Value(NamedTuple):
    """The value of a node, `shift` tiles further on."""

    node: int
    shift: int


class Comparison(NamedTuple):
    """A node: the minimum or the maximum of two values."""

    take_maximum: bool
    left: Value
    right: Value


class Network:
    """Comparisons over m phases. Nodes 0 .. m-1 are the inputs; each later node is a `Comparison`."""

    def __init__(self, n_phases: int) -> None:
        self.n_phases = n_phases
        self._comparisons: list[Comparison] = []
        self._node_of: dict[Comparison, int] = {}

    def comparison(self, node: int) -> Comparison | None:
        """What the node computes; None for an input."""
        return None if node < self.n_phases else self._comparisons[node - self.n_phases]

    def pixel(self, position: int) -> Value:
        """The input pixel at this position, counted from the first pixel of a tile's first window."""
        return Value(position % self.n_phases, position // self.n_phases)

    def _compare(self, take_maximum: bool, left: Value, right: Value) -> Value:
        shift = min(left.shift, right.shift)
        first, second = sorted((Value(left.node, left.shift - shift), Value(right.node, right.shift - shift)))
        comparison = Comparison(take_maximum, first, second)
        node = self._node_of.setdefault(comparison, self.n_phases + len(self._comparisons))
        if node == self.n_phases + len(self._comparisons):
            self._comparisons.append(comparison)
        return Value(node, shift)

    def ordered(self, left: Value, right: Value) -> list[Value]:
        return [self._compare(False, left, right), self._compare(True, left, right)]

    def merged(self, a: list[Value], b: list[Value]) -> list[Value]:
        """Two sorted runs as one (Batcher's odd-even merge)."""
        if not a or not b:
            return a or b
        if len(a) == len(b) == 1:
            return self.ordered(a[0], b[0])
        even, odd = self.merged(a[0::2], b[0::2]), self.merged(a[1::2], b[1::2])
        n_pairs = min(len(odd), len(even) - 1)
        middle = [value for i in range(n_pairs) for value in self.ordered(odd[i], even[i + 1])]
        return [even[0], *middle, *odd[n_pairs:], *even[n_pairs + 1 :]]

    def sorted_run(self, start: int, length: int) -> list[Value]:
        """The pixels start .. start + length - 1 in ascending order, from runs of two, four, eight ..."""
        if length == 1:
            return [self.pixel(start)]
        half = 1 << ((length - 1).bit_length() - 1)
        return self.merged(self.sorted_run(start, half), self.sorted_run(start + half, length - half))


def running_median(width: int, n_phases: int) -> tuple[Network, list[Value]]:
    """The network, and the medians of the m windows that start at pixels 0 .. m-1 of a tile."""
    network = Network(n_phases)
    core_start, core_length = n_phases - 1, width - n_phases + 1
    core = _middle(network.sorted_run(core_start, core_length), n_phases)
    return network, _medians(network, core, core_start, width, n_phases)


def _medians(network: Network, kept: list[Value], start: int, stop: int, n_windows: int) -> list[Value]:
    """Medians of n windows that all hold the pixels start .. stop-1, of which `kept` are those that still matter."""
    if n_windows == 1:
        return kept
    half = n_windows // 2
    left = _middle(network.merged(kept, network.sorted_run(start - half, half)), half)
    right = _middle(network.merged(kept, network.sorted_run(stop, half)), half)
    return _medians(network, left, start - half, stop, half) + _medians(network, right, start, stop + half, half)


def _middle(values: list[Value], n_kept: int) -> list[Value]:
    dropped = (len(values) - n_kept) // 2
    return values[dropped : dropped + n_kept]
