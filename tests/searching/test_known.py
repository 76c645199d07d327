"""Known examples in every form they may be given, and everything that may be wrong with them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import MaskedColumn, QTable, Table

from conftest import SMALL_GRID, make_spectra, small_survey_files
from rarespec.errors import UsageError
from rarespec.formats import read_here
from rarespec.mock.simulate import SkyChoice, simulate_files
from rarespec.searching.known.known_examples import Examples, examples_of
from rarespec.searching.request import SearchRequest
from rarespec.spectrum import PAPER_GRID, Resolution, Spectra
from rarespec.spectrum.resolution import smooth
from rarespec.survey import Survey
from rarespec.survey.ingest import ingest
from rarespec.survey.placement import place

N = 40
RA = (359.99 + 0.001 * np.arange(N)) % 360  # across the seam, 3.6 arcsec from one to the next
DEC = np.zeros(N)


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Survey:
    survey = Survey.create(tmp_path_factory.mktemp("known") / "s", SMALL_GRID)
    survey.append(make_spectra(N, SMALL_GRID, ra=RA.tolist(), dec=DEC.tolist()))
    return survey


@pytest.fixture(scope="module")
def sdss(tmp_path_factory) -> Survey:
    """A survey on the paper's grid whose ids are plate, mjd and fibre."""
    n, survey = 30, Survey.create(tmp_path_factory.mktemp("sdss") / "s")
    plate, mjd, fibre = [355 + i // 10 for i in range(n)], [51788] * n, [570 + i for i in range(n)]
    spectra = make_spectra(n, plate=plate, mjd=mjd, fiberid=fibre)
    ids = [f"{p:04d}-{m}-{f:04d}" for p, m, f in zip(plate, mjd, fibre, strict=True)]
    survey.append(replace(spectra, catalogue=spectra.catalogue | {"id": ids}))
    return survey


def only_problem(examples: Examples) -> str:
    (problem,) = examples.problems
    return problem


# --- words and ids


@pytest.mark.parametrize(
    "known",
    [
        ["s00007", "s00002"],
        ("s00007", "s00002"),
        np.array(["s00007", "s00002"]),
        np.array(["s00007", "s00002"], dtype=object),
        "s00007,s00002",
        ["s00007, s00002"],
        [["s00007"], ["s00002"]],
        [b"s00007", "s00002 "],
        (id for id in ("s00007", "s00002")),
        pa.array(["s00007", "s00002"]),
        Table({"id": ["s00007", "s00002"]})["id"],
    ],
    ids=lambda known: type(known).__name__,
)
def test_ids_in_the_order_given(survey, known):
    examples = examples_of(survey, known)
    assert examples.rows.tolist() == [7, 2] and examples.rows.dtype == np.intp
    assert examples.ids == ["s00007", "s00002"]
    assert (examples.spectra, examples.problems, examples.n_given) == (None, [], 2)


def test_one_id(survey):
    assert examples_of(survey, "s00007").rows.tolist() == [7]


def test_numbers_are_ids_too(tmp_path):
    survey = Survey.create(tmp_path / "s", SMALL_GRID)
    spectra = make_spectra(3, SMALL_GRID)
    survey.append(replace(spectra, catalogue=spectra.catalogue | {"id": ["101", "39628473198711461", "7"]}))
    assert examples_of(survey, [39628473198711461, np.int64(101), 7.0]).rows.tolist() == [1, 0, 2]
    assert "lost digits" in only_problem(examples_of(survey, [39628473198711461.0, 7]))
    assert examples_of(survey, Table({"TARGETID": [39628473198711461]})).rows.tolist() == [1]


def test_unknown_and_repeated_ids_do_not_stop_the_rest(survey):
    examples = examples_of(survey, ["s00007", "s0000l", "s00007", "nothing like it", "s00007"])
    assert examples.rows.tolist() == [7] and examples.n_given == 5
    assert examples.problems == [
        "no spectrum has the id 's0000l'; did you mean 's00009'?",
        "no spectrum has the id 'nothing like it'",
        "s00007: given 3 times; it counts once",
    ]


def test_an_endless_id_is_told_in_short(survey):
    assert len(only_problem(examples_of(survey, ["s00007", "x" * 1_000_000]))) < 1000


def test_the_suggestion_shares_the_beginning_or_the_end(sdss):
    right = str(sdss.ids[3])
    for wrong in (f"spec-{right}", f"{right}.", right.replace("-", "_", 1), right.lstrip("0")):
        with pytest.raises(UsageError, match=f"{wrong}'; did you mean '{right}'"):
            examples_of(sdss, wrong)


def test_only_a_few_suggestions_are_looked_up(survey):
    problems = examples_of(survey, ["s00001", *(f"s0000{letter}" for letter in "abcdefghij")]).problems
    assert len(problems) == 10
    assert sum("did you mean" in problem for problem in problems) == 5


def test_missing_files_are_told_as_files(survey, tmp_path):
    for word in ("mine.csv", "SPEC.FITS", "some/where", str(tmp_path / "x"), "list.txt.gz"):
        assert only_problem(examples_of(survey, ["s00001", word])) == f"{word}: no such file; check the path"
    assert "no such file" in only_problem(examples_of(survey, ["s00001", Path("s00002")]))


def test_an_id_of_the_survey_is_never_a_file(survey, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s00003").write_text("s00004\n")
    Path("a,b.txt").write_text("s00005\n")
    assert examples_of(survey, ["s00003"]).rows.tolist() == [3]
    assert examples_of(survey, [Path("s00003")]).rows.tolist() == [4]
    assert examples_of(survey, ["a,b.txt"]).rows.tolist() == [5]


@pytest.mark.parametrize("nothing", ["", [], [""], ",", np.array([], dtype=str), ()])
def test_nothing_given(survey, nothing):
    with pytest.raises(UsageError, match="no examples were given; give ids such as s00000, a table"):
        examples_of(survey, nothing)


def test_a_table_without_rows_is_named(survey, tmp_path):
    (tmp_path / "found.csv").write_text("id,label\n")
    with pytest.raises(UsageError, match=r"no examples were given: \S*found\.csv: contains no examples"):
        examples_of(survey, tmp_path / "found.csv")
    assert "contains no examples" in only_problem(examples_of(survey, ["s00001", tmp_path / "found.csv"]))


def test_nothing_usable_lists_the_first_problems(survey):
    with pytest.raises(UsageError, match=r"none of the 9 .*'x0'.*'x4'; and 4 more\. To fix this, give ids"):
        examples_of(survey, [f"x{i}" for i in range(9)])


def test_objects_that_are_no_examples(survey):
    examples = examples_of(survey, ["s00001", None, float("nan"), object])
    assert examples.rows.tolist() == [1] and len(examples.problems) == 3 and examples.n_given == 4


def test_an_empty_survey_and_a_radius_that_cannot_be(survey, tmp_path):
    with pytest.raises(UsageError, match="empty"):
        examples_of(Survey.create(tmp_path / "e", SMALL_GRID), "x")
    for radius in (0, -1, np.nan, np.inf):
        with pytest.raises(UsageError, match="radius"):
            examples_of(survey, "s00001", radius)


# --- tables in memory


def test_positions(survey):
    sky = SkyCoord(RA[[4, 9]] + 0.0003, DEC[[4, 9]] - 0.0002, unit="deg")
    for known in (sky, sky.galactic, [sky[0], sky[1]], QTable({"where": sky})):
        assert examples_of(survey, known).rows.tolist() == [4, 9]
    assert examples_of(survey, [sky[0], "s00001"]).ids == ["s00004", "s00001"]


def test_the_radius_decides_and_the_nearest_is_named(survey):
    near = SkyCoord(RA[4], 1 / 3600, unit="deg")
    assert examples_of(survey, near, 1.01).rows.tolist() == [4]
    with pytest.raises(UsageError, match=r"no spectrum within 0.99 arcsec; the nearest, s00004, is 1.0 arcsec away"):
        examples_of(survey, near, 0.99)


def test_several_positions_of_one_spectrum_count_once(survey):
    examples = examples_of(survey, SkyCoord([RA[4], RA[4] + 0.0001], [0, 0], unit="deg"))
    assert examples.rows.tolist() == [4] and only_problem(examples) == "s00004: given 2 times; it counts once"


def test_several_spectra_near_one_position(survey):
    examples = examples_of(survey, SkyCoord([RA[4] + 0.0001], [0], unit="deg"), 5.0)
    assert examples.rows.tolist() == [4]
    assert "positions with several spectra within 5 arcsec: 1; using the nearest" in only_problem(examples)


TABLE = Table(
    {
        "Name": ["s00003", "elsewhere", "", "lost", "", ""],
        "RAJ2000": MaskedColumn([0, RA[5], RA[6], 0, 180, 0], mask=[1, 0, 0, 1, 0, 1]),
        "DEJ2000": MaskedColumn([0, 0, 0, 0, 45.0, 0], mask=[1, 0, 0, 1, 0, 1]),
    }
)
SAID = (
    ": ids that are not in the survey: 1, 1 of them found by position",
    ", row 5 (180.00000 +45.00000): no spectrum within 2 arcsec; the nearest, s00039, is 135.0 degrees away",
    ", row 4: no spectrum has the id 'lost'",
    ", row 6: neither an id nor a position",
)


def check_table(examples: Examples, where: str) -> None:
    assert examples.rows.tolist() == [3, 5, 6] and examples.n_given == 6
    assert len(examples.problems) == len(SAID)
    for problem, said in zip(examples.problems, SAID, strict=True):
        assert problem == where + said


def test_ids_first_then_positions(survey):
    check_table(examples_of(survey, TABLE), "the Table given")


def test_arrow_numpy_and_dictionaries(survey):
    columns = {name: TABLE[name].tolist() for name in TABLE.colnames}
    check_table(examples_of(survey, pa.table(columns)), "the Table given")
    check_table(examples_of(survey, columns), "the dict given")
    check_table(examples_of(survey, TABLE.filled(np.nan).as_array()), "the ndarray given")


def test_pandas(survey):
    pandas = pytest.importorskip("pandas")
    check_table(examples_of(survey, TABLE.to_pandas()), "the DataFrame given")
    check_table(examples_of(survey, TABLE.to_pandas().set_index("Name")), "the DataFrame given")
    assert examples_of(survey, pandas.Series(["s00001"])).rows.tolist() == [1]


def test_the_column_of_which_the_survey_knows_most_holds_the_ids(survey):
    table = {"id": [1, 2, 3], "name": ["s00001", "s00002", "x"], "source_id": ["s00003", "y", "z"]}
    assert examples_of(survey, table).rows.tolist() == [1, 2]


def test_plate_mjd_fibre(sdss):
    wanted = sdss.catalogue.to_table(["plate", "mjd", "fiberid"])[[4, 2]]
    wanted["specObjID"] = [2**61, 2**61 + 1]
    assert examples_of(sdss, wanted).rows.tolist() == [4, 2]


def test_sexagesimal_and_units(survey):
    words = SkyCoord(RA[[4, 9]], [0, 0], unit="deg").to_string("hmsdms", sep=":", precision=4)
    ra, dec = zip(*map(str.split, words), strict=True)
    assert examples_of(survey, Table({"ra": ra, "dec": dec})).rows.tolist() == [4, 9]
    hours = Table({"ra": RA[[4, 9]] / 15, "dec": [0.0, 0]}, units={"ra": "hourangle", "dec": "deg"})
    assert examples_of(survey, hours).rows.tolist() == [4, 9]
    examples = examples_of(survey, {"id": ["s00001", "x", ""], "ra": ["", "here", "10"], "dec": ["", "5", "95"]})
    assert [problem.split(": ", 1)[0][-5:] for problem in examples.problems] == ["row 2", "row 3"]
    assert all("cannot read its position" in problem for problem in examples.problems)


def test_a_table_that_names_nothing(survey):
    problem = only_problem(examples_of(survey, ["s00001", Table({"colour": ["red"]})]))
    assert problem.startswith("the Table given: missing column: no column of ids (id, object_id")
    assert problem.endswith("there is colour")


def test_ids_that_lost_their_digits(survey):
    table = {"objid": np.array([1.2e18]), "ra": [RA[3]], "dec": [0.0]}
    examples = examples_of(survey, table)
    assert examples.rows.tolist() == [3] and "column objid: ids stored as floating point have" in examples.problems[0]


def test_survey_rows_without_positions_are_counted(tmp_path):
    survey = Survey.create(tmp_path / "s", SMALL_GRID)
    survey.append(make_spectra(3, SMALL_GRID, ra=[1.0, None, 2.0], dec=[1.0, None, 2.0]))
    examples = examples_of(survey, SkyCoord(1, 1, unit="deg"))
    assert only_problem(examples) == "spectra of the survey that have no position and cannot match: 1"


def test_a_survey_without_positions_says_so_once(tmp_path):
    survey = Survey.create(tmp_path / "s", SMALL_GRID)
    survey.append(make_spectra(3, SMALL_GRID))
    examples = examples_of(survey, ["s00001", SkyCoord(1, 1, unit="deg"), SkyCoord(2, 1, unit="deg")])
    assert sum("no positions to match" in problem for problem in examples.problems) == 1
    assert sum("no spectrum within" in problem for problem in examples.problems) == 2


# --- files of tables


def written(folder: Path, ending: str) -> Path:
    path = folder / f"examples{ending}"
    if ending == ".parquet":
        pq.write_table(pa.table({name: TABLE[name].tolist() for name in TABLE.colnames}), path)
    elif ending in (".txt", ".csv.gz"):
        lines = ["# my objects", "Name,RAJ2000,DEJ2000"]
        lines += [",".join("" if value is np.ma.masked else str(value) for value in row) for row in TABLE]
        text = "\n".join(lines)  # no end of the last line, as editors leave it
        path.write_bytes(gzip.compress(text.encode()) if ending == ".csv.gz" else text.encode("utf-8-sig"))
    else:
        kind = {".csv": "ascii.csv", ".ecsv": "ascii.ecsv", ".vot": "votable", ".fits": "fits"}[ending]
        TABLE.write(path, format=kind)
    return path


@pytest.mark.parametrize("ending", [".csv", ".txt", ".csv.gz", ".ecsv", ".vot", ".fits", ".parquet"])
def test_files_of_tables(survey, tmp_path, ending):
    path = written(tmp_path, ending)
    for known in (path, str(path), [str(path)]):
        check_table(examples_of(survey, known), str(path))
    assert examples_of(survey, ["s00001", path, "s00002"]).rows.tolist() == [1, 3, 5, 6, 2]


@pytest.mark.parametrize(
    "text",
    [
        "s00007\ns00002\n",
        "s00007\r\ns00002",
        "# carbon stars\nID\ns00007\ns00002\n",
        "objid ra dec\ns00007 1 2\ns00002 3 4\n",
        "name\tflux\ns00007\t1.0\ns00002\t3.0\n",
        "id;lambda\ns00007;1\ns00002;2\n",
    ],
)
def test_text_files(survey, tmp_path, text):
    path = tmp_path / "mine"
    path.write_bytes(text.encode())
    examples = examples_of(survey, path)
    assert examples.rows.tolist() == [7, 2] and examples.problems == []


def test_a_folder_of_tables(survey, tmp_path):
    (tmp_path / "one.txt").write_text("s00007\n")
    (tmp_path / "two.csv").write_text("id,z\ns00002,0\n")
    for known in (tmp_path, f"{tmp_path}/*.*"):
        assert examples_of(survey, known).rows.tolist() == [7, 2]


def test_columns_of_unlike_length(survey):
    problem = only_problem(examples_of(survey, ["s00001", {"ra": [1.0, 2.0], "dec": [1.0]}]))
    assert problem == "the dict given: unexpected layout: the columns ra, dec differ in length"


def test_ids_in_text_keep_their_zeros(tmp_path):
    survey = Survey.create(tmp_path / "s", SMALL_GRID)
    spectra = make_spectra(2, SMALL_GRID)
    survey.append(replace(spectra, catalogue=spectra.catalogue | {"id": ["007", "7"]}))
    (tmp_path / "ids.csv").write_text("id\n007\n")
    assert examples_of(survey, tmp_path / "ids.csv").rows.tolist() == [0]


def test_a_measured_flux_makes_no_spectrum(survey, tmp_path):
    path = tmp_path / "lines.fits"
    Table({"RA": [RA[3]], "DEC": [0.0], "FLUX": [1.0]}).write(path)
    assert examples_of(survey, path).rows.tolist() == [3]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty file: 0 bytes"),
        (b"<html>404</html>", "web page instead of data"),
        (b"\0\1\2\3", "unrecognised format"),
        (b"id,ra\na,1\nb\n", "corrupt: row 2 has 1 cells but the header has 2"),
        (b"<VOTABLE><oops", "corrupt: VOTable"),
        (b"PAR1 is not all", "corrupt: Parquet"),
        (b"SIMPLE  = T", "truncated"),
        (b"flux,wavelength\n1,2\n", "unexpected layout: wavelength"),
    ],
)
def test_unreadable_files_give_their_reason(survey, tmp_path, content, said):
    path = tmp_path / "file"
    path.write_bytes(content)
    examples = examples_of(survey, [path, "s00001"])
    assert examples.rows.tolist() == [1] and examples.n_given == 2
    assert only_problem(examples).startswith(str(path)) and f": {said}" in only_problem(examples)


