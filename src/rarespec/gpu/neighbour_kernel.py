# mypy: ignore-errors
# ruff: noqa: RUF005
# Triton compiles a part of Python only, without annotations or starred tuples.
"""Candidates for the nearest rows of each query, from all pairs, without ever storing a distance.

A program takes QUERIES queries and walks over all rows, ROWS at a time. A row belongs to the class of its place in its
tile, and of every class the three smallest squared distances are kept, with the number of the tile in the last bits of
each. Whatever is not kept is no nearer than the third of its class. Imports Triton: only where there is a GPU.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def candidates_kernel(
    queries,
    base,
    kept,
    n_tiles,
    TILE_BITS: tl.constexpr,
    QUERIES: tl.constexpr,
    ROWS: tl.constexpr,
    PARTS: tl.constexpr,
):
    """Keep, for QUERIES queries in each program, the three nearest rows of every class.

    Parameters
    ----------
    queries : pointer to (padded queries, 64 PARTS) float16
        Queries as factors.
    base : pointer to (padded rows, 64 PARTS) float16
        Rows as factors: the product with a query is the squared distance.
    kept : pointer to (padded queries, 3 ROWS) float32
        Written: the smallest squared distance of each class, then the second, then the third.
    n_tiles : int
        Tiles of ROWS rows each.
    TILE_BITS : int
        Last bits of a squared distance that hold the number of its tile.
    QUERIES : int
        Queries of a program.
    ROWS : int
        Rows of a tile, which is the number of classes.
    PARTS : int
        Parts of 64 columns.
    """
    query = tl.program_id(0).to(tl.int64) * QUERIES + tl.arange(0, QUERIES)
    row, column = tl.arange(0, ROWS), tl.arange(0, 64)
    from_query = queries + query[:, None] * (64 * PARTS) + column[None, :]
    from_row = base + row[None, :] * (64 * PARTS) + column[:, None]
    parts = ()
    for i in tl.static_range(PARTS):
        parts = parts + (tl.load(from_query + 64 * i),)
    first = tl.full((QUERIES, ROWS), float("inf"), tl.float32)
    second, third = first, first
    for tile in range(n_tiles):
        squares = tl.zeros((QUERIES, ROWS), tl.float32)
        for i in tl.static_range(PARTS):
            squares = tl.dot(parts[i], tl.load(from_row + 64 * i), squares)
        # the number of the tile takes the place of the last bits of the mantissa: the order hardly changes
        marked = (squares.to(tl.int32, bitcast=True) & (-1 << TILE_BITS)) | tile
        value = marked.to(tl.float32, bitcast=True)
        # one round of insertion into the three kept values; what falls out of the third place is forgotten
        after_first = tl.maximum(first, value)
        first = tl.minimum(first, value)
        after_second = tl.maximum(second, after_first)
        second = tl.minimum(second, after_first)
        third = tl.minimum(third, after_second)
        from_row += ROWS * 64 * PARTS
    where = kept + query[:, None] * (3 * ROWS) + row[None, :]
    tl.store(where, first)
    tl.store(where + ROWS, second)
    tl.store(where + 2 * ROWS, third)
