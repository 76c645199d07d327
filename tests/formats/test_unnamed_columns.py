"""Numbers without names, in text and in images of rows: the numbers themselves say what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

from rarespec.formats import read_here
from rarespec.formats.reader import ReadOptions
from rarespec.formats.unnamed_columns import may_be_error
from rarespec.spectrum import Defect, Noted, Spectra

N = 300
WAVELENGTH = np.linspace(4000.0, 9000.0, N)
ERROR = np.linspace(0.1, 0.3, N)
FLUX = 10 + 3 * np.sin(WAVELENGTH / 300) + np.random.default_rng(4).normal(0, ERROR)
SKY = 0.7 * FLUX + np.linspace(0, 1, N)
FLAG = np.zeros(N)
FLAG[[5, 6, 99]] = (1, 1, 4)


def read(path: Path, **options: Any) -> tuple[Spectra, str]:
    found = list(read_here(path, options=ReadOptions(**options)))
    assert not [item for item in found if isinstance(item, Defect)], found
    (stack,) = (item for item in found if isinstance(item, Spectra))
    return stack, "; ".join(item.note for item in found if isinstance(item, Noted))


def text(folder: Path, *columns: Any) -> Path:
    np.savetxt(folder / "a.txt", np.stack(columns, axis=1))
    return folder / "a.txt"


def image(folder: Path, *rows: Any) -> Path:
    fits.PrimaryHDU(np.stack(rows)).writeto(folder / "a.fits")
    return folder / "a.fits"


@pytest.mark.parametrize("write", [text, image])
@pytest.mark.parametrize(
    ("columns", "has_error", "has_flags"),
    [
        ((ERROR,), True, False),
        ((FLAG,), False, True),  # as an error, all but the flagged pixels would have been bad
        ((SKY,), False, False),
        ((ERROR, FLAG), True, True),
        ((ERROR, SKY), True, False),
        ((SKY, ERROR), True, False),
        ((FLAG, ERROR), True, True),
        ((FLUX / ERROR, SKY), False, False),
        ((ERROR**-2,), False, False),
        ((ERROR, np.zeros(N)), True, False),
    ],
)
def test_what_stands_behind_the_flux(
    write: Any, columns: tuple[Any, ...], has_error: bool, has_flags: bool, tmp_path: Path
) -> None:
    stack, notes = read(write(tmp_path, WAVELENGTH, FLUX, *columns))
    assert np.allclose(stack.flux[0], FLUX)
    assert (stack.ivar is not None) == has_error
    if stack.ivar is not None:
        assert np.allclose(stack.ivar[0], ERROR**-2)
    assert np.flatnonzero(stack.bad[0]).tolist() == ([5, 6, 99] if has_flags else [])
    is_left_out = [column is SKY or column[0] > 2 for column in columns]
    assert ("left out" in notes) == any(is_left_out), notes


def test_the_account_says_what_was_read(tmp_path: Path) -> None:
    assert read(text(tmp_path, WAVELENGTH, FLUX, SKY, ERROR, SKY))[1] == (
        "text without a header read as wavelength, flux, error; columns 3, 5 left out"
    )
    assert read(text(tmp_path, WAVELENGTH, FLUX, ERROR, FLAG))[1] == (
        "text without a header read as wavelength, flux, error, mask"
    )


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("write", [text, image])
def test_pixels_that_are_counted_in_front(write: Any, first: int, tmp_path: Path) -> None:
    """Counted from 1, they were read as wavelengths from 1 to 300 Angstrom."""
    stack, notes = read(write(tmp_path, np.arange(first, N + first), WAVELENGTH, FLUX, ERROR))
    assert np.allclose(stack.wavelength, WAVELENGTH) and np.allclose(stack.flux[0], FLUX)
    assert stack.ivar is not None and np.allclose(stack.ivar[0], ERROR**-2)
    assert write is image or "pixel number, wavelength, flux, error" in notes


def test_flux_beside_the_numbers_of_pixels_is_refused(tmp_path: Path) -> None:
    for columns in ([FLUX], [FLUX, ERROR]):
        *_, defect = read_here(text(tmp_path, np.arange(1, N + 1), *columns))
        assert isinstance(defect, Defect) and "counts pixels" in defect.detail


@pytest.mark.parametrize(("base", "log"), [("log10", np.log10), ("ln", np.log)])
@pytest.mark.parametrize("write", [text, image])
def test_logarithms_of_wavelengths(write: Any, base: str, log: Any, tmp_path: Path) -> None:
    """They were read as 3.6 and 8.3 micron."""
    wavelength = np.geomspace(4000.0, 9000.0, 2000)
    path = write(tmp_path, log(wavelength), np.tile(FLUX, 7)[:2000])
    stack, notes = read(path)
    assert np.allclose(stack.wavelength, wavelength, rtol=1e-9)
    assert f"read as {base} of Angstrom" in notes
    stack, _ = read(path, wavelength_unit="um")
    assert stack.wavelength[0] == pytest.approx(1e4 * log(4000.0))


@pytest.mark.parametrize(
    "micron",
    [
        np.linspace(2.87, 5.27, 3600),  # NIRSpec G395H
        np.linspace(3.58, 3.93, 30_000),  # iSHELL
        np.linspace(3.4, 3.43, 200),  # one order
        np.linspace(8.67, 10.0, 900),  # MIRI
    ],
)
def test_infrared_in_micron_is_not_taken_for_logarithms(micron: Any, tmp_path: Path) -> None:
    stack, notes = read(text(tmp_path, micron, np.resize(FLUX, len(micron))))
    assert stack.wavelength[0] == pytest.approx(1e4 * micron[0]) and "micron because of their size" in notes


def test_errors_that_are_large_because_the_noise_is() -> None:
    noise = np.random.default_rng(1).normal(0, 1, N)
    assert may_be_error(np.ones(N), 1 + noise)
    assert may_be_error(np.full(N, 0.3), np.ones(N)), "a smooth template with generous errors"
    assert not may_be_error(np.ones(N), 1 + 0.01 * noise)
    assert not may_be_error(noise, 10 + noise), "negative numbers of many kinds"
    assert may_be_error(np.where(noise > 1, -1.0, 0.1), 10 + noise), "one of them stands for unknown errors"
