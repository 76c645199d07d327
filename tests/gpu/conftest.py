"""Arrays of several libraries: the same functions have to give the same answers on all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rarespec.rankers.other_arrays import as_numpy


@dataclass(frozen=True)
class Arrays:
    """Of one library, on one device."""

    name: str
    of: Callable[[Any], Any]

    def back(self, array: Any) -> np.ndarray:
        return as_numpy(array)


def needs_torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


def needs_gpu() -> Any:
    """torch, where it can use a GPU and compile kernels for it."""
    torch = needs_torch()
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    pytest.importorskip("triton", reason="triton is not installed")
    return torch


def needs_cupy() -> Any:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    if not cupy.is_available():
        pytest.skip("there is no CUDA device here")
    return cupy


@pytest.fixture
def gpu() -> Any:
    return needs_gpu()


@pytest.fixture
def torch() -> Any:
    return needs_torch()


@pytest.fixture(params=["numpy", "array-api-strict", "torch", "torch on a GPU", "CuPy"])
def arrays(request: pytest.FixtureRequest) -> Arrays:
    if request.param == "numpy":
        return Arrays(request.param, np.asarray)
    if request.param == "array-api-strict":
        return Arrays(request.param, pytest.importorskip("array_api_strict").asarray)
    if request.param == "torch":
        return Arrays(request.param, needs_torch().asarray)
    if request.param == "CuPy":
        return Arrays(request.param, needs_cupy().asarray)
    on_gpu = needs_gpu()
    return Arrays(request.param, lambda values: on_gpu.asarray(values, device="cuda"))
