"""The manifest: what a survey consists of, with a digest of every file. It is published last, so it is the commit."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rarespec.errors import SurveyError, UsageError
from rarespec.spectrum import WavelengthGrid
from rarespec.survey.store.location import MOST_TEXT, content_of, is_remote
from rarespec.survey.store.precision import EXACT, Precision

# ---- Which files a survey consists of, by their paths inside it. It has no others, so nothing else may be named in
# it.


DEFECTS = "defects.csv"


def chunk_file(array: str, block: int) -> str:
    """Name the file with the rows of one block of an array."""
    return f"{array}/c/{block}/0"


def block_file(block: int) -> str:
    """Name the file with the catalogue of one block."""
    return f"catalogue/{block:06d}.parquet"


def metadata_file(array: str) -> str:
    return f"{array}/zarr.json"


def files_of_block(block: int, precision: Precision) -> list[str]:
    return [*(chunk_file(array, block) for array in precision.arrays), block_file(block)]


def other_files(precision: Precision) -> list[str]:
    """Name those that belong to no block."""
    return [*(metadata_file(array) for array in precision.arrays), DEFECTS]


ARRAYS = Precision().arrays
FOLDERS = (*ARRAYS, *(f"{array}/c" for array in ARRAYS), "catalogue")
"""Directories that blocks may have their files in."""


# ---- What may stand in a manifest. Its digest shows damage only: whoever forges a manifest computes the digest as
# well.
#
# Each function raises a ValueError that says what is wrong. What passes can be used without further care: types are
# right, numbers are such that a block fits into memory, and every path is that of a file which a survey has.


COLUMN_TYPES = ("null", "bool", "int64", "double", "string")
MOST_BYTES_OF_BLOCK = 2**31 - 17
"""Of a block of one array: what Blosc packs at once."""
MOST_PIXELS = 2**22
"""Ten times those of the finest spectrographs."""
MOST_GENERATIONS = 2**53
DEEPEST = 16
"""Lists and tables within each other in the record of how a survey was made."""
SHA256 = re.compile("[0-9a-f]{64}")
KEYS: dict[str, type] = {
    "grid": dict,
    "rest_frame": bool,
    "block_rows": int,
    "generation": int,
    "blocks": list,
    "columns": dict,
    "files": dict,
    "unfinished": list,
    "provenance": list,
}


def check_content(content: Mapping[str, Any]) -> None:
    """Check the content of a manifest without its format, version and digest."""
    keys = KEYS if "precision" not in content else KEYS | {"precision": str}
    _check_keys(content, keys, "the manifest")
    for name, kind in keys.items():
        _check_type(content[name], kind, name)
    precision = _parse_precision(content.get("precision", "exact"))
    _check_grid(content["grid"], content["block_rows"])
    _check_range(content["generation"], 0, MOST_GENERATIONS, "generation")
    _check_blocks(content["blocks"], content["block_rows"], precision)
    _check_columns(content["columns"], bool(content["blocks"]))
    _check_digests(content["files"], "files")
    if unknown := content["files"].keys() - set(other_files(precision)):
        raise ValueError(f"a survey has no file {min(unknown)!r}")
    _check_texts(content["unfinished"])
    _check_provenance(content["provenance"])


def check_block_size(block_rows: int, n_pixels: int) -> None:
    """Refuse blocks that could be neither packed nor held in memory."""
    _check_range(block_rows, 1, MOST_BYTES_OF_BLOCK, "block_rows")
    _check_range(n_pixels, 2, MOST_PIXELS, "grid n_pixels")
    if block_rows * n_pixels * np.dtype(np.float32).itemsize > MOST_BYTES_OF_BLOCK:
        raise ValueError(f"{block_rows} rows of {n_pixels} pixels are more than a block can hold, 2 GB")


def _check_grid(grid: dict[str, Any], block_rows: int) -> None:
    _check_keys(grid, ("spacing", "start", "step", "n_pixels"), "the grid")
    _check_type(grid["spacing"], str, "grid spacing")
    _check_type(grid["n_pixels"], int, "grid n_pixels")
    for name in ("start", "step"):
        if type(grid[name]) not in (int, float):
            raise ValueError(f"grid {name} is not a number")
    check_block_size(block_rows, grid["n_pixels"])
    try:
        first = WavelengthGrid.from_json(grid | {"n_pixels": 2})
        last = replace(first, start=first.start + first.step * (grid["n_pixels"] - 2))
    except OverflowError:
        raise ValueError("the grid has a number that is too large") from None
    with np.errstate(over="ignore"):
        ends = np.concatenate([first.wavelength, last.wavelength])
    if not (ends[0] > 0 and ends[0] < ends[1] and ends[2] < ends[3] < np.inf):
        raise ValueError("the wavelengths of the grid do not increase from pixel to pixel")


def _parse_precision(text: str) -> Precision:
    try:
        return Precision.parse(text)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _check_blocks(blocks: list[Any], block_rows: int, precision: Precision) -> None:
    for i, block in enumerate(blocks):
        _check_type(block, dict, f"block {i}")
        _check_keys(block, ("rows", "digests"), f"block {i}")
        _check_type(block["rows"], int, f"the rows of block {i}")
        _check_range(block["rows"], 1 if i == len(blocks) - 1 else block_rows, block_rows, f"the rows of block {i}")
        _check_type(block["digests"], dict, f"the digests of block {i}")
        _check_keys(block["digests"], files_of_block(i, precision), f"block {i}")
        _check_digests(block["digests"], f"block {i}")


def _check_columns(columns: dict[str, Any], has_rows: bool) -> None:
    for name, kind in columns.items():
        if kind not in COLUMN_TYPES:
            raise ValueError(f"the column {name!r} has an invalid type")
    if has_rows and columns.get("id") != "string":
        raise ValueError("the catalogue has no ids")


def _check_digests(digests: dict[str, Any], where: str) -> None:
    for name, digest in digests.items():
        if not (isinstance(digest, str) and SHA256.fullmatch(digest)):
            raise ValueError(f"{where}: no SHA-256 of {name!r}")


def _check_texts(values: list[Any]) -> None:
    if not all(isinstance(value, str) for value in values):
        raise ValueError("unfinished is not a list of texts")


def _check_provenance(entries: list[Any]) -> None:
    for entry in entries:
        _check_type(entry, dict, "an entry of provenance")
    if _depth(entries) > DEEPEST:
        raise ValueError("provenance is nested too deeply")


def _depth(value: Any) -> int:
    """Of lists and tables within each other; those beyond the limit are not followed."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        level = [inner for outer in level if isinstance(outer, dict | list) for inner in _inside(outer)]
        depth += 1
    return depth