def test_numbers_without_a_header_are_a_spectrum_and_it_is_said(survey, tmp_path):
    """Whoever meant positions sees what they were taken for."""
    path = tmp_path / "file"
    path.write_text("10.5 20.1\n11.5 20.2\n")
    examples = examples_of(survey, [path, "s00001"])
    assert examples.rows.tolist() == [1] and examples.n_given == 2 and examples.lost
    refused, *notes = examples.problems
    assert refused.startswith(f"{path}, file: no overlap with the grid: covers 105000.0-115000.0 A")
    assert notes == [
        "1 of the examples: text without a header read as wavelength, flux",
        "1 of the examples: wavelengths without a unit, read as micron because of their size",
    ]


# --- spectra


def test_spectra_in_memory_go_onto_the_grid(survey):
    others = make_spectra(3, PAPER_GRID, prefix="other", seed=8)
    placed = next(iter(place(others, SMALL_GRID)))
    for known in (others, list(others), [others[0], others.take(np.array([1, 2]))]):
        examples = examples_of(survey, ["s00003", known])
        assert examples.ids == ["s00003", *others.ids] and examples.n_given == 4 and not examples.problems
        np.testing.assert_array_equal(examples.spectra.flux, placed.flux)
        np.testing.assert_array_equal(examples.spectra.ivar, placed.ivar)
        np.testing.assert_array_equal(examples.spectra.bad, placed.bad)
        assert examples.spectra.ids == others.ids
        np.testing.assert_array_equal(examples.spectra.wavelength, survey.grid.wavelength)


