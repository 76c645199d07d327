"""Every kind of damage really is what it says, judged by astropy, gzip and the file system."""

from __future__ import annotations

import gzip
import os
import stat
import warnings
import zlib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given
from hypothesis import strategies as st

from rarespec.mock.damage import KINDS, VALID_FITS, applies_to, damage
from rarespec.mock.damage.bytewise import INFLATED_BYTES, bit_flip_gzip, gzip_bomb
from rarespec.mock.damage.units import assemble_file, take_apart
from rarespec.mock.files import LAYOUTS, native_wavelength, write_files
from rarespec.spectrum import PAPER_GRID, Spectra

ON_FITS_BYTES = ("truncated-header", "truncated-data", "bit-flip-header", "bit-flip-data", "wrong-naxis")
FLUX = {"desi": ("B_FLUX", "R_FLUX", "Z_FLUX")}
SOME_LAYOUTS = [
    layout if layout in ("sdss", "lamost-dr8", "desi") else pytest.param(layout, marks=pytest.mark.exhaustive)
    for layout in LAYOUTS
]
"""A table, a compressed image and several images; what differs between layouts is tested on all of them."""
WITHOUT_NAMED_FLUX = ("lamost-dr1", "lamost-dr8", "sdss-spplate", "sdss-spspec")


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> dict[str, Path]:
    """One intact file of every layout."""
    rng = np.random.default_rng(5)
    files = {}
    for layout in LAYOUTS:
        wavelength = native_wavelength(layout)
        flux = rng.normal(10, 1, (3, len(wavelength))).astype("f4")
        catalogue = {"id": ["a", "b", "c"], "ra": [1.0, 2.0, 3.0], "dec": [0.0] * 3, "z": [0.0] * 3, "class": ["M"] * 3}
        spectra = Spectra(wavelength, flux, np.ones_like(flux), np.zeros(flux.shape, bool), catalogue)
        files[layout] = write_files(spectra, layout, tmp_path_factory.mktemp(layout))[0]
    return files


