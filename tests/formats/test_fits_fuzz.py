"""Damaged FITS bytes of many kinds: no exception leaves the readers, none hangs, none asks for absurd memory."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from formats import small_fits
from rarespec.formats import read_here
from rarespec.spectrum import Defect, Spectra
from rarespec.spectrum.defect import Noted, Skipped

LARGEST_MEMORY = 200 << 20
"""Bytes. The files have some 50 kB, and compressed images may unfold to 64 MB."""

Rng = np.random.Generator


def small_files() -> list[bytes]:
    files = [small_fits.as_bytes(make()) for make in small_fits.ALL.values()]
    files += [small_fits.as_bytes(make(), checksum=True) for make in (small_fits.sdss_spec, small_fits.desi_coadd)]
    files += [small_fits.as_bytes(make()) for make in (small_fits.redrock, small_fits.generic_rows)]
    files += [small_fits.as_bytes(unusual())]
    return [*files, gzip.compress(small_fits.as_bytes(small_fits.lamost_image()))]


def unusual() -> fits.HDUList:
    """Heap, bits, scaled column and compressed image, which are left to astropy."""
    vectors = np.empty(3, object)
    for i in range(3):
        vectors[i] = np.linspace(4000, 5000, 20 + i)
    bits, scaled = np.ones((3, 9), bool), np.arange(3.0)
    columns = [fits.Column("WAVE", "PD()", array=vectors), fits.Column("FLUX", "QE()", array=vectors)]
    columns += [fits.Column("X", "9X", array=bits), fits.Column("S", "E", array=scaled, bscale=2.0, bzero=1.0)]
    image = fits.CompImageHDU(np.arange(400, dtype="i4").reshape(20, 20), name="IVAR")
    return fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(columns), image])


# --- ways to damage a file


def edited(content: bytes, other: bytes, rng: Rng) -> bytes:
    damaged = bytearray(content)
    for at in rng.integers(0, len(content), rng.integers(1, 20)):
        damaged[at] = int(rng.integers(0, 256))
    return bytes(damaged)


def edited_header(content: bytes, other: bytes, rng: Rng) -> bytes:
    """Printable characters in the first blocks: the most treacherous damage."""
    damaged = bytearray(content)
    for at in rng.integers(0, min(len(content), 30 * 80), rng.integers(1, 6)):
        damaged[at] = int(rng.integers(32, 127))
    return bytes(damaged)


def edited_digits(content: bytes, other: bytes, rng: Rng) -> bytes:
    """Other numbers in cards: sizes, counts, formats."""
    damaged = bytearray(content)
    cards = [at for at in range(0, len(content) - 80, 80) if content[at + 8 : at + 10] == b"= "]
    for card in rng.choice(cards, min(3, len(cards)), replace=False) if cards else []:
        digits = [i for i in range(card + 10, card + 32) if 48 <= content[i] < 58]
        for i in digits:
            damaged[i] = int(rng.integers(48, 58))
    return bytes(damaged)


def truncated(content: bytes, other: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(1, len(content)))]


def spliced(content: bytes, other: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(0, len(content)))] + other[int(rng.integers(0, len(other))) :]


def spliced_blocks(content: bytes, other: bytes, rng: Rng) -> bytes:
    cut, resume = (2880 * int(rng.integers(0, len(file) // 2880 + 1)) for file in (content, other))
    return content[:cut] + other[resume:]


def with_hole(content: bytes, other: bytes, rng: Rng) -> bytes:
    start, length = int(rng.integers(0, len(content))), int(rng.integers(1, 5000))
    return content[:start] + bytes(length) + content[start + length :]


def padded(content: bytes, other: bytes, rng: Rng) -> bytes:
    return content + rng.bytes(int(rng.integers(1, 6000)))


DAMAGES: list[Callable[[bytes, bytes, Rng], bytes]] = [
    edited,
    edited_header,
    edited_digits,
    truncated,
    spliced,
    spliced_blocks,
    with_hole,
    padded,
]


def check(path: Path) -> None:
    for found in read_here(path):
        if isinstance(found, Spectra):
            assert found.wavelength.shape == found.flux.shape[1:]
            assert (np.diff(found.wavelength) > 0).all() and np.isfinite(found.wavelength).all()
            good = ~found.bad
            assert np.isfinite(found.flux[good]).all()
            assert found.ivar is None or (found.ivar[good] > 0).all()
        else:
            assert isinstance(found, Defect | Skipped | Noted)
            assert not isinstance(found, Defect) or found.detail


def fuzz(tmp_path: Path, n: int, seed: int) -> None:
    files = small_files()
    rng = np.random.default_rng(seed)
    path = tmp_path / "f.fits"
    tracemalloc.start()
    try:
        for i in range(n):
            content, other = files[i % len(files)], files[int(rng.integers(len(files)))]
            path.write_bytes(DAMAGES[int(rng.integers(len(DAMAGES)))](content, other, rng) or b"\0")
            check(path)
        assert tracemalloc.get_traced_memory()[1] < LARGEST_MEMORY
    finally:
        tracemalloc.stop()


def test_undamaged_files_give_spectra(tmp_path: Path) -> None:
    for content in small_files():
        (tmp_path / "f.fits").write_bytes(content)
        check(tmp_path / "f.fits")


@pytest.mark.parametrize("seed", range(4))
def test_fuzzed_files(tmp_path: Path, seed: int) -> None:
    fuzz(tmp_path, 100, seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(100, 110))
def test_two_thousand_fuzzed_files(tmp_path: Path, seed: int) -> None:
    fuzz(tmp_path, 200, seed)
