"""A survey on disk: what goes in comes out, in order, and states are whole."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rarespec as rs
from conftest import SMALL_GRID, make_spectra
from process_functions import append_many
from rarespec.errors import SurveyError, UsageError
from rarespec.spectrum import Reason, Spectra
from rarespec.storage.processes import map_in_order
from rarespec.survey import Survey
from rarespec.survey.store.commit import JOURNAL, sha256_of, writer_lock
from rarespec.survey.store.manifest import Manifest
from rarespec.survey.store.writer import SurveyWriter


@pytest.fixture
def small_blocks(monkeypatch):
    """Surveys made in this test have blocks of 50 rows, so that a few hundred spectra fill several."""
    monkeypatch.setattr(SurveyWriter.__init__, "__defaults__", (False, 50, None))


@pytest.fixture
def survey(tmp_path, small_blocks):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID, precision="exact")
    survey.append(make_spectra(120, SMALL_GRID))
    return survey


def test_what_goes_in_comes_out(survey):
    spectra = make_spectra(120, SMALL_GRID)
    assert len(survey) == 120
    assert list(survey.ids) == spectra.ids
    everything = survey.select(spectra.ids)
    assert np.array_equal(everything.flux, spectra.flux)
    assert np.array_equal(everything.ivar, spectra.ivar)
    assert np.array_equal(everything.bad, spectra.bad)
    assert everything.catalogue["z"] == spectra.catalogue["z"]


def test_blocks_are_the_survey_in_order(survey):
    blocks = list(survey.blocks())
    assert [len(block) for block in blocks] == [50, 50, 20]
    assert np.array_equal(np.concatenate([block.flux for block in blocks]), make_spectra(120, SMALL_GRID).flux)
    assert [id for block in blocks for id in block.ids] == list(survey.ids)


def test_rows_by_id_in_any_order_and_twice(survey):
    ids = ["s00110", "s00003", "s00110"]
    assert survey.select(ids).ids == ids
    assert np.array_equal(survey["s00110"].flux, survey.select(ids).flux[0])
    assert "s00003" in survey and "s99999" not in survey


def test_rows_by_number_in_any_order_and_twice(survey):
    rows, spectra = np.array([110, 3, 119, 3, 50]), make_spectra(120, SMALL_GRID)
    found = survey.at(rows)
    assert np.array_equal(found.flux, spectra.flux[rows]) and np.array_equal(found.ivar, spectra.ivar[rows])
    assert np.array_equal(found.bad, spectra.bad[rows])
    assert found.catalogue == survey.select(found.ids).catalogue
    assert survey.catalogue_at(rows, ["id"]) == {"id": [spectra.ids[row] for row in rows]}
    assert survey.catalogue_at(rows[:0], ["id", "z"]) == {"id": [], "z": []}
    assert len(survey.at(rows[:0])) == 0


def test_an_unknown_id_is_named(survey):
    with pytest.raises(KeyError, match="nobody"):
        survey.select(["s00001", "nobody"])


def test_append_fills_the_last_block_and_changes_nothing_before(survey):
    survey.append(make_spectra(45, SMALL_GRID, seed=1, prefix="t"))
    assert [block.rows for block in survey.manifest.blocks] == [50, 50, 50, 15]
    old, new = make_spectra(120, SMALL_GRID), make_spectra(45, SMALL_GRID, seed=1, prefix="t")
    assert np.array_equal(survey.select(old.ids).flux, old.flux)
    assert np.array_equal(survey.select(new.ids).flux, new.flux)
    assert survey.verify().sound


def test_after_append_nothing_is_shown_of_the_state_before(survey):
    before, mine = survey.ids, survey
    assert survey.rows_of(["t00003"]).tolist() == [-1]
    survey.append(make_spectra(45, SMALL_GRID, seed=1, prefix="t"))
    assert survey is mine and len(survey) == len(survey.ids) == len(before) + 45 == len(survey.catalogue["id"])
    assert survey.rows_of(["t00003"]).tolist() == [len(before) + 3]


def test_an_id_is_stored_once(survey):
    report = survey.append(make_spectra(130, SMALL_GRID, seed=5))
    assert report.spectra == {"stored": 10, "repeated": 120}
    assert np.array_equal(survey["s00007"].flux, make_spectra(120, SMALL_GRID).flux[7])


def test_an_id_twice_in_one_stack_is_stored_once(survey):
    twice = make_spectra(4, SMALL_GRID, id=["x", "y", "x", "z"])
    assert survey.append(twice).spectra == {"stored": 3, "repeated": 1}
    assert np.array_equal(survey["x"].flux, twice.flux[0])


def test_an_open_survey_shows_its_state_while_another_appends(survey):
    reader = Survey.open(survey.path)
    first = reader.block(2).flux.copy()
    survey.append(make_spectra(200, SMALL_GRID, seed=1, prefix="t"))
    assert len(reader) == 120
    assert np.array_equal(reader.block(2).flux, first)
    assert len(reader.catalogue["z"]) == 120
    assert sum(len(block) for block in reader.blocks()) == 120
    assert len(Survey.open(survey.path)) == 320


def test_other_programs_see_plain_zarr_and_parquet_of_exact_surveys(survey):
    import pyarrow.dataset as ds
    import zarr

    flux = zarr.open_array(survey.path / "flux", mode="r")
    assert flux.shape == (120, 300) and flux.metadata.zarr_format == 3
    assert np.array_equal(flux[:], make_spectra(120, SMALL_GRID).flux)
    assert ds.dataset(survey.path / "catalogue").to_table(columns=["id"])["id"].to_pylist() == list(survey.ids)


def test_spectra_off_the_grid_are_resampled(survey):
    shifted = make_spectra(3, rs.WavelengthGrid("linear", 4100, 1.0, 3000), prefix="u")
    assert survey.append(shifted).spectra["stored"] == 3
    assert survey["u00001"].flux.shape == (300,)


def test_useless_spectra_become_defects_with_a_reason(survey):
    spectra = make_spectra(3, SMALL_GRID, prefix="w", source=["f1", "f2", "f3"])
    spectra.flux[1] = np.nan
    report = survey.append(spectra)
    assert report.spectra == {"stored": 2, "repeated": 0, "defective": 1}
    (defect,) = survey.defects
    assert (defect.source, defect.id, defect.reason) == ("f2", "w00001", Reason.NO_GOOD_PIXELS)


def test_spectra_without_errors_say_so(survey):
    spectra = make_spectra(2, SMALL_GRID, prefix="v")
    survey.append(Spectra(spectra.wavelength, spectra.flux, None, spectra.bad, spectra.catalogue))
    stored = survey["v00001"]
    assert stored.catalogue["has_ivar"] is False and stored.catalogue["snr"] is None


def test_columns_that_come_later_are_null_before(survey):
    survey.append(make_spectra(5, SMALL_GRID, prefix="t", plate=[1, 2, 3, None, 5]))
    assert survey["s00000"].catalogue["plate"] is None
    assert survey["t00001"].catalogue["plate"] == 2
    assert np.isnan(survey.catalogue["plate"][:120]).all()


def test_large_integers_keep_every_digit_whatever_joins_them(survey):
    target = 2**53 + 1
    survey.append(make_spectra(1, SMALL_GRID, prefix="a", targetid=[target]))
    survey.append(make_spectra(1, SMALL_GRID, prefix="b", targetid=[0.5]))
    survey.append(make_spectra(1, SMALL_GRID, prefix="c", targetid=["text"]))
    assert [survey[id].catalogue["targetid"] for id in ("a00000", "b00000", "c00000")] == [str(target), "0.5", "text"]


def test_small_integers_and_fractions_become_numbers(survey):
    survey.append(make_spectra(1, SMALL_GRID, prefix="a", mag=[17]))
    survey.append(make_spectra(1, SMALL_GRID, prefix="b", mag=[17.5]))
    assert list(survey.catalogue["mag"][-2:]) == [17, 17.5]


def test_catalogue_as_astropy_table(survey):
    table = survey.catalogue.to_table(["id", "z"])
    assert table.colnames == ["id", "z"] and len(table) == 120


def test_an_unknown_column_is_named_with_those_that_exist(survey):
    with pytest.raises(UsageError, match=r"'zz'.*id"):
        survey.catalogue["zz"]


def test_columns_keep_their_order(survey):
    assert survey.catalogue.columns[:4] == ["id", "ra", "dec", "z"]


def test_create_refuses_a_directory_with_something_in_it(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="not empty"):
        Survey.create(tmp_path)
    with pytest.raises(UsageError, match="not a survey"):
        SurveyWriter(tmp_path, SMALL_GRID)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_create_again_gives_the_empty_survey_that_is_there(tmp_path):
    """As after a process that was killed just before it could say so; one with spectra in it is refused."""
    for _ in range(2):
        survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    assert survey.manifest.generation == 1
    assert Survey.create(tmp_path / "a.survey").grid == SMALL_GRID
    with pytest.raises(UsageError, match="has the grid"):
        Survey.create(tmp_path / "a.survey", rs.PAPER_GRID)
    survey.append(make_spectra(3, SMALL_GRID))
    with pytest.raises(UsageError, match="not empty"):
        Survey.create(tmp_path / "a.survey", SMALL_GRID)


def test_the_same_defect_twice_is_listed_once(survey):
    spectra = make_spectra(2, SMALL_GRID, prefix="w")
    spectra.flux[:] = np.nan
    for _ in range(2):
        assert survey.append(spectra).spectra["defective"] == 2
    assert [defect.id for defect in survey.defects] == ["w00000", "w00001"]


def test_open_says_when_it_is_no_survey(tmp_path):
    with pytest.raises(UsageError, match="not a survey"):
        Survey.open(tmp_path)


def test_another_grid_is_refused(survey):
    with pytest.raises(UsageError, match="has the grid"):
        SurveyWriter(survey.path, rs.PAPER_GRID)


def test_only_one_writer(survey):
    with SurveyWriter(survey.path, SMALL_GRID), pytest.raises(SurveyError, match="another process is writing"):
        SurveyWriter(survey.path, SMALL_GRID)


def test_a_manifest_of_the_future_is_refused_with_a_reason(survey):
    path = survey.path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(SurveyError, match="survey format 99"):
        Survey.open(survey.path)


def test_an_empty_survey_is_a_survey(tmp_path):
    survey = Survey.create(tmp_path / "e.survey", SMALL_GRID)
    assert len(survey) == 0 and list(survey.blocks()) == [] and survey.verify().sound and "x" not in survey
    assert len(survey.ids) == 0


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
values = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), names, st.booleans())


def same(stored, given_value):
    """Equal, or the text of the value where a column had to become text to hold values of different kinds."""
    if stored is None or given_value is None or not isinstance(stored, str) or isinstance(given_value, str):
        return stored == given_value
    return stored.lower() == str(given_value).lower() or float(stored) == given_value


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(names, values), min_size=1, max_size=30), min_size=1, max_size=4))
def test_round_trip_of_any_ids_and_values(tmp_path_factory, small_blocks, batches):
    """Whatever text and numbers are appended in whatever portions, the first of each id comes back."""
    survey = Survey.create(tmp_path_factory.mktemp("round") / "a.survey", SMALL_GRID)
    first: dict[str, object] = {}
    for batch in batches:
        survey.append(
            make_spectra(len(batch), SMALL_GRID, id=[id for id, _ in batch], value=[value for _, value in batch])
        )
        for id, value in batch:
            first.setdefault(id, value)
    assert list(survey.ids) == list(first)
    found = survey.select(list(first)).catalogue["value"]
    for stored, given_value in zip(found, first.values(), strict=True):
        assert same(stored, given_value)


def test_manifest_round_trip(survey):
    text = survey.manifest.to_bytes()
    assert Manifest.from_bytes(text, survey.path) == survey.manifest


def test_appending_to_a_damaged_block_is_refused(survey):
    """Otherwise the damage would get a digest of its own and look sound."""
    chunk = survey.path / "flux/c/2/0"
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(SurveyError, match=r"flux/c/2/0: changed"):
        survey.append(make_spectra(5, SMALL_GRID, prefix="t"))
    assert not survey.verify().sound


def test_a_column_that_gets_its_first_value_later_disturbs_no_open_survey(survey):
    reader = Survey.open(survey.path)
    survey.append(make_spectra(5, SMALL_GRID, prefix="t", subclass=["M4"] * 5))
    assert list(reader.catalogue["subclass"]) == [""] * 120
    assert reader.catalogue.arrow(["subclass"])["subclass"].null_count == 120
    assert list(survey.catalogue["subclass"][-5:]) == ["M4"] * 5


def test_numpy_values_keep_their_kind(survey):
    columns = {"z": np.array([0.5, 1.5]), "plate": np.array([3, 4]), "seen": [np.bool_(True), np.bool_(False)]}
    survey.append(make_spectra(2, SMALL_GRID, prefix="t", **columns))
    assert {name: survey.manifest.columns[name] for name in columns} == {
        "z": "double",
        "plate": "int64",
        "seen": "bool",
    }


def test_ids_are_text():
    with pytest.raises(ValueError, match="ids are text"):
        make_spectra(2, SMALL_GRID, id=[1, 2])


def test_opening_something_else_touches_nothing(tmp_path):
    (tmp_path / "staging").mkdir()
    (tmp_path / "staging" / "precious").write_text("x")
    for attempt in (Survey.open, Survey.create, lambda path: SurveyWriter(path, SMALL_GRID)):
        with pytest.raises(UsageError):
            attempt(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["staging"]
    assert (tmp_path / "staging" / "precious").read_text() == "x"


@pytest.mark.parametrize("journal", [b"", b"{", b'{"moves": [], "manifest": "garbage"}', b"[]"])
def test_a_damaged_journal_overwrites_nothing(survey, journal):
    manifest = (survey.path / "manifest.json").read_bytes()
    (survey.path / JOURNAL).write_bytes(journal)
    with pytest.raises(SurveyError, match="journal"):
        Survey.open(survey.path)
    assert (survey.path / "manifest.json").read_bytes() == manifest


def test_verify_raises_no_alarm_while_another_process_appends(survey):
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(lambda: list(map_in_order(append_many, survey.path, [0], 1)))
        results = [survey.verify()]
        while not writing.done():
            results.append(Survey.open(survey.path).verify())
    writing.result()
    assert [result.problems for result in results if not result.sound] == []
    assert len(Survey.open(survey.path)) == 120 + 360


def test_verify_raises_no_alarm_about_a_file_that_is_replaced_again_while_it_looks(survey, monkeypatch):
    """What it read of the last block is then neither in the manifest that it knows nor in the newest."""
    read = []

    def read_between_two_appends(path):
        if path.match("flux/c/2/0") and not read:
            survey.append(make_spectra(3, SMALL_GRID, prefix="m"))
            read.append(sha256_of(path))
            survey.append(make_spectra(3, SMALL_GRID, prefix="n"))
            return read[0]
        return sha256_of(path)

    monkeypatch.setattr("rarespec.survey.verify.sha256_of", read_between_two_appends)
    assert survey.verify().problems == [] and read


def test_a_writer_waits_for_a_reader_that_tidies_up(survey, monkeypatch):
    with ExitStack() as tidying:
        tidying.enter_context(writer_lock(survey.path))
        monkeypatch.setattr("rarespec.survey.store.commit.sleep", lambda seconds: tidying.close())
        survey.append(make_spectra(3, SMALL_GRID, prefix="m"))
    assert len(Survey.open(survey.path)) == 123


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_chunk_cut_short_is_refused_not_read_from_stale_memory(survey, keep):
    chunk = survey.path / "flux/c/1/0"
    content = chunk.read_bytes()
    chunk.write_bytes(content[: int(keep if keep > 1 else keep * len(content))])
    for attempt in (lambda: survey.block(1), lambda: survey.masked_flux(1), lambda: survey["s00060"]):
        with pytest.raises(SurveyError, match=r"flux/c/1/0.*truncated"):
            attempt()
    chunk.unlink()
    with pytest.raises(SurveyError, match="missing"):
        survey.block(1)
    assert len(survey.block(0)) == 50


def forge_catalogue(survey, table):
    """Put this in the place of the first block's catalogue, as someone who hands a survey on can."""
    import pyarrow.parquet as pq

    pq.write_table(table, survey.path / "catalogue/000000.parquet", compression="zstd")


