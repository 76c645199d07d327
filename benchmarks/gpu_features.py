"""The median filter on a GPU through torch, against the same function on NumPy arrays.

    python benchmarks/gpu_features.py [--n 20000]

Needs torch and a CUDA device; the code that runs there is the code that runs here. Results must be identical.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rarespec.features import median_filter
from rarespec.spectrum import PAPER_GRID


def best_of(function, rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000)
    n = parser.parse_args().n
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device here")
    flux = np.random.default_rng(0).normal(10, 1, (n, PAPER_GRID.n_pixels)).astype(np.float32)
    on_gpu = torch.asarray(flux, device="cuda")

    def filter_on_gpu():
        result = median_filter(on_gpu, PAPER_GRID)
        torch.cuda.synchronize()
        return result

    assert np.array_equal(filter_on_gpu().cpu().numpy(), median_filter(flux, PAPER_GRID, n_threads=1))
    gpu, cpu = best_of(filter_on_gpu), best_of(lambda: median_filter(flux, PAPER_GRID, n_threads=1))
    print(f"{torch.cuda.get_device_name()}: {1e6 * gpu / n:.2f} us a spectrum; NumPy, one thread {1e6 * cpu / n:.2f}:")
    print(f"  ratio {cpu / gpu:.1f}, identical results")


if __name__ == "__main__":
    main()
