"""Survey files: the originals agree with astropy to the bit, and small ones show each rule of the readers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

from formats import small_fits
from rarespec.formats import Source, read_here
from rarespec.formats.reader import MAX_ROWS, ReadOptions
from rarespec.formats.readers import NOT_FITS, READERS, reader_by_name, reader_for
from rarespec.formats.surveys.desi import CameraRows, join_cameras
from rarespec.spectrum import Defect, Reason, Spectra
from rarespec.spectrum.defect import Skipped
from rarespec.spectrum.grid import air_to_vacuum
from rarespec.spectrum.spectra import COMMON_COLUMNS


def only_stack(path: Path, **options: Any) -> Spectra:
    found = list(read_here(path, options=ReadOptions(**options)))
    stacks = [item for item in found if isinstance(item, Spectra)]
    assert len(stacks) == 1, found
    return stacks[0]


def only_defect(path: Path, format: str | None = None) -> Defect:
    (found,) = read_here(path, format)
    assert isinstance(found, Defect), found
    return found


# --- the originals


def originals(folder: Path, pattern: str) -> list[Path]:
    files = sorted((folder / "files").glob(pattern))
    if not files:
        pytest.skip(f"the original files ({pattern}) are not here")
    return files


def assert_same(stack: Spectra, flux: Any, ivar: Any, wavelength: Any, **columns: Any) -> None:
    assert stack.ivar is not None
    for ours, theirs in ((stack.flux[0], flux), (stack.ivar[0], ivar), (stack.wavelength, wavelength)):
        assert ours.dtype == np.asarray(theirs).dtype.newbyteorder("=")
        np.testing.assert_array_equal(ours, theirs)
    for name, value in columns.items():
        assert stack.catalogue[name] == [value], name


def test_original_sdss_files_agree_with_astropy(real_data: Path) -> None:
    for path in originals(real_data, "sdss/*.fits"):
        with fits.open(path) as hdus:
            pixels, row = hdus[1].data, hdus[2].data
            stack = only_stack(path)
            assert_same(
                stack,
                pixels["flux"],
                pixels["ivar"],
                10.0 ** pixels["loglam"].astype("f8"),
                id=path.stem.removeprefix("spec-"),
                z=row["Z"][0].item(),
                ra=row["PLUG_RA"][0].item(),
                dec=row["PLUG_DEC"][0].item(),
                snr=row["SN_MEDIAN_ALL"][0].item(),
                survey="BOSS" if row["PLATE"][0] > 3500 else "SDSS",
                source=str(path),
                **{"class": row["CLASS"][0].strip(), "subclass": row["SUBCLASS"][0].strip()},
            )
            bits = pixels["and_mask"].astype("i8") & 0xFFFF0000
            np.testing.assert_array_equal(stack.bad[0], (bits != 0) | ~(pixels["ivar"] > 0))
            for name in row.names:
                value = row[name][0]
                if np.ndim(value) == 0 and name not in ("ID", "RA", "DEC", "SURVEY"):
                    ours = stack.catalogue[name.lower()][0]
                    text = value.strip() if isinstance(value, str) else value
                    assert (ours is None and np.isnan(value)) or ours == text, name


def test_original_sdss_v_files_agree_with_astropy(real_data: Path) -> None:
    for path in originals(real_data, "sdss-v/*.fits"):
        with fits.open(path) as hdus:
            pixels, row = hdus[1].data, hdus[2].data
            assert_same(
                only_stack(path),
                pixels["FLUX"],
                pixels["IVAR"],
                10.0 ** pixels["LOGLAM"].astype("f8"),
                id=path.stem.removeprefix("spSpec-"),
                ra=row["RACAT"][0].item(),
                dec=row["DECCAT"][0].item(),
                survey="SDSS-V",
            )


def test_original_lamost_files_agree_with_astropy(real_data: Path) -> None:
    for path in originals(real_data, "lamost/*"):
        with fits.open(path) as hdus:
            header = hdus[0].header
            row = (
                dict(zip(("FLUX", "IVAR", "X", "ANDMASK"), hdus[0].data, strict=False))
                if len(hdus) == 1
                else hdus[1].data[0]
            )
            name = path.name.removeprefix("spec-").split(".")[0]
            stack = only_stack(path)
            assert_same(
                stack,
                row["FLUX"],
                row["IVAR"],
                10.0 ** (header["COEFF0"] + header["COEFF1"] * np.arange(len(row["FLUX"]))),
                id=str(header["OBSID"]) if "OBSID" in header else name,
                z=header["Z"],
                ra=header["RA"],
                dec=header["DEC"],
                survey="LAMOST",
                **{"class": header["CLASS"], "subclass": header["SUBCLASS"]},
            )
            np.testing.assert_array_equal(stack.bad[0], (row["IVAR"] <= 0) | (row["ANDMASK"] != 0))
            for key in ("desig", "fiberid", "lmjd", "seeing", "helio"):
                assert stack.catalogue[key] == [header[key]]


def test_original_desi_files_agree_with_astropy(real_data: Path) -> None:
    for path in originals(real_data, "desi/coadd-*.fits"):
        with fits.open(path) as hdus:
            fibermap = hdus["FIBERMAP"].data
            keep = (fibermap["OBJTYPE"] == "TGT") & (fibermap["COADD_FIBERSTATUS"] == 0)
            stack = only_stack(path)
            assert stack.ids == [str(target) for target in fibermap["TARGETID"][keep]]
            assert stack.catalogue["ra"] == fibermap["TARGET_RA"][keep].tolist()
            assert stack.catalogue["dec"] == fibermap["TARGET_DEC"][keep].tolist()
            assert stack.flux.shape[1] == 7781
            for camera, alone in (("B", slice(0, 2700)), ("R", slice(51, 2200)), ("Z", slice(126, None))):
                wavelength = hdus[f"{camera}_WAVELENGTH"].data[alone]
                start = int(np.argmin(np.abs(stack.wavelength - wavelength[0])))
                at = slice(start, start + len(wavelength))
                np.testing.assert_array_equal(stack.wavelength[at], wavelength)
                np.testing.assert_array_equal(stack.flux[:, at], hdus[f"{camera}_FLUX"].data[keep][:, alone])
                np.testing.assert_array_equal(stack.ivar[:, at], hdus[f"{camera}_IVAR"].data[keep][:, alone])
                mask, ivar = hdus[f"{camera}_MASK"].data[keep][:, alone], hdus[f"{camera}_IVAR"].data[keep][:, alone]
                np.testing.assert_array_equal(stack.bad[:, at], (mask != 0) | (ivar <= 0))
            skipped = [found for found in read_here(path) if isinstance(found, Skipped)]
            assert sum(found.count for found in skipped) == int((~keep).sum())


def test_original_redrock_file_gives_the_class(real_data: Path) -> None:
    (redrock,) = originals(real_data, "desi/redrock-special*.fits")
    stack = only_stack(redrock.with_name(redrock.name.replace("redrock", "coadd")))
    with fits.open(redrock) as hdus:
        row = hdus["REDSHIFTS"].data[0]
        assert stack.catalogue["class"] == [row["SPECTYPE"].strip()]
        assert stack.catalogue["z"] == [row["Z"]] and stack.catalogue["zwarn"] == [row["ZWARN"]]


# --- every reader


@pytest.mark.parametrize("kind", small_fits.ALL)
@pytest.mark.parametrize("ending", [".fits", ".fits.gz"])
def test_small_files_are_recognised_and_read(tmp_path: Path, kind: str, ending: str) -> None:
    path = small_fits.write(tmp_path / f"file{ending}", small_fits.ALL[kind]())
    with Source(path) as source:
        assert reader_for(source).name == kind
    stack = only_stack(path)
    assert set(COMMON_COLUMNS) <= set(stack.catalogue)
    assert stack.catalogue["source"] == [str(path)] * len(stack)
    assert all(isinstance(id, str) for id in stack.ids)
    assert stack.flux.dtype.isnative and stack.wavelength.dtype == np.float64
    assert (np.diff(stack.wavelength) > 0).all()


def test_containers_of_readers_are_listed_right() -> None:
    for name in READERS:
        assert str(reader_by_name(name).container) == str(NOT_FITS.get(name, "FITS")), name


def test_warnings_are_not_silenced_while_the_reader_waits(tmp_path: Path) -> None:
    found = read_here(small_fits.write(tmp_path / "f.fits", small_fits.spplate()))
    before = list(warnings.filters)
    next(found)
    assert list(warnings.filters) == before


def test_a_library_that_raises_something_strange_gives_a_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StrangeError(Exception):
        pass

    def strange(*_: Any) -> None:
        raise StrangeError("first line\nsecond")

    path = small_fits.write(tmp_path / "f.fits", small_fits.sdss_spec())
    monkeypatch.setattr("rarespec.formats.surveys.sdss.read_coadd", strange)
    defect = only_defect(path)
    assert defect.reason == Reason.READER_CRASHED and defect.detail == "StrangeError: first line"


# --- SDSS


def test_sdss_rules(tmp_path: Path) -> None:
    stack = only_stack(small_fits.write(tmp_path / "f.fits", small_fits.sdss_spec()))
    row = {name: column[0] for name, column in stack.catalogue.items()}
    assert row["id"] == "0355-51788-0579"
    assert (row["ra"], row["dec"]) == (155.44024, -0.18141384)  # not those of the telescope in the primary header
    assert (row["class"], row["subclass"], row["snr"], row["survey"]) == ("STAR", "F9", 25.5, "SDSS")
    assert row["specobjid"] == "305127427560990720" and row["big"] == 2**62 + 1 and row["z_err"] is None
    assert row["file_survey"] == "segue1" and "theta" not in row
    assert np.flatnonzero(stack.bad[0]).tolist() == [3, 5]  # no variance; a bit of 16 and more, not the fibre flag
    all_bits = only_stack(tmp_path / "f.fits", sdss_bad_bits=0xFFFFFFFF)
    assert np.flatnonzero(all_bits.bad[0]).tolist() == [3, 5, 6]


def test_boss_plates_with_five_digits_and_unnamed_tables(tmp_path: Path) -> None:
    row = small_fits.object_columns()
    row |= {"PLATE": ("J", [10234]), "MJD": ("J", [58000])}
    del row["INSTRUMENT"]
    hdus = small_fits.sdss_spec(small_fits.coadd_columns(upper=True), row)
    for hdu in hdus[1:]:
        del hdu.header["EXTNAME"]
    stack = only_stack(small_fits.write(tmp_path / "f.fits", hdus))
    assert stack.ids == ["10234-58000-0579"] and stack.catalogue["survey"] == ["BOSS"]


def test_names_from_the_primary_header_when_the_row_lost_them(tmp_path: Path) -> None:
    row = small_fits.object_columns()
    row["PLATO"] = row.pop("PLATE")
    path = small_fits.write(tmp_path / "f.fits", small_fits.sdss_spec(row=row, PLATEID=355))
    assert only_stack(path).ids == ["0355-51788-0579"]
    defect = only_defect(small_fits.write(tmp_path / "g.fits", small_fits.sdss_spec(row=row)))
    assert defect.reason == Reason.MISSING_COLUMN and "PLATE" in defect.detail and "HDU 2 (SPECOBJ)" in defect.detail


@pytest.mark.parametrize("column", ["flux", "loglam", "ivar", "and_mask"])
def test_a_renamed_column_is_named_with_its_hdu(tmp_path: Path, column: str) -> None:
    columns = small_fits.coadd_columns()
    columns["other"] = columns.pop(column)
    defect = only_defect(small_fits.write(tmp_path / "f.fits", small_fits.sdss_spec(columns)))
    assert defect.reason == Reason.MISSING_COLUMN
    assert f"HDU 1 (COADD) has no column {column}," in defect.detail


def test_non_finite_values_are_bad_and_left_as_they_are(tmp_path: Path) -> None:
    columns = small_fits.coadd_columns()
    flux, ivar = columns["flux"][1], columns["ivar"][1]
    flux[10], flux[11], ivar[12], ivar[13] = np.nan, np.inf, np.nan, -1
    stack = only_stack(small_fits.write(tmp_path / "f.fits", small_fits.sdss_spec(columns)))
    assert np.flatnonzero(stack.bad[0]).tolist() == [3, 5, 10, 11, 12, 13]
    assert np.isnan(stack.flux[0, 10]) and np.isinf(stack.flux[0, 11])


def test_wavelengths_that_do_not_increase_are_a_defect(tmp_path: Path) -> None:
    columns = small_fits.coadd_columns()
    columns["loglam"][1][30] = 3.0
    defect = only_defect(small_fits.write(tmp_path / "f.fits", small_fits.sdss_spec(columns)))
    assert defect.reason == Reason.CORRUPT and "wavelengths" in defect.detail


def test_sdss_v_with_and_without_redshifts(tmp_path: Path) -> None:
    stack = only_stack(small_fits.write(tmp_path / "f.fits", small_fits.sdss_v()))
    assert stack.ids == [f"016200-59635-{small_fits.CATALOGID}"]
    assert (stack.catalogue["class"], stack.catalogue["z"], stack.catalogue["snr"]) == (["QSO"], [2.5], [7.5])
    assert stack.catalogue["catalogid"] == [small_fits.CATALOGID]
    plugmap = only_stack(small_fits.write(tmp_path / "g.fits", small_fits.sdss_v(spall=False)))
    assert plugmap.ids == [f"015004-59191-{small_fits.CATALOGID}"]  # not FIELD = 0 of the plug map
    assert (plugmap.catalogue["ra"], plugmap.catalogue["class"]) == ([3.25], [None])


def test_spplate_streams_in_stacks(tmp_path: Path) -> None:
    n = MAX_ROWS + 7
    path = small_fits.write(tmp_path / "f.fits", small_fits.spplate(n))
    first, second = read_here(path)
    assert isinstance(first, Spectra) and isinstance(second, Spectra)
    assert (len(first), len(second)) == (MAX_ROWS, 7)
    assert first.ids[0] == "10123-57000-0001" and second.ids[-1] == f"10123-57000-{n:04d}"
    assert first.catalogue["objtype"][:2] == ["SKY", "STAR"] and first.catalogue["ra"][0] == 0.0
    assert first.wavelength[0] == 10**3.55
    assert first.bad[0, 0] and first.bad.sum() == 1
    with fits.open(path) as hdus:
        np.testing.assert_array_equal(second.flux, hdus[0].data[MAX_ROWS:])


def test_spspec_rules(tmp_path: Path) -> None:
    stack = only_stack(small_fits.write(tmp_path / "f.fit", small_fits.spspec()))
    assert stack.ids == ["0266-51602-0001"]
    assert (stack.catalogue["class"], stack.catalogue["z"], stack.catalogue["ra"]) == (["GALAXY"], [0.021], [146.5])
    assert np.flatnonzero(stack.bad[0]).tolist() == [2, 4]
    assert stack.ivar is not None and stack.ivar[0, 0] == 4.0


# --- LAMOST


def test_lamost_rules(tmp_path: Path) -> None:
    stack = only_stack(small_fits.write(tmp_path / "f.fits", small_fits.lamost_image()))
    assert stack.ids == ["101001"] and np.flatnonzero(stack.bad[0]).tolist() == [7]
    assert stack.wavelength[0] == 10**3.5682  # computed: the third row is no wavelength in DR1
    assert stack.catalogue["objname"] == ["1237679997693591573"] and stack.catalogue["snrg"] == [12.22]
    dr1 = only_stack(small_fits.write(tmp_path / "g.fits", small_fits.lamost_image(obsid=None)))
    assert dr1.ids == ["55859-F5902_sp01-007"]
    unknown = small_fits.lamost_table()
    unknown[0].header["Z"] = -9999.0
    assert only_stack(small_fits.write(tmp_path / "h.fits", unknown)).catalogue["z"] == [None]


def test_lamost_without_its_parts(tmp_path: Path) -> None:
    hdus = small_fits.lamost_table()
    hdus[1].columns.change_name("IVAR", "IVER")
    defect = only_defect(small_fits.write(tmp_path / "f.fits", hdus))
    assert defect.reason == Reason.MISSING_COLUMN and "IVAR" in defect.detail and "COADD" in defect.detail
    del hdus[1]
    assert only_defect(small_fits.write(tmp_path / "g.fits", hdus)).reason == Reason.TRUNCATED
    image = small_fits.lamost_image()
    del image[0].header["COEFF0"]
    assert "COEFF0" in only_defect(small_fits.write(tmp_path / "h.fits", image)).detail


# --- DESI


def test_desi_joins_cameras_by_weighted_mean(tmp_path: Path) -> None:
    hdus = small_fits.desi_coadd()
    data = {hdu.name: hdu.data for hdu in hdus[2:]}
    data["R_IVAR"][0, 2] = 0
    data["R_IVAR"][3, 1], data["B_IVAR"][3, 17] = 0, -1
    path = small_fits.write(tmp_path / "coadd-x.fits", hdus)
    found = list(read_here(path))
    assert [(item.reason.split(" (")[0], item.count) for item in found if isinstance(item, Skipped)] == [
        ("not a target", 1),
        ("bad fibre", 1),
    ]
    stack = only_stack(path)
    assert stack.ivar is not None
    assert stack.ids == [str(small_fits.TARGETS[0]), str(small_fits.TARGETS[3])]
    assert stack.catalogue["ebv"] == [pytest.approx(0.1), None] and stack.catalogue["class"] == [None, None]
    np.testing.assert_allclose(stack.wavelength, 3600 + 0.8 * np.arange(51))
    np.testing.assert_array_equal(stack.flux[:, :16], data["B_FLUX"][[0, 3], :16])
    np.testing.assert_array_equal(stack.flux[:, 36:], data["Z_FLUX"][[0, 3], 5:])
    weights = np.array([data["B_IVAR"][0, 16], data["R_IVAR"][0, 0]], "f8")
    mean = np.average([data["B_FLUX"][0, 16], data["R_FLUX"][0, 0]], weights=weights)
    assert stack.flux[0, 16] == pytest.approx(mean, rel=1e-6)
    assert stack.ivar[0, 16] == pytest.approx(weights.sum(), rel=1e-6)
    assert stack.flux[0, 17] == data["B_FLUX"][0, 17]  # the red camera is masked there
    assert stack.flux[0, 18] == data["B_FLUX"][0, 18]  # and has no variance here
    assert np.flatnonzero(stack.bad[0]).tolist() == [1]
    assert np.flatnonzero(stack.bad[1]).tolist() == [17]
    assert stack.flux[1, 17] == data["B_FLUX"][3, 17]


def test_an_inverse_variance_too_small_for_float32_is_bad() -> None:
    one = np.ones((1, 3))
    flux, ivar, bad = join_cameras([CameraRows(one, np.array([[1.0, 1e-60, 1.0]]), np.zeros((1, 3), int))], [0], 3)
    assert bad.tolist() == [[False, True, False]] and (ivar[~bad] > 0).all() and np.isfinite(flux).all()


def test_desi_joins_the_redrock_file_beside_it(tmp_path: Path) -> None:
    path = small_fits.write(tmp_path / "coadd-a-1.fits.gz", small_fits.desi_coadd())
    small_fits.write(tmp_path / "redrock-a-1.fits", small_fits.redrock(small_fits.TARGETS[:2]))
    stack = only_stack(path)
    assert stack.catalogue["class"] == ["STAR", None] and stack.catalogue["zwarn"] == [4, None]
    assert stack.catalogue["z"] == [0.0, None]
    (tmp_path / "redrock-a-1.fits").write_bytes(b"SIMPLE  = ".ljust(500))
    defects = [found for found in read_here(path) if isinstance(found, Defect)]
    assert len(defects) == 1 and "redrock-a-1.fits" in defects[0].detail
    assert only_stack(path).catalogue["class"] == [None, None]


@pytest.mark.parametrize("column", ["TARGETID", "OBJTYPE", "COADD_FIBERSTATUS"])
def test_desi_needs_its_columns(tmp_path: Path, column: str) -> None:
    fibermap = small_fits.desi_fibermap()
    fibermap["OTHER"] = fibermap.pop(column)
    found = list(read_here(small_fits.write(tmp_path / "f.fits", small_fits.desi_coadd(fibermap))))
    assert isinstance(found[-1], Defect) and found[-1].reason == Reason.MISSING_COLUMN
    assert column in found[-1].detail and "FIBERMAP" in found[-1].detail
    assert not any(isinstance(item, Spectra) for item in found)


@pytest.mark.parametrize("kind", ["WAVELENGTH", "FLUX", "IVAR", "MASK"])
def test_desi_camera_without_one_of_its_images(tmp_path: Path, kind: str) -> None:
    hdus = small_fits.desi_coadd()
    hdus[f"R_{kind}"].name = "R_COUNTS"
    renamed = only_defect(small_fits.write(tmp_path / "f.fits", hdus))
    del hdus["R_COUNTS"]
    lost = only_defect(small_fits.write(tmp_path / "g.fits", hdus))
    for defect in (renamed, lost):
        assert defect.reason == Reason.MISSING_COLUMN and f"R_{kind}" in defect.detail


@pytest.mark.parametrize("name", ["FIBERMAP", "TARGETS"])
def test_desi_without_any_flux_is_no_catalogue(tmp_path: Path, name: str) -> None:
    hdus = small_fits.desi_coadd()
    for camera in "BRZ":
        del hdus[f"{camera}_FLUX"]
    hdus["FIBERMAP"].name = name
    only_defect(small_fits.write(tmp_path / "f.fits", hdus))


def test_desi_may_lack_a_whole_camera_unless_the_file_was_cut(tmp_path: Path) -> None:
    hdus = small_fits.desi_coadd()
    hdus = fits.HDUList([hdu for hdu in hdus if not hdu.name.startswith("Z_")])
    stack = only_stack(small_fits.write(tmp_path / "f.fits", hdus))
    np.testing.assert_allclose(stack.wavelength, 3600 + 0.8 * np.arange(36))
    del hdus["SCORES"]
    assert only_defect(small_fits.write(tmp_path / "g.fits", hdus)).reason == Reason.TRUNCATED


def test_desi_never_reads_the_resolution_of_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rarespec.formats.source.WHOLE_FILE_BYTES", 100)
    path = small_fits.write(tmp_path / "f.fits", small_fits.desi_coadd(), checksum=True)
    with Source(path) as source:
        skipped = [(hdu.data_offset, hdu.end) for hdu in source.hdus if hdu.name.endswith("RESOLUTION")]
    touched: list[tuple[int, int]] = []
    original = Source.read

    def spy(self: Source, offset: int, n_bytes: int) -> bytes:
        touched.append((offset, n_bytes))
        return original(self, offset, n_bytes)

    monkeypatch.setattr("rarespec.formats.fits.header.FIRST_WINDOW", 2880)
    monkeypatch.setattr(Source, "read", spy)
    only_stack(path)
    for offset, n_bytes in touched:
        assert not any(start < offset + n_bytes and offset < end for start, end in skipped)


# --- generic files


def test_generic_table_of_pixels(tmp_path: Path) -> None:
    stack = only_stack(small_fits.write(tmp_path / "star.fits", small_fits.generic_pixels()))
    assert stack.ids == ["star"] and stack.catalogue["survey"] == ["unknown"]
    assert stack.wavelength[0] == 4000.0 and stack.wavelength[-1] == 5000.0
    assert stack.ivar is not None and stack.ivar[0, 0] == 0.25


def test_generic_table_of_rows(tmp_path: Path) -> None:
    hdus = small_fits.generic_rows()
    stack = only_stack(small_fits.write(tmp_path / "f.fits", hdus))
    assert stack.ids == [str(2**60 + i) for i in range(4)]
    assert stack.ivar is None and stack.catalogue["ra"] == [0.0, 1.0, 2.0, 3.0]
    np.testing.assert_array_equal(stack.flux, hdus[1].data["FLUX"])
    del hdus[2]
    hdus[1].header.update({"COEFF0": 3.6, "COEFF1": 1e-4})
    assert only_stack(small_fits.write(tmp_path / "g.fits", hdus)).wavelength[0] == 10**3.6
    del hdus[1].header["COEFF0"]
    defect = only_defect(small_fits.write(tmp_path / "h.fits", hdus))
    assert defect.reason == Reason.MISSING_COLUMN and "wavelength" in defect.detail


def test_generic_rows_with_their_own_wavelengths(tmp_path: Path) -> None:
    grid = np.linspace(4000, 5000, 30)
    wavelength = np.stack([grid, grid, grid + 1])
    table = small_fits.table("", lam=("30D", wavelength), flux=("30E", wavelength), name=("3A", ["a", "b", "c"]))
    found = list(read_here(small_fits.write(tmp_path / "f.fits", fits.HDUList([fits.PrimaryHDU(), table]))))
    assert [item.ids for item in found if isinstance(item, Spectra)] == [["a", "b"], ["c"]]


def test_generic_rows_of_variable_length(tmp_path: Path) -> None:
    lengths = (20, 20, 25)
    arrays = {"WAVE": np.empty(3, object), "FLUX": np.empty(3, object)}
    for i, n in enumerate(lengths):
        arrays["WAVE"][i], arrays["FLUX"][i] = np.linspace(4000, 5000, n), np.full(n, float(i))
    table = small_fits.table("", **{name: ("PD()", values) for name, values in arrays.items()})
    found = list(read_here(small_fits.write(tmp_path / "f.fits", fits.HDUList([fits.PrimaryHDU(), table]))))
    assert [item.flux.shape for item in found if isinstance(item, Spectra)] == [(2, 20), (1, 25)]


def test_generic_wcs_images(tmp_path: Path) -> None:
    linear = only_stack(small_fits.write(tmp_path / "a.fits", small_fits.wcs_image(CRPIX1=3)))
    np.testing.assert_allclose(linear.wavelength[:4], [3997, 3998.5, 4000, 4001.5])
    log = small_fits.wcs_image(n=3, CRVAL1=3.6, CDELT1=1e-4, **{"DC-FLAG": 1, "CTYPE1": "LINEAR"})
    stack = only_stack(small_fits.write(tmp_path / "b.fits", log))
    assert stack.wavelength[0] == 10**3.6 and stack.ids == ["b-000000", "b-000001", "b-000002"]
    micron = small_fits.wcs_image(CRVAL1=0.4, CDELT1=1e-4, CUNIT1="um", CTYPE1="WAVE")
    assert only_stack(small_fits.write(tmp_path / "c.fits", micron)).wavelength[1] == pytest.approx(4001.0)
    red_first = small_fits.wcs_image(CRVAL1=5000.0, CDELT1=-1.0)
    stack = only_stack(small_fits.write(tmp_path / "d.fits", red_first))
    assert stack.flux[0, -1] == red_first[0].data[0] and stack.wavelength[-1] == 5000.0


def test_logarithmic_axis_of_the_standard_is_that_of_astropy_wcs(tmp_path: Path) -> None:
    from astropy.wcs import WCS

    cards = {"CRVAL1": 4.0e-7, "CDELT1": 1e-10, "CRPIX1": 5.0, "CTYPE1": "WAVE-LOG", "CUNIT1": "m"}
    path = small_fits.write(tmp_path / "f.fits", small_fits.wcs_image(**cards))
    expected = WCS(fits.getheader(path)).all_pix2world(np.arange(small_fits.N_PIXELS), 0)[0] * 1e10
    np.testing.assert_allclose(only_stack(path).wavelength, expected, rtol=1e-12)
    ours = small_fits.wcs_image(CRVAL1=3.6, CDELT1=1e-4, CTYPE1="WAVE-LOG")
    assert only_stack(small_fits.write(tmp_path / "g.fits", ours)).wavelength[0] == 10**3.6


def test_wcs_image_takes_variance_and_mask_from_its_extensions(tmp_path: Path) -> None:
    hdus = small_fits.wcs_image(n=2)
    error, mask = np.full((2, small_fits.N_PIXELS), 0.5, "f4"), np.zeros((2, small_fits.N_PIXELS), "i2")
    mask[1, 4] = 1
    hdus += [fits.ImageHDU(error, name="ERR"), fits.ImageHDU(mask, name="MASK")]
    stack = only_stack(small_fits.write(tmp_path / "f.fits", hdus))
    assert stack.ivar is not None and (stack.ivar == 4).all()
    assert stack.bad.sum() == 1 and stack.bad[1, 4]


def test_a_picture_of_the_sky_is_no_spectrum(tmp_path: Path) -> None:
    path = small_fits.write(tmp_path / "f.fits", small_fits.wcs_image(n=5, CTYPE1="RA---TAN", CTYPE2="DEC--TAN"))
    assert only_defect(path).reason == Reason.UNRECOGNISED


# --- air


def test_air_to_vacuum_at_known_lines() -> None:
    # H alpha, Na D2 and Ca II K in air and in vacuum, from the NIST Atomic Spectra Database.
    air = np.array([6562.790, 5889.95095, 3933.663])
    np.testing.assert_allclose(air_to_vacuum(air), [6564.603, 5891.58326, 3934.777], atol=2e-3)
    assert air_to_vacuum(np.array([1500.0]))[0] == 1500.0


def test_air_to_vacuum_against_specutils() -> None:
    units = pytest.importorskip("astropy.units")
    specutils = pytest.importorskip("specutils.utils.wcs_utils")
    wavelength = np.linspace(2500, 24000, 500)
    theirs = specutils.air_to_vac(wavelength * units.AA, scheme="iteration", method="Ciddor1996")
    np.testing.assert_allclose(air_to_vacuum(wavelength), theirs.to_value(units.AA), rtol=2e-8)


@pytest.mark.parametrize("kind", ["sdss-spec", "lamost-image", "fits-table", "fits-wcs1d", "desi-coadd"])
def test_air_wavelengths_are_converted_when_the_user_says_so(tmp_path: Path, kind: str) -> None:
    path = small_fits.write(tmp_path / "f.fits", small_fits.ALL[kind]())
    vacuum, air = only_stack(path), only_stack(path, air=True)
    np.testing.assert_array_equal(air.wavelength, air_to_vacuum(vacuum.wavelength))


@pytest.mark.parametrize("card", [("VACUUM", False), ("CTYPE1", "AWAV"), ("AIRORVAC", "air")])
def test_air_wavelengths_are_converted_when_the_header_says_so(tmp_path: Path, card: tuple[str, Any]) -> None:
    stack = only_stack(small_fits.write(tmp_path / "f.fits", small_fits.wcs_image(**dict([card]))))
    assert stack.wavelength[0] == air_to_vacuum(np.array([4000.0]))[0]


def test_an_instrument_that_is_no_text_names_no_spectrograph(tmp_path: Path) -> None:
    row = small_fits.object_columns() | {"INSTRUMENT": ("E", [2.5])}
    stack = only_stack(small_fits.write(tmp_path / "f.fits", small_fits.sdss_spec(row=row)))
    assert stack.catalogue["survey"] == ["SDSS"]


def test_a_lamost_file_whose_obsid_says_nothing_is_named_by_its_plan(tmp_path: Path) -> None:
    hdus = small_fits.lamost_table()
    hdus[0].header["OBSID"] = None
    (id,) = only_stack(small_fits.write(tmp_path / "f.fits", hdus)).ids
    assert id == "55859-F5902_sp01-007"