def content_of(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw


def spoil(path: Path, kind: str, folder: Path, seed: int = 0) -> Path:
    return damage(path, kind, folder / f"{kind}-{seed}-{path.name}", np.random.default_rng(seed))


def table_columns(hdus: fits.HDUList, name: str) -> list[np.ndarray]:
    """The column of this name, in whatever case, of every table that has it."""
    tables = [hdu.data for hdu in hdus if isinstance(hdu, fits.BinTableHDU)]
    return [np.array(table[name]) for table in tables if name in [found.upper() for found in table.names]]


def flux_arrays(path: Path) -> list[np.ndarray]:
    """All flux values of a file of any layout."""
    with fits.open(path) as hdus:
        found = table_columns(hdus, "FLUX") + [np.array(hdu.data) for hdu in hdus if hdu.name.endswith("_FLUX")]
        if hdus[0].data is not None:
            found.append(np.array(hdus[0].data if hdus[0].data.shape[0] != 5 else hdus[0].data[0]))
    return found


def wavelength_range(path: Path) -> tuple[float, float]:
    """First and last wavelength that the file claims, wherever it does."""
    with fits.open(path) as hdus:
        if "COEFF0" in hdus[0].header and hdus[0].data is not None:
            header = hdus[0].header
            ends = header["COEFF0"] + header["COEFF1"] * np.array([0, hdus[0].data.shape[1] - 1])
            return tuple(10**ends)
        if "Z_WAVELENGTH" in hdus:
            return hdus["B_WAVELENGTH"].data[0], hdus["Z_WAVELENGTH"].data[-1]
        table = hdus["COADD"].data
        values = table["WAVELENGTH"] if "WAVELENGTH" in table.names else 10.0 ** table["LOGLAM"]
        return values.min(), values.max()


def assert_checksums_right(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fits.open(path, checksum=True) as hdus:
            assert all(hdu.verify_checksum() == 1 and hdu.verify_datasum() == 1 for hdu in hdus)
            assert all(hdu.data is None or len(hdu.data) for hdu in hdus)


def n_wrong_sums(path: Path) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fits.open(path, checksum=True) as hdus:
            return sum(hdu.verify_checksum() == 0 for hdu in hdus)


def test_there_are_enough_kinds():
    assert len(KINDS) == len(set(KINDS)) >= 14


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_applies_where_it_should(layout, kind, good):
    path = good[layout]
    expected = True
    if kind in ("bit-flip-gzip", "truncated-gzip"):
        expected = path.suffix == ".gz"
    if kind in ("missing-column", "renamed-column"):
        expected = layout not in WITHOUT_NAMED_FLUX
    assert applies_to(kind, path) is expected


@pytest.mark.parametrize("layout", SOME_LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_there_and_repeatable(layout, kind, good, tmp_path):
    path = good[layout]
    if not applies_to(kind, path):
        with pytest.raises(ValueError, match=kind):
            spoil(path, kind, tmp_path)
        return
    out = spoil(path, kind, tmp_path)
    assert os.path.lexists(out)
    if out.is_file() and os.access(out, os.R_OK):
        again = damage(path, kind, tmp_path / "again", np.random.default_rng(0))
        assert out.read_bytes() == again.read_bytes() != path.read_bytes()
    with pytest.raises(FileExistsError):
        damage(path, kind, out, np.random.default_rng(0))


@pytest.mark.parametrize("layout", SOME_LAYOUTS)
def test_the_original_is_untouched(layout, good, tmp_path):
    before = good[layout].read_bytes()
    for kind in KINDS:
        if applies_to(kind, good[layout]):
            spoil(good[layout], kind, tmp_path)
    assert good[layout].read_bytes() == before


@pytest.mark.parametrize("layout", SOME_LAYOUTS)
@pytest.mark.parametrize("kind", VALID_FITS)
def test_meaning_is_damaged_under_right_checksums(layout, kind, good, tmp_path):
    if applies_to(kind, good[layout]):
        for seed in range(3):
            out = spoil(good[layout], kind, tmp_path, seed)
            assert_checksums_right(out)
            assert (out.read_bytes()[:2] == b"\x1f\x8b") == (good[layout].suffix == ".gz")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nan_everywhere(layout, good, tmp_path):
    found = flux_arrays(spoil(good[layout], "nan-everywhere", tmp_path))
    assert len(found) == len(FLUX.get(layout, ("one",))) and all(np.isnan(flux).all() for flux in found)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_zero_ivar(layout, good, tmp_path):
    with fits.open(spoil(good[layout], "zero-ivar", tmp_path)) as hdus:
        tables = table_columns(hdus, "IVAR")
        images = [hdu.data for hdu in hdus if hdu.name.endswith("IVAR")]
        if layout.startswith("lamost") and hdus[0].data is not None:
            images.append(hdus[0].data[1])
        if layout == "sdss-spspec":
            images.append(hdus[0].data[2])
        assert len(tables) + len(images) == len(FLUX.get(layout, ("one",)))
        assert all((values == 0).all() for values in tables + images)
    assert all(np.isfinite(flux).all() for flux in flux_arrays(spoil(good[layout], "zero-ivar", tmp_path, 1)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_overlap(layout, good, tmp_path):
    first, last = wavelength_range(good[layout])
    assert first < PAPER_GRID.wavelength[0] and last > PAPER_GRID.wavelength[-1]
    first, last = wavelength_range(spoil(good[layout], "no-overlap", tmp_path))
    assert PAPER_GRID.wavelength[-1] < first < last < 40000


def test_no_overlap_moves_the_wavelength_row_of_lamost_too(good, tmp_path):
    row = fits.getdata(spoil(good["lamost-dr8"], "no-overlap", tmp_path))[2]
    assert row.min() > PAPER_GRID.wavelength[-1]


@pytest.mark.parametrize("layout", ["sdss", "sdss-v", "lamost-dr9"])
def test_missing_column_leaves_the_others_as_they_were(layout, good, tmp_path):
    before = fits.getdata(good[layout], "COADD")
    after = fits.getdata(spoil(good[layout], "missing-column", tmp_path), "COADD")
    assert after.names == before.names[1:] and before.names[0].upper() == "FLUX"
    assert all(np.array_equal(after[name], before[name]) for name in after.names)
    units = [
        fits.getdata(path, "COADD").columns.units
        for path in (good[layout], tmp_path / f"missing-column-0-{good[layout].name}")
    ]
    assert units[1] == units[0][1:]


@pytest.mark.parametrize("layout", ["sdss", "sdss-v", "lamost-dr9"])
def test_renamed_column_keeps_the_values(layout, good, tmp_path):
    before = fits.getdata(good[layout], "COADD")
    after = fits.getdata(spoil(good[layout], "renamed-column", tmp_path), "COADD")
    assert after.names[0].upper() != "FLUX" and after.names[1:] == before.names[1:]
    assert np.array_equal(after.field(0), before.field(0))


def test_a_camera_of_desi_goes_missing_or_by_another_name(good, tmp_path):
    for kind in ("missing-column", "renamed-column"):
        with fits.open(spoil(good["desi"], kind, tmp_path)) as hdus:
            assert sum(name in hdus for name in FLUX["desi"]) == 2


@pytest.mark.parametrize("layout", SOME_LAYOUTS)
@pytest.mark.parametrize("kind", ["truncated-header", "truncated-data"])
def test_truncated_in_the_named_place(layout, kind, good, tmp_path):
    intact = content_of(good[layout])
    units = take_apart(intact)
    for seed in range(10):
        cut = content_of(spoil(good[layout], kind, tmp_path, seed))
        assert intact.startswith(cut) and len(cut) < len(intact)
        if kind == "truncated-header":
            assert any(unit.header_at < len(cut) < unit.data_at for unit in units)
        else:
            assert any(unit.data_at < len(cut) < unit.data_at + len(unit.data) for unit in units)


@pytest.mark.parametrize("layout", SOME_LAYOUTS)
@pytest.mark.parametrize("kind", ["bit-flip-header", "bit-flip-data"])
def test_one_bit_flipped_where_checksums_tell(layout, kind, good, tmp_path):
    intact = np.frombuffer(content_of(good[layout]), "u1")
    units = take_apart(intact.tobytes())
    for seed in range(10):
        flipped = content_of(spoil(good[layout], kind, tmp_path, seed))
        changed = intact ^ np.frombuffer(flipped, "u1")
        assert np.bitwise_count(changed).sum() == 1
        (at,) = np.flatnonzero(changed)
        (unit,) = (unit for unit in units if unit.header_at <= at < unit.data_at + len(unit.data))
        assert (at < unit.data_at) == (kind == "bit-flip-header")
        assert not unit.name.endswith(("RESOLUTION", "SCORES", "ZLINE"))
        end = unit.data_at + len(unit.data) + -len(unit.data) % 2880
        whole = np.frombuffer(flipped[unit.header_at : end], ">u4").sum(dtype="u8")
        assert whole % 0xFFFFFFFF != 0  # an intact HDU adds up to minus zero


def test_astropy_notices_flipped_data(good, tmp_path):
    assert n_wrong_sums(good["sdss"]) == 0
    assert [n_wrong_sums(spoil(good["sdss"], "bit-flip-data", tmp_path, seed)) for seed in range(5)] == [1] * 5


@pytest.mark.parametrize("layout", SOME_LAYOUTS)
def test_wrong_naxis_promises_more_than_there_is(layout, good, tmp_path):
    intact = content_of(good[layout])
    sizes = set()
    for seed in range(12):
        content = content_of(spoil(good[layout], "wrong-naxis", tmp_path, seed))
        assert len(content) == len(intact)
        (card,) = (content[i : i + 80] for i in range(0, len(content), 80) if content[i : i + 80] != intact[i : i + 80])
        assert card.startswith(b"NAXIS2  =")
        sizes.add(int(card[10:30]))
    assert {10**8, 10**12} < sizes


@pytest.mark.parametrize("layout", ["lamost-dr8", "lamost-dr9"])
@pytest.mark.parametrize("kind", ["bit-flip-gzip", "truncated-gzip", "zeroed-tail"])
def test_gzip_damage_is_noticed_by_the_stream(layout, kind, good, tmp_path):
    for seed in range(20):
        with pytest.raises((OSError, EOFError, zlib.error)):
            gzip.decompress(spoil(good[layout], kind, tmp_path, seed).read_bytes())


def test_a_flip_that_changes_nothing_does_not_count():
    """Most bits of this stream are its file name, which no checksum covers."""
    packed = gzip.compress(b"flux", mtime=0)
    packed = packed[:3] + b"\x08" + packed[4:10] + b"n" * 200 + b"\0" + packed[10:]
    assert gzip.decompress(packed) == b"flux"
    for seed in range(30):
        with pytest.raises((OSError, EOFError, zlib.error)):
            gzip.decompress(bit_flip_gzip(packed, np.random.default_rng(seed)))


@pytest.mark.parametrize("layout", ["sdss", "desi", "lamost-dr1"])
def test_zeroed_tail(layout, good, tmp_path):
    intact = good[layout].read_bytes()
    spoiled = spoil(good[layout], "zeroed-tail", tmp_path).read_bytes()
    kept = len(spoiled.rstrip(b"\0"))
    assert len(spoiled) == len(intact) and 0.3 < kept / len(intact) < 0.61 and spoiled[:kept] == intact[:kept]


def test_replaced_contents(good, tmp_path):
    made = {
        kind: spoil(good["sdss"], kind, tmp_path).read_bytes() for kind in KINDS if kind.endswith(("page", "garbage"))
    }
    assert spoil(good["sdss"], "empty", tmp_path).read_bytes() == b""
    assert b"<html>" in made["html-page"].lower()
    assert made["text-garbage"].decode("ascii").isprintable() is False and b"\0" not in made["text-garbage"]
    assert not made["binary-garbage"].startswith((b"SIMPLE", b"PK", b"\x1f\x8b", b"\x93NUMPY", b"PAR1", b"\x89HDF"))


def test_bomb_is_small_and_its_first_bytes_innocent(good, tmp_path):
    packed = spoil(good["sdss"], "bomb", tmp_path).read_bytes()
    assert len(packed) < 4 << 20 < INFLATED_BYTES == 2 << 30
    first = zlib.decompressobj(wbits=31)
    assert first.decompress(packed, 2880).startswith(b"SIMPLE  =                    T")


@pytest.mark.exhaustive
def test_bomb_inflates_to_a_valid_file_of_two_gibibytes():
    total, pending = 0, gzip_bomb()
    while pending:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:  # reaching eof proves the trailer
            total += len(member.decompress(pending, 1 << 24))
            pending = member.unconsumed_tail
        pending = member.unused_data
    assert total > INFLATED_BYTES and total % 2880 == 0


def test_out_of_reach(good, tmp_path):
    path = good["sdss"]
    assert stat.S_ISFIFO(spoil(path, "fifo", tmp_path).stat().st_mode)
    with pytest.raises(FileNotFoundError):
        spoil(path, "dangling-link", tmp_path).read_bytes()
    with pytest.raises(OSError, match=r"[Tt]oo many levels of symbolic links"):
        spoil(path, "link-loop", tmp_path).read_bytes()
    with pytest.raises((PermissionError, FileNotFoundError)):
        spoil(path, "unreadable", tmp_path).read_bytes()


def test_files_that_are_not_fits(tmp_path):
    path = tmp_path / "matrix.npy"
    np.save(path, np.zeros(3))
    assert not any(applies_to(kind, path) for kind in (*ON_FITS_BYTES, *VALID_FITS, "zeroed-tail", "bit-flip-gzip"))
    assert damage(path, "empty", tmp_path / "out", np.random.default_rng(0)).read_bytes() == b""
    with pytest.raises(ValueError, match="there is no damage 'rust'"):
        applies_to("rust", path)


def test_files_without_checksums_are_not_flipped(tmp_path):
    path = tmp_path / "plain.fits"
    fits.PrimaryHDU(np.ones((5, 10), "f4")).writeto(path)
    assert not applies_to("bit-flip-data", path) and applies_to("truncated-data", path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_taken_apart_and_put_together_unchanged(layout, good):
    content = content_of(good[layout])
    units = take_apart(content)
    n_sums = sum(card.startswith((b"CHECKSUM", b"DATASUM")) for unit in units for card in unit.cards)
    before, after = np.frombuffer(content, "S80"), np.frombuffer(assemble_file(units), "S80")
    # The cards of the two sums are written again without their comments, and so the sums differ.
    assert len(before) == len(after) and np.sum(before != after) == n_sums == 2 * len(units)
    assert [bytes(unit.data) for unit in take_apart(after.tobytes())] == [bytes(unit.data) for unit in units]


@pytest.mark.parametrize("kind", VALID_FITS)
def test_originals_can_be_damaged(kind, real_data, tmp_path):
    originals = ["sdss/spec-2942-54521-0124.fits", "desi/coadd-sv3-dark-26065.fits"]
    originals += ["lamost/spec-55859-F5902_sp03-232.fits.gz", "lamost/spec-55859-F5902_sp01-013_dr8.fits.gz"]
    for name in originals:
        path = real_data / "files" / name
        if applies_to(kind, path):
            out = spoil(path, kind, tmp_path)
            with fits.open(out) as hdus:
                assert all(hdu.data is None or len(hdu.data) for hdu in hdus)


@cache
def small_file() -> bytes:
    wavelength = native_wavelength("sdss")
    ones = np.ones((1, len(wavelength)), "f4")
    spectra = Spectra(wavelength, ones, ones, ones < 0, {"id": ["a"], "ra": [1.0], "dec": [2.0]})
    with TemporaryDirectory() as folder:
        return write_files(spectra, "sdss", folder)[0].read_bytes()


@given(st.sampled_from(ON_FITS_BYTES), st.integers(0, 2**32 - 1))
def test_any_seed_damages(kind, seed):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "good.fits"
        path.write_bytes(small_file())
        assert spoil(path, kind, Path(folder), seed).read_bytes() != small_file()
