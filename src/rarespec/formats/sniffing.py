"""A quick look at the beginning of a file: might it hold spectra, or is it a program, a letter or a picture?"""

from __future__ import annotations

import os
import re

from rarespec.formats.pixels import float_of

SAMPLE = 4096
MAGIC = (b"SIMPLE  =", b"PK\x03\x04", b"\x93NUMPY", b"\x89HDF\r\n\x1a\n", b"PAR1", b"\x1f\x8b", b"# %ECSV", b"<VOTABLE")
"""How FITS, npz, npy, HDF5, Parquet, gzip, ECSV and VOTable files begin."""
MARKS = ("#", ";", "%", "!")
"""How remarks begin."""
MOST_LINES = 30
MOSTLY = 0.6
"""Share of the words of a table's row that are numbers."""


def may_hold_spectra(path: str) -> bool:
    """Say whether a file begins as data do; one that cannot be opened may, so that its reader says what is wrong."""
    if os.path.isdir(path):
        return True
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            head = file.read(SAMPLE) or b""
    except OSError:
        return True
    return head.startswith(MAGIC) or b"<VOTABLE" in head or _has_rows_of_numbers(head)


def _has_rows_of_numbers(head: bytes) -> bool:
    """Whether most lines are rows of a table, apart from comments and a heading."""
    if b"\0" in head:
        return False
    text = head.decode("utf-8", errors="replace").lstrip("\ufeff")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(MARKS)][:MOST_LINES]
    if not lines:
        return False
    rows = sum(_is_row(line) for line in lines[:-1] or lines)  # the last one may be cut
    return 2 * rows >= len(lines) - 1 and rows > 0


def _is_row(line: str) -> bool:
    words = [word for word in re.split(r"[\s,;|]+", line) if word]
    return len(words) > 1 and sum(map(_is_number, words)) >= MOSTLY * len(words)


def _is_number(word: str) -> bool:
    try:
        float_of(word)
    except ValueError:
        return False
    return True
