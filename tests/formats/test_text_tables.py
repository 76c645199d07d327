"""CSV, ECSV and VOTable: one spectrum per file, or one per row."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from astropy import units as u
from astropy.io.votable import from_table
from astropy.io.votable.tree import Param
from astropy.table import MaskedColumn, Table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rarespec import formats
from rarespec.formats.reader import MAX_ROWS
from rarespec.spectrum import Defect, Noted, Reason, Spectra

# What astropy says about the files written here is not the point, and pytest-xdist cannot carry its VOTable warnings.
pytestmark = pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyWarning")

BIG = 2**53 + 1
WAVELENGTH = np.linspace(4000, 5000, 12)


def only(path: Path) -> Spectra:
    (found,) = formats.read_here(path)
    assert isinstance(found, Spectra), found
    return found


def defect(path: Path) -> Defect:
    (found,) = formats.read_here(path)
    assert isinstance(found, Defect), found
    return found


def pixel_table() -> Table:
    rng = np.random.default_rng(0)
    return Table({"wavelength": WAVELENGTH, "flux": rng.normal(size=12), "err": rng.uniform(1, 2, 12)})


def row_table(n: int = 3, names: list[str] | None = None) -> Table:
    rng = np.random.default_rng(1)
    flux = rng.normal(size=(n, 12))
    table = Table({"id": np.arange(BIG, BIG + n), "ra": rng.uniform(0, 360, n), "class": ["Ström"] * n})
    table["count"] = np.arange(n)
    for j, name in enumerate(names or [repr(w) for w in WAVELENGTH.tolist()]):
        table[name] = flux[:, j]
    return table


@pytest.mark.parametrize(
    ("suffix", "format"),
    [("csv", "ascii.csv"), ("ecsv", "ascii.ecsv"), ("vot", "votable"), ("txt", "ascii.basic"), ("dat", "ascii.tab")],
)
def test_one_spectrum_per_file(tmp_path: Path, suffix: str, format: str) -> None:
    table = pixel_table()
    table.write(tmp_path / f"star.{suffix}", format=format)
    spectra = only(tmp_path / f"star.{suffix}")
    assert spectra.ids == ["star"]
    assert np.array_equal(spectra.wavelength, WAVELENGTH)
    assert np.array_equal(spectra.flux[0], table["flux"])
    assert spectra.ivar is not None
    assert np.allclose(spectra.ivar[0], np.asarray(table["err"]) ** -2.0, rtol=1e-15)
    assert not spectra.bad.any()


@pytest.mark.parametrize(("suffix", "format"), [("csv", "ascii.csv"), ("ecsv", "ascii.ecsv"), ("vot", "votable")])
def test_one_spectrum_per_row_under_wavelengths(tmp_path: Path, suffix: str, format: str) -> None:
    table = row_table()
    table.write(tmp_path / f"a.{suffix}", format=format)
    spectra = only(tmp_path / f"a.{suffix}")
    assert spectra.ids == [str(BIG + i) for i in range(3)]
    assert np.array_equal(spectra.wavelength, WAVELENGTH)
    assert np.array_equal(spectra.flux, np.stack([table[c] for c in table.colnames[4:]], axis=1))
    assert spectra.ivar is None
    assert spectra.catalogue["ra"] == table["ra"].tolist()
    assert spectra.catalogue["class"] == ["Ström"] * 3
    assert spectra.catalogue["count"] == [0, 1, 2]
    assert all(type(value) is int for value in spectra.catalogue["count"])


@pytest.mark.parametrize("where", ["ecsv", "vot"])
@pytest.mark.parametrize("name", ["wavelength", "loglam"])
def test_numbered_columns_with_wavelengths_in_the_metadata(tmp_path: Path, where: str, name: str) -> None:
    table = row_table(names=[f"flux_{i:04d}" for i in range(12)])
    for i in range(12):
        table[f"ivar_{i:04d}"] = np.full(3, 0.0 if i == 5 else 4.0)
    values = np.log10(WAVELENGTH) if name == "loglam" else WAVELENGTH
    if where == "ecsv":
        table.meta[name] = values.tolist()
        table.write(tmp_path / "a.ecsv", format="ascii.ecsv")
    else:
        document = from_table(table)
        element = document.get_first_table()
        param = Param(
            document, name=name, datatype="double", arraysize="12", value=" ".join(map(repr, values.tolist()))
        )
        element.params.append(param)
        document.to_xml(str(tmp_path / "a.vot"))
    spectra = only(tmp_path / f"a.{where}")
    assert np.allclose(spectra.wavelength, WAVELENGTH, rtol=1e-14)
    assert spectra.bad[:, 5].all() and spectra.bad.sum() == 3
    assert spectra.catalogue["class"] == ["Ström"] * 3


def test_numbered_columns_without_wavelengths_are_a_defect(tmp_path: Path) -> None:
    row_table(names=[f"flux_{i:04d}" for i in range(12)]).write(tmp_path / "a.csv", format="ascii.csv")
    found = defect(tmp_path / "a.csv")
    assert found.reason is Reason.MISSING_COLUMN
    assert "wavelength" in found.detail and "flux_0001" in found.detail


@pytest.mark.parametrize(("suffix", "format"), [("ecsv", "ascii.ecsv"), ("vot", "votable")])
def test_vectors_in_columns(tmp_path: Path, suffix: str, format: str) -> None:
    rng = np.random.default_rng(2)
    wavelength = WAVELENGTH + np.array([0, 0, 3])[:, np.newaxis]
    table = Table({"object_id": ["a", "b", "c"], "lambda": wavelength, "flux": rng.normal(size=(3, 12)).astype("f4")})
    table["mask"] = np.zeros((3, 12), dtype="i4")
    table["mask"][1, 2] = 7
    table.write(tmp_path / f"a.{suffix}", format=format)
    first, second = formats.read_here(tmp_path / f"a.{suffix}")
    assert isinstance(first, Spectra) and isinstance(second, Spectra)
    assert (first.ids, second.ids) == (["a", "b"], ["c"])
    assert first.flux.tobytes() == np.asarray(table["flux"][:2]).tobytes()
    assert first.bad.sum() == 1 and first.bad[1, 2]
    assert second.wavelength[0] == 4003


def test_ecsv_vectors_of_different_lengths(tmp_path: Path) -> None:
    rows = np.empty(2, dtype=object)
    rows[:] = [np.array([4000.0, 4001, 4002]), np.array([4000.0, 4001])]
    flux = np.empty(2, dtype=object)
    flux[:] = [np.array([1.0, 2, 3]), np.array([4.0, 5])]
    Table({"id": ["a", "b"], "wave": rows, "flux": flux}).write(tmp_path / "a.ecsv", format="ascii.ecsv")
    found = list(formats.read_here(tmp_path / "a.ecsv"))
    assert [s.flux.tolist() for s in found if isinstance(s, Spectra)] == [[[1, 2, 3]], [[4, 5]]]


@pytest.mark.parametrize(("suffix", "format"), [("ecsv", "ascii.ecsv"), ("vot", "votable")])
@pytest.mark.parametrize(("unit", "factor"), [(u.nm, 10), (u.um, 1e4), (u.AA, 1)])
def test_units_of_wavelength(tmp_path: Path, suffix: str, format: str, unit: u.Unit, factor: float) -> None:
    table = pixel_table()
    table["wavelength"] = WAVELENGTH / factor
    table["wavelength"].unit = unit
    table.write(tmp_path / f"a.{suffix}", format=format)
    assert np.allclose(only(tmp_path / f"a.{suffix}").wavelength, WAVELENGTH, rtol=1e-14)


def test_what_ecsv_metadata_and_csv_remarks_say_of_a_spectrum(tmp_path: Path) -> None:
    table = pixel_table()
    table.meta = {"id": "0012-5", "ra": 12.5, "CLASS": "STAR", "gaia": BIG, "comments": ["x"]}
    table.write(tmp_path / "a.ecsv", format="ascii.ecsv")
    (tmp_path / "b.csv").write_text(
        f"# id: 0012-5\n# ra = 12.5\n# CLASS: STAR\n# gaia: {BIG}\nwave,flux\n4000,1\n4001,2\n", encoding="utf-8"
    )
    for name in ("a.ecsv", "b.csv"):
        catalogue = only(tmp_path / name).catalogue
        assert (catalogue["id"], catalogue["ra"], catalogue["class"]) == (["0012-5"], [12.5], ["STAR"])
        assert catalogue["gaia"] == [BIG]


def test_masked_and_blank_cells_are_bad_pixels_not_zeros(tmp_path: Path) -> None:
    table = pixel_table()
    table["flux"] = MaskedColumn(table["flux"], mask=np.arange(12) == 4)
    table.write(tmp_path / "a.ecsv", format="ascii.ecsv")
    table.write(tmp_path / "b.csv", format="ascii.csv")
    table.write(tmp_path / "c.vot", format="votable")
    for name in ("a.ecsv", "b.csv", "c.vot"):
        spectra = only(tmp_path / name)
        assert np.flatnonzero(spectra.bad[0]).tolist() == [4]
        assert np.isnan(spectra.flux[0, 4])


def test_words_in_a_mask(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("wave;flux;mask\n4000;1;False\n4001;2;True\n4002;3;\n")
    assert only(tmp_path / "a.csv").bad.tolist() == [[False, True, True]]


def test_header_in_a_remark(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.txt", np.column_stack([WAVELENGTH, WAVELENGTH * 2]), header="wavelength flux")
    assert np.array_equal(only(tmp_path / "a.txt").flux[0], WAVELENGTH * 2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("4000\n4001\n", Reason.MISSING_COLUMN),
        ("id,ra,dec\n1,2,3\n", Reason.MISSING_COLUMN),
        ("flux\n1\n2\n", Reason.MISSING_COLUMN),
        ("wave,flux\n4000,1\n4000,2\n", Reason.LAYOUT),
        ("wave,flux\n4000,1\n-4001,2\n", Reason.LAYOUT),
        ("wave,flux\n4000,1\n4001\n4002,2\n", Reason.CORRUPT),
        ("wave,flux\n4000,1\n4001,abc\n", Reason.CORRUPT),
        ("wave,flux\n4000,1\n4001,2.", Reason.TRUNCATED),
        ("wave,flux\n", Reason.EMPTY),
        ("# nothing\n", Reason.EMPTY),
        ("wave,flux,flux\n4000,1,2\n", Reason.LAYOUT),
        ("The file you asked for is not here.\n", Reason.MISSING_COLUMN),
        ("<?xml version='1.0'?><note/>\n", Reason.UNRECOGNISED),
        ("<?xml version='1.0'?><VOTABLE><RESOURCE><TABLE>", Reason.CORRUPT),
        ("# %ECSV 1.0\n# ---\n# datatype:\n# - {name: a\n", Reason.CORRUPT),
    ],
)
def test_text_that_is_no_spectrum(tmp_path: Path, text: str, reason: Reason) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert defect(tmp_path / "a.csv").reason is reason


def test_votable_that_points_elsewhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.vot").write_text(
        "<?xml version='1.0'?><VOTABLE version='1.4'><RESOURCE><TABLE><FIELD name='flux' datatype='double'/>"
        "<DATA><BINARY><STREAM href='file:///etc/hostname'/></BINARY></DATA></TABLE></RESOURCE></VOTABLE>"
    )
    assert defect(tmp_path / "a.vot").reason is Reason.LAYOUT


def test_a_long_csv_comes_in_bounded_stacks_with_one_type_per_column(tmp_path: Path) -> None:
    n = MAX_ROWS + 5
    with open(tmp_path / "a.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["plate", "note", "z", "4000", "4001.5", "4003"])
        for i in range(n):
            writer.writerow([i, "x" if i == n - 1 else i, 0 if i else 0.5, i, i + 0.25, i + 0.5])
    stacks = [s for s in formats.read_here(tmp_path / "a.csv") if isinstance(s, Spectra)]
    assert [len(s) for s in stacks] == [MAX_ROWS, 5]
    assert stacks[0].catalogue["note"][0] == "0"
    assert {type(v) for s in stacks for v in s.catalogue["plate"]} == {int}
    assert {type(v) for s in stacks for v in s.catalogue["z"]} == {float}
    assert stacks[1].ids[-1] == f"a-{n - 1:06d}"


def test_leading_zeros_and_long_numbers_stay_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,code,long,4000,4001\n007,0012,99999999999999999999,1,2\n008,0013,1,1,2\n")
    catalogue = only(tmp_path / "a.csv").catalogue
    assert catalogue["id"] == ["007", "008"]
    assert catalogue["code"] == ["0012", "0013"]
    assert catalogue["long"] == ["99999999999999999999", "1"]


def test_gzipped_csv(tmp_path: Path) -> None:
    buffer = io.StringIO()
    pixel_table().write(buffer, format="ascii.csv")
    (tmp_path / "star.csv.gz").write_bytes(gzip.compress(buffer.getvalue().encode()))
    assert only(tmp_path / "star.csv.gz").ids == ["star"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_csv_comes_back(tmp_path: Path, data: st.DataObject) -> None:
    p = data.draw(st.integers(2, 6))
    wavelength = sorted(data.draw(st.sets(st.floats(3001, 1e5), min_size=p, max_size=p)))
    n = data.draw(st.integers(1, 4))
    flux = data.draw(st.lists(st.lists(st.floats(), min_size=p, max_size=p), min_size=n, max_size=n))
    text = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1).filter(lambda t: t.strip() == t)
    ids = data.draw(st.lists(text.filter(lambda t: not t.startswith("#")), min_size=n, max_size=n, unique=True))
    with open(tmp_path / "a.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *map(repr, wavelength)])
        writer.writerows([id, *map(repr, row)] for id, row in zip(ids, flux, strict=True))
    spectra = only(tmp_path / "a.csv")
    assert spectra.ids == ids
    assert spectra.wavelength.tolist() == wavelength
    assert np.array_equal(spectra.flux, np.array(flux), equal_nan=True)


# ---- A last line without a newline: often whole, sometimes cut.


def text_of(*columns: np.ndarray, form: str = "%.6e") -> str:
    file = io.StringIO()
    np.savetxt(file, np.stack(columns, axis=1), fmt=form)
    return file.getvalue()


@pytest.mark.parametrize("form", ["%.6e", "%.4f", "%s"])
@pytest.mark.parametrize("head", ["", "wavelength flux\n"])
def test_a_whole_last_line_needs_no_newline(tmp_path: Path, head: str, form: str) -> None:
    flux = np.linspace(1, 2, 12)
    (tmp_path / "a.txt").write_text((head + text_of(WAVELENGTH, flux, form=form)).rstrip("\n"))
    found = list(formats.read_here(tmp_path / "a.txt"))
    assert any("does not end in a newline" in item.note for item in found if isinstance(item, Noted))
    (stack,) = (item for item in found if isinstance(item, Spectra))
    assert np.allclose(stack.flux[0], flux, rtol=1e-4) and len(stack.wavelength) == 12


@pytest.mark.parametrize("form", ["%.6e", "%.4f"])
@pytest.mark.parametrize("lost", [1, 2, 4, 9, 14])
def test_a_last_line_that_is_cut_is_refused(tmp_path: Path, form: str, lost: int) -> None:
    """However much of it is there: one digit of the exponent less would be flux of another size."""
    whole = text_of(WAVELENGTH, np.linspace(1e-16, 2e-16, 12) if form == "%.6e" else np.ones(12), form=form)
    (tmp_path / "a.txt").write_text(whole.rstrip("\n")[:-lost])
    assert defect(tmp_path / "a.txt").reason is Reason.TRUNCATED


def test_an_exponent_that_is_cut_among_numbers_of_any_length(tmp_path: Path) -> None:
    lines = [f"{4000 + i} {flux}" for i, flux in enumerate(["1.5e-16", "1.23456e-16", "2e-16", "1.2345678e-1"])]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    assert defect(tmp_path / "a.txt").reason is Reason.TRUNCATED
