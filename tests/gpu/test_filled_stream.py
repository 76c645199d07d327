"""Batches come out as threads filled them: in order, whatever their sizes, none overwritten by the next."""

import time

import numpy as np
import pytest

from rarespec.gpu.filled_stream import Part, fill_through_device


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return request.param


def write(block, rows):
    time.sleep(0.002 * (block[0, 0] % 3))  # later parts are often written first
    rows[:] = block


def doubled_and_summed(rows):
    return 2 * rows, rows.sum(dim=1)


def blocks_of(sizes):
    return [np.random.default_rng(i).integers(-99, 99, (n, 7)).astype(np.int16) for i, n in enumerate(sizes)]


def through(blocks, each, device, fill=write):
    batches = [[Part(block, len(block)) for block in blocks[i : i + each]] for i in range(0, len(blocks), each)]
    return list(fill_through_device(batches, np.empty(7, np.int16), fill, doubled_and_summed, device, 3))


@pytest.mark.parametrize("each", [1, 3])
def test_all_rows_in_order(device, each):
    blocks = blocks_of([5, 300, 1, 40, 40, 900, 2, 3, 700, 8, 60, 4, 5])
    results = through(blocks, each, device)
    assert len(results) == -(-len(blocks) // each)
    expected = np.concatenate(blocks)
    assert np.array_equal(np.concatenate([doubled for doubled, _ in results]), 2 * expected)
    assert np.array_equal(np.concatenate([sums for _, sums in results]), expected.sum(axis=1))


def test_what_goes_wrong_in_a_thread_is_seen(device):
    def fail(block, rows):
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        through(blocks_of([5, 6]), 1, device, fail)


def test_no_batches(device):
    assert through([], 1, device) == []
