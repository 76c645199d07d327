"""The median filter on one core against scipy.ndimage and bottleneck, with a check that all give the same numbers.

    python benchmarks/median_filter.py [--n 2000] [--repetitions 7]

Two jobs: a fixed width of 7 pixels, and 10 Angstrom on the paper's grid, which is 11 to 5 pixels. The peers know fixed
widths only: for the second job each is called once per width, on the pixels that need it and half a window around.
SciPy is called in two ways, on the matrix with size=(1, width) and row by row; the second is the harder peer.
bottleneck's move_median looks back: its result is shifted by half a window and compared where windows are complete.
Times are the best of several interleaved repetitions, in processor time of the one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import bottleneck
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from rarespec.features.steps.rescaling import MinMax
from rarespec.features.steps.running_median import median_filter, pixel_widths
from rarespec.spectrum import PAPER_GRID

Flux = NDArray[np.float32]
Segments = list[tuple[int, int, int]]


def segments_of(widths: NDArray[np.intp]) -> Segments:
    cuts = [0, *(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(widths)]
    return [(start, stop, int(widths[start])) for start, stop in pairwise(cuts)]


def on_segments(segments: Segments, one_width: Callable[[Flux, int], Flux]) -> Callable[[Flux], Flux]:
    def filtered(flux: Flux) -> Flux:
        out = np.empty_like(flux)
        for start, stop, width in segments:
            first = max(start - width // 2, 0)
            part = one_width(flux[:, first : stop + width // 2], width)
            out[:, start:stop] = part[:, start - first : stop - first]
        return out

    return filtered


def scipy_matrix(flux: Flux, width: int) -> Flux:
    return ndimage.median_filter(flux, size=(1, width), mode="nearest")


def scipy_rows(flux: Flux, width: int) -> Flux:
    return np.stack([ndimage.median_filter(row, size=width, mode="nearest") for row in flux])


def bottleneck_shifted(flux: Flux, width: int) -> Flux:
    """The first and last half window stay NaN."""
    out = np.full_like(flux, np.nan)
    looking_back = bottleneck.move_median(flux, width, axis=1)
    out[:, width // 2 : flux.shape[1] - width // 2] = looking_back[:, width - 1 :]
    return out


def best_times(jobs: dict[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    times = dict.fromkeys(jobs, np.inf)
    for _ in range(repetitions):
        for name, job in jobs.items():
            start = time.thread_time()
            job()
            times[name] = min(times[name], time.thread_time() - start)
    return times


def compare(title: str, flux: Flux, segments: Segments, ours: Callable[[Flux], Flux], repetitions: int) -> None:
    few = flux[: max(len(flux) // 10, 1)]  # the peers are slow: a tenth of the rows is enough to time them
    peers = {
        "scipy.ndimage, matrix": on_segments(segments, scipy_matrix),
        "scipy.ndimage, row by row": on_segments(segments, scipy_rows),
        "bottleneck.move_median": on_segments(segments, bottleneck_shifted),
    }
    expected = ours(few)
    for name, peer in peers.items():
        found = peer(few)
        complete = ~np.isnan(found)
        assert complete.mean() > 0.99 and np.array_equal(found[complete], expected[complete]), name
    times = best_times(
        {"rarespec": lambda: ours(flux)} | {name: (lambda peer=peer: peer(few)) for name, peer in peers.items()},
        repetitions,
    )
    per_spectrum = {name: t / (len(flux) if name == "rarespec" else len(few)) * 1e6 for name, t in times.items()}
    print(f"{title}: rarespec {per_spectrum['rarespec']:.1f} microseconds a spectrum")
    for name in peers:
        print(f"  {name} {per_spectrum[name]:.0f}: ratio {per_spectrum[name] / per_spectrum['rarespec']:.1f}")


def compare_with_memory(flux: Flux, repetitions: int) -> None:
    """How far filter and rescaling are from the time that merely copying the spectra takes."""
    with_holes = flux.copy()
    with_holes[np.random.default_rng(1).random(flux.shape, np.float32) < 0.01] = np.nan
    times = best_times(
        {
            "copy": lambda: flux.copy(),
            "filter, no pixel bad": lambda: median_filter(flux, PAPER_GRID, n_threads=1),
            "filter, 1 % of pixels bad": lambda: median_filter(with_holes, PAPER_GRID, n_threads=1),
            "min-max": lambda: MinMax().transform(flux),
        },
        repetitions,
    )
    for name, seconds in times.items():
        print(
            f"  {name}: {seconds / len(flux) * 1e6:.1f} microseconds a spectrum, {seconds / times['copy']:.1f} copies"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--repetitions", type=int, default=7)
    arguments = parser.parse_args()
    flux = np.random.default_rng(0).normal(10, 1, (arguments.n, PAPER_GRID.n_pixels)).astype(np.float32)
    seven = np.full(PAPER_GRID.n_pixels, 7)
    compare(
        "7 pixels",
        flux,
        segments_of(seven),
        lambda x: median_filter(x, width_pixels=7, n_threads=1),
        arguments.repetitions,
    )
    ten_angstrom = segments_of(pixel_widths(PAPER_GRID, 10.0))
    compare(
        "10 Angstrom", flux, ten_angstrom, lambda x: median_filter(x, PAPER_GRID, n_threads=1), arguments.repetitions
    )
    print("Against copying the spectra in memory:")
    compare_with_memory(flux, arguments.repetitions)


if __name__ == "__main__":
    main()
