"""Every stage of a search on a GPU: time, distance from the hardware's floor, ratio to plain torch, answers checked.

    python benchmarks/gpu.py [--n 1000000] [--only features top_push ...]

Needs torch with CUDA. Inputs are drawn anew in every run (--seed to repeat one). The floor of a stage is the larger of
its bytes, each read or written once, at the rate of a large copy, and its products at the rate of a large matrix
product, both measured here first. The answers are compared with those of the CPU, or of float64, in the same run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from rarespec.features import PaperFeatures, StreamingPCA
from rarespec.gpu.device_recipe import DeviceRecipe, _locate_failures, fit_components
from rarespec.gpu.exact_neighbours import nearest_rows
from rarespec.gpu.scoring import top_rows
from rarespec.rankers import BaggingTopPush
from rarespec.rankers.toppush.cuda import solve_together
from rarespec.rankers.toppush.interior_point import solve
from rarespec.rankers.toppush.problem import LOSSES, Objective
from rarespec.spectrum import PAPER_GRID

N_PIXELS, N_FEATURES = PAPER_GRID.n_pixels, 50
SPREAD = np.geomspace(11, 0.15, N_FEATURES)
"""Of the paper's features, the first to the last."""
CHECKED = 1000
"""Rows whose features are computed on the CPU too."""
FEATURE_TOLERANCE = 1e-4
"""Largest difference of a feature; the last has a spread of 0.15."""
FEW = 65_536
"""Rows that slow contenders get; their times are scaled up."""


# ---- measuring


@dataclass
class Ceilings:
    bytes_per_s: float
    flops: dict[str, float]

    def floor(self, n_bytes: float, n_flop: float = 0.0, kind: str = "float16") -> float:
        """Milliseconds."""
        return 1e3 * max(n_bytes / self.bytes_per_s, n_flop / self.flops[kind])


def milliseconds(work: Callable[[], Any], rounds: int = 9) -> float:
    """Median of rounds, after two to warm up."""
    times = []
    for _ in range(rounds + 2):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return float(np.median(times[2:]))


def ceilings() -> Ceilings:
    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    rate = 2e3 * source.nbytes / milliseconds(lambda: target.copy_(source))
    flops = {}
    for kind in ("float16", "float32", "float64"):
        a, b = (torch.randn(8192, 8192, device="cuda").to(getattr(torch, kind)) for _ in range(2))
        flops[kind] = 2e3 * 8192**3 / milliseconds(lambda a=a, b=b: a @ b, 5)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: copy {rate / 1e12:.2f} TB/s,", end=" ")
    print(", ".join(f"{kind} {rate / 1e12:.0f} TFLOP/s" for kind, rate in flops.items()))
    return Ceilings(rate, flops)


def report(stage: str, ms: float, floor: float, peer: str, peer_ms: float, checked: str) -> None:
    print(
        f"{stage:<58}{ms:>9.2f} ms {ms / floor:>7.1f} x floor {peer_ms / ms:>8.1f} x {peer:<44} {checked}", flush=True
    )


# ---- inputs


def made_up_flux(n: int, random: torch.Generator, share_bad: bool) -> torch.Tensor:
    """(n, 3601) float32: smooth spectra of many shapes and brightnesses, with noise; bad pixels are NaN."""
    x = torch.linspace(-1, 1, N_PIXELS, device="cuda")
    shapes = torch.stack([torch.cos(k * x + k * k) for k in range(60)]) / torch.arange(1, 61, device="cuda")[:, None]
    flux = torch.empty((n, N_PIXELS), device="cuda")
    for start in range(0, n, 50_000):
        rows = flux[start : start + 50_000]
        brightness = torch.exp(torch.randn((len(rows), 1), device="cuda", generator=random))
        mixed = torch.randn((len(rows), 60), device="cuda", generator=random) @ shapes
        noise = 0.1 * torch.randn(rows.shape, device="cuda", generator=random)
        rows[:] = brightness * (5 + mixed + noise)
    return with_bad_pixels(flux, random) if share_bad else flux


