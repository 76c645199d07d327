"""The randomised solver shares its products between threads without a change in the result."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from rarespec.features import StreamingPCA
from rarespec.features.pca import passes as readings_module


def components(rows, n_cores, blas_threads, monkeypatch):
    monkeypatch.setattr(readings_module, "available_cores", lambda: n_cores)
    with threadpool_limits(blas_threads, user_api="blas"):
        return StreamingPCA(6, solver="randomised").fit(rows).components_


@pytest.mark.parametrize("offset", [0.0, 100.0], ids=["centred after the product", "centred before"])
def test_the_components_are_the_same_to_the_last_bit_on_any_number_of_cores(monkeypatch, offset):
    rng = np.random.default_rng(3)
    rows = (rng.normal(0, 1, (1500, 8)) @ rng.normal(0, 1, (8, 400)) + rng.normal(offset, 0.1, (1500, 400))).astype(
        "f4"
    )
    alone = components(rows, 1, 1, monkeypatch)
    assert np.array_equal(components(rows, 4, 1, monkeypatch), alone)
    assert np.array_equal(components(rows, 2, 2, monkeypatch), alone)
    exact = np.linalg.svd(rows - rows.mean(axis=0, dtype=np.float64), full_matrices=False)[2][:6]
    assert np.allclose(np.abs((alone * exact).sum(axis=1)), 1, atol=1e-4)
