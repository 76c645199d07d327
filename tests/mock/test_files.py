"""Survey files made here are what astropy and the originals say they should be."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given
from hypothesis import strategies as st

from rarespec.formats.fits.header import value_of
from rarespec.formats.fits.writing import Header, add, encode, format_card, ones_complement_sum
from rarespec.mock.files import LAYOUTS, native_wavelength, write_files
from rarespec.mock.files.target import class_words, targets_of
from rarespec.spectrum import PAPER_GRID, Spectra

KINDS = ("CARBON", "M", "F", "WD", "QSO", "GALAXY", "SKY")
SUBCLASSES = ("dC", "M4", "F5", "DA", "BROADLINE", "", "")
SDSS_NAMES = [("STAR", "Carbon"), ("STAR", "M4"), ("STAR", "F5"), ("STAR", "DA"), ("QSO", "BROADLINE"), ("GALAXY", "")]
SINGLE = [layout for layout in LAYOUTS if layout not in ("desi", "sdss-spplate")]


def sky_like(layout: str, n: int = 7, seed: int = 0, **columns: list) -> Spectra:
    """n noisy spectra with all classes, on the pixels of this layout."""
    rng = np.random.default_rng(seed)
    wavelength = native_wavelength(layout)
    flux = rng.normal(10, 1, (n, len(wavelength))).astype("f4")
    ivar = rng.uniform(0.5, 2, flux.shape).astype("f4")
    bad = rng.random(flux.shape) < 0.02
    catalogue = {
        "id": [f"star {seed}-{i}" for i in range(n)],
        "ra": rng.uniform(0, 360, n).tolist(),
        "dec": rng.uniform(-80, 80, n).tolist(),
        "z": rng.normal(0, 1e-3, n).tolist(),
        "class": [KINDS[i % 7] for i in range(n)],
        "subclass": [SUBCLASSES[i % 7] for i in range(n)],
        "snr": rng.uniform(2, 50, n).tolist(),
    }
    return Spectra(wavelength, flux, ivar, bad, catalogue | columns)


def kept(spectra: Spectra, row: int, n_pixels: int, first: float) -> slice:
    """The pixels of the stack that a shorter file holds, from its first wavelength."""
    start = int(np.abs(spectra.wavelength - first).argmin())
    return slice(start, start + n_pixels)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_are_valid_and_their_checksums_right(layout, tmp_path):
    write_files(sky_like(layout), layout, tmp_path)
    for path in tmp_path.iterdir():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with fits.open(path, checksum=True) as hdus:
                for hdu in hdus:
                    assert hdu.verify_checksum() == 1 and hdu.verify_datasum() == 1, hdu.name
                    assert hdu.data is None or len(hdu.data)
                if layout == "lamost-dr9":  # real files have stray NAXIS1 and NAXIS2 cards, too
                    with pytest.raises(fits.VerifyError, match="NAXIS1"):
                        hdus.verify("exception")
                else:
                    hdus.verify("exception")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_same_spectra_same_bytes_and_nothing_temporary_left(layout, tmp_path):
    for folder in ("a", "b"):
        write_files(sky_like(layout, 3), layout, tmp_path / folder)
    first, second = sorted((tmp_path / "a").iterdir()), sorted((tmp_path / "b").iterdir())
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert not [path for path in first if path.name.startswith(".")]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_calls_that_continue_never_write_the_same_file(layout, tmp_path):
    n_before = 0
    for seed in range(3):
        paths = write_files(sky_like(layout, 5, seed), layout, tmp_path, first_index=5 * seed)
        assert all(path.is_file() for path in paths)
        files = list(tmp_path.iterdir())
        assert len(files) - n_before == len(paths) * (2 if layout in ("desi", "sdss-spplate") else 1)
        n_before = len(files)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pixels_cover_the_paper_grid(layout):
    wavelength = native_wavelength(layout)
    assert wavelength[14] < PAPER_GRID.wavelength[0] and wavelength[-14] > PAPER_GRID.wavelength[-1]


@pytest.mark.parametrize("layout", ["sdss", "sdss-v"])
def test_sdss_pixels_survive(layout, tmp_path):
    spectra = sky_like(layout, 30)
    lengths = set()
    for row, path in enumerate(write_files(spectra, layout, tmp_path)):
        table = fits.getdata(path, "COADD")
        lengths.add(len(table))
        pixels = kept(spectra, row, len(table), 10.0 ** float(table["LOGLAM"][0]))
        bad = spectra.bad[row, pixels]
        assert np.array_equal(table["FLUX"], spectra.flux[row, pixels])
        assert np.array_equal(table["IVAR"], np.where(bad, 0, spectra.ivar[row, pixels]))
        assert np.array_equal(table["AND_MASK"] >> 16 != 0, bad)
        assert np.array_equal(table["LOGLAM"], np.log10(spectra.wavelength[pixels]).astype("f4"))
        assert np.isfinite(table["MODEL"]).all() and (table["SKY"] > 0).all() and (table["WDISP"] > 0).all()
        assert ((table["OR_MASK"] & table["AND_MASK"]) == table["AND_MASK"]).all()
    assert len(lengths) > 5 and max(lengths) - min(lengths) < 30


def test_sdss_fibre_bits_flag_good_pixels_of_some_stars(tmp_path):
    flagged = []
    for path in write_files(sky_like("sdss", 30), "sdss", tmp_path):
        table = fits.getdata(path, "COADD")
        flagged.append(np.mean((table["and_mask"] != 0) & (table["ivar"] > 0)))
    assert 0.1 < np.mean(np.array(flagged) > 0.3) < 0.7


@pytest.mark.parametrize(("layout", "extension", "ra"), [("sdss", "SPECOBJ", "PLUG_RA"), ("sdss-v", "SPALL", "RACAT")])
def test_sdss_catalogue_row(layout, extension, ra, tmp_path):
    spectra = sky_like(layout)
    for row, path in enumerate(write_files(spectra, layout, tmp_path)):
        found = fits.getdata(path, extension)[0]
        assert found[ra] == spectra.catalogue["ra"][row]
        assert found["Z"] == np.float32(spectra.catalogue["z"][row])
        assert found["SN_MEDIAN_ALL"] == np.float32(spectra.catalogue["snr"][row])
        if spectra.catalogue["class"][row] == "SKY":
            assert found["ZWARNING"] == 1
        else:
            assert (found["CLASS"], found["SUBCLASS"], found["ZWARNING"]) == (*SDSS_NAMES[row], 0)
        # The header's position is the telescope's.
        assert abs(fits.getheader(path)["RA"] - found[ra]) > 0.1


def test_sdss_numbers_come_from_the_catalogue(tmp_path):
    spectra = sky_like("sdss", 2, plate=[2942, 355], mjd=[54521, 51788], fiberid=[124, 579])
    paths = write_files(spectra, "sdss", tmp_path)
    assert [path.name for path in paths] == ["spec-2942-54521-0124.fits", "spec-0355-51788-0579.fits"]
    found = fits.getdata(paths[0], "SPECOBJ")[0]
    assert found["SPECOBJID"] == "   3312431686641281024"  # the number that SDSS gave to this fibre
    assert (found["PLATE"], found["MJD"], found["FIBERID"]) == (2942, 54521, 124)


def test_sdss_v_catalogue_ids_do_not_survive_a_float(tmp_path):
    paths = write_files(sky_like("sdss-v", 4), "sdss-v", tmp_path)
    ids = [int(fits.getdata(path, "SPALL")["CATALOGID"][0]) for path in paths]
    assert [path.stem.split("-")[-1] for path in paths] == [str(number) for number in ids]
    assert len(set(ids)) == 4 and len({float(number) for number in ids}) < 4 and min(ids) > 2**53


@pytest.mark.parametrize("layout", ["lamost-dr1", "lamost-dr8", "lamost-dr9"])
def test_lamost_pixels_and_header_survive(layout, tmp_path):
    spectra = sky_like(layout, 20)
    lengths = set()
    for row, path in enumerate(write_files(spectra, layout, tmp_path)):
        header = fits.getheader(path)
        data = fits.getdata(path)
        if layout == "lamost-dr9":
            assert len(data) == 1 and (header["NAXIS"], header["NAXIS2"]) == (0, 5)
            data = np.stack([data[name][0] for name in data.names])
        lengths.add(n := data.shape[1])
        bad = spectra.bad[row, :n]
        assert np.array_equal(data[0], spectra.flux[row, :n])
        assert np.array_equal(data[1], np.where(bad, 0, spectra.ivar[row, :n]))
        assert np.array_equal(data[3] != 0, bad)
        assert np.allclose(10 ** (header["COEFF0"] + header["COEFF1"] * np.arange(n)), spectra.wavelength[:n])
        third = np.median(data[2])
        assert (
            abs(third - 1) < 0.1
            if layout == "lamost-dr1"
            else np.array_equal(data[2], spectra.wavelength[:n].astype("f4"))
        )
        assert header["RA"] == pytest.approx(spectra.catalogue["ra"][row], abs=1e-6)
        if spectra.catalogue["class"][row] == "SKY":
            assert header["CLASS"] == "Unknown"
        else:
            assert (header["CLASS"], header["SUBCLASS"].replace("Non", "")) == SDSS_NAMES[row % 7]
            assert header["Z"] == pytest.approx(spectra.catalogue["z"][row], abs=1e-8)
    assert lengths == set(range(3904, 3910))


def test_lamost_gzip_is_gzip_and_observation_ids_are_unique(tmp_path):
    paths = write_files(sky_like("lamost-dr8", 4), "lamost-dr8", tmp_path, first_index=248)
    assert all(path.suffix == ".gz" and path.read_bytes()[:2] == b"\x1f\x8b" for path in paths)
    assert [fits.getval(path, "OBSID") for path in paths] == [101249, 101250, 102001, 102002]


def test_desi_cameras_joined_give_the_spectra_to_the_bit(tmp_path):
    spectra = sky_like("desi", 6)
    (path,) = write_files(spectra, "desi", tmp_path)
    with fits.open(path) as hdus:
        fibermap = hdus["FIBERMAP"].data
        good = (fibermap["OBJTYPE"] == "TGT") & (fibermap["COADD_FIBERSTATUS"] == 0)
        total, weight = np.zeros((good.sum(), 7781)), np.zeros((good.sum(), 7781))
        for camera in "BRZ":
            pixels = np.rint((hdus[f"{camera}_WAVELENGTH"].data - 3600) / 0.8).astype(int)
            ivar = hdus[f"{camera}_IVAR"].data[good].astype("f8")
            total[:, pixels] += ivar * hdus[f"{camera}_FLUX"].data[good]
            weight[:, pixels] += ivar
            bad = spectra.bad[:, pixels]
            assert np.array_equal(hdus[f"{camera}_MASK"].data[good] != 0, bad)
            assert hdus[f"{camera}_RESOLUTION"].data.shape == (len(fibermap), 11, len(pixels))
            assert np.allclose(hdus[f"{camera}_RESOLUTION"].data.sum(axis=1), 1)
    seen = ~spectra.bad
    assert np.array_equal(weight, np.where(seen, spectra.ivar, 0))
    assert np.array_equal((total[seen] / weight[seen]).astype("f4"), spectra.flux[seen])
    assert np.array_equal(fibermap["TARGET_RA"][good], spectra.catalogue["ra"])


def test_desi_has_sky_and_broken_fibres_and_a_redrock_in_another_order(tmp_path):
    spectra = sky_like("desi", 14)
    (path,) = write_files(spectra, "desi", tmp_path)
    fibermap = fits.getdata(path, "FIBERMAP")
    redrock = fits.getdata(path.with_name(path.name.replace("coadd", "redrock")), "REDSHIFTS")
    good = (fibermap["OBJTYPE"] == "TGT") & (fibermap["COADD_FIBERSTATUS"] == 0)
    sky = np.array(spectra.catalogue["class"]) == "SKY"
    assert good.sum() == (~sky).sum() and (fibermap["OBJTYPE"] == "SKY").sum() == sky.sum() + 1
    assert (fibermap["COADD_FIBERSTATUS"] != 0).sum() == 1
    assert fibermap["TARGETID"][good].min() > 2**53
    assert not np.array_equal(redrock["TARGETID"], fibermap["TARGETID"])
    assert set(redrock["TARGETID"]) == set(fibermap["TARGETID"])
    by_id = {row["TARGETID"]: row for row in redrock}
    found = [by_id[number]["Z"] for number in fibermap["TARGETID"][good]]
    assert np.array_equal(found, np.array(spectra.catalogue["z"])[~sky])
    assert {by_id[number]["SUBTYPE"] for number in fibermap["TARGETID"][good]} >= {"Carbon", "M4"}


def test_desi_starts_a_new_file_every_hundred_targets(tmp_path):
    paths = write_files(sky_like("desi", 101), "desi", tmp_path)
    assert [fits.getval(path, "NAXIS2", "FIBERMAP") for path in paths] == [102, 3]


def test_spplate_images_survive(tmp_path):
    spectra = sky_like("sdss-spplate", 9)
    (path,) = write_files(spectra, "sdss-spplate", tmp_path)
    with fits.open(path) as hdus:
        header = hdus[0].header
        assert np.array_equal(hdus[0].data, spectra.flux)
        assert np.array_equal(hdus["IVAR"].data, np.where(spectra.bad, 0, spectra.ivar))
        assert np.array_equal(hdus["ANDMASK"].data >> 16 != 0, spectra.bad)
        loglam = header["CRVAL1"] + header["CD1_1"] * (np.arange(3850) + 1 - header["CRPIX1"])
        assert np.allclose(10**loglam, spectra.wavelength)
        assert np.array_equal(hdus["PLUGMAP"].data["RA"], spectra.catalogue["ra"])
    classes = fits.getdata(path.with_name(path.name.replace("spPlate", "spZbest")), "ZBEST")
    assert list(zip(classes["CLASS"], classes["SUBCLASS"], strict=True))[:6] == SDSS_NAMES
    assert np.array_equal(classes["FIBERID"], np.arange(1, 10))


def test_spplate_splits_at_640_fibres(tmp_path):
    paths = write_files(sky_like("sdss-spplate", 650), "sdss-spplate", tmp_path)
    assert [fits.getval(path, "NAXIS2") for path in paths] == [640, 10]


def test_spspec_rows(tmp_path):
    spectra = sky_like("sdss-spspec")
    for row, path in enumerate(write_files(spectra, "sdss-spspec", tmp_path)):
        image, header = fits.getdata(path), fits.getheader(path)
        pixels = kept(spectra, row, image.shape[1], 10 ** header["COEFF0"])
        loglam = header["COEFF0"] + header["COEFF1"] * np.arange(image.shape[1])
        assert np.allclose(10**loglam, spectra.wavelength[pixels])
        assert np.array_equal(image[0], spectra.flux[row, pixels])
        bad = spectra.bad[row, pixels]
        assert np.array_equal(image[2] == 0, bad)
        assert np.allclose(image[2][~bad] ** -2.0, spectra.ivar[row, pixels][~bad])
        assert np.array_equal(image[3].astype(int) >> 16 != 0, bad)
        assert header["SPEC_CLN"] == [1, 6, 1, 1, 3, 2, 5][row]


ORIGINALS = {
    "sdss": ("sdss/spec-2942-54521-0124.fits", ["PRIMARY", "COADD", "SPECOBJ", "SPZLINE"], set()),
    "sdss-v": ("sdss-v/spSpec-015004-59191-4402835442.fits", ["PRIMARY", "COADD"], {"MODEL"}),
    "lamost-dr1": ("lamost/spec-55862-B6212_sp06-028.fits", ["PRIMARY"], set()),
    "lamost-dr8": ("lamost/spec-55859-F5902_sp03-232.fits.gz", ["FLUX"], set()),
    "lamost-dr9": ("lamost/spec-55859-F5902_sp01-013_dr8.fits.gz", ["PRIMARY", "COADD"], set()),
    "desi": (
        "desi/coadd-special-dark-27247.fits",
        ["PRIMARY", "FIBERMAP", "EXP_FIBERMAP"]
        + [f"{camera}_{what}" for camera in "BRZ" for what in ("WAVELENGTH", "FLUX", "IVAR", "MASK", "RESOLUTION")]
        + ["SCORES"],
        {"PETAL_LOC", "DEVICE_LOC", "LOCATION", "FIBER", "TILEID"},
    ),
}
"""Layout -> original, HDUs compared, columns that this original lacks while others of its survey have them."""


@pytest.mark.parametrize("layout", ORIGINALS)
def test_layout_is_that_of_the_original(layout, tmp_path, real_data):
    original, names, ours_alone = ORIGINALS[layout]
    path = write_files(sky_like(layout, 2), layout, tmp_path)[0]
    with fits.open(real_data / "files" / original) as real, fits.open(path) as mock:
        assert [hdu.name.upper() for hdu in real][: len(names)] == names == [h.name.upper() for h in mock][: len(names)]
        for theirs, ours in list(zip(real, mock, strict=False))[: len(names)]:
            compare_hdus(theirs, ours, ours_alone)


def column_form(column) -> str:
    """TFORM without the lengths that vary from file to file: those of strings and of spectra."""
    repeat, code = column.format[:-1], column.format[-1]
    return code if code == "A" or len(repeat) > 3 else repeat + code


def compare_hdus(theirs, ours, ours_alone: set[str]) -> None:
    """Columns, formats and units of tables; shapes but for the lengths that vary; no keyword of our own."""
    if isinstance(theirs, fits.BinTableHDU):
        real = {c.name: (column_form(c), c.unit) for c in theirs.columns}
        mock = {c.name: (column_form(c), c.unit) for c in ours.columns if c.name in real or c.name not in ours_alone}
        if theirs.name == "COADD":  # SDSS-V writes units in some releases only
            real, mock = ({name: form for name, (form, _) in found.items()} for found in (real, mock))
        assert list(mock.items()) == list(real.items())
    elif theirs.data is not None:
        assert theirs.data.ndim == ours.data.ndim
        assert theirs.header["BITPIX"] == ours.header["BITPIX"]
        assert theirs.header.get("BUNIT") == ours.header.get("BUNIT")
    unknown = set(ours.header) - set(theirs.header) - {"CHECKSUM", "DATASUM", "BSCALE", "BZERO", "EXTEND", "COMMENT"}
    assert {key for key in unknown if not key.startswith(("TTYPE", "TFORM", "TUNIT"))} <= {
        "SPGRP", "SPGRPVAL", "NIGHT", "TILEID", "SPECTRO", "PETAL", "BUNIT",
    }  # fmt: skip


def test_sdss_v_has_the_tables_of_dr19(tmp_path):
    path = write_files(sky_like("sdss-v", 1), "sdss-v", tmp_path)[0]
    with fits.open(path) as hdus:
        assert [hdu.name for hdu in hdus] == ["PRIMARY", "COADD", "SPALL", "ZALL", "ZLINE"]
        assert len(hdus["SPALL"].data) == 1 and hdus["ZALL"].data["CLASS"][0] == hdus["SPALL"].data["CLASS"][0]


def test_wrong_use_is_named(tmp_path):
    spectra = sky_like("sdss", 1)
    with pytest.raises(ValueError, match="there is no file layout 'sdsss'; did you mean 'sdss'"):
        write_files(spectra, "sdsss", tmp_path)
    with pytest.raises(ValueError, match="sample the spectra on native_wavelength"):
        write_files(spectra, "desi", tmp_path)
    without = Spectra(spectra.wavelength, spectra.flux, None, spectra.bad, spectra.catalogue)
    with pytest.raises(ValueError, match="inverse variance"):
        write_files(without, "sdss", tmp_path)
    assert write_files(spectra.take(np.arange(0)), "sdss", tmp_path) == []


@pytest.mark.parametrize("layout", SINGLE)
def test_unknown_redshift_and_signal_to_noise_can_be_written(layout, tmp_path):
    spectra = sky_like(layout, 1)
    spectra.catalogue.update(z=[None], snr=[None], subclass=[None])
    (path,) = write_files(spectra, layout, tmp_path)
    with fits.open(path, checksum=True) as hdus:
        assert not hdus[0].header.get("Z", -9999) > -9999
        if layout == "sdss":
            assert np.isnan(hdus["SPECOBJ"].data["Z"][0])


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space"):
        write_files(sky_like("sdss", 1), "sdss", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_class_words():
    assert class_words("CARBON", "dC") == ("STAR", "Carbon")
    assert class_words("WD", "") == ("STAR", "WD")
    assert [class_words(kind, sub) for kind, sub in zip(KINDS, SUBCLASSES, strict=True)][:6] == SDSS_NAMES


def test_targets_have_numbers_of_their_own():
    numbers = [(t.plate, t.mjd, t.fiberid) for t in targets_of(sky_like("sdss", 20), first_index=630)]
    assert len(set(numbers)) == 20 and numbers[9][2] == 640 and numbers[10][2] == 1


@given(st.binary(min_size=0, max_size=4 * 2880))
def test_sums_are_those_of_astropy(data):
    data = data + bytes(-len(data) % 4)
    judge = fits.PrimaryHDU()
    expected = int(judge._compute_checksum(np.frombuffer(data, dtype="u1")))
    assert ones_complement_sum(data) == expected
    assert encode(expected).decode() == judge._char_encode(~np.uint32(expected))


@given(st.integers(0, 2**32 - 1))
def test_an_encoded_sum_adds_up_to_minus_zero(total):
    card = format_card("CHECKSUM", encode(total).decode())
    without = ones_complement_sum(format_card("CHECKSUM", "0" * 16))
    whole = add(ones_complement_sum(card), 0xFFFFFFFF - without)  # what the 16 characters changed
    assert add(whole, total) in (0xFFFFFFFF, 0)
    assert encode(total).isalnum()


texts = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60).filter(lambda t: t.count("'") < 4)
numbers = st.one_of(
    st.integers(-(10**18), 10**18), st.booleans(), st.floats(allow_nan=False, allow_infinity=False, width=64)
)


# astropy takes the slash in '' / for the start of the comment, although it stands within the quoted text.
@given(st.one_of(texts.filter(lambda t: not ("'" in t and "/" in t)), numbers))
def test_cards_read_back_as_they_were(value):
    card = fits.Card.fromstring(format_card("VALUE", value, "a comment"))
    card.verify("exception")
    found = card.value.rstrip() if isinstance(value, str) else card.value
    assert found == (value.rstrip() if isinstance(value, str) else value) and type(found) is type(value)


@given(st.one_of(texts, numbers))
def test_cards_are_read_back_by_our_own_reader(value):
    found = value_of(format_card("VALUE", value, "a comment").decode(), "the header")
    assert found == (value.rstrip() if isinstance(value, str) else value) and type(found) is type(value)


def test_a_header_refuses_what_fits_cannot_hold():
    with pytest.raises(ValueError, match="cannot store"):
        format_card("Z", float("nan"))
    with pytest.raises(KeyError):
        Header([("Z", 0.0, "")]).replace({"ZZ": 1.0})


def test_gzip_carries_no_time_stamp(tmp_path: Path):
    (path,) = write_files(sky_like("lamost-dr8", 1), "lamost-dr8", tmp_path)
    assert path.read_bytes()[4:8] == bytes(4)
    assert gzip.decompress(path.read_bytes())[:6] == b"SIMPLE"