def with_bad_pixels(flux: torch.Tensor, random: torch.Generator) -> torch.Tensor:
    """Four runs of one to three pixels in nine rows of ten: 0.2 % of all pixels, as in the mock survey."""
    rows = torch.arange(len(flux), device="cuda")[torch.rand(len(flux), device="cuda", generator=random) < 0.92]
    for _ in range(4):
        first = torch.randint(0, N_PIXELS, (len(rows),), device="cuda", generator=random)
        length = torch.randint(1, 4, (len(rows),), device="cuda", generator=random)
        for k in range(3):
            some = k < length
            flux[rows[some], (first + k).clamp(max=N_PIXELS - 1)[some]] = float("nan")
    return flux


def made_up_features(n: int, random: torch.Generator) -> torch.Tensor:
    """(n, 50) float32, in 200 groups of different sizes, with the spreads of the paper's features."""
    spread = torch.asarray(SPREAD, dtype=torch.float32, device="cuda")
    centres = torch.randn((200, N_FEATURES), device="cuda", generator=random)
    group = (200 * torch.rand(n, device="cuda", generator=random) ** 2).long()
    return spread * (centres[group] + 0.5 * torch.randn((n, N_FEATURES), device="cuda", generator=random))


# ---- stages


def features(n: int, random: torch.Generator, best: Ceilings) -> None:
    recipe = PaperFeatures().fit(made_up_flux(4000, random, False).cpu().numpy())
    on_gpu = DeviceRecipe(recipe, "cuda")
    for label, share_bad in (("no bad pixels", False), ("0.2 % bad pixels in 92 % of the rows", True)):
        flux = made_up_flux(n, random, share_bad)
        rows = torch.randint(0, n, (CHECKED,), device="cuda", generator=random)
        found, lost_at = (result[rows].cpu().numpy() for result in on_gpu.features_of(flux))
        expected, lost_here = recipe.transform_and_locate(flux[rows].cpu().numpy())
        worst = float(np.nanmax(np.abs(found - expected)))
        assert worst < FEATURE_TOLERANCE and np.array_equal(lost_at, lost_here), worst
        ms = milliseconds(lambda flux=flux: on_gpu.features_of(flux))
        floor = best.floor(flux.nbytes + n * N_FEATURES * 4, 3 * 2 * n * N_PIXELS * N_FEATURES)
        some = flux[:FEW]
        peer, peer_ms = (
            "the same functions through torch",
            milliseconds(partial(_locate_failures, recipe.steps_, some), 3),
        )
        report(f"features, {label}", ms, floor, peer, peer_ms * n / len(some), f"CPU's to {worst:.0e}")
        if not share_bad:
            peer_ms = milliseconds(partial(plain_features, recipe, some), 3) * n / len(some)
            report(f"features, {label}", ms, floor, "unfold, median, amin, amax, matmul", peer_ms, "")
        del flux


