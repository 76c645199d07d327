"""The steps that the kernel takes give the medians of the filter."""

import numpy as np
import pytest

from conftest import SMALL_GRID
from gpu import made_up
from rarespec.features.steps.running_median import MedianFilter, median_filter
from rarespec.gpu.fused_features import WIDEST, median_plan


def medians_by(plan, flux):
    """What a kernel would find: rows continued at both ends, tile by tile."""
    n_pixels, reach = flux.shape[1], plan.reach
    padded = np.pad(flux, [(0, 0), (reach, reach + 4)], mode="edge")
    found = np.full(flux.shape, np.nan, flux.dtype)
    for part in plan.segments:
        tiles = np.arange(part.segment.start // 4 * 4, part.segment.stop, 4)
        values = [
            padded[:, np.minimum(reach + tiles + 4 * part.first_quad + k, padded.shape[1] - 1)]
            for k in range(4 * part.n_quads)
        ]
        for take_maximum, left, right in part.steps:
            values.append((np.maximum if take_maximum else np.minimum)(values[left], values[right]))
        for k, number in enumerate(part.medians):
            here = (tiles + k >= part.segment.start) & (tiles + k < min(part.segment.stop, n_pixels))
            found[:, tiles[here] + k] = values[number][:, here]
    return found


@pytest.mark.parametrize("width", range(1, WIDEST + 1, 2))
def test_one_width(width):
    flux = np.random.default_rng(width).normal(size=(20, 83)).astype(np.float32)
    plan = median_plan(MedianFilter(width_pixels=width).segments(83))
    assert np.array_equal(medians_by(plan, flux), median_filter(flux, width_pixels=width))


@pytest.mark.parametrize("width_angstrom", [10.0, 45.0])
def test_widths_that_change_along_the_row(width_angstrom):
    flux = made_up.flux(10, SMALL_GRID)
    step = MedianFilter(SMALL_GRID, width_angstrom)
    assert np.array_equal(medians_by(median_plan(step.segments(300)), flux), step.transform(flux))


def test_windows_that_are_too_wide_have_no_plan():
    assert median_plan(MedianFilter(width_pixels=WIDEST + 2).segments(300)) is None
