"""The Zarr arrays of a survey: flux, inverse variance, packed mask; one chunk is one block of whole rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.formats.blosc_chunk import is_whole
from rarespec.spectrum import WavelengthGrid
from rarespec.survey.manifest import ARRAYS, SurveyError


def chunk_file(array: str, block: int) -> str:
    """Path of a block's chunk inside the survey."""
    return f"{array}/c/{block}/0"


def check_chunk(root: Path, array: str, block: int) -> None:
    """Refuse a chunk that is missing or cut short: Zarr would read zeros, Blosc whatever lies in memory."""
    path = root / chunk_file(array, block)
    if not path.is_file() or not is_whole(path):
        raise SurveyError(f"{path}: missing or cut short; run `rarespec verify`")


def metadata_file(array: str) -> str:
    return f"{array}/zarr.json"


def create(root: Path, n_rows: int, block_rows: int, grid: WavelengthGrid) -> dict[str, Any]:
    """The three arrays below this directory, without any chunk yet."""
    import zarr
    from zarr.codecs import BloscCodec

    # Padding of a block that is not full yet compresses to nothing; noise barely does, and scans at near raw speed.
    codec = BloscCodec(cname="lz4", clevel=1, shuffle="bitshuffle")
    widths = {"flux": grid.n_pixels, "ivar": grid.n_pixels, "mask": (grid.n_pixels + 7) // 8}
    return {
        name: zarr.create_array(
            root / name,
            shape=(n_rows, widths[name]),
            chunks=(block_rows, widths[name]),
            dtype="uint8" if name == "mask" else "float32",
            compressors=codec,
            fill_value=0,
            config={"write_empty_chunks": True},  # every block has all its files, so that each has its digest
        )
        for name in ARRAYS
    }


def resize(zarrays: dict[str, Any], n_rows: int) -> None:
    for array in zarrays.values():
        array.resize((n_rows, array.shape[1]))


def open_arrays(root: Path) -> dict[str, Any]:
    import zarr

    return {name: zarr.open_array(root / name, mode="r") for name in ARRAYS}


def pack(bad: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(bad, axis=1)


def unpack(mask: NDArray[np.uint8], n_pixels: int) -> NDArray[np.bool_]:
    return np.unpackbits(mask, axis=1, count=n_pixels).view(bool)
