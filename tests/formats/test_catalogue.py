"""Catalogues without spectra: recognised, and read with the ids that the readers give to spectra."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.io import fits
from astropy.table import Table

from formats import small_fits
from rarespec.formats import Source, read_here
from rarespec.formats.catalogue import is_catalogue, read_catalogue
from rarespec.spectrum import DefectError, Reason, Spectra
from rarespec.spectrum.defect import Skipped


def recognised(path: Path) -> bool:
    with Source(path) as source:
        return is_catalogue(source)


def file_of(table: fits.BinTableHDU) -> fits.HDUList:
    return fits.HDUList([fits.PrimaryHDU(), table])


@pytest.mark.parametrize("kind", small_fits.ALL)
def test_files_with_spectra_are_no_catalogues(tmp_path: Path, kind: str) -> None:
    assert not recognised(small_fits.write(tmp_path / "f.fits", small_fits.ALL[kind]()))


def test_a_catalogue_among_spectra_says_what_to_do_with_it(tmp_path: Path) -> None:
    path = small_fits.write(tmp_path / "redrock-x.fits", small_fits.redrock())
    assert recognised(path)
    (skipped,) = read_here(path)
    assert isinstance(skipped, Skipped) and "--join" in skipped.reason


def test_redrock_has_the_ids_of_the_coadd(tmp_path: Path) -> None:
    coadd = small_fits.write(tmp_path / "coadd-x.fits", small_fits.desi_coadd())
    catalogue = read_catalogue(small_fits.write(tmp_path / "rr.fits", small_fits.redrock()))
    (stack,) = (found for found in read_here(coadd) if isinstance(found, Spectra))
    assert set(stack.ids) <= set(catalogue["id"].to_pylist())
    assert catalogue["class"].to_pylist() == ["STAR"] * 4 and catalogue["subclass"].to_pylist() == ["M"] * 4
    assert catalogue["ra"].to_pylist() == [0.0, 1.0, 2.0, 3.0]  # from FIBERMAP
    assert catalogue["targetid"].to_pylist() == small_fits.TARGETS[::-1]
    assert "coeff" not in catalogue.column_names


def test_specobj_has_the_ids_of_spec_files(tmp_path: Path) -> None:
    columns = small_fits.object_columns() | {"RA": ("D", [1.0]), "ID": ("I", [7])}
    path = small_fits.write(tmp_path / "specObj.fits", file_of(small_fits.table("", **columns)))
    assert recognised(path)
    (row,) = read_catalogue(path).to_pylist()
    assert row["id"] == "0355-51788-0579" and row["ra"] == 155.44024 and row["plug_ra"] == 155.44024
    assert row["file_ra"] == 1.0 and row["file_id"] == 7
    assert row["specobjid"] == "305127427560990720" and row["z_err"] is None and row["z"] == pytest.approx(1.25e-5)


def test_spzbest_with_its_image_of_models_is_a_catalogue(tmp_path: Path) -> None:
    hdus = file_of(small_fits.table("", **small_fits.object_columns()))
    hdus.append(fits.ImageHDU(np.ones((1, 50), "f4")))
    assert recognised(small_fits.write(tmp_path / "spZbest.fits", hdus))


def test_sdss_v_catalogue_has_the_ids_of_its_files(tmp_path: Path) -> None:
    row = {"FIELD": ("J", [16200]), "MJD": ("J", [59635]), "CATALOGID": ("K", [small_fits.CATALOGID])}
    path = small_fits.write(tmp_path / "spAll.fits", file_of(small_fits.table("", **row)))
    (stack,) = read_here(small_fits.write(tmp_path / "f.fits", small_fits.sdss_v()))
    assert isinstance(stack, Spectra)
    catalogue = read_catalogue(path)
    assert catalogue["id"].to_pylist() == stack.ids
    assert catalogue["z"].to_pylist() == [None] and catalogue["class"].type == pa.string()


def test_unsigned_64_bit_columns_stay_exact(tmp_path: Path) -> None:
    column = fits.Column("SPECOBJID", "K", bzero=1 << 63, array=np.array([2**64 - 3, 5], "u8"))
    ids = fits.Column("TARGETID", "K", array=[2**62 + 1, 2])
    path = small_fits.write(tmp_path / "f.fits", file_of(fits.BinTableHDU.from_columns([column, ids])))
    catalogue = read_catalogue(path)
    assert catalogue["specobjid"].to_pylist() == [2**64 - 3, 5]
    assert catalogue["id"].to_pylist() == [str(2**62 + 1), "2"]


@pytest.mark.parametrize("separator", [",", "|", "\t", ";"])
def test_csv_of_lamost(tmp_path: Path, separator: str) -> None:
    rows = [
        ["obsid", "designation", "class", "subclass", "z", "ra", "dec", "gaia"],
        ["101001", "J220848.54-020324.3", "STAR", "G7", "-0.0001387", "332.2", "-2.05", str(2**62 + 1)],
        ["101002", "J0", "STAR", "", "-9999.0", "332.3", "-2.06", "5"],
    ]
    path = tmp_path / "dr8.csv"
    path.write_text("\n".join(separator.join(row) for row in rows) + "\n")
    catalogue = read_catalogue(path)
    assert catalogue["id"].to_pylist() == ["101001", "101002"]
    assert catalogue["z"].to_pylist() == [-0.0001387, None]
    assert catalogue["gaia"].to_pylist() == [2**62 + 1, 5]


@pytest.mark.parametrize(("name", "format"), [("c.ecsv", "ascii.ecsv"), ("c.vot", "votable"), ("c.fits", "fits")])
def test_formats_of_astropy(tmp_path: Path, name: str, format: str) -> None:
    table = Table({"targetid": [2**62 + 1, 3], "Z": [0.5, np.nan], "SPECTYPE": ["QSO", "STAR"]})
    table.write(tmp_path / name, format=format)
    catalogue = read_catalogue(tmp_path / name)
    assert catalogue["id"].to_pylist() == [str(2**62 + 1), "3"]
    assert catalogue["z"].to_pylist() == [0.5, None]
    assert catalogue["class"].to_pylist() == ["QSO", "STAR"]


def test_a_line_of_text_is_not_taken_for_the_name_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("targetid,z\n1,0.5\n")
    (tmp_path / "c.csv").write_text(str(tmp_path / "secret.csv"))
    with pytest.raises(DefectError):
        read_catalogue(tmp_path / "c.csv")


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"object_id": ["a", "b"], "Z": [1.0, None], "spectrum": [[1.0], [2.0]]})
    pq.write_table(table, tmp_path / "c.parquet")
    catalogue = read_catalogue(tmp_path / "c.parquet")
    assert catalogue["id"].to_pylist() == ["a", "b"] and catalogue["z"].to_pylist() == [1.0, None]
    assert "spectrum" not in catalogue.column_names


def test_catalogues_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rarespec.formats.catalogue.BATCH_ROWS", 3)
    catalogue = read_catalogue(small_fits.write(tmp_path / "rr.fits", small_fits.redrock(list(range(10)))))
    assert catalogue["id"].to_pylist() == [str(i) for i in range(10)]
    assert catalogue["ra"].to_pylist() == [float(i) for i in range(10)]


def test_a_table_without_names_and_one_with_names_as_floats(tmp_path: Path) -> None:
    nameless = small_fits.write(tmp_path / "f.fits", file_of(small_fits.table("", A=("J", [1]))))
    assert not recognised(nameless)
    with pytest.raises(DefectError) as caught:
        read_catalogue(nameless)
    assert caught.value.reason == Reason.MISSING_COLUMN
    rounded = small_fits.write(tmp_path / "g.fits", file_of(small_fits.table("", TARGETID=("D", [4e17]))))
    with pytest.raises(DefectError, match="row 1: TARGETID must be whole numbers"):
        read_catalogue(rounded)