def test_sharper_spectra_are_smoothed_to_the_survey(tmp_path):
    """Where both resolutions are known, by the files or by an option; blunter ones are used as they are."""
    blunt = Survey.create(tmp_path / "blunt.survey", SMALL_GRID)
    blunt.append(make_spectra(3, SMALL_GRID, resolution=[200.0] * 3))
    others = make_spectra(2, SMALL_GRID, prefix="o", seed=8)
    plain = examples_of(blunt, others)
    np.testing.assert_array_equal(plain.spectra.flux, others.flux)
    assert not plain.problems
    sharp = replace(others, catalogue=others.catalogue | {"spec_res": [900.0] * 2})
    expected = smooth(next(iter(place(others, SMALL_GRID))), SMALL_GRID, Resolution(900), Resolution(200))
    for examples in (examples_of(blunt, sharp), examples_of(blunt, others, resolution=Resolution(900))):
        np.testing.assert_allclose(examples.spectra.flux, expected.flux, rtol=1e-6)
        np.testing.assert_allclose(examples.spectra.ivar, expected.ivar, rtol=1e-6)
        assert only_problem(examples) == "smoothed from R = 900 to the R = 200 of the survey: 2 example spectra"
        assert not examples.lost
    examples = examples_of(blunt, others, resolution=Resolution(60))
    np.testing.assert_array_equal(examples.spectra.flux, others.flux)
    said = "less sharp (R = 60) than the survey (R = 200), used as they are: 2 example spectra"
    assert only_problem(examples) == said and not examples.lost


