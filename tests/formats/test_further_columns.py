"""Columns whose names say how errors, masks and wavelengths follow from them; and those that are not used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.io import fits
from astropy.table import Table

from rarespec.formats import read_here
from rarespec.spectrum import Defect, Noted, Spectra
from rarespec.spectrum.grid import air_to_vacuum
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest

N = 50
WAVELENGTH = np.linspace(4000.0, 9000.0, N)
FLUX = 2 + np.sin(np.arange(N) / 5)
ERROR = np.linspace(0.1, 0.2, N)
ENDINGS = ["fits", "csv", "ecsv", "parquet", "npz"]


def write(path: Path, columns: dict[str, Any]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".npz":
        np.savez(path, **columns)
    else:
        Table(columns).write(path)
    return path


def read(path: Path) -> tuple[Spectra, str]:
    found = list(read_here(path))
    assert not [item for item in found if isinstance(item, Defect)], found
    (stack,) = (item for item in found if isinstance(item, Spectra))
    return stack, "; ".join(item.note for item in found if isinstance(item, Noted))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("name", "values", "note"),
    [
        ("snr", FLUX / ERROR, "errors computed as flux / snr"),
        ("relative_error", ERROR / FLUX, "errors computed as flux * relative_error"),
        ("error_percent", 100 * ERROR / FLUX, "errors computed as flux * error_percent / 100"),
    ],
)
def test_errors_relative_to_the_flux(name: str, values: Any, note: str, ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"a.{ending}", {"wavelength": WAVELENGTH, "flux": FLUX, name: values})
    stack, notes = read(path)
    assert stack.ivar is not None and np.allclose(stack.ivar[0], ERROR**-2)
    assert notes == note


@pytest.mark.parametrize("unit", ["%", "percent"])
@pytest.mark.parametrize("ending", ["fits", "csv", "ecsv"])
def test_errors_whose_unit_is_percent(unit: str, ending: str, tmp_path: Path) -> None:
    """They were read as errors in the unit of the flux."""
    path = tmp_path / f"a.{ending}"
    columns = {"wavelength": WAVELENGTH, "flux": FLUX, "error": 100 * ERROR / FLUX}
    if ending == "csv":
        rows = "\n".join(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))
        path.write_text(f"wavelength (A),flux,error ({unit})\n{rows}\n")
    elif ending == "fits":
        units = {"wavelength": "Angstrom", "error": unit}
        made = [fits.Column(name, "D", units.get(name), array=values) for name, values in columns.items()]
        fits.BinTableHDU.from_columns(made).writeto(path)
    else:
        table = Table(columns)
        table["error"].unit = "%"
        table.write(path)
    stack, notes = read(path)
    assert stack.ivar is not None and np.allclose(stack.ivar[0], ERROR**-2)
    assert notes == "errors computed as flux * error / 100"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", ["dq", "flag", "QUALITY"])
def test_flags_that_mark_few_pixels_are_a_mask(name: str, ending: str, tmp_path: Path) -> None:
    flags = np.zeros(N, np.int32)
    flags[7] = 8
    columns = {"wavelength": WAVELENGTH, "flux": FLUX, name: flags}
    stack, notes = read(write(tmp_path / f"a.{ending}", columns))
    assert np.flatnonzero(stack.bad[0]).tolist() == [7]
    assert notes == f"{name} read as a mask: what is not 0 is a bad pixel"
    stack, notes = read(write(tmp_path / f"b.{ending}", {**columns, name: flags + 1}))
    assert not stack.bad.any()
    assert notes == f"columns not used: {name}, which flags most pixels, or is no flag"


def test_errors_where_the_flux_is_negative_or_the_ratio_nothing(tmp_path: Path) -> None:
    flux, snr = np.full(N, -2.0), np.full(N, -10.0)
    snr[:3] = (10.0, 0.0, np.nan)
    stack, _ = read(write(tmp_path / "a.csv", {"wavelength": WAVELENGTH, "flux": flux, "snr": snr}))
    assert stack.ivar is not None and np.allclose(stack.ivar[0, [0, 3]], 25)
    assert np.flatnonzero(stack.bad[0]).tolist() == [1, 2]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", [np.int16, np.float64, np.bool_])
def test_good_pixels(kind: Any, ending: str, tmp_path: Path) -> None:
    good = np.ones(N, kind)
    good[7] = 0
    path = write(tmp_path / f"a.{ending}", {"wavelength": WAVELENGTH, "flux": FLUX, "good": good})
    stack, notes = read(path)
    assert np.flatnonzero(stack.bad[0]).tolist() == [7]
    assert notes == "column good read as a mask: 1 is a good pixel"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_good_of_other_numbers_is_not_used(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"a.{ending}", {"wavelength": WAVELENGTH, "flux": FLUX, "good": np.arange(N)})
    stack, notes = read(path)
    assert not stack.bad.any()
    assert notes == "columns not used: good, which holds more than 0 and 1"


@pytest.mark.parametrize("ending", ["csv", "ecsv", "fits"])
def test_a_column_good_of_words_is_not_used(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"a.{ending}", {"wavelength": WAVELENGTH, "flux": FLUX, "good": ["rather"] * N})
    assert read(path)[1] == "columns not used: good"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("name", "values", "expected", "note"),
    [
        ("wave_air", WAVELENGTH, air_to_vacuum(WAVELENGTH), "column wave_air read as wavelengths in air"),
        ("wave_vac", WAVELENGTH, WAVELENGTH, ""),
        ("lnwave", np.log(WAVELENGTH), WAVELENGTH, "column lnwave read as ln of wavelengths"),
        ("wave_nm", WAVELENGTH / 10, WAVELENGTH, "column wave_nm read as wavelengths in nm"),
        # By their size, these would be micron.
        ("lambda_nm", WAVELENGTH / 1e4, WAVELENGTH / 1e3, "column lambda_nm read as wavelengths in nm"),
        (
            "wave_air_um",
            WAVELENGTH / 1e4,
            air_to_vacuum(WAVELENGTH),
            "column wave_air_um read as wavelengths in um in air",
        ),
    ],
)
def test_names_of_wavelengths_that_say_more(
    name: str, values: Any, expected: Any, note: str, ending: str, tmp_path: Path
) -> None:
    stack, notes = read(write(tmp_path / f"a.{ending}", {name: values, "flux": FLUX}))
    assert np.allclose(stack.wavelength, expected, rtol=1e-9)
    assert notes == note


def test_wavelengths_in_vacuum_come_before_those_in_air(tmp_path: Path) -> None:
    air = WAVELENGTH / 1.0003
    stack, notes = read(write(tmp_path / "a.fits", {"wave_air": air, "wave_vac": WAVELENGTH, "flux": FLUX}))
    assert np.allclose(stack.wavelength, WAVELENGTH)
    assert notes == "columns not used: wave_air"


def test_a_unit_in_brackets_behind_a_telling_name(tmp_path: Path) -> None:
    rows = "\n".join(f"{w / 10:.6f},{f:.4f}" for w, f in zip(WAVELENGTH, FLUX, strict=True))
    (tmp_path / "a.csv").write_text(f"wave_air (nm),flux\n{rows}\n")
    stack, _ = read(tmp_path / "a.csv")
    assert np.allclose(stack.wavelength, air_to_vacuum(WAVELENGTH), rtol=1e-6)


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_not_used_are_named(ending: str, tmp_path: Path) -> None:
    columns = {"wavelength": WAVELENGTH, "flux": FLUX, "error": ERROR, "sky": FLUX, "model": FLUX}
    _, notes = read(write(tmp_path / f"a.{ending}", columns))
    assert notes == f"{'arrays' if ending == 'npz' else 'columns'} not used: sky, model"


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_that_say_the_same_as_those_used_are_not(ending: str, tmp_path: Path) -> None:
    columns = {"wavelength": WAVELENGTH, "loglam": np.log10(WAVELENGTH), "flux": FLUX, "ivar": ERROR**-2}
    columns |= {"error": ERROR, "snr": FLUX / ERROR}
    assert read(write(tmp_path / f"a.{ending}", columns))[1] == ""


def test_vectors_not_used_are_named_and_snr_of_a_row_stays_in_the_catalogue(tmp_path: Path) -> None:
    vectors = {"wave": np.tile(WAVELENGTH, (3, 1)), "flux": np.tile(FLUX, (3, 1)), "sky": np.tile(FLUX, (3, 1))}
    stack, notes = read(write(tmp_path / "a.fits", {**vectors, "snr": [4.0, 5.0, 6.0]}))
    assert stack.catalogue["snr"] == [4.0, 5.0, 6.0] and stack.ivar is None
    assert notes == "columns not used: sky"


def test_many_names_and_long_ones_stay_short(tmp_path: Path) -> None:
    columns = {"wavelength": WAVELENGTH, "flux": FLUX, **{"x" * 60 + str(i): FLUX for i in range(12)}}
    _, notes = read(write(tmp_path / "a.csv", columns))
    assert notes.endswith("and 4 more") and len(notes) < 400


def test_an_ingest_counts_a_note_once(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for i in range(3):
        write(tmp_path / "files" / f"{i}.csv", {"wavelength": WAVELENGTH, "flux": FLUX, "sky": FLUX})
    _, report = run_ingest([tmp_path / "files"], tmp_path / "a.survey", IngestOptions())
    assert dict(report.noted) == {"columns not used: sky": 3}


def test_a_card_of_the_name_of_a_column_stays(tmp_path: Path) -> None:
    table = fits.BinTableHDU(Table({"wavelength": WAVELENGTH, "flux": FLUX, "SNR": FLUX / ERROR}))
    table.header["SNR"] = 17.0
    table.writeto(tmp_path / "a.fits")
    stack, _ = read(tmp_path / "a.fits")
    assert stack.catalogue["snr"] == [17.0]
