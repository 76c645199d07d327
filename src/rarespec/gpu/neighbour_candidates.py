"""Candidates for the nearest rows from the Triton kernel, with a bound on all other rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rarespec.gpu.exact_neighbours import Candidates

# ---- Rows as float16 factors whose products are squared distances, as exact as float32 would give them.
#
# A coordinate x is written as h + l, h = x in float16 and l = x - h in float16. Of two rows a and b,
#
#     |a - b|^2 = -2 (ah bh + ah bl + al bh) + |a|^2 + |b|^2      up to al bl, which is left out
#
# so with a as (ah, ah, al, 1, 1, 1, parts of |a|^2) and b as -2 (bh, bl, bh), (parts of |b|^2), 1, 1, 1 the squared
# distance is one product of float16 vectors, summed in float32.


Array = Any

PART = 64
"""Columns that a kernel multiplies at a time."""
LARGEST = 200.0
"""Length of a row that float16 can square."""
ROUNDING = 2.0**-17
"""Bound of the error of a product, relative to (|a| + |b|)^2: sums of a few hundred terms in float32."""


@dataclass(frozen=True)
class SplitRows:
    """(padded n, PART * n_parts) float16 each; `scale` is what distances were divided by."""

    queries: Array
    base: Array
    lengths: Array
    """(n,) float64, of the rows after centring and scaling."""
    scale: float

    @property
    def n_parts(self) -> int:
        return self.base.shape[1] // PART


def split_rows(X: Array, padded_to: int) -> SplitRows:
    """Of torch rows X, (n, d) finite; padded rows are far from everything."""
    import torch

    centred = X.to(torch.float64)
    centred = centred - centred.mean(dim=0)
    lengths = torch.linalg.vector_norm(centred, dim=1)
    scale = float(torch.maximum(lengths.square().mean().sqrt(), lengths.max() / LARGEST)) or 1.0
    centred, lengths = centred / scale, lengths / scale
    high, low = _two_parts(centred)
    square = _three_parts(lengths.square())
    one = torch.ones_like(square)
    queries = torch.cat([high, high, low, one, square], dim=1)
    base = torch.cat([-2 * high, -2 * low, -2 * high, square, one], dim=1)
    base = _pad(base, padded_to)
    base[len(X) :, 3 * X.shape[1]] = 60_000.0
    return SplitRows(_pad(queries, padded_to), base, lengths, scale)


def _two_parts(values: Array) -> tuple[Array, Array]:
    import torch

    high = values.to(torch.float16)
    return high, (values - high.to(values.dtype)).to(torch.float16)


def _three_parts(values: Array) -> Array:
    """(n, 3) float16 whose sums are the values (n,)."""
    import torch

    first, rest = _two_parts(values)
    second = (values - first.to(values.dtype)).to(torch.float16)
    rest = values - first.to(values.dtype) - second.to(values.dtype)
    return torch.stack([first, second, rest.to(torch.float16)], dim=1)


def _pad(rows: Array, n: int) -> Array:
    import torch

    width = -(-rows.shape[1] // PART) * PART
    padded = torch.zeros((n, width), dtype=rows.dtype, device=rows.device)
    padded[: rows.shape[0], : rows.shape[1]] = rows
    return padded


# ---- neighbour candidates


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
        kept = self._keep_best(start, stop, first, n_tiles, tile_bits)
        values, places = kept.topk(self.count, dim=1, largest=False)
        tiles = values.view(torch.int32) & ((1 << tile_bits) - 1)
        rows = first + tiles.to(torch.int64) * CLASSES + places % CLASSES
        # no other row is nearer than the last candidate, nor than the third of its class
        return rows, torch.minimum(values[:, -1], kept[:, (N_KEPT - 1) * CLASSES :].amin(dim=1))

    def _keep_best(self, start: int, stop: int, first: int, n_tiles: int, tile_bits: int) -> Array:
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