def test_a_resolution_given_to_a_survey_that_knows_none_is_told(tmp_path):
    """It was left aside without a word."""
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(3, SMALL_GRID))
    others = make_spectra(2, SMALL_GRID, prefix="o", seed=8)
    assert not examples_of(survey, others).problems
    examples = examples_of(survey, others, resolution=Resolution(900))
    assert "resolution of the survey is unknown: 2 example spectra" in only_problem(examples) and not examples.lost


def test_the_resolution_of_examples_is_part_of_a_request(tmp_path):
    assert str(SearchRequest(["a"], known_resolution="1.8A").resolution_of_known()) == "FWHM 1.8 A"
    with pytest.raises(UsageError, match="not a resolution"):
        SearchRequest(["a"], known_resolution="sharp")


def test_a_spectrum_that_the_survey_has_is_its_row(survey):
    examples = examples_of(survey, [make_spectra(2, SMALL_GRID, seed=9), "s00000"])
    assert examples.rows.tolist() == [0, 1] and examples.spectra is None
    assert examples.problems == [
        "s00000: the survey has a spectrum with this id; using that one",
        "s00001: the survey has a spectrum with this id; using that one",
        "s00000: given 2 times; it counts once",
    ]


def test_the_same_spectrum_twice_and_another_of_its_name(survey):
    one, other = make_spectra(1, SMALL_GRID, 1, "a")[0], make_spectra(1, SMALL_GRID, 2, "a")[0]
    examples = examples_of(survey, [one, other, one, other])
    assert examples.ids == ["a00000", "a00000#2"] == examples.spectra.ids
    np.testing.assert_array_equal(examples.spectra.flux[1], other.flux)
    assert sum("given twice" in problem for problem in examples.problems) == 2
    assert sum("is renamed a00000#2" in problem for problem in examples.problems) == 1


