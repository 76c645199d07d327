"""Blocks come out as they went in: in order, whatever their length, none overwritten by the next."""

import numpy as np
import pytest

from rarespec.gpu.pinned_stream import through_device


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return request.param


def doubled_and_summed(rows):
    return 2 * rows, rows.sum(dim=1)


def test_all_blocks_in_order(device):
    blocks = [np.random.default_rng(i).normal(size=(n, 7)).astype("f4") for i, n in enumerate([5, 300, 1, 40, 40, 900])]
    results = list(through_device(iter(blocks), doubled_and_summed, device))
    assert len(results) == len(blocks)
    for block, (doubled, sums) in zip(blocks, results, strict=True):
        assert np.array_equal(doubled, 2 * block)
        assert np.allclose(sums, block.sum(axis=1), atol=1e-5)


def test_blocks_may_be_overwritten_by_whoever_gives_them(device):
    buffer = np.empty((50, 3), np.float32)

    def blocks():
        for i in range(6):
            buffer[:] = i
            yield buffer

    results = [doubled[0, 0] for doubled, _ in through_device(blocks(), doubled_and_summed, device)]
    assert results == [0, 2, 4, 6, 8, 10]


def test_blocks_that_are_not_contiguous(device):
    block = np.arange(60.0).reshape(6, 10)[:, ::2]
    ((doubled, _),) = through_device([block], doubled_and_summed, device)
    assert np.array_equal(doubled, 2 * block)


def test_no_blocks(device):
    assert list(through_device([], doubled_and_summed, device)) == []