def test_a_catalogue_that_unpacks_to_far_more_than_a_block_is_refused(tmp_path):
    import pyarrow as pa

    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(50, SMALL_GRID, **{"class": ["STAR"] * 50}))
    ids = [f"s{i:05d}" for i in range(50)]
    for table in (
        pa.table({"id": ids * 10_000}),
        pa.table({"id": pa.array(ids), "class": pa.DictionaryArray.from_arrays([0] * 50, ["x" * 30_000_000])}),
    ):
        forge_catalogue(survey, table)
        with pytest.raises(SurveyError, match=r"000000\.parquet: cannot be read \(.*(rows|unpacks)"):
            Survey.open(survey.path).catalogue.block(0, ["id", "class"])


def test_a_long_text_in_every_row_is_still_read(tmp_path):
    comments = [f"{i} " * 3000 for i in range(500)]
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(500, SMALL_GRID, comment=comments))
    assert survey.catalogue["comment"].tolist() == comments


def test_a_catalogue_of_other_columns_is_refused_by_its_name(survey):
    import pyarrow as pa

    forge_catalogue(survey, pa.table({"id": [[1]] * 50}))
    with pytest.raises(SurveyError, match=r"000000\.parquet: cannot be read"):
        Survey.open(survey.path).ids  # noqa: B018
    (survey.path / "catalogue/000000.parquet").unlink()
    with pytest.raises(SurveyError, match=r"000000\.parquet: missing"):
        Survey.open(survey.path).ids  # noqa: B018
