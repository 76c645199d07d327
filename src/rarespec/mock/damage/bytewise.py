"""Damage to the bytes of a file: cut, flipped, zeroed, or replaced by something else."""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import cache

import numpy as np

from rarespec.formats.fits.writing import BLOCK, Header
from rarespec.mock.damage.units import Unit, is_read, spectral_arrays, take_apart

_SUMS = ("CHECKSUM", "DATASUM")
_WORDS = ("error", "failed", "retry", "spectrum", "the", "of", "and", "server", "queue", "null", "plate", "night")
_WRONG_SIZES = (10**8, 10**12)


def truncate_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut inside a header."""
    unit = _any_read(content, rng)
    return content[: int(rng.integers(unit.header_at + 1, unit.data_at))]


def truncate_data(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut inside the data of an HDU."""
    unit = _any_read(content, rng, with_data=True)
    return content[: unit.data_at + int(rng.integers(1, len(unit.data)))]


def bit_flip_header(content: bytes, rng: np.random.Generator) -> bytes:
    """One bit in a card other than the sums: CHECKSUM must tell."""
    unit = _any_read(content, rng, stamped=True)
    cards = [i for i in range(len(unit.cards)) if not unit.cards[i].startswith(tuple(s.encode() for s in _SUMS))]
    at = unit.header_at + 80 * int(rng.choice(cards)) + int(rng.integers(80))
    return _flip_bit(content, at, rng)


def bit_flip_data(content: bytes, rng: np.random.Generator) -> bytes:
    """One bit in the data of an HDU: DATASUM and CHECKSUM must tell."""
    unit = _any_read(content, rng, with_data=True, stamped=True)
    return _flip_bit(content, unit.data_at + int(rng.integers(len(unit.data))), rng)


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
        flipped = _flip_bit(packed, int(rng.integers(10, len(packed))), rng)
        if not _inflates(flipped):
            return flipped


def truncate_gzip(packed: bytes, rng: np.random.Generator) -> bytes:
    """Cut anywhere after the first tenth, perhaps only the trailer."""
    return packed[: int(rng.integers(max(20, len(packed) // 10), len(packed)))]


def zero_tail(raw: bytes, rng: np.random.Generator) -> bytes:
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


def _flip_bit(content: bytes, at: int, rng: np.random.Generator) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << int(rng.integers(8))]) + content[at + 1 :]


def _inflates(packed: bytes) -> bool:
    """Whether nothing tells that the stream is damaged: a few of its bits, such as padding, mean nothing."""
    try:
        gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        return False
    return True


# ---- A small gzip file that inflates to 2 GiB, made without ever holding them.


MEBIBYTE = 1 << 20
MEMBER_MEBIBYTES = 256
N_MEMBERS = 8
INFLATED_BYTES = N_MEMBERS * MEMBER_MEBIBYTES * MEBIBYTE
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


@cache
def gzip_bomb() -> bytes:
    """A valid FITS image of zeros, in several gzip members with right trailers."""
    padding = bytes(-INFLATED_BYTES % BLOCK)
    return _member(_fits_header() + padding) + _member(b"") * (N_MEMBERS - 1)


def _member(start: bytes) -> bytes:
    """One gzip member: these bytes, then 256 MiB of zeros, one compressed MiB repeated."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = deflate.compress(start) + deflate.flush(zlib.Z_FULL_FLUSH)
    # A full flush forgets what came before: the same bytes are valid again and again.
    repeated = deflate.compress(bytes(MEBIBYTE)) + deflate.flush(zlib.Z_FULL_FLUSH)
    body = first + repeated * MEMBER_MEBIBYTES + deflate.flush()
    length = len(start) + MEMBER_MEBIBYTES * MEBIBYTE
    return _GZIP_HEADER + body + struct.pack("<II", _checksum(start), length & 0xFFFFFFFF)


def _checksum(start: bytes) -> int:
    checksum, zeros = zlib.crc32(start), bytes(MEBIBYTE)
    for _ in range(MEMBER_MEBIBYTES):
        checksum = zlib.crc32(zeros, checksum)
    return checksum


def _fits_header() -> bytes:
    rows = INFLATED_BYTES // (4 * 65536)
    header = Header(
        [
            ("SIMPLE", True, ""),
            ("BITPIX", -32, ""),
            ("NAXIS", 2, ""),
            ("NAXIS1", 65536, ""),
            ("NAXIS2", rows, ""),
        ]
    )
    return (bytes(header) + b"END").ljust(BLOCK)
