"""Files of instruments that no reader was written for: each is read rightly, or refused in words that help."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy import units as u
from astropy.io import fits
from astropy.table import Table

from rarespec.formats import read_here
from rarespec.formats.reader import ReadOptions
from rarespec.spectrum import Defect, Noted, Spectra

N = 50
WAVELENGTH = np.linspace(4000.0, 9000.0, N)
FLUX = 2 + np.sin(np.arange(N) / 5)
ERROR = np.full(N, 0.1)

pytestmark = pytest.mark.filterwarnings("ignore")


def only_spectrum(path: Path) -> Spectra:
    found = list(read_here(path))
    assert not [item for item in found if isinstance(item, Defect)], found
    (stack,) = (item for item in found if isinstance(item, Spectra))
    return stack


def notes(path: Path) -> str:
    return "; ".join(item.note for item in read_here(path) if isinstance(item, Noted))


def only_defect(path: Path) -> str:
    (defect,) = read_here(path)
    assert isinstance(defect, Defect), defect
    return defect.detail


# ---- Names of columns.


@pytest.mark.parametrize(
    ("wavelength", "flux", "error"),
    [
        ("LAMBDA", "FLUX_REDUCED", "ERR_REDUCED"),
        ("WAVE", "SPEC", "SIG"),
        ("wl", "fl", "unc"),
        ("wvl", "intensity", "std"),
    ],
)
def test_columns_of_other_names(wavelength: str, flux: str, error: str, tmp_path: Path) -> None:
    Table({wavelength: WAVELENGTH, flux: FLUX, error: ERROR}).write(tmp_path / "a.fits")
    stack = only_spectrum(tmp_path / "a.fits")
    assert np.allclose(stack.wavelength, WAVELENGTH) and np.allclose(stack.flux[0], FLUX)
    assert stack.ivar is not None and np.allclose(stack.ivar, 100)


def test_a_column_of_logarithms(tmp_path: Path) -> None:
    Table({"log_wave": np.log10(WAVELENGTH), "flux": FLUX}).write(tmp_path / "a.csv")
    assert np.allclose(only_spectrum(tmp_path / "a.csv").wavelength, WAVELENGTH)


@pytest.mark.parametrize("ending", ["fits", "csv", "ecsv"])
def test_a_variance_is_an_error(ending: str, tmp_path: Path) -> None:
    """It was left out without a word."""
    Table({"wavelength": WAVELENGTH, "flux": FLUX, "variance": ERROR**2}).write(tmp_path / f"a.{ending}")
    stack = only_spectrum(tmp_path / f"a.{ending}")
    assert stack.ivar is not None and np.allclose(stack.ivar, 100)


def test_a_fits_file_that_nobody_knows_is_described(tmp_path: Path) -> None:
    Table({"x": WAVELENGTH, "y": FLUX}).write(tmp_path / "a.fits")
    assert "HDU 1 has columns x, y; call them wavelength and flux" in only_defect(tmp_path / "a.fits")


def test_metadata_of_the_name_of_a_column_do_not_replace_it(tmp_path: Path) -> None:
    Table({"wavelength": WAVELENGTH, "flux": FLUX}, meta={"flux": "in counts"}).write(tmp_path / "a.ecsv")
    assert np.allclose(only_spectrum(tmp_path / "a.ecsv").flux[0], FLUX)


# ---- Units.


@pytest.mark.parametrize("ending", ["fits", "ecsv"])
@pytest.mark.parametrize("unit", [u.Hz, u.GHz])
def test_flux_per_frequency_on_frequencies(unit: Any, ending: str, tmp_path: Path) -> None:
    """The survey has flux per wavelength, on wavelengths."""
    frequency = (WAVELENGTH * u.AA).to(unit, u.spectral())
    errors = (np.full(N, 1e-27) * u.Unit("erg/(s cm2 AA)")).to(u.mJy, u.spectral_density(WAVELENGTH * u.AA))
    flux = (1e-26 * FLUX * u.Unit("erg/(s cm2 AA)")).to(u.mJy, u.spectral_density(WAVELENGTH * u.AA))
    Table({"frequency": frequency, "flux": flux, "error": errors}).write(tmp_path / f"a.{ending}")
    stack = only_spectrum(tmp_path / f"a.{ending}")
    assert np.allclose(stack.wavelength, WAVELENGTH, rtol=1e-10)
    assert stack.ivar is not None
    ratio = stack.flux[0] / FLUX
    assert np.allclose(ratio, ratio[0], rtol=1e-5) and np.allclose(stack.ivar, stack.ivar[0, 0], rtol=1e-4)
    assert "flux per frequency" in notes(tmp_path / f"a.{ending}")


def test_wavenumbers(tmp_path: Path) -> None:
    Table({"wavenumber": 1e8 / WAVELENGTH, "flux": FLUX}).write(tmp_path / "a.csv")
    assert np.allclose(only_spectrum(tmp_path / "a.csv").wavelength, WAVELENGTH)


def test_no_wavelength_is_longer_than_a_metre(tmp_path: Path) -> None:
    """Frequencies in GHz whose unit nobody gave."""
    Table({"freq": 3e18 / WAVELENGTH / 1e9, "flux": FLUX}).write(tmp_path / "a.csv")
    assert "give their unit" in only_defect(tmp_path / "a.csv")


# ---- Images.


@pytest.mark.parametrize("name", ["WAVELENGTH", "LOGLAM"])
def test_wavelengths_in_another_image(name: str, tmp_path: Path) -> None:
    """Specutils took the numbers of the pixels for Angstrom."""
    values = np.log10(WAVELENGTH) if name == "LOGLAM" else WAVELENGTH
    images = [fits.PrimaryHDU(FLUX), fits.ImageHDU(values, name=name), fits.ImageHDU(ERROR**2, name="VARIANCE")]
    fits.HDUList(images).writeto(tmp_path / "a.fits")
    stack = only_spectrum(tmp_path / "a.fits")
    assert np.allclose(stack.wavelength, WAVELENGTH) and np.allclose(stack.flux[0], FLUX) and stack.ids == ["a"]
    assert stack.ivar is not None and np.allclose(stack.ivar, 100)


@pytest.mark.parametrize("per_row", [False, True])
def test_many_spectra_named_by_a_table(per_row: bool, tmp_path: Path) -> None:
    wavelength = np.stack([WAVELENGTH, WAVELENGTH + 1, WAVELENGTH + 2]) if per_row else WAVELENGTH
    images = [
        fits.PrimaryHDU(),
        fits.ImageHDU(np.stack([FLUX, 2 * FLUX, 3 * FLUX]), name="FLUX"),
        fits.ImageHDU(wavelength, fits.Header({"BUNIT": "Angstrom"}), name="WAVELENGTH"),
        fits.BinTableHDU(Table({"NAME": ["p", "q", "r"], "RA": [1.0, 2.0, 3.0]}), name="TARGETS"),
    ]
    fits.HDUList(images).writeto(tmp_path / "a.fits")
    stacks = [item for item in read_here(tmp_path / "a.fits") if isinstance(item, Spectra)]
    assert [id for stack in stacks for id in stack.ids] == ["p", "q", "r"]
    assert np.allclose(stacks[-1].flux[-1], 3 * FLUX)
    assert stacks[-1].wavelength[0] == pytest.approx(4002 if per_row else 4000)


def test_an_image_without_wavelengths_is_refused(tmp_path: Path) -> None:
    fits.PrimaryHDU(FLUX).writeto(tmp_path / "a.fits")
    assert "an image of 50 without wavelengths" in only_defect(tmp_path / "a.fits")


def multispec(starts: list[float]) -> fits.PrimaryHDU:
    step = 1.0
    words = [f'spec{i + 1} = "{i + 1} {90 - i} 0 {start} {step} {N} 0. 1. 2."' for i, start in enumerate(starts)]
    text = "wtype=multispec " + " ".join(words)
    header = fits.Header({"CTYPE1": "MULTISPE", "WAT1_001": "wtype=multispec units=angstroms"})
    for n, at in enumerate(range(0, len(text), 68), 1):
        header[f"WAT2_{n:03d}"] = text[at : at + 68]
    return fits.PrimaryHDU(np.stack([np.full(N, start) + np.arange(N) for start in starts]), header)


def test_the_orders_of_an_echelle_are_one_spectrum(tmp_path: Path) -> None:
    multispec([5080.0, 5040.0, 5000.0]).writeto(tmp_path / "a.fits")  # orders fall in wavelength, and overlap
    stack = only_spectrum(tmp_path / "a.fits")
    assert stack.ids == ["a"] and stack.wavelength[[0, -1]].tolist() == [5000.0, 5129.0]
    assert np.allclose(stack.flux[0], stack.wavelength) and "joined" in notes(tmp_path / "a.fits")


def test_fibres_are_not(tmp_path: Path) -> None:
    multispec([5000.0, 5001.0, 5002.0]).writeto(tmp_path / "a.fits")
    stacks = [item for item in read_here(tmp_path / "a.fits") if isinstance(item, Spectra)]
    assert len(stacks) == 3


# ---- Text.


def lines_of(*columns: Any, form: str = "{:.4f}", between: str = " ") -> str:
    return "".join(between.join(form.format(value) for value in row) + "\n" for row in zip(*columns, strict=True))


@pytest.mark.parametrize(
    "head",
    ["; reduced by hand\n", "% lambda flux\n", "! a\n! b\n", "  # indented\n", "# wave [A]  flux [erg/s/cm2/A]\n"],
)
def test_remarks_of_all_kinds(head: str, tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text(head + lines_of(WAVELENGTH, FLUX))
    stack = only_spectrum(tmp_path / "a.dat")
    assert np.allclose(stack.wavelength, WAVELENGTH, atol=1e-3) and np.allclose(stack.flux[0], FLUX, atol=1e-3)


def test_units_behind_the_names(tmp_path: Path) -> None:
    head = "wavelength (um),flux (W/m2/um),uncertainty\n"
    (tmp_path / "a.csv").write_text(head + lines_of(100 * WAVELENGTH, FLUX, ERROR, between=","))
    stack = only_spectrum(tmp_path / "a.csv")
    assert np.allclose(stack.wavelength, 1e6 * WAVELENGTH) and stack.ivar is not None  # as it says, whatever the size
    (tmp_path / "b.csv").write_text("wave (vac),flux (normalised)\n" + lines_of(WAVELENGTH, FLUX, between=","))
    assert np.allclose(only_spectrum(tmp_path / "b.csv").wavelength, WAVELENGTH)


def test_numbers_as_fortran_writes_them(tmp_path: Path) -> None:
    text = lines_of(WAVELENGTH, FLUX, form="{:.8E}").replace("E", "D")
    (tmp_path / "a.dat").write_text(text)
    assert np.allclose(only_spectrum(tmp_path / "a.dat").flux[0], FLUX)


@pytest.mark.parametrize(("encoding", "said"), [("utf-16", "UTF-16"), ("latin-1", "not UTF-8")])
def test_letters_of_another_encoding(encoding: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# Ångström\nwave,flux\n" + lines_of(WAVELENGTH, FLUX), encoding=encoding)
    assert said in only_defect(tmp_path / "a.csv") and "save it as UTF-8" in only_defect(tmp_path / "a.csv")


def test_a_matrix_that_stands_on_its_side(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", wavelength=WAVELENGTH, flux=np.ones((N, 3)))
    assert only_defect(tmp_path / "a.npz").endswith("transpose it, one spectrum per row")


# ---- Conventions of one pipeline each, which were read wrongly or not at all.


def test_a_mask_of_pypeit_marks_good_pixels(tmp_path: Path) -> None:
    """All but the bad pixels were masked."""
    good = np.arange(N) != 5
    table = fits.BinTableHDU(
        Table({"wave": WAVELENGTH, "flux": FLUX, "ivar": np.where(good, 100.0, 0.0), "mask": good * 1})
    )
    table.header["DMODCLS"] = "OneSpec"
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(tmp_path / "a.fits")
    assert np.flatnonzero(only_spectrum(tmp_path / "a.fits").bad[0]).tolist() == [5]


@pytest.mark.parametrize(("kind", "factor"), [("Angstrom", 1), ("nm", 10), ("Microns", 1e4)])
def test_a_unit_in_the_place_of_the_type_of_an_axis(kind: str, factor: float, tmp_path: Path) -> None:
    """As HARPS has it."""
    header = fits.Header({"CRVAL1": 4000.0 / factor, "CDELT1": 2.0 / factor, "CTYPE1": kind})
    fits.PrimaryHDU(FLUX, header).writeto(tmp_path / "a.fits")
    assert np.allclose(only_spectrum(tmp_path / "a.fits").wavelength, 4000 + 2 * np.arange(N))


def test_logarithms_that_no_card_calls_so(tmp_path: Path) -> None:
    """They were read as 3.6 micron."""
    header = fits.Header({"CRVAL1": 3.6, "CDELT1": 1e-4, "CRPIX1": 1.0, "CTYPE1": "LINEAR"})
    fits.PrimaryHDU(np.tile(FLUX, 10), header).writeto(tmp_path / "a.fits")
    assert np.allclose(only_spectrum(tmp_path / "a.fits").wavelength, 10 ** (3.6 + 1e-4 * np.arange(10 * N)))
    assert "log10 of Angstrom" in notes(tmp_path / "a.fits")
    (stack,) = (
        item
        for item in read_here(tmp_path / "a.fits", options=ReadOptions(wavelength_unit="um"))
        if isinstance(item, Spectra)
    )
    assert stack.wavelength[0] == pytest.approx(36_000)


def test_columns_that_nothing_is_known_of_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines_of(WAVELENGTH, FLUX, ERROR, ERROR))
    assert "; column 4 left out" in notes(tmp_path / "a.txt")


def test_tables_of_many_spectra_pixel_by_pixel_are_refused(tmp_path: Path) -> None:
    twice = np.concatenate([WAVELENGTH, WAVELENGTH])
    Table({"id": ["a"] * N + ["b"] * N, "wavelength": twice, "flux": np.ones(2 * N)}).write(tmp_path / "a.csv")
    assert "wavelengths do not increase steadily (pixels 49 and 50)" in only_defect(tmp_path / "a.csv")


def test_a_decimal_comma_is_refused(tmp_path: Path) -> None:
    text = "lambda;flux\n" + lines_of(WAVELENGTH, FLUX, between=";").replace(".", ",")
    (tmp_path / "a.csv").write_text(text)
    assert "among the numbers of" in only_defect(tmp_path / "a.csv")


def test_images_that_may_be_errors_are_counted(tmp_path: Path) -> None:
    """As in APOGEE's apStar files, whose images have no names."""
    header = fits.Header({"CRVAL1": 4.179, "CDELT1": 6e-6, "CRPIX1": 1.0, "CTYPE1": "LOG-LINEAR"})
    images = [fits.ImageHDU(values, header) for values in (FLUX, ERROR, ERROR * 0)]
    fits.HDUList([fits.PrimaryHDU(), *images]).writeto(tmp_path / "a.fits")
    assert np.allclose(only_spectrum(tmp_path / "a.fits").flux[0], FLUX)
    assert "2 other images of the same shape left out" in notes(tmp_path / "a.fits")