def test_spectra_that_cannot_be_placed(survey):
    good = make_spectra(1, SMALL_GRID, prefix="good")
    far = Spectra(good.wavelength * 10, good.flux, good.ivar, good.bad, {"id": ["far"]})
    blank = Spectra(good.wavelength, good.flux, good.ivar, np.ones_like(good.bad), {"id": ["blank"]})
    examples = examples_of(survey, [far, good, blank])
    assert examples.ids == ["good00000"] and examples.n_given == 3
    assert [problem.split(":")[:2] for problem in examples.problems] == [
        ["far", " no overlap with the grid"],
        ["blank", " no good pixels"],
    ]


def test_a_survey_at_rest_takes_examples_to_rest(tmp_path):
    survey = Survey.create(tmp_path / "s", SMALL_GRID, rest_frame=True)
    survey.append(make_spectra(2, SMALL_GRID))
    moving = make_spectra(2, SMALL_GRID, prefix="m", z=[0.1, None])
    examples = examples_of(survey, moving)
    assert examples.ids == ["m00000"]
    assert only_problem(examples).startswith("m00001: no redshift for the rest frame: the survey is in the rest frame")
    at_rest = next(iter(place(moving.take(np.array([0])), SMALL_GRID, rest_frame=True)))
    np.testing.assert_array_equal(examples.spectra.flux, at_rest.flux)


