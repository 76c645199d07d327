"""Layouts of other instruments: what their files leave open, and what is decided about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

from contracts.reader_files import add_multispec_cards
from rarespec import formats
from rarespec.formats.fits.multispec import dispersion
from rarespec.formats.positions import degrees_of
from rarespec.formats.readers import reader_for
from rarespec.formats.source import Source
from rarespec.spectrum import Defect, DefectError, Noted, Reason, Spectra

MICRON = np.linspace(0.8, 2.4, 200)
FLUX = 1 + 0.1 * np.random.default_rng(5).normal(size=200)


def read(path: Path) -> tuple[list[str], list[Spectra]]:
    """Notes and spectra; there must be no defect."""
    found = list(formats.read_here(path))
    assert not any(isinstance(item, Defect) for item in found), found
    notes = [item.note for item in found if isinstance(item, Noted)]
    return notes, [item for item in found if isinstance(item, Spectra)]


def image_file(folder: Path, image: Any, **cards: Any) -> Path:
    hdu = fits.PrimaryHDU(np.asarray(image, dtype="f8"))
    hdu.header.update(cards)
    hdu.writeto(folder / "a.fits", overwrite=True)
    return folder / "a.fits"


def reason_of(path: Path) -> tuple[Reason, str]:
    (defect,) = (item for item in formats.read_here(path) if isinstance(item, Defect))
    return defect.reason, defect.detail


# --- images of rows


@pytest.mark.parametrize("n_rows", [2, 3, 4])
@pytest.mark.parametrize("on_its_side", [False, True])
def test_two_to_four_rows(tmp_path: Path, n_rows: int, on_its_side: bool) -> None:
    flag = np.zeros(200)
    flag[7] = 1
    image = np.stack([MICRON, FLUX, np.full(200, 0.1), flag][:n_rows])
    notes, (stack,) = read(image_file(tmp_path, image.T if on_its_side else image, XUNITS="um"))
    assert notes == [] and stack.wavelength[0] == pytest.approx(8000) and np.array_equal(stack.flux[0], FLUX)
    assert (stack.ivar is None) == (n_rows == 2)
    assert stack.bad.sum() == (n_rows == 4) and stack.ids == ["a"]


def test_errors_that_are_no_errors_make_pixels_bad(tmp_path: Path) -> None:
    error = np.full(200, 0.1)
    error[:3] = np.nan, -1, 0
    _, (stack,) = read(image_file(tmp_path, [MICRON, FLUX, error], XUNITS="um"))
    assert np.flatnonzero(stack.bad[0]).tolist() == [0, 1, 2]
    notes, (stack,) = read(image_file(tmp_path, [MICRON, FLUX, error * 0], XUNITS="um"))
    assert stack.ivar is None and not stack.bad.any() and "errors" in notes[0]


def test_wavelengths_that_fall_are_turned_and_unfilled_ends_left_out(tmp_path: Path) -> None:
    wavelength = MICRON[::-1].copy()
    wavelength[-5:] = np.nan
    notes, (stack,) = read(image_file(tmp_path, [wavelength, FLUX], XUNITS="um"))
    assert (np.diff(stack.wavelength) > 0).all() and np.array_equal(stack.flux[0], FLUX[:195][::-1])
    assert notes == ["pixels without a wavelength left out"]


def test_positions_in_hours_of_a_header_become_degrees(tmp_path: Path) -> None:
    _, (stack,) = read(image_file(tmp_path, [MICRON, FLUX], RA="12:30:00", DEC="-01:30:00.0"))
    assert stack.catalogue["ra"] == [187.5] and stack.catalogue["dec"] == [-1.5]
    assert degrees_of(["-00 30 00"]) == [-0.5]
    assert degrees_of(["185:00:00"], in_hours=True) == [185.0]
    assert np.isnan(degrees_of(["M 31", None], in_hours=True)).all()


def test_spectra_on_a_wavelength_axis_are_no_image_of_rows(tmp_path: Path) -> None:
    path = image_file(tmp_path, [FLUX, FLUX[::-1], FLUX], CRVAL1=4000.0, CDELT1=1.0)
    with Source(path) as source:
        assert reader_for(source).name == "fits-wcs1d"


# --- what every generic spectrum goes through


def test_tiny_flux_keeps_its_errors_in_single_precision(tmp_path: Path) -> None:
    notes, (stack,) = read(image_file(tmp_path, [MICRON, FLUX * 1e-18, np.full(200, 1e-20)], XUNITS="um"))
    assert stack.ivar is not None and np.isfinite(stack.ivar.astype(np.float32)).all() and not stack.bad.any()
    assert np.allclose(stack.flux[0], FLUX * 0.1) and np.allclose(stack.ivar, 1e6)
    assert "1e-17" in notes[0]


def test_a_gap_stays_empty(tmp_path: Path) -> None:
    wavelength = np.where(np.arange(200) < 100, MICRON, MICRON + 0.3)
    notes, (stack,) = read(image_file(tmp_path, [wavelength, FLUX], XUNITS="um"))
    assert notes == ["gaps between neighbouring wavelengths left empty"]
    assert np.flatnonzero(stack.bad[0]).tolist() == [100, 101] and (np.diff(stack.wavelength) > 0).all()
    assert np.array_equal(stack.flux[~stack.bad], FLUX)
    placed = on_grid(stack)
    inside = (placed.wavelength > 1.62e4) & (placed.wavelength < 1.88e4)
    outside = (placed.wavelength < 1.58e4) | (placed.wavelength > 1.92e4)
    assert inside.any() and placed.bad[0, inside].all() and not placed.bad[0, outside].any()


def on_grid(stack: Spectra) -> Spectra:
    from rarespec.spectrum import WavelengthGrid, resample

    return resample(stack, WavelengthGrid("linear", 8100.0, 100.0, 180))


def test_flux_in_jansky_becomes_flux_per_wavelength(tmp_path: Path) -> None:
    notes, (stack,) = read(image_file(tmp_path, [MICRON, np.ones(200), np.full(200, 0.1)], XUNITS="um", BUNIT="mJy"))
    expected = 1e17 * 1e-3 * 2.99792458e-5 / (MICRON * 1e4) ** 2
    assert np.allclose(stack.flux[0], expected) and np.allclose(stack.ivar, (10 / expected) ** 2)
    assert "per wavelength" in notes[0]


# --- headerless text


@pytest.mark.parametrize("separator", [" ", ", ", "\t", "; "])
@pytest.mark.parametrize("n_columns", [2, 3])
def test_columns_of_numbers_are_a_spectrum(tmp_path: Path, separator: str, n_columns: int) -> None:
    path = tmp_path / "star.txt"
    columns = np.stack([MICRON, FLUX, np.full(200, 0.1)][:n_columns], axis=1)
    np.savetxt(path, columns, delimiter=separator, header="Observed 2020" if n_columns == 2 else "J band", fmt="%.17g")
    notes, (stack,) = read(path)
    assert np.array_equal(stack.flux[0], FLUX) and np.allclose(stack.wavelength, MICRON * 1e4)
    assert (stack.ivar is None) == (n_columns == 2) and stack.ids == ["star"]
    assert len(notes) == 2 and "without a header" in notes[0] and "micron" in notes[1]


def test_further_columns_are_left_out_and_told(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.txt", np.stack([MICRON, FLUX, FLUX, FLUX, FLUX], axis=1))
    notes, _ = read(tmp_path / "a.txt")
    assert notes[0].endswith("columns 4 to 5 left out")


def test_wavelengths_out_of_order_or_twice_are_refused(tmp_path: Path) -> None:
    for wavelength in (np.roll(MICRON, 50), np.repeat(MICRON[::2], 2)):
        np.savetxt(tmp_path / "a.txt", np.stack([wavelength, FLUX], axis=1))
        reason, detail = reason_of(tmp_path / "a.txt")
        assert reason == Reason.LAYOUT and "do not increase steadily (pixels" in detail


# --- IRAF multispec


def multispec(folder: Path, apertures: list[str], n_bands: int = 1, **cards: Any) -> Path:
    flux = np.tile(FLUX, (n_bands, len(apertures), 1))
    hdu = fits.PrimaryHDU(flux[0] if n_bands == 1 else flux)
    add_multispec_cards(hdu.header, apertures)
    hdu.header.update(cards)
    hdu.writeto(folder / "m.fits", overwrite=True)
    return folder / "m.fits"


X = (np.arange(1, 201) - 100.5) / 99.5
FUNCTIONS = {
    "linear": ("0 4000. 2. 200 0. 1. 9.", 4000 + 2 * np.arange(200.0)),
    "redshifted": ("0 4000. 2. 200 0.25 1. 9.", (4000 + 2 * np.arange(200.0)) / 1.25),
    "log-linear": ("1 3.6 0.0005 200 0. 1. 9.", 10 ** (3.6 + 0.0005 * np.arange(200))),
    "chebyshev": ("2 0 0 200 0. 1. 9. 1. 10. 1 3 1. 200. 5000. 300. 4.", 5010 + 300 * X + 4 * (2 * X**2 - 1)),
    "legendre": ("2 0 0 200 0. 1. 9. 1. 0. 2 3 1. 200. 5000. 300. 4.", 5000 + 300 * X + 2 * (3 * X**2 - 1)),
    "two functions": (
        "2 0 0 200 0. 1. 9. 0.5 0. 1 2 1. 200. 5000. 300. 0.5 0. 2 2 1. 200. 5200. 300.",
        5100 + 300 * X,
    ),
    "cubic spline": ("2 0 0 200 0. 1. 9. 1. 0. 3 1 1. 200. 800. 900. 1000. 1100.", 5700 + 300 * X),
    "linear spline": ("2 0 0 200 0. 1. 9. 1. 0. 4 2 1. 200. 4000. 5000. 6000.", 5000 + 1000 * X),
    "a table": ("2 0 0 200 0. 1. 9. 1. 0. 6 2 1. 4000. 200. 6000.", 5000 + 1000 * X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_dispersion_function_of_iraf(tmp_path: Path, name: str) -> None:
    described, expected = FUNCTIONS[name]
    notes, (stack,) = read(multispec(tmp_path, [f"1 7 {described}"]))
    assert notes == [] and np.allclose(stack.wavelength, expected, rtol=1e-9)


def test_sigma_is_the_band_that_is_called_so(tmp_path: Path) -> None:
    described = [f"1 7 {FUNCTIONS['linear'][0]}"]
    _, (stack,) = read(multispec(tmp_path, described, 3))
    assert stack.ivar is not None
    names = {"BANDID1": "spectrum - background fit", "BANDID2": "raw - x", "BANDID3": "background - x"}
    _, (stack,) = read(multispec(tmp_path, described, 3, **names))
    assert stack.ivar is None


def test_bands_on_a_linear_axis(tmp_path: Path) -> None:
    cards = {"CRVAL1": 4000.0, "CDELT1": 2.0, "CTYPE1": "LINEAR", "BANDID1": "spectrum", "BANDID2": "sigma - x"}
    _, (stack,) = read(image_file(tmp_path, np.stack([FLUX, FLUX])[:, np.newaxis], **cards))
    assert np.allclose(stack.wavelength, 4000 + 2 * np.arange(200)) and stack.ivar is not None


def test_physical_pixels_follow_a_cut_image(tmp_path: Path) -> None:
    path = multispec(tmp_path, [f"1 7 {FUNCTIONS['linear'][0]}"], LTV1=-100.0, LTM1_1=1.0)
    _, (stack,) = read(path)
    assert stack.wavelength[0] == 4200


def test_one_bad_aperture_does_not_cost_the_others(tmp_path: Path) -> None:
    path = multispec(tmp_path, [f"1 7 {FUNCTIONS['linear'][0]}", "2 8 -1 1. 1. 200 0. 1. 9."])
    found = list(formats.read_here(path))
    assert [type(item) for item in found] == [Noted, Spectra, Defect]
    assert found[2].id == "m-000001" and "pixels" in found[2].detail


@pytest.mark.parametrize(
    "words", ["1 2", "1 1 2 0 0 9 0 1 9 1 0 1 9e9 1 9", "1 1 2 0 0 9 0 1 9 1 0 8 1 1 9 1", "a b c"]
)
def test_a_dispersion_that_makes_no_sense_is_a_defect(words: str) -> None:
    with pytest.raises(DefectError):
        dispersion(words.split(), np.arange(1.0, 10.0))


# --- HST and JWST


def hst_file(folder: Path, wavelength: Any, flux: Any) -> Path:
    wavelength, flux = np.asarray(wavelength, float), np.asarray(flux, float)
    form = f"{wavelength.shape[1]}D"
    columns = [fits.Column("SPORDER", "I", array=np.arange(len(wavelength)))]
    arrays = {"WAVELENGTH": wavelength, "FLUX": flux, "ERROR": np.ones_like(flux), "DQ": np.zeros_like(flux)}
    columns += [fits.Column(name, form, array=values) for name, values in arrays.items()]
    fits.BinTableHDU.from_columns(columns, name="SCI").writeto(folder / "h.fits", overwrite=True)
    return folder / "h.fits"


def test_orders_are_cut_in_the_middle_of_their_overlap(tmp_path: Path) -> None:
    one = 2000 + np.arange(100.0)
    notes, (stack,) = read(hst_file(tmp_path, [one + 80.5, one], [np.full(100, 2.0), np.full(100, 1.0)]))
    assert (stack.flux[0] == np.where(stack.wavelength < 2089.75, 1, 2)).all() and "joined" in notes[0]
    assert (stack.wavelength[0], stack.wavelength[-1]) == (2000, 2179.5)


def test_segments_apart_leave_their_gap_empty(tmp_path: Path) -> None:
    one = 1200 + np.arange(100.0)
    notes, (stack,) = read(hst_file(tmp_path, [one, one + 130], np.ones((2, 100))))
    assert stack.bad.sum() == 2 and len(notes) == 2
