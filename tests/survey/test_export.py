"""Spectra that leave a survey come back the same: flux, errors, mask, ids, catalogue; other tools read them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from conftest import SMALL_GRID, make_spectra
from rarespec.errors import UsageError
from rarespec.formats.writing import WRITERS
from rarespec.spectrum import PAPER_GRID, Spectra, WavelengthGrid
from rarespec.survey import Survey
from rarespec.survey import export as export_module
from rarespec.survey.ingest import ingest

N = 7
LARGE = 2**53 + 1


def columns(n: int) -> dict[str, list]:
    """What catalogues hold: text with gaps and odd letters, numbers beyond doubles, names that mean pixels."""
    return {
        "class": ["STAR", None, "QSO"] + ["GALAXY"] * (n - 3),
        "ra": [10.0 + i for i in range(n)],
        "dec": [-5.5] * n,
        "plate": [*range(n - 1), None],
        "targetid": [LARGE + i for i in range(n)],
        "holey": [LARGE, None] + [3] * (n - 2),
        "remark": ["é <b>\x1b"] + [""] * (n - 1),
        "sigma": [0.25] * n,
        "flux": ["not a spectrum"] * n,
        "primary": [True, False] * (n // 2) + [True] * (n % 2),
        "nothing": [None] * n,
    }


@pytest.fixture(params=[SMALL_GRID, WavelengthGrid("linear", 4000.0, 0.8, 250)], ids=["log", "linear"])
def survey(request: pytest.FixtureRequest, tmp_path: Path) -> Survey:
    made = Survey.create(tmp_path / "s.survey", request.param, precision="exact")
    made.append(make_spectra(N, request.param, **columns(N)))
    return made


def back(written: list[Path], tmp_path: Path, grid: WavelengthGrid) -> Survey:
    return ingest(written, tmp_path / "again.survey", grid=grid, jobs=1, precision="exact")


@pytest.mark.parametrize("format", WRITERS)
def test_what_goes_out_comes_back_the_same(survey: Survey, tmp_path: Path, format: str) -> None:
    ids = [survey.ids[i] for i in (5, 0, 3, 1, 6)]
    written = survey.export(ids, tmp_path / f"out{WRITERS[format].suffix}", format)
    assert written.n_spectra == 5 and all(path.exists() for path in written.paths)
    again = back(written.paths, tmp_path, survey.grid)
    assert sorted(again.ids) == sorted(ids) and not again.defects
    if not WRITERS[format].is_folder:
        assert again.ids.tolist() == ids, "the order asked for is kept"
    assert survey[ids].bad.any(), "without a bad pixel the mask is not tested"
    for id in ids:
        before, after = survey[id], again[id]
        assert np.array_equal(before.flux, after.flux) and np.array_equal(before.ivar, after.ivar)
        assert np.array_equal(before.bad, after.bad)
        for name in ("z", "class", "ra", "dec", "snr", "plate"):
            assert (after.catalogue[name] or None) == before.catalogue[name] or after.catalogue[
                name
            ] == before.catalogue[name], name
        assert str(after.catalogue["targetid"]) == str(before.catalogue["targetid"])
        assert (after.catalogue.get("holey") or None) in (before.catalogue["holey"], str(before.catalogue["holey"]))
        assert after.catalogue["file_sigma"] == 0.25 and after.catalogue["file_flux"] == "not a spectrum"


@pytest.mark.parametrize("format", WRITERS)
def test_errors_of_masked_pixels_come_back(tmp_path: Path, format: str) -> None:
    """Of files for specutils they were lost."""
    survey = Survey.create(tmp_path / "s.survey", SMALL_GRID)
    made = make_spectra(3, SMALL_GRID)
    bad = made.bad | (np.arange(made.flux.shape[1]) % 7 == 0)
    assert made.ivar is not None and made.ivar[bad].any()
    survey.append(Spectra(made.wavelength, made.flux, made.ivar, bad, made.catalogue))
    written = survey.export(survey.ids, tmp_path / f"out{WRITERS[format].suffix}", format)
    again = back(written.paths, tmp_path, SMALL_GRID)
    for one in survey:
        assert np.array_equal(one.ivar, again[one.id].ivar) and np.array_equal(one.bad, again[one.id].bad)


@pytest.mark.parametrize("format", [name for name in WRITERS if not WRITERS[name].needs_errors])
def test_spectra_without_errors_stay_without(tmp_path: Path, format: str) -> None:
    survey = Survey.create(tmp_path / "s.survey", SMALL_GRID, precision="exact")
    survey.append(make_spectra(3, SMALL_GRID))
    bare = make_spectra(2, SMALL_GRID, seed=1, prefix="bare")
    survey.append(Spectra(bare.wavelength, bare.flux, None, bare.bad, bare.catalogue))
    written = survey.export(survey.ids, tmp_path / f"out{WRITERS[format].suffix}", format)
    again = back(written.paths, tmp_path, SMALL_GRID)
    assert len(again) == 5 and not again.defects
    for one in survey:
        assert np.array_equal(one.flux, again[one.id].flux) and np.array_equal(one.bad, again[one.id].bad)
        assert again[one.id].catalogue["has_ivar"] == one.catalogue["has_ivar"]


def test_sdss_files_need_errors(tmp_path: Path) -> None:
    survey = Survey.create(tmp_path / "s.survey", SMALL_GRID, precision="exact")
    bare = make_spectra(2, SMALL_GRID)
    survey.append(Spectra(bare.wavelength, bare.flux, None, bare.bad, bare.catalogue))
    with pytest.raises(UsageError, match="2 of 2 spectra have no errors"):
        survey.export(survey.ids, tmp_path / "out", "sdss-lite")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["fits", "specutils", "sdss-lite"])
def test_astropy_checks_the_sums_and_reads_the_tables(survey: Survey, tmp_path: Path, format: str) -> None:
    survey.export(survey.ids, tmp_path / f"out{WRITERS[format].suffix}", format)
    files = [tmp_path / "out.fits"] if format == "fits" else sorted((tmp_path / "out").iterdir())
    assert len(files) == (1 if format == "fits" else N)
    for file in files:
        with fits.open(file, checksum=True) as hdus:  # a wrong sum is a warning, and warnings are errors here
            hdus.verify("exception")
            table = Table(hdus["SPECTRA" if format == "fits" else 1].data)
    if format == "fits":
        assert table["id"].tolist() == survey.ids.tolist()
        assert np.array_equal(table["flux"], survey[:].flux) and np.array_equal(table["mask"], survey[:].bad)


def test_specutils_reads_its_own_format(survey: Survey, tmp_path: Path) -> None:
    specutils = pytest.importorskip("specutils")
    survey.export(survey.ids[:2], tmp_path / "out", "specutils", unit="1e-17 erg / (s cm2 AA)")
    read = getattr(specutils, "Spectrum", None) or specutils.Spectrum1D
    for one in survey[:2]:
        found = read.read(tmp_path / "out" / f"spec-{one.id}.fits", format="tabular-fits")
        assert np.array_equal(found.flux.value, one.flux) and np.array_equal(found.mask, one.bad)
        assert np.allclose(found.spectral_axis.value, one.wavelength, rtol=1e-12)
        good = ~one.bad
        assert np.allclose(found.uncertainty.array[good] ** -2, one.ivar[good], rtol=1e-6)


def test_specutils_reads_sdss_lite_by_itself(tmp_path: Path) -> None:
    specutils = pytest.importorskip("specutils")
    survey = Survey.create(tmp_path / "s.survey", PAPER_GRID)
    spectra = make_spectra(1, survey=["SDSS"])
    spectra.catalogue["id"][0] = "0355-51788-0579"
    survey.append(spectra)
    survey.export("0355-51788-0579", tmp_path / "out", "sdss-lite")
    read = getattr(specutils, "Spectrum", None) or specutils.Spectrum1D
    found = read.read(tmp_path / "out" / "spec-0355-51788-0579.fits")
    assert np.array_equal(found.flux.value, survey[0].flux) and str(found.flux.unit).startswith("1e-17 erg")
    assert np.array_equal(found.mask, survey[0].bad) and np.array_equal(found.uncertainty.array, survey[0].ivar)
    again = back([tmp_path / "out"], tmp_path, PAPER_GRID)
    assert again.ids.tolist() == ["0355-51788-0579"] and again[0].catalogue["survey"] == "SDSS"


def test_pandas_and_arrow_read_parquet(survey: Survey, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    survey.export(slice(2), tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["id"] for row in table] == survey.ids[:2].tolist()
    assert np.array_equal(np.array(table[1]["flux"], "f4"), survey[1].flux) and table[1]["class"] is None
    assert np.allclose(table[0]["wavelength"], survey.grid.wavelength, rtol=1e-14)


def test_memory_holds_a_chunk_at_a_time(survey: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_module, "CHUNK", 2)
    monkeypatch.setattr(export_module, "LOOKED_AT", 3)
    most, at = 0, Survey.at

    def noted(self, rows):
        nonlocal most
        most = max(most, len(rows))
        return at(self, rows)

    monkeypatch.setattr(Survey, "at", noted)
    for format, writer in WRITERS.items():
        survey.export(survey.ids, tmp_path / f"{format}{writer.suffix}", format)
    monkeypatch.undo()
    assert most == 2
    for format, writer in WRITERS.items():
        again = ingest(
            tmp_path / f"{format}{writer.suffix}",
            tmp_path / f"{format}.survey",
            grid=survey.grid,
            jobs=1,
            precision="exact",
        )
        assert len(again) == N and np.array_equal(again[survey.ids].flux, survey[:].flux), format


def test_nothing_is_left_of_an_export_that_fails(
    survey: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "CHUNK", 3)
    at, calls = Survey.at, 0

    def fails(self, rows):
        nonlocal calls
        calls += 1
        if calls % 2 == 0:
            raise OSError("the disk is full")
        return at(self, rows)

    monkeypatch.setattr(Survey, "at", fails)
    before = set(tmp_path.iterdir())
    for format, writer in WRITERS.items():
        with pytest.raises(OSError, match="full"):
            survey.export(survey.ids, tmp_path / f"{format}{writer.suffix}", format)
    assert set(tmp_path.iterdir()) == before


def test_what_cannot_be_is_refused_before_anything_is_read(survey: Survey, tmp_path: Path) -> None:
    (tmp_path / "there.fits").write_bytes(b"precious")
    for out, format, why in (
        ("x.fits", "parket", "did you mean 'parquet'"),
        ("there.fits", None, "already exists"),
        ("no/where.fits", None, "does not exist"),
        ("x.h5", None, "no export of this format; use a name that ends in .fits"),
        ("x.fits.gz", None, "no export of this format"),
    ):
        with pytest.raises(UsageError, match=why):
            survey.export(survey.ids, tmp_path / out, format)
    with pytest.raises(UsageError, match="unit"):
        survey.export(survey.ids, tmp_path / "x.fits", unit="furlongs^^")
    with pytest.raises(UsageError, match="nothing to export"):
        survey.export([], tmp_path / "x.fits")
    assert (tmp_path / "there.fits").read_bytes() == b"precious"


def test_ids_that_are_no_file_names(tmp_path: Path) -> None:
    survey = Survey.create(tmp_path / "s.survey", SMALL_GRID, precision="exact")
    spectra = make_spectra(4, SMALL_GRID)
    spectra.catalogue["id"][:] = ["../../a b", "../../a_b", "A" * 300, "J12+34 = x/y"]
    survey.append(spectra)
    written = survey.export(survey.ids, tmp_path / "out", "sdss-lite")
    assert len(list((tmp_path / "out").iterdir())) == 4
    again = back(written.paths, tmp_path, SMALL_GRID)
    assert sorted(again.ids) == sorted(survey.ids)


def test_an_id_that_fits_cannot_hold_is_refused_and_parquet_holds_it(tmp_path: Path) -> None:
    survey = Survey.create(tmp_path / "s.survey", SMALL_GRID, precision="exact")
    spectra = make_spectra(1, SMALL_GRID)
    spectra.catalogue["id"][0] = "étoile"
    survey.append(spectra)
    with pytest.raises(UsageError, match="use parquet or zarr"):
        survey.export("étoile", tmp_path / "x.fits")
    for suffix in ("parquet", "zarr"):
        survey.export("étoile", tmp_path / f"x.{suffix}")
        assert ingest(
            tmp_path / f"x.{suffix}", tmp_path / f"{suffix}.survey", grid=SMALL_GRID, jobs=1
        ).ids.tolist() == ["étoile"]