def _inside(outer: dict[str, Any] | list[Any]) -> list[Any]:
    return list(outer.values()) if isinstance(outer, dict) else outer


def _check_keys(found: Mapping[str, Any], expected: Collection[str], where: str) -> None:
    if missing := set(expected) - found.keys():
        raise ValueError(f"{where} has no {min(missing)!r}")
    if unknown := found.keys() - set(expected):
        raise ValueError(f"{where} has {min(unknown)!r}, which this version of rarespec does not know")


def _check_type(value: Any, kind: type, what: str) -> None:
    if type(value) is not kind:  # True would pass for a whole number
        raise ValueError(f"{what} is not {NAMES[kind]}")


def _check_range(value: int, low: int, high: int, what: str) -> None:
    if not low <= value <= high:
        raise ValueError(f"{what} is out of range")


NAMES = {dict: "a table", list: "a list", str: "a text", int: "a whole number", bool: "true or false"}


NAME = "manifest.json"
FORMAT = "rarespec-survey"
EXACT_VERSION, VERSION = 1, 2
"""A survey of exact numbers is written as ever, so that any rarespec reads it; the second version names its
precision."""
UNDECIDED = "to be taken from the first spectra"
"""What the last entry of provenance says of the grid of an empty survey that may still get another one."""
BLOCK_ROWS = 2048
"""Rows of one block: one chunk of each array, one catalogue file. 30 MB of flux on the paper's grid."""


@dataclass(frozen=True)
class BlockRecord:
    """One block: how many rows it holds and the SHA-256 of each of its files, by path inside the survey."""

    rows: int
    digests: dict[str, str]


