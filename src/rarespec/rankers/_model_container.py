"""The container of a model file: one JSON document and named arrays in safetensors, with a digest of every byte.

The metadata holds two texts: `rarespec`, the document, and `digest`, the SHA-256 of the whole file with 64 zeros in the
place of the digest itself, so that any flipped bit is found.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_HEADER_BYTES = 16 * 2**20
"""A header holds parameters and a few numbers; a larger one is no model of ours."""

NO_DIGEST = "0" * 64

Arrays = dict[str, NDArray[Any]]


class ModelFileError(Exception):
    """A model file that cannot be written, read or used, with the reason and what to do."""


def packed(document: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file."""
    from safetensors.numpy import save

    text = json.dumps(document, allow_nan=False)
    content: bytes = save(arrays, metadata={"rarespec": text, "digest": NO_DIGEST})
    _require_moderate(int.from_bytes(content[:8], "little"))
    start = content.index(f'"{NO_DIGEST}"'.encode()) + 1
    return content[:start] + hashlib.sha256(content).hexdigest().encode() + content[start + len(NO_DIGEST) :]


MOST_BYTES = 1 << 33
"""Of a file, which is read whole: twenty million spectra in the fifty components that a model may keep of them."""


def read(path: Path) -> bytes:
    """All of a plain file; a pipe or a device may have no end."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ModelFileError("not a regular file: check the path")
        if path.stat().st_size > MOST_BYTES:
            raise ModelFileError(f"too large for a model (more than {MOST_BYTES >> 30} GiB): use another file")
        return path.read_bytes()
    except MemoryError:
        raise ModelFileError("does not fit into memory: use a machine with more memory") from None
    except OSError as error:
        raise ModelFileError(f"cannot be read ({error.strerror}): check the path") from None


def unpacked(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """The document and the arrays in these bytes; a ModelFileError if they are not as `packed` made them."""
    from safetensors.numpy import load

    metadata = _metadata(content)
    document = _parsed(metadata.get("rarespec", "null"))
    if document is None:
        raise ModelFileError("a safetensors file, but not a rarespec model: use another file")
    _require_digest(content, metadata.get("digest"))
    try:
        arrays = load(content)
    except Exception as error:  # besides its own error, the library raises those of Python for types it does not know
        raise ModelFileError(f"the arrays cannot be read ({error}): restore it from a backup") from None
    return document, {name: np.array(array) for name, array in arrays.items()}


def _metadata(content: bytes) -> dict[str, str]:
    """The container's own texts. Its header is a length of 8 bytes and that many bytes of JSON."""
    length = int.from_bytes(content[:8], "little")
    if content[8:9] != b"{":
        raise ModelFileError("not a safetensors file: use a file that save_model wrote")
    _require_moderate(length)
    if len(content) < 8 + length:
        raise ModelFileError("the file is truncated: copy it again")
    header = _parsed(content[8 : 8 + length])
    metadata = {} if header is None else header.get("__metadata__", {})
    if not isinstance(metadata, dict) or any(not isinstance(text, str) for text in metadata.values()):
        raise ModelFileError("the header is damaged: restore it from a backup")
    return metadata


def _require_moderate(length: int) -> None:
    if length > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"a header of {length} bytes is longer than allowed ({MAX_HEADER_BYTES}): store large values as arrays"
        )


def _parsed(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in this text; None where it is null."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        raise ModelFileError("not a model, or damaged (its header is not JSON): restore it from a backup") from None
    if parsed is not None and not isinstance(parsed, dict):
        raise ModelFileError("not a model, or damaged (its header is not a JSON object): restore it from a backup")
    return parsed


def _require_digest(content: bytes, digest: str | None) -> None:
    start = content.find(digest.encode()) if digest and digest.isascii() else -1
    if digest is None or start < 0 or len(digest) != len(NO_DIGEST):
        raise ModelFileError("the file has no checksum, so it is not complete: save the model again")
    view = memoryview(content)
    found = hashlib.sha256(view[:start])
    found.update(NO_DIGEST.encode())
    found.update(view[start + len(NO_DIGEST) :])
    if found.hexdigest() != digest:
        raise ModelFileError("the file is damaged (its checksum does not match): restore it from a backup")
