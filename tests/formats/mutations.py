"""Ways to damage a file: by chance, and where it hurts, in the numbers and words that say how the file is built."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
Mutation = Callable[[bytes, bytes, Rng], bytes]
"""(content, that of another file, chance) -> damaged content"""

INTEGERS = (0, 1, -1, 2, 127, 128, 255, 256, 32767, 65535, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 62)
WORDS = (
    *("0", "1", "-1", "2", "8", "-32", "64", "999", "1000", "65536", "2147483647", "4294967296", "9223372036854775807"),
    *("-9223372036854775808", "99999999999999999999", "1e308", "1e-308", "nan", "inf", "-inf", "0.5", "1e9", "T", "F"),
    *("''", "null", "true", "[]", "{}", "[1]", "*", "1*", "3x4", "float64", "float32", "<f4", "|O", "char", "string"),
)
"""Put in the place of numbers and names in text."""


def some(rng: Rng, most: int) -> int:
    return int(rng.integers(1, most + 1))


def place(content: bytes, rng: Rng) -> int:
    """Anywhere, and half the time near the start or the end, where files say how they are built."""
    n = max(len(content), 1)
    kind = rng.integers(4)
    if kind == 0:
        return int(rng.integers(min(n, 2880)))
    return n - 1 - int(rng.integers(min(n, 1024))) if kind == 1 else int(rng.integers(n))


def flipped_bits(content: bytes, other: bytes, rng: Rng) -> bytes:
    damaged = bytearray(content)
    for _ in range(some(rng, 8)):
        damaged[place(content, rng)] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def run_of_bytes(content: bytes, other: bytes, rng: Rng) -> bytes:
    at, length = place(content, rng), some(rng, 64)
    filling = (bytes(length), b"\xff" * length, rng.bytes(length), b" " * length)[int(rng.integers(4))]
    return content[:at] + filling + content[at + length :]


def truncated(content: bytes, other: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(len(content)))]


def inserted(content: bytes, other: bytes, rng: Rng) -> bytes:
    at = place(content, rng)
    return content[:at] + rng.bytes(some(rng, 200)) + content[at:]


def duplicated(content: bytes, other: bytes, rng: Rng) -> bytes:
    start, at, length = place(content, rng), place(content, rng), some(rng, 3000)
    return content[:at] + content[start : start + length] * some(rng, 3) + content[at:]


def deleted(content: bytes, other: bytes, rng: Rng) -> bytes:
    at = place(content, rng)
    return content[:at] + content[at + some(rng, 3000) :]


def spliced(content: bytes, other: bytes, rng: Rng) -> bytes:
    return content[: place(content, rng)] + other[place(other, rng) :]


def other_integer(content: bytes, other: bytes, rng: Rng) -> bytes:
    """A binary number replaced by an extreme one: of zip, npy, HDF5, Parquet's footer, the heap of FITS."""
    size = (1, 2, 4, 8)[int(rng.integers(4))]
    value = INTEGERS[int(rng.integers(len(INTEGERS)))] % (1 << 8 * size)
    at = place(content, rng)
    return content[:at] + value.to_bytes(size, ("little", "big")[int(rng.integers(2))]) + content[at + size :]


def other_word(content: bytes, other: bytes, rng: Rng) -> bytes:
    """A number or word of text (JSON, YAML, XML, npy headers) replaced by an extreme one."""
    at = place(content, rng)
    word = re.compile(rb"[-+]?\d[\d.eE+-]*|[A-Za-z_][\w.]*").search(content, at)
    if word is None:
        return flipped_bits(content, other, rng)
    return content[: word.start()] + WORDS[int(rng.integers(len(WORDS)))].encode() + content[word.end() :]


def other_line(content: bytes, other: bytes, rng: Rng) -> bytes:
    """Lines repeated, left out, or put elsewhere."""
    lines = content.split(b"\n")
    one, two = int(rng.integers(len(lines))), int(rng.integers(len(lines)))
    kind = rng.integers(3)
    if kind == 0:
        lines.insert(two, lines[one])
    elif kind == 1:
        del lines[one]
    else:
        lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def other_card(content: bytes, other: bytes, rng: Rng) -> bytes:
    """The value of a FITS card, or its keyword, replaced."""
    cards = [at for at in range(0, len(content) - 80, 80) if content[at + 8 : at + 10] == b"= "]
    if not cards:
        return other_word(content, other, rng)
    at = cards[int(rng.integers(len(cards)))]
    if rng.integers(5) == 0:
        from_card = cards[int(rng.integers(len(cards)))]
        return content[:at] + content[from_card : from_card + 8] + content[at + 8 :]
    word = WORDS[int(rng.integers(len(WORDS)))]
    if content[at + 10 : at + 11] == b"'":
        word = f"'{word:8}'"
    return content[:at] + content[at : at + 10] + word.rjust(20).ljust(70).encode() + content[at + 80 :]


def inside_gzip(content: bytes, other: bytes, rng: Rng) -> bytes:
    try:
        inner = gzip.decompress(content)
    except (OSError, EOFError, zlib.error):  # no gzip, or damaged before
        return flipped_bits(content, other, rng)
    return gzip.compress(by_chance(inner, other, rng), 1, mtime=0)


def inside_zip(content: bytes, other: bytes, rng: Rng) -> bytes:
    """One member damaged, under a checksum that fits."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # no zip, or damaged before
        members = {}
    if not members:
        return other_integer(content, other, rng)
    victim = sorted(members)[int(rng.integers(len(members)))]
    members[victim] = by_chance(members[victim], other, rng)
    damaged = io.BytesIO()
    with zipfile.ZipFile(damaged, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member, zipfile.ZIP_DEFLATED)
    return damaged.getvalue()


def inside_zlib(content: bytes, other: bytes, rng: Rng) -> bytes:
    """A deflated stream (a chunk of HDF5) unfolded, damaged and packed again, if it still fits into its place."""
    for start in (match.start() for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", content)):
        stream = zlib.decompressobj()
        try:
            inner = stream.decompress(content[start:], 1 << 20)
        except zlib.error:
            continue
        length = len(content) - start - len(stream.unused_data)
        packed = zlib.compress(by_chance(inner, other, rng), 9)
        if len(packed) <= length and rng.integers(2):
            return content[:start] + packed.ljust(length, b"\0") + content[start + length :]
    return other_integer(content, other, rng)


PLAIN: tuple[Mutation, ...] = (
    *(flipped_bits, run_of_bytes, truncated, inserted, duplicated, deleted, spliced),
    *(other_integer, other_integer, other_word, other_word, other_line, other_card, other_card),
)
MUTATIONS: tuple[Mutation, ...] = (*PLAIN, inside_gzip, inside_zip, inside_zlib)


def by_chance(content: bytes, other: bytes, rng: Rng) -> bytes:
    """One of the plain ways, on what is inside."""
    return PLAIN[int(rng.integers(len(PLAIN)))](content, other, rng) if content else content


def mutated(content: bytes, other: bytes, rng: Rng) -> bytes:
    """One to three ways, one after the other; never nothing."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        content = MUTATIONS[int(rng.integers(len(MUTATIONS)))](content, other, rng) or b"\0"
    return content
