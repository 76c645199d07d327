"""Rows as float16 factors whose products are squared distances, as exact as float32 would give them.

A coordinate x is written as h + l, h = x in float16 and l = x - h in float16. Of two rows a and b,

    |a - b|^2 = -2 (ah bh + ah bl + al bh) + |a|^2 + |b|^2      up to al bl, which is left out

so with a as (ah, ah, al, 1, 1, 1, parts of |a|^2) and b as -2 (bh, bl, bh), (parts of |b|^2), 1, 1, 1 the squared
distance is one product of float16 vectors, summed in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    base = _padded(base, padded_to)
    base[len(X) :, 3 * X.shape[1]] = 60_000.0
    return SplitRows(_padded(queries, padded_to), base, lengths, scale)


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


def _padded(rows: Array, n: int) -> Array:
    import torch

    width = -(-rows.shape[1] // PART) * PART
    padded = torch.zeros((n, width), dtype=rows.dtype, device=rows.device)
    padded[: rows.shape[0], : rows.shape[1]] = rows
    return padded
