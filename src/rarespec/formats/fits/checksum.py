"""The checksums of FITS: DATASUM over the data, CHECKSUM over the whole HDU, ones' complement sums of 32-bit words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rarespec.formats.fits.header import Header
from rarespec.spectrum import DefectError, Reason

ALL_ONES = 0xFFFFFFFF


def ones_complement_sum(pieces: Iterable[bytes], start: int = 0) -> int:
    """32-bit ones' complement sum of big-endian words; all pieces but the last are whole words, zeros fill the last."""
    total = start
    for piece in pieces:
        whole = len(piece) & ~3
        total += int(np.frombuffer(piece, ">u4", whole // 4).sum(dtype=np.uint64))
        total += int.from_bytes(piece[whole:].ljust(4, b"\0"), "big")
    while total > ALL_ONES:
        total = (total & ALL_ONES) + (total >> 32)
    return total


def carries_both(header: Header) -> bool:
    return "CHECKSUM" in header and "DATASUM" in header


def carries_one(header: Header) -> bool:
    return ("CHECKSUM" in header) != ("DATASUM" in header)


def verify(header: Header, header_bytes: bytes, data: Iterable[bytes]) -> None:
    """Compare the checksums in a header with the bytes of its HDU; an empty value means "not computed".

    Parameters
    ----------
    header : Header
        The header; its label names the HDU in messages.
    header_bytes : bytes
        Its blocks as they are in the file.
    data : iterable of bytes
        The data with their padding, in pieces. It is not read if there is no checksum.

    Raises
    ------
    DefectError
        If DATASUM or CHECKSUM does not match, or DATASUM is not a number.
    """
    expected = _datasum(header)
    whole = header.string("CHECKSUM")
    if expected is None and not whole:
        return
    data_sum = ones_complement_sum(data)
    # Minus zero and zero are the same number in ones' complement.
    if expected is not None and expected % ALL_ONES != data_sum % ALL_ONES:
        raise DefectError(Reason.CHECKSUM, f"the data of {header.label} do not match DATASUM; fetch it again")
    if whole and ones_complement_sum([header_bytes], data_sum) % ALL_ONES != 0:
        raise DefectError(Reason.CHECKSUM, f"{header.label} does not match its CHECKSUM; fetch it again")


def _datasum(header: Header) -> int | None:
    text = header.string("DATASUM")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise DefectError(Reason.CHECKSUM, f"{header.label}: DATASUM = {text!r} is not a number; fetch it again")
    return int(text)