# ---- Units and logarithms that are named in their own way.


@pytest.mark.parametrize(
    ("unit", "factor"), [("ang.", 1), ("Angstroem", 1), ("mum", 1e4), ("mu m", 1e4), ("NANOMETERS", 10), ("pm", 0.01)]
)
def test_other_words_for_units(unit: str, factor: float, tmp_path: Path) -> None:
    columns = [
        fits.Column("WAVE", "D", unit, array=WAVELENGTH / factor),
        fits.Column("FLUX", "D", array=FLUX),
    ]
    fits.BinTableHDU.from_columns(columns).writeto(tmp_path / "a.fits")
    assert np.allclose(only_spectrum(tmp_path / "a.fits").wavelength, WAVELENGTH)


def test_a_unit_that_nobody_knows_can_be_told(tmp_path: Path) -> None:
    columns = [fits.Column("WAVE", "D", "furlong", array=WAVELENGTH / 10), fits.Column("FLUX", "D", array=FLUX)]
    fits.BinTableHDU.from_columns(columns).writeto(tmp_path / "a.fits")
    assert "'furlong', which is no known unit; give it with --wavelength-unit" in only_defect(tmp_path / "a.fits")
    note, stack = read_here(tmp_path / "a.fits", options=ReadOptions(wavelength_unit="nm"))
    assert isinstance(note, Noted) and "'furlong', which is no known unit, read as nm" in note.note
    assert isinstance(stack, Spectra) and np.allclose(stack.wavelength, WAVELENGTH)


