# mypy: ignore-errors
# ruff: noqa: RUF005, SIM108
# Triton compiles a part of Python only, without annotations, starred tuples or conditional expressions on tuples.
"""Bridged flux to features in one pass: running median, min-max and projection in one Triton kernel.

A program takes ROWS spectra, TILES tiles of four pixels at a time. One thread finds the four medians of a tile, in
registers, from the pixels of all their windows. With c the first pixel of a row, which is its first median too, W the
projection, and low and high the least and the largest median,

    features = ((medians - c) W - (low - c) 1'W) / (high - low) - mean W

so one pass is enough, and nothing larger than the row's own range is ever multiplied. Both factors of the product are
sums of two bfloat16 numbers, of which the product of the two small ones is left out. Imports Triton: only where there
is a GPU.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def features_kernel(
    bridged,
    n_bad,
    weights,
    small_weights,
    column_sums,
    offsets,
    features,
    lost_at,
    n,
    most_bad,
    FIRST: tl.constexpr,
    SLOTS: tl.constexpr,
    n_features: tl.constexpr,
    STARTS: tl.constexpr,
    STOPS: tl.constexpr,
    FIRST_QUADS: tl.constexpr,
    N_QUADS: tl.constexpr,
    STEPS: tl.constexpr,
    FIRST_STEPS: tl.constexpr,
    MEDIANS: tl.constexpr,
    ROWS: tl.constexpr,
    TILES: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Compute the features of ROWS spectra in each program.

    Parameters
    ----------
    bridged : pointer to (n, SLOTS) float32
        Flux as `bridge_kernel` writes it.
    n_bad : pointer to (n,) int32
        Bad pixels of each row, as `bridge_kernel` counts them.
    weights : pointer to (padded pixels, COLUMNS) bfloat16
        The projection W, rounded; 0 in the padding.
    small_weights : pointer to (padded pixels, COLUMNS) bfloat16
        What rounding took from the weights.
    column_sums : pointer to (COLUMNS,) float32
        The sums 1'W.
    offsets : pointer to (COLUMNS,) float32
        The product of the mean and W.
    features : pointer to (n, n_features) float32
        Written; NaN in rows that cannot be used.
    lost_at : pointer to (n,) int8
        Written: 0, or the step that could not use the row: 1 the filter, 2 the rescaling, 3 the projection.
    n : int
        Rows.
    most_bad : int
        Bad pixels that a row may have.
    FIRST, SLOTS : int
        Slots before the first pixel, and slots of a row.
    n_features : int
        Features, at most COLUMNS.
    STARTS, STOPS : tuple of int
        For each segment its first pixel, and the pixel after its last.
    FIRST_QUADS, N_QUADS : tuple of int
        For each segment where the pixels begin that a tile needs, in quads from the tile, and how many quads there are.
    STEPS : tuple of int
        The comparisons of all segments, three numbers each: whether it is a maximum, and of which two values.
    FIRST_STEPS : tuple of int
        For each segment its first comparison; one more number at the end.
    MEDIANS : tuple of int
        For each segment which four values are the medians of a tile.
    ROWS, TILES : int
        Rows of a program, and tiles of four pixels that it takes at a time.
    COLUMNS : int
        Columns of the weights, a power of two.
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    rows = tl.where(inside, rows, n - 1).to(tl.int64)  # beyond the last row the last one again: never written
    starts = bridged + rows * SLOTS + FIRST
    first = tl.load(starts)[:, None]
    tile, column, place = tl.arange(0, TILES), tl.arange(0, COLUMNS), tl.arange(0, 4 * TILES)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    low = tl.zeros((ROWS, TILES), tl.float32)
    high = tl.zeros((ROWS, TILES), tl.float32)
    for s in tl.static_range(len(STARTS)):
        for origin in range(STARTS[s] // 4 * 4, STOPS[s], 4 * TILES):
            pixels = starts[:, None] + (origin + 4 * FIRST_QUADS[s] + place)[None, :]
            values = _around(pixels, N_QUADS[s], ROWS, TILES)
            values = _compare(values, STEPS, FIRST_STEPS[s], FIRST_STEPS[s + 1])
            medians = ()
            for k in tl.static_range(4):
                pixel = (origin + k + 4 * tile)[None, :]
                here = (pixel >= STARTS[s]) & (pixel < STOPS[s])
                median = tl.where(here, values[MEDIANS[4 * s + k]] - first, 0.0)  # 0 is the first: no new extreme
                low = tl.minimum(low, median)
                high = tl.maximum(high, median)
                medians = medians + (median,)
            in_order = tl.join(tl.join(medians[0], medians[2]), tl.join(medians[1], medians[3]))
            row_of_weights = (origin + place)[:, None] * COLUMNS + column[None, :]
            total = _accurate_dot(
                tl.reshape(in_order, (ROWS, 4 * TILES)),
                tl.load(weights + row_of_weights),
                tl.load(small_weights + row_of_weights),
                total,
            )
    low_of_row = tl.min(low, axis=1)
    span = tl.max(high, axis=1) - low_of_row
    scaled = (total - low_of_row[:, None] * tl.load(column_sums + column)[None, :]) / span[:, None]
    scaled -= tl.load(offsets + column)[None, :]
    sparse = tl.load(n_bad + rows) > most_bad
    flat = (span == 0) | (span == float("inf")) | (span != span)
    not_finite = tl.max(((scaled - scaled) != 0).to(tl.int32), axis=1) > 0
    lost = tl.where(sparse, 1, tl.where(flat, 2, tl.where(not_finite, 3, 0)))
    scaled = tl.where(lost[:, None] > 0, float("nan"), scaled)
    tl.store(lost_at + rows, lost.to(tl.int8), mask=inside)
    where = rows[:, None] * n_features + column[None, :]
    tl.store(features + where, scaled, mask=inside[:, None] & (column < n_features)[None, :])


@triton.jit
def _around(pixels, N: tl.constexpr, ROWS: tl.constexpr, TILES: tl.constexpr):
    """4 N pixels of each tile, one (ROWS, TILES) tensor each, from (ROWS, 4 TILES) pointers to the first four."""
    values = ()
    for i in tl.static_range(N):
        four = tl.reshape(tl.load(pixels + 4 * i), (ROWS, TILES, 2, 2))
        even, odd = tl.split(four)
        zeroth, second = tl.split(even)
        one, third = tl.split(odd)
        values = values + (zeroth, one, second, third)
    return values


@triton.jit
def _compare(values, STEPS: tl.constexpr, START: tl.constexpr, STOP: tl.constexpr):
    """The values, followed by the minimum or maximum that each step takes of two earlier ones."""
    for k in tl.static_range(START, STOP):
        left, right = values[STEPS[3 * k + 1]], values[STEPS[3 * k + 2]]
        if STEPS[3 * k]:
            values = values + (tl.maximum(left, right),)
        else:
            values = values + (tl.minimum(left, right),)
    return values


@triton.jit
def _accurate_dot(values, weights, small_weights, total):
    """`total` plus the product of values and weights, both as sums of a large and a small part.

    The units that multiply cut off digits when they add to a long sum, so theirs are kept short.
    """
    rounded = ((values.to(tl.int32, bitcast=True) + 0x8000) & -0x10000).to(tl.float32, bitcast=True)  # to 8 digits
    large, small = rounded.to(weights.dtype), (values - rounded).to(weights.dtype)
    product = tl.dot(large, weights)
    product = tl.dot(small, weights, product)
    return total + tl.dot(large, small_weights, product)
