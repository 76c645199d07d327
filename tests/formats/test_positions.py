"""Right ascensions in hours, by the unit or the name of their column or as text, are degrees in a survey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.table import Table

from rarespec.formats import read_here
from rarespec.formats.catalogue import read_catalogue
from rarespec.spectrum import DefectError, Spectra

HOURS = [1.5, 23.0]
WAYS: list[tuple[str, list[Any], str | None]] = [
    ("ra", HOURS, "hr"),
    ("RA", HOURS, "h"),
    ("ra", HOURS, "hours"),
    ("ra_hours", HOURS, None),
    ("ra", ["01:30:00", "23:00:00"], None),
]


def table_of(name: str, values: list[Any], unit: str | None) -> Table:
    units = {"dec": "deg"} | ({name: unit} if unit else {})
    wavelength = np.tile(np.linspace(4000.0, 5000.0, 20), (2, 1))
    columns = {"targetid": [7, 8], name: values, "dec": [-5.0, 60.0], "wavelength": wavelength, "flux": wavelength}
    table = Table(columns)
    for column, text in units.items():
        table[column].unit = text
    return table


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "values", "unit"), WAYS)
@pytest.mark.parametrize("ending", ["fits", "ecsv"])
def test_hours_of_a_file_of_spectra(
    name: str, values: list[Any], unit: str | None, ending: str, tmp_path: Path
) -> None:
    table_of(name, values, unit).write(tmp_path / f"a.{ending}")
    (stack,) = (item for item in read_here(tmp_path / f"a.{ending}") if isinstance(item, Spectra))
    assert stack.catalogue["ra"] == pytest.approx([22.5, 345.0]) and stack.catalogue["dec"] == [-5.0, 60.0]
    assert values in stack.catalogue.values()  # what the file says is kept
    assert "file_dec" not in stack.catalogue


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "values", "unit"), WAYS)
@pytest.mark.parametrize("ending", ["fits", "ecsv"])
def test_hours_of_a_catalogue_to_join(
    name: str, values: list[Any], unit: str | None, ending: str, tmp_path: Path
) -> None:
    table = table_of(name, values, unit)
    table.remove_columns(["wavelength", "flux"])
    table.write(tmp_path / f"a.{ending}")
    catalogue = read_catalogue(tmp_path / f"a.{ending}")
    assert catalogue["ra"].to_pylist() == pytest.approx([22.5, 345.0])
    assert catalogue["dec"].to_pylist() == [-5.0, 60.0]


def test_a_unit_that_is_no_angle_counts_for_nothing(tmp_path: Path) -> None:
    table = table_of("ra", HOURS, "kg")
    table.write(tmp_path / "a.fits")
    (stack,) = read_here(tmp_path / "a.fits")
    assert isinstance(stack, Spectra) and stack.catalogue["ra"] == HOURS
    table.remove_columns(["wavelength", "flux"])
    table.write(tmp_path / "c.fits")
    assert read_catalogue(tmp_path / "c.fits")["ra"].to_pylist() == HOURS


def test_text_that_is_no_position_is_refused_in_a_catalogue(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("id,ra,dec\na,here,5\n")
    with pytest.raises(DefectError, match="the column for ra has values that are not numbers"):
        read_catalogue(tmp_path / "c.csv")
