"""Units of wavelengths: what the file says counts, else the size of the numbers decides, and that is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rarespec
from formats import small_fits
from rarespec import formats
from rarespec.formats.fits.header import Header
from rarespec.formats.reader import ReadOptions
from rarespec.formats.wavelength import in_angstrom, unit_in_header
from rarespec.searching.known.known_examples import examples_of
from rarespec.spectrum import DefectError, Noted, Spectra

MICRON = np.linspace(0.8, 2.4, 50)


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("um", 1e4), ("Microns", 1e4), ("µm", 1e4), ("micrometers", 1e4), ("nm", 10), ("Angstroms", 1), ("m", 1e10)],
)
def test_a_unit_that_the_file_names_is_believed(unit: str, factor: float) -> None:
    wavelength, note = in_angstrom(MICRON, unit)
    assert np.allclose(wavelength, MICRON * factor, rtol=1e-12) and note == ""


@pytest.mark.parametrize(
    ("values", "first", "word"),
    [
        (MICRON, 8000.0, "micron"),
        ([5.0, 28.0], 50_000.0, "micron"),
        ([330.0, 1050.0], 3300.0, "nm"),
        ([950.0, 2450.0], 9500.0, "nm"),
        ([3.5e-7, 1e-6], 3500.0, "metres"),
    ],
)
def test_without_a_unit_the_size_decides_and_is_said(values: Any, first: float, word: str) -> None:
    wavelength, note = in_angstrom(values, "  ")
    assert wavelength[0] == pytest.approx(first) and f"read as {word}" in note


@pytest.mark.parametrize("ends", [(1132.0, 1434.0), (1150.0, 1800.0), (1150.0, 1980.0), (1405.0, 1777.0)])
def test_the_range_of_far_ultraviolet_spectrographs_is_angstrom_and_that_is_said(ends: tuple[float, float]) -> None:
    values = np.linspace(*ends, 100)
    wavelength, note = in_angstrom(values)
    assert wavelength.tolist() == values.tolist()
    assert "far ultraviolet in Angstrom" in note and "--wavelength-unit nm" in note
    assert in_angstrom(values, spare_unit="nm")[0][0] == pytest.approx(10 * ends[0])


@pytest.mark.parametrize(
    "ends", [(950.0, 2450.0), (1170.0, 1330.0), (1490.0, 1780.0), (1950.0, 2400.0), (990.0, 1800.0)]
)
def test_bands_of_the_infrared_are_nm_and_how_to_say_otherwise(ends: tuple[float, float]) -> None:
    wavelength, note = in_angstrom(np.linspace(*ends, 100))
    assert wavelength[0] == pytest.approx(10 * ends[0]) and "use --wavelength-unit A" in note


@pytest.mark.parametrize("values", [[3600.0, 9000.0], [2000.0, 3200.0], [10_000.0, 25_000.0], [100.0, 200.0]])
def test_what_can_be_angstrom_is_angstrom(values: list[float]) -> None:
    wavelength, note = in_angstrom(values)
    assert wavelength.tolist() == values and note == ""


def test_logarithms_are_judged_by_what_they_stand_for() -> None:
    assert in_angstrom([3.58, 3.95], log=True)[0][0] == pytest.approx(10**3.58)
    wavelength, note = in_angstrom(np.log10(MICRON), log=True)
    assert np.allclose(wavelength, MICRON * 1e4) and "micron" in note


def test_a_unit_that_is_none_of_wavelength_is_refused() -> None:
    with pytest.raises(DefectError, match="pixel"):
        in_angstrom(MICRON, "pixel")


@pytest.mark.parametrize("card", ["CUNIT1  = 'um'", "XUNITS  = 'um'", "WAT1_001= 'wtype=linear units=um label=x'"])
def test_headers_name_the_unit_in_several_ways(card: str) -> None:
    assert unit_in_header(Header(card.ljust(80))) == "um"
    assert unit_in_header(Header("CRVAL1  = 1.0".ljust(80))) == ""


def test_a_file_in_micron_is_read_and_the_account_says_so(tmp_path: Path) -> None:
    path = small_fits.write(tmp_path / "a.fits", small_fits.wcs_image(CRVAL1=0.8, CDELT1=0.01))
    noted, stack = formats.read(path)
    assert isinstance(noted, Noted) and isinstance(stack, Spectra)
    assert (noted.source, noted.count) == (str(path), 1) and "micron" in noted.note
    assert stack.wavelength[0] == pytest.approx(8000)
    path = small_fits.write(tmp_path / "b.fits", small_fits.wcs_image(CRVAL1=0.8, CDELT1=0.01, XUNITS="Microns"))
    (said,) = formats.read(path)
    assert isinstance(said, Spectra) and said.wavelength[0] == pytest.approx(8000)


# ---- The unit that the user gives for files that name none.


NM = np.linspace(120.0, 300.0, 40)
"""Ultraviolet, in nm: by their size, the numbers would be Angstrom."""


def _write_text(path: Path) -> None:
    np.savetxt(path, np.stack([NM, np.ones(40)], axis=1))


def _write_wide_csv(path: Path) -> None:
    path.write_text("id," + ",".join(f"{value:.4f}" for value in NM) + "\n" + "a," + ",".join(["1.0"] * 40) + "\n")


def _write_npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, wavelength=NM, flux=np.ones((2, 40)))


def _write_parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": ["a"], "wavelength": [NM], "flux": [np.ones(40)]}), path)


def _write_rows(path: Path) -> None:
    from astropy.io import fits

    fits.PrimaryHDU(np.stack([NM, np.ones(40)])).writeto(path)


def _write_image(path: Path) -> None:
    from astropy.io import fits

    header = fits.Header({"CRVAL1": NM[0], "CDELT1": NM[1] - NM[0], "CRPIX1": 1.0})
    fits.PrimaryHDU(np.ones(40), header).writeto(path)


def _write_multispec(path: Path) -> None:
    from astropy.io import fits

    cards = {"CTYPE1": "MULTISPE", "WAT2_001": f'wtype=multispec spec1 = "1 1 0 {NM[0]} {NM[1] - NM[0]} 40 0. 1. 2."'}
    fits.PrimaryHDU(np.ones((1, 40)), fits.Header(cards)).writeto(path)


def _write_table(path: Path, **units: str) -> None:
    from astropy.table import Table

    Table({"wave": NM, "flux": np.ones(40)}, units=units).write(path, format="fits")


WITHOUT_A_UNIT = [
    _write_text, _write_wide_csv, _write_npz, _write_parquet, _write_rows, _write_image, _write_multispec, _write_table
]  # fmt: skip


@pytest.mark.parametrize("write", WITHOUT_A_UNIT, ids=lambda write: write.__name__)
def test_the_user_names_the_unit_of_files_that_do_not(write: Any, tmp_path: Path) -> None:
    write(tmp_path / "a")
    found = list(formats.read_here(tmp_path / "a", options=ReadOptions(wavelength_unit="nm")))
    assert "without a unit, read as nm as the ingest was told" in " ".join(
        item.note for item in found if isinstance(item, Noted)
    )
    (stack,) = (item for item in found if isinstance(item, Spectra))
    assert stack.wavelength[[0, -1]] == pytest.approx([1200, 3000])
    (by_size,) = (item for item in formats.read_here(tmp_path / "a") if isinstance(item, Spectra))
    assert by_size.wavelength[0] == pytest.approx(120)


def test_a_unit_in_the_file_counts_more_than_that_of_the_user(tmp_path: Path) -> None:
    _write_table(tmp_path / "a", wave="um")
    (stack,) = formats.read_here(tmp_path / "a", options=ReadOptions(wavelength_unit="nm"))
    assert isinstance(stack, Spectra) and stack.wavelength[0] == pytest.approx(1.2e6)


def test_a_unit_that_nobody_may_give() -> None:
    with pytest.raises(ValueError, match="'feet': the unit must be A, nm or um"):
        ReadOptions(wavelength_unit="feet")


def test_the_survey_records_the_unit_and_reads_examples_by_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("a", "b", "c"):
        np.savetxt(tmp_path / f"{name}.txt", np.stack([NM, rng.normal(5, 1, 40)], axis=1))
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    survey = rarespec.ingest(files, tmp_path / "uv.survey", jobs=1, wavelength_unit="nm")
    assert survey.grid.wavelength[0] == pytest.approx(1200, rel=1e-3)
    assert survey.manifest.provenance[-1]["reading"]["wavelength_unit"] == "nm"
    examples = examples_of(survey, tmp_path / "c.txt")
    assert examples.spectra is not None and examples.spectra.ids == ["c"]
    assert any("read as nm as the ingest was told" in line for line in examples.problems)
