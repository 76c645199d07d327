"""Text for people and for programs: names that a table can hold, large numbers, strict JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any

import numpy as np


def printable(text: str) -> str:
    """Return the text if it can be printed; otherwise with the offending characters written out."""
    if text.isprintable():
        return text
    try:
        decoded = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    except UnicodeEncodeError:  # half a character that stands for no byte of a file name
        decoded = text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in decoded)


def flatten_names(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Name and value of all that is in a mapping and in the mappings inside it: {"a": {"b": 1}} as "a: b", 1."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flatten_names(value, f"{before}{key}: ")
        else:
            yield f"{before}{key}", value


def end_sentence(text: str) -> str:
    """With a full stop, unless it ends with a mark of its own."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def choose_from(names: Iterable[str], meant: str, verb: str = "choose from") -> str:
    """Say which names there are, and which one is most like the one that was meant."""
    there = list(names)
    near = get_close_matches(meant.lower(), there, 1) or [name for name in there if meant.lower() in name]
    choice = f"{verb} {', '.join(there)}"
    return f"did you mean {near[0]!r}? {choice[:1].upper()}{choice[1:]}" if near and meant else choice


# ---- Large numbers that can be read.


def counted(n: int, one: str, many: str) -> str:
    """Write a count with its noun: 1 spectrum, 2 spectra."""
    return f"{n} {one if n == 1 else many}"


def thousands(number: float, decimals: int = 0) -> str:
    """Write 100450 as 100 450, with narrow spaces at which no line breaks."""
    return f"{number:,.{decimals}f}".replace(",", "\u202f")


# ---- JSON for programs of any kind: no NaN and no Infinity, which JSON has not, and plain ASCII.


def as_json(content: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Dictionaries, sequences, arrays, numbers, text, truth values and None in one line; what is not finite is null.

    All but ASCII is escaped: file names may hold halves of letters, which no encoding can write. So is DEL, the one
    control character that the module leaves.
    """
    text = json.dumps(plain(content), allow_nan=False, default=default)
    return text.replace("\x7f", "\\u007f")


def plain(value: Any) -> Any:
    """Bring a value to types that JSON has; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
