"""The walk over FITS blocks: the same numbers as astropy, and a named defect for every kind of damage."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from formats import small_fits
from rarespec.formats import read_here
from rarespec.formats.columns import own_cards
from rarespec.formats.fits.checksum import ones_complement_sum
from rarespec.formats.fits.header import Header
from rarespec.formats.source import Source
from rarespec.spectrum import DefectError, Reason, Spectra
from rarespec.spectrum.defect import Skipped

BLOCK = 2880


def opened(path: Path, content: bytes) -> Source:
    path.write_bytes(content)
    return Source(path)


def defect(path: Path, content: bytes) -> DefectError:
    with pytest.raises(DefectError) as caught:
        _ = opened(path, content).hdus
    return caught.value


def header_of(*cards: str) -> Header:
    return Header("".join(card.ljust(80) for card in cards))


def same_as_astropy(ours: np.ndarray, theirs: Any) -> None:
    assert ours.dtype.names == theirs.dtype.names
    for name in ours.dtype.names or ():
        expected = np.asarray(theirs[name])
        if expected.dtype.kind == "U":
            assert [x.rstrip(b" \0") for x in ours[name].ravel()] == [x.rstrip().encode() for x in expected.ravel()]
        else:
            np.testing.assert_array_equal(ours[name], expected)
            assert ours[name].dtype.kind == expected.dtype.kind, name


# --- headers


def test_values_of_cards_are_those_of_astropy() -> None:
    cards = fits.Header()
    cards["INT"], cards["BIG"], cards["REAL"], cards["YES"] = -7, 2**63 + 5, -1.25e-7, True
    cards["TEXT"], cards["QUOTE"], cards["LEADING"], cards["EMPTY"] = "a / b", "it's", "  two blanks", ""
    cards["NOTHING"] = None
    cards["LONG"] = "x" * 100
    cards["HIERARCH ESO DET NAME"] = "eso"
    cards["COMPLEX"] = 1 + 2j
    header = Header(cards.tostring(endcard=False, padding=False))
    for keyword, value in cards.items():
        expected = None if isinstance(value, fits.card.Undefined) else value
        assert header[keyword] == expected, keyword
        assert keyword in header
    assert set(header) == set(cards)


def test_first_of_repeated_cards_counts_and_double_precision_exponents_are_read() -> None:
    header = header_of("A       = 1", "A       = 2", "D       = 1.5D+02 / comment", "N       = NaN", "COMMENT = 5")
    assert dict(header) == {"A": 1, "D": 150.0, "N": None}
    assert header.get("B", "default") == "default"
    with pytest.raises(KeyError):
        header["B"]


@given(st.text("019.+-EDTFx'&/( ", max_size=30))
def test_cards_read_in_one_pass_are_those_read_one_by_one(value: str) -> None:
    cards = ("A       = 1 / one", f"B       = {value}", "C       = 'x'", "A       = 2", "        = 3", "D       =  -.5")

    def outcome(read: Callable[[Header], dict[str, Any]]) -> Any:
        try:
            return read(header_of(*cards))
        except DefectError as error:
            return error.detail

    one_by_one = outcome(lambda h: {k: repr(v.strip() if isinstance(v, str) else v) for k, v in h.items()})
    one_pass = outcome(lambda h: {k.upper(): repr(v) for k, v in own_cards(h).items()})
    assert one_pass == one_by_one


@pytest.mark.parametrize("value", ["38x4", "1_000", "1.2.3", "0x10", "TRUE"])
def test_unreadable_value_is_a_defect_that_shows_the_card(value: str) -> None:
    with pytest.raises(DefectError, match="KEY     = "):
        header_of(f"KEY     = {value}")["KEY"]


def test_a_text_that_goes_on_in_a_broken_card_is_a_defect() -> None:
    with pytest.raises(DefectError, match="the text of KEY goes on in a card that cannot be read"):
        header_of("KEY     = 'a long &'", "CONTINUE  = 'te\x01xt")["KEY"]


# --- data


@pytest.mark.parametrize("kind", small_fits.ALL)
def test_every_hdu_has_the_data_and_header_of_astropy(tmp_path: Path, kind: str) -> None:
    content = small_fits.as_bytes(small_fits.ALL[kind](), checksum=True)
    hdus = opened(tmp_path / "f.fits", content).hdus
    with fits.open(tmp_path / "f.fits") as expected:
        assert [hdu.name for hdu in hdus] == [hdu.name for hdu in expected]
        for ours, theirs in zip(hdus, expected, strict=True):
            assert ours.is_table == isinstance(theirs, fits.BinTableHDU)
            assert ours.is_image == (theirs.is_image and theirs.data is not None)
            if ours.is_table:
                same_as_astropy(ours.table(), theirs.data)
            elif ours.is_image:
                np.testing.assert_array_equal(ours.image(), theirs.data)
            assert dict(ours.header) == {key: value for key, value in theirs.header.items() if key != "COMMENT"}


UNUSUAL_TABLES = {
    "logical": {"A": ("L", [True, False, True]), "B": ("3L", np.eye(3, dtype=bool))},
    "unsigned": {
        "A": ("I", np.array([0, 1, 65535], "u2")),
        "B": ("J", np.array([0, 1, 2**32 - 1], "u4")),
        "C": ("K", np.array([0, 1, 2**64 - 1], "u8")),
        "D": ("B", np.array([-128, 0, 127], "i1")),
    },
    "variable": {"A": ("PE()", np.array([[1.0], [1.0, 2.0], []], dtype=object)), "B": ("J", [1, 2, 3])},
    "bits": {"A": ("11X", np.ones((3, 11), bool)), "B": ("J", [1, 2, 3])},
    "complex": {"A": ("C", np.array([1, 2j, 3], "c8")), "B": ("M", np.array([1, 2j, 3]))},
    "no width": {"A": ("0E", np.zeros((3, 0), "f4")), "B": ("J", [1, 2, 3])},
}


@pytest.mark.parametrize("kind", UNUSUAL_TABLES)
def test_unusual_columns_are_as_astropy_reads_them(tmp_path: Path, kind: str) -> None:
    columns = []
    for name, (form, values) in UNUSUAL_TABLES[kind].items():
        zero = {"u2": 1 << 15, "u4": 1 << 31, "u8": 1 << 63, "i1": -128}.get(
            getattr(values, "dtype", np.dtype("f4")).str[1:]
        )
        columns.append(fits.Column(name, form, array=values, bzero=zero))
    hdus = fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(columns)])
    table = opened(tmp_path / "f.fits", small_fits.as_bytes(hdus)).hdus[1].table()
    with fits.open(tmp_path / "f.fits") as expected:
        for name in table.dtype.names or ():
            theirs = np.asarray(expected[1].data[name])
            if table[name].size == 0:
                assert table[name].shape == (3, 0)  # astropy reads columns of no width only from version 7 on
            elif theirs.dtype.kind == "O":
                assert [list(row) for row in table[name]] == [list(row) for row in theirs]
            else:
                np.testing.assert_array_equal(table[name], theirs)
                # astropy makes floats of signed bytes
                assert theirs.dtype.kind == "f" or table[name].dtype.kind == theirs.dtype.kind


def test_scaled_and_multidimensional_columns(tmp_path: Path) -> None:
    columns = [
        fits.Column("SCALED", "E", array=np.array([10.0, 20.0]), bscale=0.5, bzero=3.0),
        fits.Column("CUBE", "6E", dim="(3,2)", array=np.arange(12.0).reshape(2, 2, 3)),
        fits.Column("WORDS", "8A", dim="(4,2)", array=np.array([["ab", "cd"], ["ef", "gh"]])),
    ]
    hdus = fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(columns)])
    table = opened(tmp_path / "f.fits", small_fits.as_bytes(hdus)).hdus[1].table()
    np.testing.assert_array_equal(table["SCALED"], [10.0, 20.0])
    assert table["CUBE"].shape == (2, 2, 3)
    assert table["WORDS"].tolist() == [[b"ab", b"cd"], [b"ef", b"gh"]]


def test_ascii_table(tmp_path: Path) -> None:
    columns = [fits.Column("A", "I6", array=[1, 2], ascii=True), fits.Column("B", "A4", array=["x", "yz"], ascii=True)]
    hdus = fits.HDUList([fits.PrimaryHDU(), fits.TableHDU.from_columns(columns)])
    hdu = opened(tmp_path / "f.fits", small_fits.as_bytes(hdus)).hdus[1]
    assert hdu.is_table and hdu.columns == ("A", "B")
    assert hdu.table()["A"].tolist() == [1, 2]
    assert [text.strip() for text in hdu.table()["B"]] == [b"x", b"yz"]


def test_scaled_unsigned_and_compressed_images(tmp_path: Path) -> None:
    image = np.arange(400, dtype="f4").reshape(20, 20)
    scaled = fits.ImageHDU(image.copy())
    scaled.scale("int16", bzero=10, bscale=0.25)
    hdus = fits.HDUList([fits.PrimaryHDU(), scaled, fits.ImageHDU(np.array([[0, 65535]], "u2"))])
    hdus.append(fits.CompImageHDU(image.astype("i4")))
    ours = opened(tmp_path / "f.fits", small_fits.as_bytes(hdus)).hdus
    with fits.open(tmp_path / "f.fits") as expected:
        for index in (1, 2, 3):
            assert ours[index].is_image and not ours[index].is_table
            np.testing.assert_array_equal(ours[index].image(), expected[index].data)
    assert ours[2].image().tolist() == [[0, 65535]]


def test_rows_of_tables_and_images_can_be_read_in_part(tmp_path: Path) -> None:
    content = small_fits.as_bytes(small_fits.spplate(9))
    hdus = opened(tmp_path / "f.fits", content).hdus
    np.testing.assert_array_equal(hdus[0].image(3, 7), hdus[0].image()[3:7])
    np.testing.assert_array_equal(hdus[5].table(3, 100), hdus[5].table()[3:])


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([">i2", ">i4", ">i8", ">f4", ">f8", "u1", ">u2", ">u4", ">u8"]),
        hnp.array_shapes(min_dims=1, max_dims=3, max_side=6),
    )
)
def test_images_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, image: np.ndarray) -> None:
    path = tmp_path_factory.mktemp("images") / "f.fits"
    fits.PrimaryHDU(image).writeto(path, checksum=True)
    np.testing.assert_array_equal(Source(path).hdus[0].image(), image)


def test_empty_primary_with_stray_axes_is_fine(tmp_path: Path) -> None:
    content = small_fits.as_bytes(small_fits.lamost_table())
    axes = b"NAXIS1  =                 3908".ljust(80) + b"NAXIS2  =                    5".ljust(80)
    at = content.index(b"EXTEND  =")
    end = content.index(b"END".ljust(80)) + 80
    content = (content[:at] + axes + content[at:end]).ljust(2 * BLOCK if end + 160 > BLOCK else BLOCK) + content[
        -(-end // BLOCK) * BLOCK :
    ]
    hdus = opened(tmp_path / "f.fits", content).hdus
    assert hdus[0].header["NAXIS2"] == 5 and not hdus[0].is_image
    assert hdus[1].table().shape == (1,)


# --- ends of files


def test_zeros_after_the_last_hdu_are_fine_and_anything_else_is_not(tmp_path: Path) -> None:
    content = small_fits.as_bytes(small_fits.sdss_spec())
    assert len(opened(tmp_path / "f.fits", content + bytes(3 * BLOCK)).hdus) == 4
    error = defect(tmp_path / "g.fits", content + b"junk".ljust(BLOCK, b"\0"))
    assert error.reason == Reason.CORRUPT and "not a FITS extension" in error.detail


def test_missing_padding_is_fine_and_missing_data_is_not(tmp_path: Path) -> None:
    hdus = fits.HDUList([fits.PrimaryHDU(np.arange(100, dtype=">i4"))])
    content = small_fits.as_bytes(hdus, checksum=True)
    assert opened(tmp_path / "f.fits", content[: BLOCK + 400]).hdus[0].image().tolist() == list(range(100))
    error = defect(tmp_path / "g.fits", content[: BLOCK + 399])
    assert error.reason == Reason.TRUNCATED and "NAXIS1 = 100" in error.detail


@pytest.mark.parametrize("kind", small_fits.ALL)
def test_a_file_cut_at_any_block_is_never_read_as_whole(tmp_path: Path, kind: str) -> None:
    content = small_fits.as_bytes(small_fits.ALL[kind]())
    (whole,) = (
        found
        for found in read_here(small_fits.write(tmp_path / "w.fits", small_fits.ALL[kind]()))
        if isinstance(found, Spectra)
    )
    for cut in range(BLOCK // 2, len(content), BLOCK // 2):
        (tmp_path / "f.fits").write_bytes(content[:cut])
        for found in read_here(tmp_path / "f.fits"):
            assert not isinstance(found, Skipped) or "catalogue" not in found.reason
            if isinstance(found, Spectra):
                np.testing.assert_array_equal(found.flux, whole.flux)
                np.testing.assert_array_equal(found.bad, whole.bad)
                assert found.catalogue["class"] == whole.catalogue["class"]


# --- damage


def test_header_without_end(tmp_path: Path) -> None:
    content = small_fits.as_bytes(small_fits.sdss_spec())
    assert defect(tmp_path / "f.fits", content[:600]).reason == Reason.TRUNCATED
    blinded = content.replace(b"END".ljust(80), b"ENDE".ljust(80))
    error = defect(tmp_path / "g.fits", blinded)
    assert error.reason == Reason.CORRUPT and "no END card" in error.detail


def test_characters_no_card_may_hold(tmp_path: Path) -> None:
    content = bytearray(small_fits.as_bytes(small_fits.sdss_spec()))
    content[200] = 0xB5
    error = defect(tmp_path / "f.fits", bytes(content))
    assert error.reason == Reason.CORRUPT and "0xb5" in error.detail


@pytest.mark.parametrize(
    ("card", "new", "reason"),
    [
        ("NAXIS2  =                   60", "NAXIS2  =            100000000", Reason.TRUNCATED),
        ("NAXIS2  =                   60", "NAXIS2  =  9999999999999999999", Reason.TRUNCATED),
        ("NAXIS2  =                   60", "NAXIS2  =                  -60", Reason.CORRUPT),
        ("NAXIS1  =                   32", "NAXIS1  =                   31", Reason.CORRUPT),
        ("TFIELDS =                    8", "TFIELDS =                 8888", Reason.CORRUPT),
        ("TFORM2  = 'E       '", "TFORM2  = '9999999E'", Reason.CORRUPT),
        ("TFORM2  = 'E       '", "TFORM2  = '?       '", Reason.CORRUPT),
        ("TTYPE2  = 'loglam  '", "TTYPE2  = 'flux    '", Reason.CORRUPT),
        ("BITPIX  =                    8", "BITPIX  =                    9", Reason.CORRUPT),
        ("NAXIS   =                    2", "NAXIS   =                 2000", Reason.CORRUPT),
        ("PCOUNT  =                    0", "PCOUNT  =                   -5", Reason.CORRUPT),
    ],
)
def test_impossible_numbers_in_a_header(tmp_path: Path, card: str, new: str, reason: Reason) -> None:
    content = small_fits.as_bytes(small_fits.sdss_spec())
    at = content.index(b"XTENSION")
    assert card.encode() in content[at:]
    content = content[:at] + content[at:].replace(card.encode(), new.encode(), 1)
    source = opened(tmp_path / "f.fits", content)
    with pytest.raises(DefectError, match="HDU 1") as caught:
        source.hdus[1].table()
    assert caught.value.reason == reason


# --- checksums


def test_sum_of_big_endian_words_with_carry() -> None:
    assert ones_complement_sum([b"\xff\xff\xff\xff", b"\0\0\0\2"]) == 2
    assert ones_complement_sum([b"\0\0\1\0\7"]) == 0x07000100
    assert ones_complement_sum([]) == 0


@pytest.mark.parametrize("kind", small_fits.ALL)
def test_no_flipped_bit_passes_the_checksums(tmp_path: Path, kind: str) -> None:
    content = small_fits.as_bytes(small_fits.ALL[kind](), checksum=True)
    assert opened(tmp_path / "f.fits", content).hdus
    rng = np.random.default_rng(5)
    for position in rng.integers(0, len(content), 60):
        damaged = bytearray(content)
        damaged[position] ^= 1 << int(rng.integers(0, 8))
        with pytest.raises(DefectError):
            source = opened(tmp_path / "f.fits", bytes(damaged))
            assert source.hdus


def test_flipped_bit_in_the_data_names_the_hdu(tmp_path: Path) -> None:
    content = bytearray(small_fits.as_bytes(small_fits.sdss_spec(), checksum=True))
    content[-BLOCK - 1 - 2 * BLOCK] ^= 4
    error = defect(tmp_path / "f.fits", bytes(content))
    assert error.reason == Reason.CHECKSUM and "HDU 2 (SPECOBJ)" in error.detail


def test_a_lost_checksum_card_is_noticed_only_among_complete_pairs(tmp_path: Path) -> None:
    content = small_fits.as_bytes(small_fits.sdss_spec(), checksum=True)
    at = content.rindex(b"CHECKSUM= ")
    error = defect(tmp_path / "f.fits", content[:at] + b"CHECKRUM= " + content[at + 10 :])
    assert error.reason == Reason.CHECKSUM and "HDU 3" in error.detail
    alone = small_fits.as_bytes(small_fits.sdss_spec(), checksum="datasum")  # type: ignore[arg-type]
    assert len(opened(tmp_path / "g.fits", alone).hdus) == 4


def test_large_files_verify_what_they_read_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(small_fits.as_bytes(small_fits.desi_coadd(), checksum=True))
    monkeypatch.setattr("rarespec.formats.source.WHOLE_FILE_BYTES", 100)
    hdus = {hdu.name: hdu for hdu in opened(tmp_path / "f.fits", bytes(content)).hdus}
    for name in ("B_FLUX", "Z_RESOLUTION"):
        content[hdus[name].data_offset] ^= 1
    damaged = opened(tmp_path / "g.fits", bytes(content))
    assert not damaged.in_memory
    by_name = {hdu.name: hdu for hdu in damaged.hdus}
    by_name["R_FLUX"].image()
    with pytest.raises(DefectError, match="B_FLUX"):
        by_name["B_FLUX"].image(0, 1)


def test_a_closed_source_is_freed_without_the_garbage_collector(tmp_path: Path) -> None:
    path = small_fits.write(tmp_path / "f.fits", small_fits.sdss_spec())
    gc.disable()
    try:
        with Source(path) as source:
            source.hdus[1].table()
        remains = weakref.ref(source)
        del source
        assert remains() is None
    finally:
        gc.enable()


# --- bombs


def test_many_rows_that_share_one_long_array_are_refused(tmp_path: Path) -> None:
    n_rows, n_elements = 2000, 10_000
    arrays = np.empty(n_rows, object)
    arrays[:] = [np.zeros(0, "f4")] * n_rows
    arrays[0] = np.ones(n_elements, "f4")
    hdus = fits.HDUList([fits.PrimaryHDU(), small_fits.table("", FLUX=("PE()", arrays))])
    content = bytearray(small_fits.as_bytes(hdus))
    descriptors = np.ndarray(
        (n_rows, 2), ">i4", content, opened(tmp_path / "f.fits", bytes(content)).hdus[1].data_offset
    )
    descriptors[:] = (n_elements, 0)
    hdu = opened(tmp_path / "g.fits", bytes(content)).hdus[1]
    with pytest.raises(DefectError) as caught:
        hdu.table()
    assert caught.value.reason == Reason.TOO_LARGE and str(n_rows * n_elements) in caught.value.detail


def test_compressed_image_that_unfolds_too_far_is_refused(tmp_path: Path) -> None:
    hdus = fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(np.zeros((20, 20), "i4"))])
    content = small_fits.as_bytes(hdus)
    card = b"ZNAXIS1 =                   20"
    assert card in content
    hdu = opened(tmp_path / "f.fits", content.replace(card, b"ZNAXIS1 =           2000000000")).hdus[1]
    with pytest.raises(DefectError) as caught:
        hdu.image()
    assert caught.value.reason == Reason.TOO_LARGE
