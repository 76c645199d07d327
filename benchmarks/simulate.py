"""Simulating a survey of mock spectra, against drawing nothing but its noise.

    python benchmarks/simulate.py [--n 100000]

Ours: `simulate_survey`, all physics and observation effects, stored and flushed as a survey, one worker per core.
Peer: numpy.random drawing one normal number per pixel in one process, the least that any simulation of noise does.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.spectrum import PAPER_GRID


def noise_alone(n: int) -> float:
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for first in range(0, n, 512):
        rng.standard_normal((min(512, n - first), PAPER_GRID.n_pixels), dtype=np.float32)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    n = parser.parse_args().n
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        survey = simulate_survey(SkyChoice(n, (("carbon", 450),), seed=1), Path(folder) / "mock.survey")
        ours = time.perf_counter() - start
        assert len(survey) == n + 450
    noise = noise_alone(n)
    print(
        f"{n + 450} spectra in {ours:.0f} s, {(n + 450) / ours:.0f} a second; drawing their noise alone {noise:.1f} s:"
    )
    print(f"  ratio {ours / noise:.1f}")


if __name__ == "__main__":
    main()
