"""A small gzip file that inflates to 2 GiB, made without ever holding them."""

from __future__ import annotations

import struct
import zlib
from functools import cache

from rarespec.mock.files.hdu import BLOCK
from rarespec.mock.files.header import Header

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
