"""Units of wavelengths: what the file says counts, else the size of the numbers decides, and that is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from formats import small_fits
from rarespec import formats
from rarespec.formats.fits.header import Header
from rarespec.formats.wavelength import in_angstrom, unit_in_header
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
