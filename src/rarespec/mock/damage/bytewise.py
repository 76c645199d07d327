"""Damage to the bytes of a file: cut, flipped, zeroed, or replaced by something else."""

from __future__ import annotations

import gzip
import zlib

import numpy as np

from rarespec.mock.damage.contents import is_read, spectral_arrays
from rarespec.mock.damage.units import Unit, take_apart

_SUMS = ("CHECKSUM", "DATASUM")
_WORDS = ("error", "failed", "retry", "spectrum", "the", "of", "and", "server", "queue", "null", "plate", "night")
_WRONG_SIZES = (10**8, 10**12)


def truncated_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut inside a header."""
    unit = _any_read(content, rng)
    return content[: int(rng.integers(unit.header_at + 1, unit.data_at))]


def truncated_data(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut inside the data of an HDU."""
    unit = _any_read(content, rng, with_data=True)
    return content[: unit.data_at + int(rng.integers(1, len(unit.data)))]


def bit_flip_header(content: bytes, rng: np.random.Generator) -> bytes:
    """One bit in a card other than the sums: CHECKSUM must tell."""
    unit = _any_read(content, rng, stamped=True)
    cards = [i for i in range(len(unit.cards)) if not unit.cards[i].startswith(tuple(s.encode() for s in _SUMS))]
    at = unit.header_at + 80 * int(rng.choice(cards)) + int(rng.integers(80))
    return _flipped(content, at, rng)


def bit_flip_data(content: bytes, rng: np.random.Generator) -> bytes:
    """One bit in the data of an HDU: DATASUM and CHECKSUM must tell."""
    unit = _any_read(content, rng, with_data=True, stamped=True)
    return _flipped(content, unit.data_at + int(rng.integers(len(unit.data))), rng)


def wrong_naxis(content: bytes, rng: np.random.Generator) -> bytes:
    """The header promises far more rows than there are. Its sums are those of the intact file."""
    units = [unit for unit in take_apart(content) if "flux" in spectral_arrays(unit)]
    unit = units[int(rng.integers(len(units)))]
    rows = int(rng.choice([*_WRONG_SIZES, 3 * unit.number("NAXIS2")]))
    unit.set("NAXIS2", rows)
    at = unit.header_at + 80 * unit.positions["NAXIS2"]
    return content[:at] + unit.cards[unit.positions["NAXIS2"]] + content[at + 80 :]


def bit_flip_gzip(packed: bytes, rng: np.random.Generator) -> bytes:
    """One bit of the compressed stream or its trailer, such that the stream itself tells."""
    while True:
        flipped = _flipped(packed, int(rng.integers(10, len(packed))), rng)
        if not _inflates(flipped):
            return flipped


def truncated_gzip(packed: bytes, rng: np.random.Generator) -> bytes:
    """Cut anywhere after the first tenth, perhaps only the trailer."""
    return packed[: int(rng.integers(max(20, len(packed) // 10), len(packed)))]


def zeroed_tail(raw: bytes, rng: np.random.Generator) -> bytes:
    """The length is right, but the last half (40 to 60 %) never arrived."""
    kept = int(len(raw) * rng.uniform(0.4, 0.6))
    return raw[:kept] + bytes(len(raw) - kept)


def empty(raw: bytes, rng: np.random.Generator) -> bytes:
    """No bytes at all."""
    return b""


def html_page(raw: bytes, rng: np.random.Generator) -> bytes:
    """What an archive answers when it has no file to give."""
    status = str(rng.choice(["404 Not Found", "503 Service Unavailable", "302 Found"]))
    doctype = str(rng.choice(["<!DOCTYPE html>\n", "\n<!doctype HTML PUBLIC>\n", ""]))
    page = f"{doctype}<html><head><title>{status}</title></head>\n<body><h1>{status}</h1></body></html>\n"
    return page.encode()


def text_garbage(raw: bytes, rng: np.random.Generator) -> bytes:
    """Words that are neither a table nor a page."""
    lines = [" ".join(rng.choice(_WORDS, int(rng.integers(1, 9)))) for _ in range(40)]
    return "\n".join(lines).encode() + b"\n"


def binary_garbage(raw: bytes, rng: np.random.Generator) -> bytes:
    """Random bytes that start like no known file."""
    return b"\xff\x00" + rng.bytes(20000)


def _any_read(content: bytes, rng: np.random.Generator, *, with_data: bool = False, stamped: bool = False) -> Unit:
    units = [unit for unit in take_apart(content) if is_read(unit)]
    units = [unit for unit in units if unit.data or not with_data]
    units = [unit for unit in units if unit.positions.keys() >= set(_SUMS) or not stamped]
    return units[int(rng.integers(len(units)))]


def _flipped(content: bytes, at: int, rng: np.random.Generator) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << int(rng.integers(8))]) + content[at + 1 :]


def _inflates(packed: bytes) -> bool:
    """Whether nothing tells that the stream is damaged: a few of its bits, such as padding, mean nothing."""
    try:
        gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        return False
    return True