def test_with_and_without_errors(survey):
    one, other = make_spectra(1, SMALL_GRID, 1, "a"), make_spectra(1, SMALL_GRID, 2, "b")
    examples = examples_of(survey, [one, replace(other, ivar=None)])
    assert examples.spectra.catalogue["has_ivar"] == [True, False]
    assert examples.spectra.ivar[0].any() and not examples.spectra.ivar[1].any()


@pytest.mark.parametrize("layout", ["sdss", "lamost-dr9", "desi"])
def test_files_of_any_survey(sdss, tmp_path, layout):
    paths = simulate_files(SkyChoice(3, (("carbon", 1),), seed=77, layout=layout), tmp_path / "files", jobs=1)
    spectra = [found for path in paths for found in read_here(path) if isinstance(found, Spectra)]
    ids = [id for stack in spectra for id in stack.ids]
    for known in (paths, [str(path) for path in paths], tmp_path / "files", str(tmp_path / "files" / "**" / "*.fits*")):
        examples = examples_of(sdss, known)
        assert examples.ids == ids and examples.n_given == len(ids) > 2 and not len(examples.rows)
        assert not any("no spectrum has the id" in problem for problem in examples.problems)
    placed = {s.id: s for stack in spectra for part in place(stack, sdss.grid) for s in part}
    for id, flux in zip(ids, examples.spectra.flux, strict=True):
        np.testing.assert_array_equal(flux, placed[id].flux)