def plain_features(recipe: PaperFeatures, flux: torch.Tensor) -> list[torch.Tensor]:
    """As a user of torch would write it, for flux without bad pixels; a few thousand rows at a time."""
    pca, widths = recipe.steps_[2], recipe.steps_[0].segments(N_PIXELS)
    projection, mean = (torch.asarray(a, dtype=torch.float32, device="cuda") for a in (pca.components_.T, pca.mean_))
    found = []
    for rows in flux.split(8192):
        parts = []
        for segment in widths:
            padded = torch.nn.functional.pad(rows, (segment.width // 2,) * 2, mode="replicate")
            windows = padded[:, segment.start : segment.stop + segment.width - 1].unfold(1, segment.width, 1)
            parts.append(windows.median(dim=-1).values)
        filtered = torch.cat(parts, dim=1)
        low, high = filtered.amin(dim=1, keepdim=True), filtered.amax(dim=1, keepdim=True)
        found.append(((filtered - low) / (high - low) - mean) @ projection)
    return found


def components(n: int, random: torch.Generator, best: Ceilings) -> None:
    flux = made_up_flux(n, random, False)
    low, high = flux.amin(dim=1, keepdim=True), flux.amax(dim=1, keepdim=True)
    rows = (flux - low) / (high - low)
    del flux
    pca = StreamingPCA(N_FEATURES, n_passes=5)
    few = rows[:20_000]
    here = StreamingPCA(N_FEATURES, n_passes=5, solver="randomised").fit(few.cpu().numpy())
    there = fit_components(StreamingPCA(N_FEATURES, n_passes=5), lambda: [few], [len(few)])
    ratio = there.explained_variance_ratio_.sum() / here.explained_variance_ratio_.sum()
    assert abs(ratio - 1) < 1e-5, ratio
    start = time.perf_counter()
    fit_components(pca, lambda: [rows], [len(rows)])
    ms = 1e3 * (time.perf_counter() - start)
    floor = best.floor(12 * rows.nbytes, 2 * 6 * 2 * rows.numel() * 68, "float32")
    peer_ms = milliseconds(lambda: torch.pca_lowrank(rows, q=68, niter=5), 1)
    report(
        f"components of {n} x {N_PIXELS}, resident", ms, floor, "torch.pca_lowrank", peer_ms, f"variance {ratio:.7f}"
    )


def top_push(n: int, random: torch.Generator, best: Ceilings) -> None:
    X = made_up_features(100_000, random)
    y = np.zeros(len(X), int)
    y[:10] = 1
    X[:10] = X[10] + 0.3 * X[:10]
    here, there = (BaggingTopPush(random_state=0).fit(rows, y) for rows in (X.cpu().numpy(), X))
    apart = float(np.linalg.norm(here.coef_ - there.coef_) / np.linalg.norm(here.coef_))
    assert there.converged_ and there.relative_gap_ <= 1e-6 and apart < 1e-3, (there.relative_gap_, apart)
    objective = Objective(LOSSES["truncated-quadratic"], 100.0, 1)
    drawn = torch.randint(10, len(X), (50, 200), device="cuda", generator=random)
    bags = X[:10].double().expand(50, 10, N_FEATURES), X[drawn].double()
    ms = milliseconds(lambda: solve_together(*bags, objective, 1e-6, 200))
    steps = int(solve_together(*bags, objective, 1e-6, 200).n_iter.max())
    floor = best.floor(0, 50 * steps * (2 * 210 * 64**2 + 2 * 2 * 64**3), "float64")
    checked = f"gap {there.relative_gap_:.0e}, weights CPU's to {apart:.0e}"
    plain = milliseconds(lambda: solve(*bags, objective, 1e-6, 200), 3)
    report("TopPush, 50 bags of 200, 10 known", ms, floor, "the same steps through torch", plain, checked)
    here_ms = cpu_milliseconds(lambda: BaggingTopPush(random_state=0).fit(X.cpu().numpy(), y))
    fit_ms = cpu_milliseconds(lambda: BaggingTopPush(random_state=0).fit(X, y))
    report("BaggingTopPush.fit, draws and checks included", fit_ms, floor, "CPU, all cores", here_ms, "")


def cpu_milliseconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(4):
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return float(np.median(times[1:]))


def scoring(n: int, random: torch.Generator, best: Ceilings) -> None:
    n *= 5
    X, weights = made_up_features(n, random), np.random.default_rng().normal(size=N_FEATURES)
    rows, scores = (result.cpu().numpy() for result in top_rows(X, weights, 1000))
    exact = X.cpu().numpy().astype(np.float64) @ weights
    order = np.argsort(-exact, kind="stable")[:1000]
    assert np.array_equal(rows, order) and np.allclose(scores, exact[order], rtol=1e-12)
    ms = milliseconds(lambda: top_rows(X, weights, 1000), 30)
    there = torch.asarray(weights, dtype=torch.float32, device="cuda")
    plain = milliseconds(lambda: (X @ there).topk(1000), 30)
    report(f"scores and top 1000 of {n}", ms, best.floor(X.nbytes), "(X @ w).topk(1000), float32", plain, "identical")


def graph(n: int, random: torch.Generator, best: Ceilings) -> None:
    X = made_up_features(n, random)
    start = time.perf_counter()
    indices, distances = nearest_rows(X, 5)
    torch.cuda.synchronize()
    first_ms = 1e3 * (time.perf_counter() - start)
    same, worst = compared_with_float64(X, indices, distances, random)
    assert same == 1.0 and worst < 1e-9, (same, worst)
    ms = milliseconds(lambda: nearest_rows(X, 5), 3)
    floor = best.floor(0, 2.0 * n * n * 192)
    some = X[: min(4096, n)]
    plain = milliseconds(lambda: [torch.cdist(q, X).topk(6, largest=False) for q in some.split(512)], 1)
    checked = f"float64's in 2000 rows ({first_ms / 1e3:.1f} s the first time)"
    report(f"exact graph, 5 of {n}", ms, floor, "cdist and topk in tiles", plain * n / len(some), checked)


def compared_with_float64(
    X: torch.Tensor, indices: torch.Tensor, distances: torch.Tensor, random: torch.Generator
) -> tuple[float, float]:
    """Share of equal neighbours, and the largest difference of distances, in 2000 rows, by differences in float64."""
    exact = X.cpu().numpy().astype(np.float64)
    rows = torch.randint(0, len(X), (2000,), device="cuda", generator=random).tolist()
    agree, worst = [], 0.0
    base = X.double()
    for row in rows:
        squares = (base - base[row]).square().sum(dim=1)
        squares[row] = float("inf")
        near = squares.topk(5, largest=False).indices.cpu().numpy()
        agree.append(np.array_equal(near, indices[row].cpu().numpy()))
        true = np.linalg.norm(exact[near] - exact[row], axis=1)
        worst = max(worst, float(np.abs(true - distances[row].cpu().numpy()).max()))
    return float(np.mean(agree)), worst


def streaming(n: int, random: torch.Generator, best: Ceilings) -> None:
    """Raw flux in the memory of the host, block by block."""
    blocks = [made_up_flux(20_000, random, True).cpu().numpy() for _ in range(max(n // 100_000, 2))]
    recipe = PaperFeatures().fit(blocks[0][:4000])
    on_gpu = DeviceRecipe(recipe, "cuda")
    expected, _ = recipe.transform_and_locate(blocks[1][:CHECKED].copy())
    results = list(on_gpu.transform_blocks(iter(blocks)))
    worst = float(np.nanmax(np.abs(results[1][0][:CHECKED] - expected)))
    assert worst < FEATURE_TOLERANCE, worst
    ms = cpu_milliseconds(lambda: list(on_gpu.transform_blocks(iter(blocks))))
    pinned = torch.empty(blocks[0].shape, pin_memory=True)
    target = torch.empty(blocks[0].shape, device="cuda")
    floor = milliseconds(lambda: target.copy_(pinned, non_blocking=True)) * len(blocks)

    def plain() -> None:
        for block in blocks:
            [result.cpu() for result in on_gpu.features_of(torch.from_numpy(block).cuda())]

    size = f"{sum(block.nbytes for block in blocks) / 1e9:.1f} GB"
    label = f"features of {len(blocks)} blocks in host memory, {size}"
    report(label, ms, floor, "one block after the other", cpu_milliseconds(plain), f"CPU's to {worst:.0e}")


STAGES = {stage.__name__: stage for stage in (features, components, top_push, scoring, graph, streaming)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", nargs="+", choices=STAGES, default=list(STAGES))
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device here")
    random = torch.Generator(device="cuda")
    random.manual_seed(options.seed) if options.seed is not None else random.seed()
    best = ceilings()
    for name in options.only:
        torch.cuda.empty_cache()
        STAGES[name](options.n, random, best)


if __name__ == "__main__":
    main()