@pytest.mark.parametrize(
    ("name", "unit", "values"),
    [
        ("WAVE", "log10(nm)", np.log10(WAVELENGTH / 10)),
        ("LOGLAM", "log10(nm)", np.log10(WAVELENGTH / 10)),
        ("WAVE", "dex(Angstrom)", np.log10(WAVELENGTH)),
        ("WAVE", "[log um]", np.log10(WAVELENGTH / 1e4)),
        ("WAVE", "ln(Angstrom)", np.log(WAVELENGTH)),
        ("LNWAVE", "ln(Angstrom)", np.log(WAVELENGTH)),
    ],
)
def test_units_of_logarithms(name: str, unit: str, values: Any, tmp_path: Path) -> None:
    """In a column called WAVE, log10(nm) was read as nm."""
    columns = [fits.Column(name, "D", unit, array=values), fits.Column("FLUX", "D", array=FLUX)]
    fits.BinTableHDU.from_columns(columns).writeto(tmp_path / "a.fits")
    assert np.allclose(only_spectrum(tmp_path / "a.fits").wavelength, WAVELENGTH)


@pytest.mark.parametrize(("log", "start", "step"), [("log10", 3.6, 1e-4), ("ln", 8.3, 2e-4)])
@pytest.mark.parametrize("unit", ["", "Angstrom"])
def test_a_logarithmic_axis_with_the_unit_of_the_wavelength(
    log: str, start: float, step: float, unit: str, tmp_path: Path
) -> None:
    """By the letter of the standard these are X-rays of 3.6 and 8.3 Angstrom, and so they were read."""
    header = fits.Header({"CRVAL1": start, "CDELT1": step, "CRPIX1": 1.0, "CTYPE1": "WAVE-LOG", "CUNIT1": unit})
    fits.PrimaryHDU(np.tile(FLUX, 10), header).writeto(tmp_path / "a.fits")
    values = start + step * np.arange(10 * N)
    expected = 10**values if log == "log10" else np.exp(values)
    assert np.allclose(only_spectrum(tmp_path / "a.fits").wavelength, expected)


