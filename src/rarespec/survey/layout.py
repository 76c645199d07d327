"""Which files a survey consists of, by their paths inside it. It has no others, so nothing else may be named in it."""

from __future__ import annotations

ARRAYS = ("flux", "ivar", "mask")
DEFECTS = "defects.csv"


def chunk_file(array: str, block: int) -> str:
    """The rows of one block of an array."""
    return f"{array}/c/{block}/0"


def block_file(block: int) -> str:
    """The catalogue of one block."""
    return f"catalogue/{block:06d}.parquet"


def metadata_file(array: str) -> str:
    return f"{array}/zarr.json"


def files_of_block(block: int) -> list[str]:
    return [*(chunk_file(array, block) for array in ARRAYS), block_file(block)]


OTHER_FILES = (*(metadata_file(array) for array in ARRAYS), DEFECTS)
"""Those that belong to no block."""
FOLDERS = (*ARRAYS, *(f"{array}/c" for array in ARRAYS), "catalogue")
"""Directories that every block has its files in."""