def test_a_catalogue_counts_when_given_by_name(tmp_path):
    paths = small_survey_files(tmp_path / "files", 3, "desi")
    survey = ingest(paths, tmp_path / "s", jobs=1)
    redrock = next((tmp_path / "files").rglob("redrock*"))
    assert examples_of(survey, redrock).rows.tolist() == list(range(len(survey)))
    among = examples_of(survey, tmp_path / "files")
    assert (
        f"{redrock}: skipped, because it is a table among spectra; give it by name if it lists examples"
        in among.problems
    )


def test_files_of_the_survey_itself_are_its_rows(tmp_path):
    paths = small_survey_files(tmp_path / "files", 4)
    survey = ingest(paths, tmp_path / "s", jobs=1)
    examples = examples_of(survey, [paths[2], paths[1]])
    assert examples.rows.tolist() == [2, 1] and examples.spectra is None
    assert all("using that one" in problem for problem in examples.problems)
    assert str(paths[2]) in examples.problems[0]


def test_a_damaged_file_among_good_ones(sdss, tmp_path):
    paths = small_survey_files(tmp_path, 3, "lamost-dr9")
    content = gzip.decompress(paths[1].read_bytes()) if paths[1].suffix == ".gz" else paths[1].read_bytes()
    paths[1].write_bytes(content[: len(content) // 2])
    examples = examples_of(sdss, paths)
    assert len(examples.ids) == 2 and examples.n_given == 3
    assert only_problem(examples).startswith(f"{paths[1]}: truncated")


def test_text_files_of_spectra(survey, tmp_path):
    spectrum = make_spectra(1, SMALL_GRID)[0]
    Table({"wavelength": spectrum.wavelength, "flux": spectrum.flux}).write(tmp_path / "mine.csv")
    wide = {"id": ["w"]} | {f"{w:.3f}": [f] for w, f in zip(spectrum.wavelength, spectrum.flux, strict=True)}
    Table(wide).write(tmp_path / "wide.csv")
    vectors = Table({"id": ["v"], "flux": spectrum.flux[None], "wavelength": spectrum.wavelength[None]})
    vectors.write(tmp_path / "vectors.ecsv")
    vectors.write(tmp_path / "vectors.fits")
    parquet = pa.table({"id": ["p"], "flux": [spectrum.flux]})
    wavelength = json.dumps(spectrum.wavelength.tolist())
    pq.write_table(parquet.replace_schema_metadata({"wavelength": wavelength}), tmp_path / "p.parquet")
    np.savez(tmp_path / "n.npz", flux=spectrum.flux[None], wavelength=spectrum.wavelength)
    names = ["mine.csv", "wide.csv", "vectors.ecsv", "vectors.fits", "p.parquet", "n.npz"]
    examples = examples_of(survey, [tmp_path / name for name in names])
    assert examples.ids == ["mine", "w", "v", "p", "n"]
    assert only_problem(examples).endswith("vectors.fits, v: given twice; it counts once")


def test_a_survey_or_an_empty_folder_is_no_example(survey, tmp_path):
    (tmp_path / "empty").mkdir()
    examples = examples_of(survey, ["s00001", tmp_path / "empty", survey.path])
    assert [problem.rsplit(": ")[1] for problem in examples.problems] == [
        "no files found",
        "skipped (survey of rarespec)",
    ]


def test_specutils(survey):
    specutils = pytest.importorskip("specutils")
    from astropy import units as u

    spectrum = make_spectra(1, SMALL_GRID)[0]
    kind = getattr(specutils, "Spectrum", None) or specutils.Spectrum1D  # the name before version 2
    given = kind(
        flux=spectrum.flux * u.Unit("erg / (s cm2 AA)"), spectral_axis=spectrum.wavelength * u.AA, meta={"id": "mine"}
    )
    assert examples_of(survey, [given]).ids == ["mine"]
    assert examples_of(survey, given).ids == ["mine"]
