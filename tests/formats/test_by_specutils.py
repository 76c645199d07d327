"""Files that only specutils recognises: read by its loaders, which the account names."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from astropy.table import Table

from rarespec import formats
from rarespec.spectrum import Defect, Noted, Reason, Spectra

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def by_units(tmp_path: Path) -> Path:
    """A table whose columns say only by their units what they are."""
    table = Table({"x": np.linspace(400.0, 500.0, 100), "y": np.arange(100.0)})
    table["x"].unit, table["y"].unit = "nm", "erg / (s cm2 Angstrom)"
    table.write(tmp_path / "a.fits")
    return tmp_path / "a.fits"


def test_specutils_reads_what_no_reader_here_recognises(by_units: Path) -> None:
    pytest.importorskip("specutils", reason="specutils is not installed")
    noted, stack = formats.read(by_units)
    assert isinstance(noted, Noted) and "specutils for 'tabular-fits'" in noted.note
    assert isinstance(stack, Spectra) and stack.ids == ["a"] and stack.catalogue["source"] == [str(by_units)]
    assert np.allclose(stack.wavelength, np.linspace(4000, 5000, 100)) and np.array_equal(stack.flux[0], np.arange(100))


def test_what_specutils_does_not_know_either_is_a_defect(tmp_path: Path) -> None:
    fits.PrimaryHDU(np.ones((30, 40))).writeto(tmp_path / "a.fits")
    (defect,) = formats.read_here(tmp_path / "a.fits")
    assert isinstance(defect, Defect) and defect.reason == Reason.UNRECOGNISED


def test_without_specutils_such_a_file_is_a_defect(by_units: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "specutils", None)
    (defect,) = formats.read_here(by_units)
    assert isinstance(defect, Defect) and defect.reason == Reason.UNRECOGNISED
    (defect,) = formats.read_here(by_units, "specutils")
    assert isinstance(defect, Defect) and "must be installed" in defect.detail


def test_a_damaged_file_never_comes_to_specutils(by_units: Path) -> None:
    content = by_units.read_bytes()
    by_units.write_bytes(content[: len(content) - 3000])
    (defect,) = formats.read_here(by_units)
    assert isinstance(defect, Defect) and defect.reason == Reason.TRUNCATED
