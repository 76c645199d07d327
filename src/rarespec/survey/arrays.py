"""The Zarr arrays of a survey: flux, inverse variance, packed mask; one chunk is one block of whole rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.blosc_chunk import is_whole
from rarespec.spectrum import WavelengthGrid
from rarespec.survey.chunk import rows_of_chunk, whole_chunk
from rarespec.survey.layout import chunk_file
from rarespec.survey.location import is_remote
from rarespec.survey.manifest import SurveyError

DTYPES = {"flux": "<f4", "ivar": "<f4", "mask": "|u1"}


def widths(grid: WavelengthGrid) -> dict[str, int]:
    """Numbers in a row of each array."""
    return {"flux": grid.n_pixels, "ivar": grid.n_pixels, "mask": (grid.n_pixels + 7) // 8}


def check_chunk(root: Path, array: str, block: int) -> None:
    """Refuse a chunk that is missing or cut short: Zarr would read zeros, Blosc whatever lies in memory."""
    path = root / chunk_file(array, block)
    if is_remote(path):  # every look is a request, and whoever reads the chunk finds the same
        return
    if not path.is_file() or not is_whole(path):
        raise SurveyError(f"{path}: missing or truncated; run `rarespec verify`")


def create(root: Path, n_rows: int, block_rows: int, grid: WavelengthGrid) -> dict[str, Any]:
    """The three arrays below this directory, without any chunk yet."""
    import zarr
    from zarr.codecs import BloscCodec

    # Padding of a block that is not full yet compresses to nothing; noise barely does, and scans at near raw speed.
    codec = BloscCodec(cname="lz4", clevel=1, shuffle="bitshuffle")
    return {
        name: zarr.create_array(
            root / name,
            shape=(n_rows, width),
            chunks=(block_rows, width),
            dtype=DTYPES[name],
            compressors=codec,
            fill_value=0,
            config={"write_empty_chunks": True},  # every block has all its files, so that each has its digest
        )
        for name, width in widths(grid).items()
    }


def resize(zarrays: dict[str, Any], n_rows: int) -> None:
    for array in zarrays.values():
        array.resize((n_rows, array.shape[1]))


def whole_block(root: Path, array: str, block: int, block_rows: int, grid: WavelengthGrid) -> NDArray[Any]:
    """All rows of one chunk, padding of a block that is not full included."""
    check_chunk(root, array, block)
    return whole_chunk(root / chunk_file(array, block), (block_rows, widths(grid)[array]), DTYPES[array])


def some_rows(root: Path, array: str, rows: NDArray[np.intp], block_rows: int, grid: WavelengthGrid) -> NDArray[Any]:
    """These rows of an array, in this order; of each chunk no more is read than its rows need."""
    taken = np.empty((len(rows), widths(grid)[array]), DTYPES[array])
    block_of = rows // block_rows
    for block in np.unique(block_of).tolist():
        check_chunk(root, array, block)
        places = np.flatnonzero(block_of == block)
        inside = rows[places] - block * block_rows
        taken[places] = rows_of_chunk(root / chunk_file(array, block), inside, taken.shape[1], DTYPES[array])
    return taken


def pack(bad: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(bad, axis=1)


def unpack(mask: NDArray[np.uint8], n_pixels: int) -> NDArray[np.bool_]:
    return np.unpackbits(mask, axis=1, count=n_pixels).view(bool)
