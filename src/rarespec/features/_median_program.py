"""A median network written out as steps over a few registers, ready to run on arrays of any kind."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rarespec.features._selection_network import Comparison, Network, Value, running_median

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
