"""Running medians of NumPy rows: the network runs on blocks that stay in cache, in buffers that are used again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.features._median_program import MedianProgram, Operand, PhaseOutput

TILES_PER_BLOCK = 24_000
"""Length of a register. Shorter ones lose time between NumPy calls, longer ones leave the second-level cache."""

Flux = NDArray[Any]
Call = tuple[Callable[..., Any], Flux, Flux, Flux]


class SegmentFilter:
    """Medians of the pixels start .. stop-1 of each row, all with one window width. Not for use by two threads."""

    def __init__(self, program: MedianProgram, start: int, stop: int, dtype: np.dtype[Any]) -> None:
        self._program = program
        self._start, self._stop = start, stop
        self._n_tiles = -(-(stop - start) // program.n_phases)
        self._row_length = self._n_tiles + program.reach
        self._rows_per_block = max(1, TILES_PER_BLOCK // self._row_length)
        # Zeros, not empty: the ends of rows are computed too, and must raise no floating-point warnings.
        self._memory = np.zeros((program.n_registers, self._rows_per_block * self._row_length), dtype)
        self._bound: dict[int, _BoundProgram] = {}

    def __call__(self, flux: Flux, out: Flux) -> None:
        """Read rows of finite flux (n, p), write their medians to out[:, start:stop]."""
        for first in range(0, len(flux), self._rows_per_block):
            rows = slice(first, first + self._rows_per_block)
            self._filter_block(flux[rows], out[rows, self._start : self._stop])

    def _filter_block(self, flux: Flux, out: Flux) -> None:
        bound = self._bound_to(len(flux))
        n_phases = self._program.n_phases
        first_pixel = self._start - self._program.width // 2
        for phase, register in enumerate(bound.inputs):
            load_phase(register, flux, first_pixel + phase, n_phases)
        for phase, (calls, result) in enumerate(bound.outputs):
            for compare, left, right, target in calls:
                compare(left, right, out=target)
            medians = out[:, phase::n_phases]
            medians[...] = result[:, : medians.shape[1]]

    def _bound_to(self, n_rows: int) -> _BoundProgram:
        if n_rows not in self._bound:
            memory = self._memory[:, : n_rows * self._row_length]
            self._bound[n_rows] = _BoundProgram(self._program, memory, n_rows)
        return self._bound[n_rows]


class _BoundProgram:
    """A program whose operands are views made once: slicing would cost as much as comparing.

    Each register is one flat vector, row after row with `reach` tiles to spare, so that a shift never needs an edge.
    """

    def __init__(self, program: MedianProgram, memory: Flux, n_rows: int) -> None:
        self._memory = memory
        self._n_rows = n_rows
        self._n_tiles = memory.shape[1] // n_rows - program.reach
        self.inputs = [memory[phase].reshape(n_rows, -1) for phase in range(program.n_phases)]
        self.outputs = [(self._calls(output), self._rows(output.result)) for output in program.outputs]

    def _calls(self, output: PhaseOutput) -> list[Call]:
        calls: list[Call] = []
        for step in output.steps:
            length = self._memory.shape[1] - step.reach
            left, right = (self._memory[side.register, side.shift :][:length] for side in (step.left, step.right))
            compare = np.maximum if step.take_maximum else np.minimum
            calls.append((compare, left, right, self._memory[step.register, :length]))
        return calls

    def _rows(self, result: Operand) -> Flux:
        rows = self._memory[result.register].reshape(self._n_rows, -1)
        return rows[:, result.shift : result.shift + self._n_tiles]


def load_phase(register: Flux, flux: Flux, first_pixel: int, n_phases: int) -> None:
    """register[:, t] <- flux[:, first_pixel + n_phases * t]; beyond the ends of a row its first or last pixel."""
    n_pixels, n_tiles = flux.shape[1], register.shape[1]
    start = min(max(-(first_pixel // n_phases), 0), n_tiles)
    stop = min(max(-((first_pixel - n_pixels) // n_phases), start), n_tiles)
    if stop > start:
        inside = first_pixel + n_phases * start
        register[:, start:stop] = flux[:, inside : inside + n_phases * (stop - start) : n_phases]
    if start > 0:
        register[:, :start] = flux[:, :1]
    if stop < n_tiles:
        register[:, stop:] = flux[:, -1:]