# ---- Flags, gaps and packers.


def test_an_image_of_flags_is_a_mask_unless_it_flags_most_pixels(tmp_path: Path) -> None:
    header = fits.Header({"CRVAL1": 4000.0, "CDELT1": 2.0, "CRPIX1": 1.0, "CTYPE1": "WAVE", "CUNIT1": "Angstrom"})
    flags = np.zeros(N, "i2")
    flags[7] = 16
    for name, image in (("few", flags), ("most", flags + 1)):
        hdus = [fits.PrimaryHDU(FLUX, header), fits.ImageHDU(image, header, name="DQ")]
        fits.HDUList(hdus).writeto(tmp_path / f"{name}.fits")
    assert np.flatnonzero(only_spectrum(tmp_path / "few.fits").bad[0]).tolist() == [7]
    assert notes(tmp_path / "few.fits") == "DQ read as a mask: what is not 0 is a bad pixel"
    assert not only_spectrum(tmp_path / "most.fits").bad.any()
    assert "not used: DQ, which flags most pixels" in notes(tmp_path / "most.fits")


def test_images_left_out_are_named(tmp_path: Path) -> None:
    header = fits.Header({"CRVAL1": 4000.0, "CDELT1": 2.0, "CRPIX1": 1.0, "CTYPE1": "WAVE", "CUNIT1": "Angstrom"})
    hdus = [fits.PrimaryHDU(FLUX, header), *(fits.ImageHDU(FLUX, header, name=name) for name in ("SKY", "MODEL"))]
    fits.HDUList(hdus).writeto(tmp_path / "a.fits")
    assert "2 other images of the same shape left out (SKY, MODEL)" in notes(tmp_path / "a.fits")


