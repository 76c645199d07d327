# mypy: ignore-errors
# Triton compiles a part of Python only, without annotations.
"""Flux copied into rows that start at a multiple of 16 bytes, with bad pixels bridged and the ends continued.

A program takes one row. It reads all pixels, writes the good ones, and packs which are bad into one word a lane. Where
a run of bad pixels starts, a lane then walks along it and fills it. Imports Triton: only where there is a GPU.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["row_stride", "slot_stride"])
def bridge_kernel(
    flux,
    bridged,
    n_bad,
    row_stride,
    slot_stride,
    most_bad,
    n_pixels: tl.constexpr,
    FIRST: tl.constexpr,
    SLOTS: tl.constexpr,
    LANES: tl.constexpr,
):
    """Copy one row of flux in each program, with bad pixels bridged and the ends continued.

    Parameters
    ----------
    flux : pointer to (n, n_pixels) float32
        Spectra; pixels that are not finite are bad.
    bridged : pointer to (n, SLOTS) float32
        Written: slot FIRST holds pixel 0; before it stands pixel 0 again, behind the row its last pixel.
    n_bad : pointer to (n,) int32
        Written: bad pixels of each row.
    row_stride : int
        Values from one row of flux to the next.
    slot_stride : int
        Values from one row of bridged to the next.
    most_bad : int
        Bad pixels that a row may have; with more it is not bridged, and the slots of bad pixels are not written.
    n_pixels : int
        Pixels of a row.
    FIRST : int
        Slots before the first pixel.
    SLOTS : int
        Slots of a row.
    LANES : int
        A power of two, at least SLOTS / 32: each lane packs its 32 slots into one word.
    """
    row = tl.program_id(0).to(tl.int64)
    pixels, slots = flux + row * row_stride, bridged + row * slot_stride
    bit, lane = tl.arange(0, 32), tl.arange(0, LANES)
    slot = bit[:, None] * LANES + lane[None, :]
    pixel = tl.minimum(tl.maximum(slot - FIRST, 0), n_pixels - 1)
    # not so at the ends, but it makes neighbouring lanes read neighbouring pixels; strides rule out vectors
    pixel = tl.max_contiguous(pixel, (1, LANES))
    values = tl.load(pixels + pixel)
    bad = _is_bad(values)
    tl.store(slots + slot, values, mask=(slot < SLOTS) & (bad == 0))
    bad = (bad & (slot >= FIRST) & (slot < FIRST + n_pixels)).to(tl.int32)
    count = tl.sum(tl.sum(bad, axis=0), axis=0)
    tl.store(n_bad + row, count)
    words = tl.sum(bad << bit[:, None], axis=0)
    if (count > 0) & (count <= most_bad):
        while tl.max((words != 0).to(tl.int32), axis=0) > 0:
            lowest = words & -words
            place = ((lowest.to(tl.float32).to(tl.int32, bitcast=True) >> 23) & 255) - 127  # the exponent of 2^place
            _fill_runs(pixels, slots + FIRST, place * LANES + lane - FIRST, words != 0, n_pixels, FIRST, SLOTS)
            words = words ^ lowest


@triton.jit
def _fill_runs(pixels, filled, at, here, n_pixels: tl.constexpr, FIRST: tl.constexpr, SLOTS: tl.constexpr):
    """Fill the runs of bad pixels that start at these pixels; the row has a good one."""
    left = at - 1
    starts = here & ((at == 0) | (_is_bad(tl.load(pixels + left, mask=here & (at > 0), other=0.0)) == 0))
    right, walking = at, starts
    while tl.max(walking.to(tl.int32), axis=0) > 0:
        right = tl.where(walking, right + 1, right)
        walking = walking & (right < n_pixels)
        walking = walking & _is_bad(tl.load(pixels + right, mask=walking, other=0.0))
    first, last = left < 0, right >= n_pixels
    left_value = tl.load(pixels + tl.where(first, right, left), mask=starts, other=0.0).to(tl.float64)
    right_value = tl.load(pixels + tl.where(last, left, right), mask=starts, other=0.0).to(tl.float64)
    pixel, stop = tl.where(first, -FIRST, at), tl.where(last, SLOTS - FIRST, right)
    filling, apart = starts, 1 / tl.maximum(right - left, 1).to(tl.float64)
    while tl.max(filling.to(tl.int32), axis=0) > 0:
        share = tl.where(first | last, 0.0, (pixel - left).to(tl.float64) * apart)
        value = left_value * (1 - share) + right_value * share
        tl.store(filled + pixel, value.to(tl.float32), mask=filling)
        pixel += 1
        filling = filling & (pixel < stop)


@triton.jit
def _is_bad(values):
    # NaN and infinity minus themselves are NaN, which differs from 0
    return (values - values) != 0
