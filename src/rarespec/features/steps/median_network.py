"""A median as a pruned sorting network, written out as steps over a few registers."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

# ---- The running median as minima and maxima of shifted views, with the work that neighbouring windows share done
# once.
#
# Notation
# --------
# w : width of the window, odd
# m : windows of one tile, a power of two. A row is cut into tiles of m pixels; x[m t + k] is phase k of tile t
# c : the w - m + 1 pixels that lie in all m windows of a tile, its core
#
# The core is sorted once for m windows. What can no longer become a median is dropped: with r pixels still to come,
# only the r + 1 middle values of those seen matter. Then the tile is halved, each half merges the sorted pixels
# that its own windows share, and so on down to single windows (the one-dimensional form of Adams 2021, ACM Trans.
# Graph. 40, 4). Sorted runs are merged by Batcher's odd-even network (1968). Equal expressions that differ only by
# whole tiles are one node, so a sorted pair or quad serves every window it lies in.


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


# ---- A median network written out as steps over a few registers, ready to run on arrays of any kind.


PHASE_CHOICES = (1, 2, 4, 8, 16)

COST_OF_A_PHASE = 0.3
"""Extra cost of splitting a row into one phase more, in comparisons per pixel: shorter vectors, more registers."""


class Operand(NamedTuple):
    """A register, read `shift` tiles further on."""

    register: int
    shift: int


class Step(NamedTuple):
    """register <- minimum or maximum of two operands. The result lacks the last `reach` tiles of a row."""

    take_maximum: bool
    left: Operand
    right: Operand
    register: int
    reach: int


class PhaseOutput(NamedTuple):
    """The steps still needed before the medians of one phase can be read from `result`."""

    steps: tuple[Step, ...]
    result: Operand


class MedianProgram(NamedTuple):
    """Running median of `width` pixels for `n_phases` interleaved sets of pixels.

    Registers 0 .. n_phases - 1 hold the input: at tile t of phase k the pixel n_phases * t + k, counted from the first
    pixel of the first window. `reach` more tiles of input are needed than tiles of medians come out.
    """

    width: int
    n_phases: int
    n_registers: int
    reach: int
    outputs: tuple[PhaseOutput, ...]

    @property
    def comparisons_per_pixel(self) -> float:
        return sum(len(output.steps) for output in self.outputs) / self.n_phases


@lru_cache(maxsize=64)
def median_program(width: int) -> MedianProgram:
    """The cheapest program for this odd width."""
    possible = [n for n in PHASE_CHOICES if width - n + 1 >= n]
    programs = [_Writer(*running_median(width, n)).program(width) for n in possible]
    return min(programs, key=lambda p: p.comparisons_per_pixel + COST_OF_A_PHASE * p.n_phases)


class _Writer:
    """Writes the comparisons that the medians need, depth first, and reuses the registers of spent values."""

    def __init__(self, network: Network, medians: list[Value]) -> None:
        self._network = network
        self._medians = medians
        self._reads_left = self._count_reads()
        self._register = {node: node for node in range(network.n_phases)}
        self._reach = dict.fromkeys(range(network.n_phases), 0)
        self._free: list[int] = []
        self._n_registers = network.n_phases
        self._steps: list[Step] = []

    def program(self, width: int) -> MedianProgram:
        outputs = tuple(self._phase_output(median) for median in self._medians)
        reach = max(self._reach[median.node] + median.shift for median in self._medians)
        return MedianProgram(width, self._network.n_phases, self._n_registers, reach, outputs)

    def _count_reads(self) -> dict[int, int]:
        reads: dict[int, int] = {}
        waiting = [median.node for median in self._medians]
        while waiting:
            node = waiting.pop()
            reads[node] = reads.get(node, 0) + 1
            comparison = self._network.comparison(node)
            if comparison is not None and reads[node] == 1:
                waiting += [comparison.left.node, comparison.right.node]
        return reads

    def _phase_output(self, median: Value) -> PhaseOutput:
        self._steps = []
        self._write(median.node)
        result = Operand(self._register[median.node], median.shift)
        self._release(median.node)
        return PhaseOutput(tuple(self._steps), result)

    def _write(self, node: int) -> None:
        comparison = self._network.comparison(node)
        if comparison is None or node in self._register:
            return
        self._write(comparison.left.node)
        self._write(comparison.right.node)
        self._append_step(node, comparison)

    def _append_step(self, node: int, comparison: Comparison) -> None:
        sides = (comparison.left, comparison.right)
        left, right = (Operand(self._register[side.node], side.shift) for side in sides)
        self._reach[node] = max(self._reach[side.node] + side.shift for side in sides)
        # A result may overwrite an operand only in place: never one that is read further on.
        for side in sides:
            if side.shift == 0:
                self._release(side.node)
        register = self._take_register()
        for side in sides:
            if side.shift > 0:
                self._release(side.node)
        self._register[node] = register
        self._steps.append(Step(comparison.take_maximum, left, right, register, self._reach[node]))

    def _release(self, node: int) -> None:
        self._reads_left[node] -= 1
        if self._reads_left[node] == 0:
            self._free.append(self._register[node])

    def _take_register(self) -> int:
        if self._free:
            return self._free.pop()
        self._n_registers += 1
        return self._n_registers - 1