@pytest.mark.parametrize("filling", [0.0, np.nan, -1.0])
def test_vectors_whose_ends_were_never_filled(filling: float, tmp_path: Path) -> None:
    wavelength = np.tile(WAVELENGTH, (2, 1))
    wavelength[:, -8:] = filling
    flux = np.tile(FLUX, (2, 1))
    flux[:, -8:] = filling
    columns = [fits.Column(name, f"{N}D", array=rows) for name, rows in (("WAVE", wavelength), ("FLUX", flux))]
    fits.BinTableHDU.from_columns(columns).writeto(tmp_path / "a.fits")
    stacks = [item for item in read_here(tmp_path / "a.fits") if isinstance(item, Spectra)]
    assert sum(map(len, stacks)) == 2
    assert all(np.allclose(stack.wavelength, WAVELENGTH[:-8]) for stack in stacks)
    assert "pixels without a wavelength left out" in notes(tmp_path / "a.fits")


@pytest.mark.parametrize(("packer", "said"), [("bz2", "packed with bzip2"), ("lzma", "packed with xz")])
def test_other_packers_are_named(packer: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.fits").write_bytes(import_module(packer).compress(b"SIMPLE  = "))
    assert only_defect(tmp_path / "a.fits") == f"{said}; unpack it first, or pack it with gzip"


def test_archives_of_other_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines_of(WAVELENGTH, FLUX))
    for kind in ("zip", "tar"):
        archive = shutil.make_archive(str(tmp_path / "b"), kind, tmp_path, "a.txt")
        assert "archive" in only_defect(Path(archive)) and "unpack it first" in only_defect(Path(archive))


