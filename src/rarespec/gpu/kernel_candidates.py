"""Candidates for the nearest rows from the Triton kernel, with a bound on all other rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rarespec.gpu.exact_neighbours import Candidates
from rarespec.gpu.split_rows import ROUNDING, split_rows

Array = Any

QUERIES, CLASSES = 128, 64
"""Queries of a program, and rows it compares at once: the classes of which the three nearest are kept."""
N_KEPT = 3
MOST_TILE_BITS = 16
"""Bits of a squared distance that may be lost to the number of its tile: those left are good to 1 %."""


class KernelCandidates:
    """Finds `count` candidates or more for each of a range of rows of X, a CUDA tensor (n, d)."""

    def __init__(self, X: Array, count: int) -> None:
        self.n, self.count = X.shape[0], min(count, N_KEPT * CLASSES)
        self.split = split_rows(X, -(-self.n // QUERIES) * QUERIES)

    def __call__(self, start: int, stop: int) -> Candidates:
        """For the rows start .. stop-1; start is a multiple of QUERIES."""
        import torch

        found = [self._among(start, stop, *part) for part in self._parts()]
        bound = torch.stack([bound for _, bound in found]).amin(dim=0)
        rows = torch.cat([rows for rows, _ in found], dim=1)
        own = torch.arange(start, stop, device=rows.device)[:, None]
        rows = torch.where(rows < self.n, rows, own)  # of few rows some candidates are none
        return Candidates(rows, bound.to(torch.float64) * self.split.scale**2)

    def slack(self, rows: Array, squares: Array) -> Array:
        """By how much the kernel's value of a row that is truly no farther than `squares` may exceed that, (m,)."""
        lengths = self.split.lengths[rows] * self.split.scale
        return ROUNDING * (2 * lengths + squares.sqrt()) ** 2

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Rows that one kernel compares: the numbers of their tiles have few bits."""
        size = CLASSES << MOST_TILE_BITS
        return ((first, min(size, self.n - first)) for first in range(0, self.n, size))

    def _among(self, start: int, stop: int, first: int, n_rows: int) -> tuple[Array, Array]:
        """Candidates (m, count) among n_rows rows, and what no other of these rows is below, (m,), scaled."""
        import torch

        n_tiles = -(-n_rows // CLASSES)
        tile_bits = max((n_tiles - 1).bit_length(), 1)
        kept = self._kept(start, stop, first, n_tiles, tile_bits)
        values, places = kept.topk(self.count, dim=1, largest=False)
        tiles = values.view(torch.int32) & ((1 << tile_bits) - 1)
        rows = first + tiles.to(torch.int64) * CLASSES + places % CLASSES
        # no other row is nearer than the last candidate, nor than the third of its class
        return rows, torch.minimum(values[:, -1], kept[:, (N_KEPT - 1) * CLASSES :].amin(dim=1))

    def _kept(self, start: int, stop: int, first: int, n_tiles: int, tile_bits: int) -> Array:
        """(stop - start, N_KEPT CLASSES) squared distances, scaled, the tile in their last bits."""
        import torch

        from rarespec.gpu.neighbour_kernel import candidates_kernel

        n_programs = -(-(stop - start) // QUERIES)
        kept = torch.empty((n_programs * QUERIES, N_KEPT * CLASSES), dtype=torch.float32, device=self.split.base.device)
        candidates_kernel[(n_programs,)](
            self.split.queries[start:],
            self.split.base[first:],
            kept,
            n_tiles,
            TILE_BITS=tile_bits,
            QUERIES=QUERIES,
            ROWS=CLASSES,
            PARTS=self.split.n_parts,
            num_warps=8,
            num_stages=3,
        )
        return kept[: stop - start]
