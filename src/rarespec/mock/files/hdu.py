"""Header-data units as bytes, with CHECKSUM and DATASUM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rarespec.mock.files.checksum import add, encode, ones_complement_sum
from rarespec.mock.files.header import Card, Header, format_card

BLOCK = 2880
_BITPIX = {"f4": -32, "f8": -64, "i4": 32, "i2": 16, "u1": 8}
_UNSET = b"0" * 16


def hdu(header: Header, data: bytes = b"") -> bytes:
    """One header-data unit, padded to whole blocks, its two sums last in the header as astropy writes them."""
    padded = data + bytes(-len(data) % BLOCK)
    datasum = ones_complement_sum(padded)
    cards = bytes(header)
    checksum_at = len(cards) + 11
    cards += format_card("CHECKSUM", _UNSET.decode(), "HDU checksum")
    cards += format_card("DATASUM", str(datasum), "data unit checksum")
    cards += b"END".ljust(80)
    cards += b" " * (-len(cards) % BLOCK)
    checksum = encode(add(ones_complement_sum(cards), datasum))
    return cards[:checksum_at] + checksum + cards[checksum_at + 16 :] + padded


def primary_cards(array: NDArray[np.generic] | None = None) -> list[Card]:
    """The mandatory cards of a primary HDU, empty or with an image."""
    first: Card = ("SIMPLE", True, "conforms to FITS standard")
    return [first, *_size_cards(array), ("EXTEND", True, "")]


def image_cards(array: NDArray[np.generic], name: str) -> list[Card]:
    """The mandatory cards of an image extension and its name."""
    return [
        ("XTENSION", "IMAGE", "Image extension"),
        *_size_cards(array),
        ("PCOUNT", 0, "number of parameters"),
        ("GCOUNT", 1, "number of groups"),
        ("EXTNAME", name, "extension name"),
    ]


def image_hdu(array: NDArray[np.generic], name: str, extra: Sequence[Card] = ()) -> bytes:
    """An image extension of this array, stored big-endian."""
    return hdu(Header([*image_cards(array, name), *extra]), big_endian(array))


def big_endian(array: NDArray[np.generic]) -> bytes:
    return array.astype(array.dtype.newbyteorder(">"), copy=False).tobytes()


def _size_cards(array: NDArray[np.generic] | None) -> list[Card]:
    if array is None:
        return [("BITPIX", 8, "array data type"), ("NAXIS", 0, "number of array dimensions")]
    axes: list[Card] = [(f"NAXIS{i + 1}", int(length), "") for i, length in enumerate(reversed(array.shape))]
    return [
        ("BITPIX", _BITPIX[array.dtype.str[1:]], "array data type"),
        ("NAXIS", array.ndim, "number of array dimensions"),
        *axes,
    ]