def test_a_column_of_designations_names_the_spectra(tmp_path: Path) -> None:
    names = ["2MASS J00011217+1535355", "α Cen B"]
    table = Table({"designation": names, "flux": np.tile(FLUX, (2, 1))}, meta={"wavelength": WAVELENGTH.tolist()})
    table.write(tmp_path / "a.ecsv")
    assert only_spectrum(tmp_path / "a.ecsv").ids == names


def test_numbers_below_and_above_zero_are_no_wavelengths(tmp_path: Path) -> None:
    """Only one number, such as -1, stands for pixels that were never filled."""
    (tmp_path / "a.txt").write_text(lines_of(WAVELENGTH - 5000, FLUX))
    *_, defect = read_here(tmp_path / "a.txt")
    assert isinstance(defect, Defect) and "not finite and positive" in defect.detail


def test_further_tables_with_flux_are_counted(tmp_path: Path) -> None:
    """Of three spectra two were left out without a word."""
    columns = [fits.Column("WAVE", "D", array=WAVELENGTH), fits.Column("FLUX", "D", array=FLUX)]
    tables = [fits.BinTableHDU.from_columns(columns, name=name) for name in ("NIGHT1", "NIGHT2", "NIGHT3")]
    fits.HDUList([fits.PrimaryHDU(), *tables]).writeto(tmp_path / "a.fits")
    assert len(only_spectrum(tmp_path / "a.fits")) == 1
    assert notes(tmp_path / "a.fits").startswith("2 other tables with flux left out (NIGHT2, NIGHT3)")


@pytest.mark.parametrize(("mark", "unit", "factor"), [(",", "nm", 10), (" ", "(um)", 1e4), ("\t", "Angstrom", 1)])
def test_a_row_of_units_below_the_names(mark: str, unit: str, factor: float, tmp_path: Path) -> None:
    rows = "\n".join(f"{w / factor:.8f}{mark}{f:.4f}" for w, f in zip(WAVELENGTH, FLUX, strict=True))
    (tmp_path / "a.txt").write_text(f"wavelength{mark}flux\n{unit}{mark}counts\n{rows}\n")
    assert np.allclose(only_spectrum(tmp_path / "a.txt").wavelength, WAVELENGTH, rtol=1e-6)


def test_a_column_without_a_name_is_told(tmp_path: Path) -> None:
    """As pandas writes its index."""
    rows = "\n".join(f"{i},{w:.3f},{f:.4f}" for i, (w, f) in enumerate(zip(WAVELENGTH, FLUX, strict=True)))
    (tmp_path / "a.csv").write_text(f",wavelength,flux\n{rows}\n")
    assert notes(tmp_path / "a.csv") == "columns not used: one without a name"
    (tmp_path / "b.csv").write_text(f"n,energy,flux\n{rows}\n")
    assert only_defect(tmp_path / "b.csv").endswith("found energy, flux, n")
