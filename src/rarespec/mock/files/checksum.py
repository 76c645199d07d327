"""CHECKSUM and DATASUM of the FITS standard 4.0, section 4.4.2.7 and appendix J."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_PUNCTUATION = frozenset(b":;<=>?@[\\]^_`")


def ones_complement_sum(blocks: bytes | bytearray | memoryview) -> int:
    """The 32-bit ones' complement sum of big-endian words; the length must be a multiple of 4."""
    total = int(np.frombuffer(blocks, dtype=">u4").sum(dtype=np.uint64))
    return _fold(total)


def add(first: int, second: int) -> int:
    """The sum of two ones' complement sums."""
    return _fold(first + second)


def encode(total: int) -> bytes:
    """The complement of a sum as the 16 characters that CHECKSUM holds."""
    complement = total ^ 0xFFFFFFFF
    columns = [_four_characters(byte) for byte in complement.to_bytes(4, "big")]
    text = bytes(columns[i][row] for row in range(4) for i in range(4))
    # The value of a card starts at its byte 11, one before a word boundary.
    return text[-1:] + text[:-1]


def _fold(total: int) -> int:
    while total >> 32:
        total = (total & 0xFFFFFFFF) + (total >> 32)
    return total


@lru_cache(maxsize=256)
def _four_characters(byte: int) -> bytes:
    """Four letters or digits whose offsets from '0' add up to this byte."""
    quotient, remainder = divmod(byte, 4)
    characters = [48 + quotient + remainder, 48 + quotient, 48 + quotient, 48 + quotient]
    while not _PUNCTUATION.isdisjoint(characters):
        for i in (0, 2):
            if not _PUNCTUATION.isdisjoint(characters[i : i + 2]):
                characters[i] += 1
                characters[i + 1] -= 1
    return bytes(characters)
