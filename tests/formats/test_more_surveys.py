"""Named surveys and instruments, from their published data models: the rules of each reader, on small files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.io import fits
from astropy.wcs import WCS

from contracts.reader_files import READER_FILES, spectra_on
from formats import survey_layouts as layouts
from formats.small_fits import write
from formats.watched_reader import WatchedReader
from rarespec.formats import read_here
from rarespec.formats.reader import MAX_ROWS
from rarespec.spectrum import Defect, Reason, Skipped, Spectra, WavelengthGrid, resample
from rarespec.spectrum.grid import air_to_vacuum

pytestmark = pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyWarning")


def spectra(kind: str) -> Spectra:
    return READER_FILES[kind].spectra


def stacks(found: list[Any]) -> list[Spectra]:
    return [item for item in found if isinstance(item, Spectra)]


def only_stack(path: Path, format: str | None = None) -> Spectra:
    (stack,) = stacks(list(read_here(path, format)))
    return stack


def only_defect(path: Path, format: str | None = None) -> Defect:
    (found,) = read_here(path, format)
    assert isinstance(found, Defect), found
    return found


def skipped(path: Path, format: str | None = None) -> dict[str, int]:
    return {item.reason: item.count for item in read_here(path, format) if isinstance(item, Skipped)}


# --- LAMOST medium resolution


@pytest.mark.parametrize("by_vectors", [True, False])
def test_medium_resolution_joins_the_arms_and_leaves_the_gap_empty(tmp_path: Path, by_vectors: bool) -> None:
    given = spectra("lamost-medium")
    path = write(tmp_path / "f.fits", layouts.lamost_medium(given, by_vectors))
    stack = only_stack(path)
    assert stack.ids == ["600813205"] and stack.catalogue["snr_b"] == stack.catalogue["snr_r"] == [40.5]
    assert sum(skipped(path).values()) == 6  # three exposures of two arms
    np.testing.assert_array_equal(stack.bad[0, 300:302], [True, True])
    grid = WavelengthGrid("linear", 4940.0, 5.0, 300)
    placed = resample(stack, grid)
    gap = (grid.wavelength > layouts.BLUE[-1] + 10) & (grid.wavelength < layouts.RED[0] - 10)
    assert placed.bad[0, gap].all()
    for arm in (layouts.BLUE, layouts.RED):
        inside = (grid.wavelength > arm[0] + 5) & (grid.wavelength < arm[-1] - 5)
        assert inside.any() and not placed.bad[0, inside].any()


def test_medium_resolution_one_arm_is_enough(tmp_path: Path) -> None:
    hdus = layouts.lamost_medium(spectra("lamost-medium"))
    del hdus["COADD_B"]
    stack = only_stack(write(tmp_path / "f.fits", hdus))
    np.testing.assert_allclose(stack.wavelength, layouts.RED)


def test_medium_resolution_without_a_coadd_gives_the_exposures(tmp_path: Path) -> None:
    hdus = layouts.lamost_medium(spectra("lamost-medium"), coadds=False)
    found = list(read_here(write(tmp_path / "f.fits", hdus)))
    assert [stack.ids[0] for stack in stacks(found)] == [f"600813205-{83732000 + 10 * row}" for row in range(3)]
    assert not any(isinstance(item, Defect | Skipped) for item in found)


def test_medium_resolution_exposures_on_request(tmp_path: Path) -> None:
    given = spectra("lamost-medium")
    found = stacks(list(read_here(write(tmp_path / "f.fits", layouts.lamost_medium(given)), "lamost-exposures")))
    assert len(found) == 3 and found[1].catalogue["exposure"] == ["83732010"]
    assert np.array_equal(found[1].flux[0, :300], given.flux[1, :300])


def test_arms_from_red_to_blue_are_turned(tmp_path: Path) -> None:
    hdus = layouts.lamost_medium(spectra("lamost-medium"), by_vectors=False)
    expected = only_stack(write(tmp_path / "f.fits", hdus))
    for hdu in hdus[1:]:
        hdu.data = hdu.data[::-1].copy()
    turned = only_stack(write(tmp_path / "g.fits", hdus))
    np.testing.assert_array_equal(turned.flux, expected.flux)
    np.testing.assert_array_equal(turned.bad, expected.bad)


# --- 6dF, GALAH


def test_sixdf_reads_the_combined_spectrum_of_each_observation(tmp_path: Path) -> None:
    given = spectra("6df")
    path = write(tmp_path / "f.fits", layouts.sixdf(given, n_observations=2))
    first, second = stacks(list(read_here(path)))
    assert (first.ids, second.ids) == (["g0042000-301500-1"], ["g0042000-301500-2"])
    assert skipped(path) == {"V or R spectrum, part of the combined one": 4}
    assert (first.catalogue["ra"], first.catalogue["z"], first.catalogue["file_z"]) == ([10.5], [0.05], [0.0501])
    np.testing.assert_allclose(first.ivar[~first.bad], 4)
    np.testing.assert_allclose(first.wavelength, air_to_vacuum(layouts.linear(3932.253, 1.633849)))


def test_sixdf_alone_as_data_central_gives_it_out(tmp_path: Path) -> None:
    hdu = fits.PrimaryHDU(layouts.sixdf_rows(spectra("6df"), 4))
    hdu.header.update(layouts.sixdf_cards())
    stack = only_stack(write(tmp_path / "alone.fits", fits.HDUList([hdu])))
    assert stack.ids == ["alone"] and stack.catalogue["survey"] == ["6dFGS"]


def test_sixdf_with_a_spectrum_too_few_is_truncated(tmp_path: Path) -> None:
    hdus = layouts.sixdf(spectra("6df"), n_observations=2)
    del hdus[-1]
    assert only_defect(write(tmp_path / "f.fits", hdus)).reason is Reason.TRUNCATED


@pytest.mark.parametrize("relative", [True, False])
def test_galah_errors_are_relative_in_dr3(tmp_path: Path, relative: bool) -> None:
    path = write(tmp_path / "1704180037012052.fits", layouts.galah(spectra("galah"), relative))
    stack = only_stack(path)
    assert stack.ids == ["1704180037012052"]
    assert (stack.catalogue["sobject_id"], stack.catalogue["arm"]) == (["170418003701205"], [2])
    np.testing.assert_allclose(stack.ivar[~stack.bad], 4, rtol=1e-5)
    np.testing.assert_allclose(stack.wavelength[0], air_to_vacuum(np.array([4713.0]))[0])


def test_a_header_that_says_vacuum_is_believed(tmp_path: Path) -> None:
    hdus = layouts.galah(spectra("galah"))
    hdus[0].header["CTYPE1"] = "WAVE"
    assert only_stack(write(tmp_path / "f.fits", hdus)).wavelength[0] == 4713.0


# --- WEAVE, 4MOST


@pytest.mark.parametrize("prefix", ["RED_", ""])
def test_weave_is_calibrated_and_leaves_out_the_sky(tmp_path: Path, prefix: str) -> None:
    given = spectra("weave")
    path = write(tmp_path / "stack_1002081.fit", layouts.weave(given, 3e-18, prefix))
    stack = only_stack(path)
    assert stack.ids[0] == "WVE_10461800+5755400-stack_1002081" and len(stack) == 3
    assert skipped(path) == {"sky fibre (TARGUSE is S)": 1}
    np.testing.assert_allclose(stack.flux, given.flux, rtol=1e-6)
    np.testing.assert_allclose(stack.ivar, given.ivar, rtol=1e-6)
    assert stack.catalogue["ra"][0] == 10.0 and stack.catalogue["fibreid"] == [1, 2, 3]


def test_weave_sensitivity_that_is_not_positive_makes_bad_pixels(tmp_path: Path) -> None:
    hdus = layouts.weave(spectra("weave"))
    hdus["RED_SENSFUNC"].data[0, 7:9] = 0, np.nan
    assert only_stack(write(tmp_path / "f.fits", hdus)).bad[0, 7:9].all()
    one_for_all = layouts.weave(spectra("weave"))
    one_for_all["RED_SENSFUNC"].data = one_for_all["RED_SENSFUNC"].data[0]
    assert len(only_stack(write(tmp_path / "g.fits", one_for_all))) == 3
    one_for_all["RED_SENSFUNC"].data = np.ones(5, "f4")
    assert only_defect(write(tmp_path / "h.fits", one_for_all)).reason is Reason.LAYOUT


def test_weave_fibres_of_one_name_have_ids_of_their_own(tmp_path: Path) -> None:
    hdus = layouts.weave(spectra("weave"))
    hdus["FIBTABLE"].data["CNAME"] = "WVE_10461805+5755400"
    ids = only_stack(write(tmp_path / "f.fits", hdus)).ids
    assert ids == [f"WVE_10461805+5755400-{row}-f" for row in range(3)]


def test_weave_fibres_are_in_the_order_of_the_spectra(tmp_path: Path) -> None:
    hdus = layouts.weave(spectra("weave"))
    fibres = hdus["FIBTABLE"].data
    columns = [*fibres.columns, fits.Column("NSPEC", "J", array=np.arange(1, len(fibres) + 1))]
    hdus["FIBTABLE"] = fits.BinTableHDU(fits.BinTableHDU.from_columns(columns).data[::-1].copy(), name="FIBTABLE")
    assert only_stack(write(tmp_path / "f.fits", hdus)).catalogue["fibreid"] == [1, 2, 3]


def test_four_most_in_both_units_and_kinds_of_error(tmp_path: Path) -> None:
    given = spectra("4most")
    for unit, error in ((layouts.ERG, "ERR_FLUX"), ("adu", "ERR_IVAR"), ("adu", "ERR_FLUX")):
        stack = only_stack(write(tmp_path / "f.fits", layouts.four_most(given, unit, error)))
        assert stack.ids == ["77010203"] and stack.catalogue["snr"] == [20.5]
        good = ~stack.bad[0]
        np.testing.assert_array_equal(stack.bad[0], given.bad[0])
        np.testing.assert_allclose(stack.ivar[0, good], 4, rtol=1e-5)


def test_four_most_in_air_where_its_ucd_says_so(tmp_path: Path) -> None:
    hdus = layouts.four_most(spectra("4most"))
    hdus[1].header["TUCD1"] = "em.wl;obs.atmos"
    wavelength = only_stack(write(tmp_path / "f.fits", hdus)).wavelength
    np.testing.assert_allclose(wavelength[0], air_to_vacuum(np.array([3700.0]))[0])


# --- cubes


@pytest.mark.parametrize(("kind", "layout"), [("manga", layouts.manga), ("muse", layouts.muse)])
def test_spaxels_only_on_request(tmp_path: Path, kind: str, layout: Callable[[Spectra], fits.HDUList]) -> None:
    path = write(tmp_path / "cube.fits", layout(spectra(kind)))
    defect = only_defect(path)
    assert defect.reason is Reason.UNRECOGNISED
    assert f"to read its spaxels, use --format {kind}-cube" in defect.detail
    stack = only_stack(path, f"{kind}-cube")
    stem = {"manga": "8485-1901", "muse": "cube"}[kind]
    assert stack.ids == [f"{stem}-x0-y0", f"{stem}-x1-y0", f"{stem}-x0-y1"]
    assert (stack.catalogue["x"], stack.catalogue["y"]) == ([0, 1, 0], [0, 0, 1])
    assert skipped(path, f"{kind}-cube") == {"empty spaxel (no good pixel)": 1}


def test_spaxels_have_the_positions_that_astropy_gives(tmp_path: Path) -> None:
    path = write(tmp_path / "cube.fits", layouts.muse(spectra("muse")))
    stack = only_stack(path, "muse-cube")
    with fits.open(path) as hdus:
        expected = WCS(hdus["DATA"].header).celestial.wcs_pix2world([0, 1, 0], [0, 0, 1], 0)
    np.testing.assert_allclose(stack.catalogue["ra"], expected[0])
    np.testing.assert_allclose(stack.catalogue["dec"], expected[1])


def test_manga_pixels_are_bad_by_one_bit(tmp_path: Path) -> None:
    given = spectra("manga")
    stack = only_stack(write(tmp_path / "cube.fits", layouts.manga(given)), "manga-cube")
    np.testing.assert_array_equal(stack.bad, given.bad)  # DONOTUSE, and not the foreground star


def wide_cube(n_x: int, n_y: int, n_pixels: int) -> fits.HDUList:
    flux = np.random.default_rng(1).normal(5, 1, (n_pixels, n_y, n_x)).astype("f4")
    hdus = layouts.muse(spectra_on(layouts.IN_AIR["muse"][:n_pixels]))
    hdus["DATA"].data, hdus["STAT"].data = flux, np.ones_like(flux)
    return hdus


def test_a_cube_streams_in_stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read a few rows at a time, also a file that is too large to be held: the same spectra."""
    monkeypatch.setattr("rarespec.formats.source.WHOLE_FILE_BYTES", 1000)
    monkeypatch.setattr("rarespec.formats.surveys.cubes.BLOCK_BYTES", 8 * 20 * 300 * 2)
    hdus = wide_cube(300, 5, 20)
    found = stacks(list(read_here(write(tmp_path / "cube.fits", hdus), "muse-cube")))
    assert [len(stack) for stack in found] == [MAX_ROWS, 88, MAX_ROWS, 88, 300]
    np.testing.assert_array_equal(np.vstack([stack.flux for stack in found]), hdus["DATA"].data.reshape(20, -1).T)


