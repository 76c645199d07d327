"""How time and memory of the graph methods grow with the survey: a table and a plot.

    python benchmarks/graph_growth.py [--n 10000 30000 100000 300000 1000000] [--plot growth.png]

Each size runs in a process of its own, on two threads, with 10 known rows. The rows are the paper's 50 features of mock
spectra, beyond 20 000 of them mixtures of neighbouring ones. Memory is the peak of the process beyond what it held
when the matrix was loaded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from mock_features import drawn_queries, mixed_features
from rarespec.rankers import EMR, LRGA, Kept, LabelPropagation, build_neighbours
from timing import timed

STAGES = ("graph", "LP set-up", "LP query", "LRGA set-up", "LRGA query", "EMR set-up", "EMR query")
PLOTTED = ("graph", "LP query", "LRGA query", "EMR set-up", "EMR query")


def peak_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measured(path: str) -> dict[str, float]:
    """Seconds of every stage, MiB beside the matrix, and the recall of the graph."""
    X = np.load(path)
    before = peak_mib()
    y = drawn_queries(len(X), 1)[:, 0]
    found: dict[str, float] = {}
    found["graph"], graph = timed(lambda: build_neighbours(X, 5))
    for name, ranker in {
        "LP": LabelPropagation(sigma="self-tuned"),
        "LRGA": LRGA(),
        "EMR": EMR(random_state=0),
    }.items():
        found[f"{name} set-up"], preparation = timed(lambda ranker=ranker: ranker.prepare(X, Kept(graph=graph)))
        found[f"{name} query"], _ = timed(lambda preparation=preparation: preparation.scores_for(y))
    return found | {"MiB": peak_mib() - before, "recall": float(graph.recall or 0)}


def of_sizes(sizes: list[int]) -> dict[int, dict[str, float]]:
    rows = mixed_features(max(sizes))
    order = np.random.default_rng(0).permutation(len(rows))
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = f"{folder}/{n}.npy"
            np.save(path, rows[np.sort(order[:n])])
            done = subprocess.run(
                [sys.executable, __file__, "--measure", path], capture_output=True, text=True, check=True
            )
            results[n] = json.loads(done.stdout)
            print_row(n, results[n])
    return results


def print_row(n: int, result: dict[str, float]) -> None:
    print(f"| {n} | " + " | ".join(f"{result[stage]:.3g}" for stage in STAGES), end=" | ")
    print(f"{result['MiB']:.0f} | {result['recall']:.4f} |", flush=True)


def plot(results: dict[int, dict[str, float]], path: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    times, memory = figure.subplots(1, 2)
    sizes = list(results)
    for stage in PLOTTED:
        times.loglog(sizes, [results[n][stage] for n in sizes], marker="o", markersize=3, label=stage)
    times.set_ylabel("seconds")
    times.legend(frameon=False, fontsize=8)
    memory.loglog(sizes, [results[n]["MiB"] for n in sizes], marker="o", markersize=3, label="peak beside the matrix")
    memory.loglog(sizes, [n * 50 * 4 / 2**20 for n in sizes], color="0.6", label="the matrix itself")
    memory.set_ylabel("MiB")
    memory.legend(frameon=False, fontsize=8)
    for panel in (times, memory):
        panel.set_xlabel("spectra")
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--plot")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.measure)))
        return
    print("| rows | " + " | ".join(f"{stage} [s]" for stage in STAGES) + " | memory [MiB] | recall |")
    results = of_sizes(sorted(arguments.n))
    if arguments.plot:
        plot(results, arguments.plot)


if __name__ == "__main__":
    main()
