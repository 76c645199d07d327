"""Running medians of arrays that follow the array API standard: the same network, without buffers."""

from __future__ import annotations

from typing import Any

from rarespec.features._median_program import MedianProgram, Operand, Step

Array = Any


def segment_medians(xp: Any, program: MedianProgram, flux: Array, start: int, stop: int) -> Array:
    """Medians of the pixels start .. stop-1 of each row of finite flux (n, p), all with one window width."""
    n_tiles = -(-(stop - start) // program.n_phases)
    row_length = n_tiles + program.reach
    first_pixel = start - program.width // 2
    window = _continued(xp, flux, first_pixel, first_pixel + program.n_phases * row_length)
    registers = {phase: window[:, phase :: program.n_phases] for phase in range(program.n_phases)}
    phases = []
    for steps, result in program.outputs:
        for step in steps:
            registers[step.register] = _compared(xp, registers, step, row_length - step.reach)
        phases.append(_read(registers, result, n_tiles))
    interleaved = xp.reshape(xp.stack(phases, axis=-1), (flux.shape[0], n_tiles * program.n_phases))
    return interleaved[:, : stop - start]


def _compared(xp: Any, registers: dict[int, Array], step: Step, length: int) -> Array:
    compare = xp.maximum if step.take_maximum else xp.minimum
    return compare(_read(registers, step.left, length), _read(registers, step.right, length))


def _read(registers: dict[int, Array], operand: Operand, length: int) -> Array:
    return registers[operand.register][:, operand.shift : operand.shift + length]


def _continued(xp: Any, flux: Array, start: int, stop: int) -> Array:
    """The pixels start .. stop-1; beyond the ends of a row its first or last pixel."""
    n, p = flux.shape
    inside = flux[:, min(max(start, 0), p) : min(max(stop, 0), p)]
    n_before = min(max(-start, 0), stop - start)
    before = xp.broadcast_to(flux[:, :1], (n, n_before))
    after = xp.broadcast_to(flux[:, p - 1 :], (n, stop - start - n_before - inside.shape[1]))
    return xp.concat([before, inside, after], axis=1)