def test_a_compressed_cube_is_read_by_astropy(tmp_path: Path) -> None:
    hdus = wide_cube(16, 4, 20)
    packed = [fits.CompImageHDU(hdu.data, hdu.header, compression_type="GZIP_1") for hdu in hdus[1:]]
    path = tmp_path / "cube.fits"
    fits.HDUList([hdus[0], *packed]).writeto(path)
    stack = only_stack(path, "muse-cube")
    with fits.open(path) as opened:
        np.testing.assert_array_equal(stack.flux, opened["DATA"].data.reshape(20, -1).T)


def hollow_cube(path: Path, n_x: int, n_y: int, n_pixels: int) -> Path:
    """As large as real ones, of zeros that take no room on the disk."""
    hdus = wide_cube(2, 2, 20)
    header = hdus["DATA"].header
    header.update({"NAXIS1": n_x, "NAXIS2": n_y, "NAXIS3": n_pixels})
    head = hdus[0].header.tostring() + header.tostring()
    n_bytes = 4 * n_x * n_y * n_pixels
    path.write_bytes(head.encode())
    with open(path, "r+b") as file:
        file.truncate(len(head) + -(-n_bytes // 2880) * 2880)
    return path


@pytest.mark.exhaustive
def test_a_cube_of_a_gigabyte_needs_half_of_it(tmp_path: Path) -> None:
    with WatchedReader(memory=512 << 20, seconds=300, format="muse-cube") as reader:
        outcome = reader.read(hollow_cube(tmp_path / "cube.fits", 300, 300, 3681))
    assert outcome.stored == 90_000 and not outcome.reasons and not outcome.died, outcome


@pytest.mark.exhaustive
def test_gaia_rows_need_no_more_memory_than_a_few_of_them(tmp_path: Path) -> None:
    row = ",".join([f'"({", ".join(["1e-17"] * 343)})"'] * 2)
    with open(tmp_path / "rows.csv", "w") as file:
        file.write("source_id,flux,flux_error\n")
        file.writelines(f"{i},{row}\n" for i in range(30_000))
    assert (tmp_path / "rows.csv").stat().st_size > 128 << 20
    with WatchedReader(memory=64 << 20, seconds=300) as reader:
        outcome = reader.read(tmp_path / "rows.csv")
    assert outcome.stored == 30_000 and not outcome.reasons and not outcome.died, outcome


def test_impossible_cubes_are_refused(tmp_path: Path) -> None:
    """Rows that would have to be held whole, and planes without number."""
    for shape in ((50_000, 1, 3000), (1, 1, 200_000)):
        path = hollow_cube(tmp_path / "cube.fits", *shape)
        defect = only_defect(path, "muse-cube")
        assert defect.reason is Reason.TOO_LARGE and "smaller" in defect.detail


# --- Gaia


@pytest.mark.parametrize("brackets", ["()", "[]"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_gaia_csv(tmp_path: Path, brackets: str, ending: str) -> None:
    given = spectra("gaia-csv")
    content = layouts.gaia_csv(given, brackets=brackets).encode()
    path = tmp_path / f"rows{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    stack = only_stack(path)
    assert stack.ids == [str(5_853_498_713_190_525_696 + row) for row in range(3)]
    assert stack.catalogue["survey"] == ["Gaia"] * 3 and stack.catalogue["ra"] == [1.0, 1.5, 2.0]
    np.testing.assert_allclose(stack.wavelength, np.arange(3360, 10201, 20))
    np.testing.assert_allclose(stack.flux, given.flux, rtol=1e-6)
    np.testing.assert_array_equal(stack.bad, given.bad)


def test_gaia_ecsv_of_the_archive(tmp_path: Path) -> None:
    head = ["# %ECSV 1.0", "# ---", "# delimiter: ','", "# datatype:"]
    head += ["# - {name: source_id, datatype: int64}", "# - {name: flux, datatype: string, subtype: 'float32[343]'}"]
    content = layouts.gaia_csv(spectra("gaia-csv"), brackets="[]").replace("NaN", "null")
    (tmp_path / "XpSampled.csv").write_text("\n".join([*head, content]))
    np.testing.assert_array_equal(only_stack(tmp_path / "XpSampled.csv").bad, spectra("gaia-csv").bad)


def test_gaia_sampling_beside_the_spectra(tmp_path: Path) -> None:
    given = spectra_on(layouts.GAIA_WAVELENGTH[:50])
    content = layouts.gaia_csv(given).partition("\n")[2]  # without the remark
    path = tmp_path / "output_spectra.csv"
    path.write_text(content)
    defect = only_defect(path)
    assert "flux of 50 values" in defect.detail and "output_spectra_sampling.csv" in defect.detail
    beside = tmp_path / "output_spectra_sampling.csv"
    beside.write_text(f'pos\n"({", ".join(f"{value / 10!r}" for value in given.wavelength.tolist())})"\n')
    np.testing.assert_allclose(only_stack(path).wavelength, given.wavelength)
    assert skipped(beside) == {"sampling of GaiaXPy's spectra": 1}
    beside.write_text("position\n1\n")
    assert "pos" in only_defect(path).detail


def test_gaia_sampling_as_numpy_prints_it(tmp_path: Path) -> None:
    given = spectra_on(layouts.GAIA_WAVELENGTH[:50])
    hdus = layouts.gaia_fits(given)
    hdus[1].header["SAMPLING"] = str(tuple(f"np.float64({value / 10})" for value in given.wavelength)).replace("'", "")
    np.testing.assert_allclose(only_stack(write(tmp_path / "f.fits", hdus)).wavelength, given.wavelength)


def test_gaia_internal_spectra_are_refused_kindly(tmp_path: Path) -> None:
    content = layouts.gaia_csv(spectra("gaia-csv")).replace(",ra,", ",xp,")
    (tmp_path / "f.csv").write_text(content)
    assert "calibrate" in only_defect(tmp_path / "f.csv").detail
    hdus = layouts.gaia_fits(spectra("gaia-fits"))
    hdus[1].header["SAMPLING"] = str(tuple(np.linspace(0, 60, 343).tolist()))
    assert "not wavelengths" in only_defect(write(tmp_path / "f.fits", hdus)).detail


def test_gaia_rows_that_cannot_be_used_are_defects_of_their_own(tmp_path: Path) -> None:
    lines = layouts.gaia_csv(spectra("gaia-csv")).splitlines()
    cut = lines[1].partition("(")[0] + '(1.0, 2.0)","(1.0, 2.0)"'
    words = lines[1].partition("(")[0] + '(one, two)","(1.0, 2.0)"'
    (tmp_path / "f.csv").write_text("\n".join([lines[0], *lines[1:3], cut, words, lines[3]]) + "\n")
    found = list(read_here(tmp_path / "f.csv"))
    assert sum(map(len, stacks(found))) == 3
    details = [item.detail for item in found if isinstance(item, Defect)]
    assert details == ["flux of shape (1, 2) for 343 wavelengths", "the row has no flux"]


def test_gaia_ids_that_lost_digits_are_refused(tmp_path: Path) -> None:
    content = layouts.gaia_csv(spectra("gaia-csv")).replace("5853498713190525696", "5.853498713190526e18")
    (tmp_path / "f.csv").write_text(content)
    assert "lost digits" in only_defect(tmp_path / "f.csv").detail


@pytest.mark.parametrize("container", ["csv", "parquet"])
def test_many_gaia_rows_stream_in_stacks(tmp_path: Path, container: str) -> None:
    n = MAX_ROWS + 9
    flux = np.ones((n, 343)) * 1e-17
    path = tmp_path / f"rows.{container}"
    if container == "csv":
        row = ",".join([f'"({", ".join(["1e-17"] * 343)})"'] * 2)
        path.write_text("source_id,flux,flux_error\n" + "".join(f"{i},{row}\n" for i in range(n)))
    else:
        columns = {"source_id": [str(i) for i in range(n)], "flux": list(flux), "flux_error": list(flux)}
        pq.write_table(pa.table(columns), path)
    first, second = read_here(path)
    assert isinstance(first, Spectra) and isinstance(second, Spectra)
    assert (len(first), len(second)) == (MAX_ROWS, 9) and second.ids[-1] == str(n - 1)
    np.testing.assert_allclose(first.flux, 100)


def test_faint_gaia_spectra_keep_their_errors_on_a_grid(tmp_path: Path) -> None:
    """In the archive's unit, 1 / error^2 is too large for the float32 of a survey."""
    columns = {"source_id": [7], "flux": [np.full(343, 1e-18)], "flux_error": [np.full(343, 1e-21)]}
    pq.write_table(pa.table(columns), tmp_path / "f.parquet")
    placed = resample(only_stack(tmp_path / "f.parquet"), WavelengthGrid("linear", 4000.0, 20.0, 100))
    assert not placed.bad.any()
