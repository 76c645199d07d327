"""Values of a ranker as JSON, arrays apart, and back: of the same types and to the bit."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import ModelFileError

# ---- The container of a model file: one JSON document and named arrays in safetensors, with a digest of every
# byte.
#
# The metadata holds two texts: `rarespec`, the document, and `digest`, the SHA-256 of the whole file with 64 zeros
# in the place of the digest itself, so that any flipped bit is found.


MAX_HEADER_BYTES = 16 * 2**20
"""A header holds parameters and a few numbers; a larger one is no model of ours."""

NO_DIGEST = "0" * 64

Arrays = dict[str, NDArray[Any]]


def pack_values(document: dict[str, Any], arrays: Arrays) -> bytes:
    """Pack a document and arrays into the bytes of a file."""
    from safetensors.numpy import save

    text = json.dumps(document, allow_nan=False)
    content: bytes = save(arrays, metadata={"rarespec": text, "digest": NO_DIGEST})
    _require_moderate(int.from_bytes(content[:8], "little"))
    start = content.index(f'"{NO_DIGEST}"'.encode()) + 1
    return content[:start] + hashlib.sha256(content).hexdigest().encode() + content[start + len(NO_DIGEST) :]


MOST_BYTES = 1 << 33
"""Of a file, which is read whole: twenty million spectra in the fifty components that a model may keep of them."""


def read(path: Path) -> bytes:
    """Read all of a plain file; a pipe or a device may have no end."""
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


def unpack_values(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Unpack the document and the arrays; a ModelFileError if the bytes are not as `pack_values` made them."""
    from safetensors.numpy import load

    metadata = _metadata(content)
    document = _parse(metadata.get("rarespec", "null"))
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
    header = _parse(content[8 : 8 + length])
    metadata = {} if header is None else header.get("__metadata__", {})
    if not isinstance(metadata, dict) or any(not isinstance(text, str) for text in metadata.values()):
        raise ModelFileError("the header is damaged: restore it from a backup")
    return metadata


def _require_moderate(length: int) -> None:
    if length > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"a header of {length} bytes is longer than allowed ({MAX_HEADER_BYTES}): store large values as arrays"
        )


def _parse(text: str | bytes) -> dict[str, Any] | None:
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


# ---- model values


MAX_DEPTH = 20
"""Lists in lists, at most."""

ARRAY_KINDS = "biuf"
ARRAY_SIZES = (1, 2, 4, 8)
TEXT_KINDS: dict[str, type] = {"U": str, "O": object}


def describe_all(values: Mapping[str, Any], what: str, arrays: Arrays) -> dict[str, Any]:
    """Describe values as JSON, with arrays put aside.

    Parameters
    ----------
    values : mapping of str to object
        Numbers, text, None, arrays, and lists, tuples and dictionaries of these.
    what : str
        What they are, for messages: "parameter".
    arrays : dict of str to ndarray
        Filled here: every array of numbers is added under a name of its own.

    Returns
    -------
    dict of str to object
        What JSON can hold; `rebuilt_all` turns it back.

    Raises
    ------
    ModelFileError
        If a value is of another type or nested too deeply, or an array is not finite.
    """
    return {str(name): _describe(value, f"{what} {name}", arrays) for name, value in values.items()}


def _describe(value: Any, what: str, arrays: Arrays, depth: int = 0) -> Any:
    """A value in JSON; arrays go into `arrays`, and anything that JSON would confuse becomes {tag: ...}."""
    if depth > MAX_DEPTH:
        raise ModelFileError(f"{what} cannot be saved: lists are nested too deeply")
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) is float:
        return {"number": repr(value)}  # nan, inf: JSON has none
    if type(value) in (list, tuple):
        return {type(value).__name__: [_describe(item, what, arrays, depth + 1) for item in value]}
    if type(value) is dict and all(isinstance(name, str) for name in value):
        return {"dict": {name: _describe(item, what, arrays, depth + 1) for name, item in value.items()}}
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return _describe_array(value, what, arrays)
    raise ModelFileError(
        f"{what} cannot be saved: it is a {type(value).__name__}; only numbers, text and arrays can be saved"
    )


def _describe_array(value: Any, what: str, arrays: Arrays) -> dict[str, Any]:
    array = np.asarray(value)
    if array.dtype.kind in "UO" and all(type(item) in (str, np.str_) for item in array.flat):
        texts = [str(item) for item in array.flat]
        return {"text": {"dtype": array.dtype.str, "shape": list(array.shape), "items": texts}}
    if array.dtype.kind not in ARRAY_KINDS or array.dtype.itemsize not in ARRAY_SIZES:
        raise ModelFileError(f"{what} cannot be saved: arrays of {array.dtype} are not supported")
    if not np.isfinite(array).all():
        raise ModelFileError(f"{what} cannot be saved: it has values that are not finite")
    name = f"{len(arrays)} {what}"
    # a matrix in column order stays so: sums over it are added up in the same order, and scores are the same to the bit
    columns = array.flags.f_contiguous and not array.flags.c_contiguous
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    arrays[name] = np.ascontiguousarray(native.T if columns else native).reshape(array.shape[:: -1 if columns else 1])
    return {
        "array": {
            "name": name,
            "dtype": native.dtype.name,
            "shape": list(array.shape),
            "columns": columns,
            "scalar": isinstance(value, np.generic),
        }
    }


def rebuilt_all(values: Any, arrays: Arrays) -> dict[str, Any]:
    """Turn back what `describe_all` described; arrays are taken out of `arrays`."""
    if not isinstance(values, dict):
        raise ModelFileError("part of the model is missing: save it again")
    return {name: _rebuilt(value, arrays) for name, value in values.items()}


def _rebuilt(value: Any, arrays: Arrays) -> Any:
    """The opposite of `_describe`; arrays are taken out of `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if not (isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _REBUILD):
        raise ModelFileError("cannot read a value of the model: use a newer rarespec")
    tag, content = next(iter(value.items()))
    try:
        return _REBUILD[tag](content, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"a {tag} of the model is malformed ({type(error).__name__}: {error})") from None


def _rebuilt_array(content: dict[str, Any], arrays: Arrays) -> Any:
    name, shape = content["name"], tuple(content["shape"])
    if name not in arrays:
        raise ModelFileError(f"the array of {name!r} is missing: save the model again")
    stored = arrays.pop(name)
    array = stored.T if content["columns"] else stored
    if array.shape != shape or array.dtype.name != content["dtype"]:
        found = f"{array.dtype.name} {array.shape}"
        raise ModelFileError(f"the array of {name!r} is {found} instead of {content['dtype']} {shape}: do not use it")
    if not np.isfinite(array).all():
        raise ModelFileError(f"the array of {name!r} has values that are not finite: do not use it")
    return array[()] if content["scalar"] else array


def _rebuilt_text(content: dict[str, Any], arrays: Arrays) -> NDArray[Any]:
    if any(not isinstance(item, str) for item in content["items"]):
        raise ValueError("an array of text contains something else")
    # the width follows from the items: one that is only written down could be beyond any memory
    kind = TEXT_KINDS[content["dtype"].lstrip("<>=|")[:1]]
    return np.array(content["items"], dtype=kind).reshape(content["shape"])


_REBUILD: dict[str, Any] = {
    "tuple": lambda content, arrays: tuple(_rebuilt(item, arrays) for item in content),
    "list": lambda content, arrays: [_rebuilt(item, arrays) for item in content],
    "dict": lambda content, arrays: {name: _rebuilt(item, arrays) for name, item in content.items()},
    "number": lambda content, arrays: float(content),
    "text": _rebuilt_text,
    "array": _rebuilt_array,
}