@dataclass(frozen=True)
class Manifest:
    """What one state of a survey consists of.

    Parameters
    ----------
    grid : WavelengthGrid
        The wavelengths of all spectra.
    rest_frame : bool
        Whether the spectra are at rest.
    block_rows : int
        Rows of a full block.
    generation : int
        One more with each commit.
    blocks : tuple of BlockRecord
        Rows and files of each block.
    columns : dict
        Catalogue column -> Arrow type, valid for all blocks.
    files : dict
        Files that belong to no block (array metadata, defects) -> SHA-256.
    unfinished : tuple of str
        Input files of which only the first spectra were stored when this state was published.
    provenance : tuple of dict
        How the survey came to be, one entry for each change.
    precision : Precision
        In which steps the spectra are stored.
    """

    grid: WavelengthGrid
    rest_frame: bool = False
    block_rows: int = BLOCK_ROWS
    generation: int = 0
    blocks: tuple[BlockRecord, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    provenance: tuple[dict[str, Any], ...] = ()
    precision: Precision = EXACT

    @property
    def n_rows(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def has_grid(self) -> bool:
        """Whether the grid is settled. An empty survey may wait for its first spectra; `grid` then stands in."""
        return bool(self.blocks) or not (self.provenance and self.provenance[-1].get("grid") == UNDECIDED)

    def digests(self) -> dict[str, str]:
        """Every file of the survey but the manifest itself -> SHA-256."""
        everything = dict(self.files)
        for block in self.blocks:
            everything.update(block.digests)
        return everything

    def to_bytes(self) -> bytes:
        content = {"format": FORMAT, "version": VERSION} | asdict(self)
        content |= {"grid": self.grid.to_json(), "precision": str(self.precision)}
        if self.precision == EXACT:
            content["version"] = EXACT_VERSION
            del content["precision"]
        return _sealed(content)

    @classmethod
    def from_bytes(cls, text: bytes, where: Path) -> Manifest:
        """From what `to_bytes` gave; anything else, also with a digest that fits, is a SurveyError."""
        try:
            content = _parse(text, where)
            content.pop("digest", None)
            if _sealed(content) != text:
                raise ValueError("checksum does not match")
            is_exact = content.pop("version") == EXACT_VERSION
            del content["format"]
            check_content(content)
            if is_exact == ("precision" in content):
                raise ValueError("its version does not go with its precision")
        except (ValueError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
            raise SurveyError(f"{where}: the manifest is damaged ({why}); restore it from a backup") from None
        return cls(
            **content
            | {
                "grid": WavelengthGrid.from_json(content["grid"]),
                "blocks": tuple(BlockRecord(**block) for block in content["blocks"]),
                "unfinished": tuple(content["unfinished"]),
                "provenance": tuple(content["provenance"]),
                "precision": Precision.parse(content.get("precision", "exact")),
            }
        )

    @classmethod
    def load(cls, root: Path) -> Manifest:
        path = root / NAME
        try:
            text = content_of(path, MOST_TEXT)
        except (FileNotFoundError, NotADirectoryError):
            missing = f"no {NAME}" if is_remote(root) or root.exists() else "it does not exist"
            raise UsageError(f"{root}: not a survey ({missing}); create one with `rarespec ingest`") from None
        except OSError as error:
            raise SurveyError(f"{path}: {error.strerror or error}") from None
        return cls.from_bytes(text, path)


def _parse(text: bytes, where: Path) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        raise ValueError("not JSON") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SurveyError(f"{where}: not the manifest of a rarespec survey")
    if content.get("version") not in (EXACT_VERSION, VERSION):
        found = repr(content.get("version"))[:20]
        raise SurveyError(f"{where}: survey format {found}; this rarespec reads up to {VERSION}, use a newer one")
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _sealed(content: dict[str, Any]) -> bytes:
    """Write the content as JSON whose last entry is the digest of what it would be without."""
    text = json.dumps(content, indent=1, ensure_ascii=False).encode()
    digest = hashlib.sha256(text).hexdigest()
    return text.removesuffix(b"\n}") + f',\n "digest": "{digest}"\n}}'.encode()
