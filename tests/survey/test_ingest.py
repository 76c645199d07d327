"""Files into a survey: all of them accounted for, in a fixed order, whatever is wrong with some."""

import math
import os
import shutil
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from astropy.table import Table

import rarespec as rs
from conftest import make_spectra, small_survey_files
from process_functions import dies_on_catalogues, mistreated
from rarespec.errors import SurveyError, UsageError
from rarespec.formats import ReadLimits, contained
from rarespec.mock.damage import KINDS, applies_to, damage
from rarespec.spectrum import Reason, WavelengthGrid
from rarespec.survey.ingest import DefectsWarning, pool, reading
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store import commit

N_FILES = 40
"""More than are read in one go."""


def ingest(paths, into, **how):
    return run_ingest(paths if isinstance(paths, list) else [paths], into, IngestOptions(), **how)


def save_matrix(path, spectra, **columns):
    arrays = {"flux": spectra.flux, "ivar": spectra.ivar, "mask": spectra.bad, "wavelength": spectra.wavelength}
    np.savez(path, **arrays | {"id": spectra.ids} | columns)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdss")
    small_survey_files(folder, N_FILES)
    return folder


def test_the_public_call_returns_the_survey(files, tmp_path):
    survey = rs.ingest(files / "*.fits", into=tmp_path / "a.survey")
    assert isinstance(survey, rs.Survey) and len(survey) == N_FILES
    assert survey.verify().sound
    assert set(survey.catalogue["survey"]) == {"SDSS"}


def test_order_and_contents_do_not_depend_on_the_number_of_jobs(files, tmp_path):
    one, _ = ingest(files, tmp_path / "one.survey", jobs=1)
    two, _ = ingest(files, tmp_path / "two.survey", jobs=2)
    assert list(one.ids) == list(two.ids)
    a, b = one.select(list(one.ids)), two.select(list(two.ids))
    assert np.array_equal(a.flux, b.flux) and np.array_equal(a.ivar, b.ivar) and np.array_equal(a.bad, b.bad)
    assert a.catalogue == b.catalogue


def test_the_same_files_again_are_repeated_and_change_nothing(files, tmp_path):
    survey, _ = ingest(files, tmp_path / "a.survey")
    again, report = ingest(files, tmp_path / "a.survey")
    assert report.files == {"repeated": N_FILES}
    assert list(again.ids) == list(survey.ids)
    assert [b.digests for b in again.manifest.blocks] == [b.digests for b in survey.manifest.blocks]


def test_a_copy_under_another_name_is_repeated(files, tmp_path):
    first = min(files.glob("*.fits"))
    copy = tmp_path / "copy.fits"
    copy.write_bytes(first.read_bytes())
    survey, report = ingest([files, copy], tmp_path / "a.survey")
    assert len(survey) == N_FILES
    assert report.files == {"stored": N_FILES, "repeated": 1}


def test_more_files_later_join_the_survey(files, tmp_path):
    paths = sorted(files.glob("*.fits"))
    ingest(paths[:24], tmp_path / "a.survey")
    survey, report = ingest(paths, tmp_path / "a.survey")
    assert report.files == {"stored": 16, "repeated": 24}
    whole, _ = ingest(paths, tmp_path / "b.survey")
    assert list(survey.ids) == list(whole.ids)
    assert [b.digests for b in survey.manifest.blocks] == [b.digests for b in whole.manifest.blocks]


def test_a_mended_file_leaves_the_defects(files, tmp_path):
    good = min(files.glob("*.fits"))
    path = tmp_path / "x.fits"
    path.write_bytes(good.read_bytes()[:50_000])
    survey, report = ingest(path, tmp_path / "a.survey")
    assert report.files == {"defective": 1} and [d.reason for d in survey.defects] == [Reason.TRUNCATED]
    survey, report = ingest(path, tmp_path / "a.survey")
    assert report.files == {"defective": 1} and len(survey.defects) == 1
    path.write_bytes(good.read_bytes())
    survey, report = ingest(path, tmp_path / "a.survey")
    assert report.files == {"stored": 1} and survey.defects == []


def test_python_callers_are_warned_about_defects(tmp_path):
    (tmp_path / "empty.fits").touch()
    with pytest.warns(DefectsWarning, match="1 of 1 files"):
        rs.ingest(tmp_path / "empty.fits", into=tmp_path / "a.survey")


def check_batch(tmp_path, n_good, n_damaged):
    """stored + repeated + defective = seen; nothing damaged is stored unless what is stored is right."""
    rng = np.random.default_rng(3)
    sdss = small_survey_files(tmp_path / "good", n_good // 2, "sdss")
    lamost = small_survey_files(tmp_path / "good", n_good - n_good // 2, "lamost-dr8", seed=1)
    bad = tmp_path / "bad"
    bad.mkdir()
    for i in range(n_damaged):
        kind = KINDS[i % len(KINDS)]
        victim = next(path for path in (sdss[i % len(sdss)], lamost[i % len(lamost)]) if applies_to(kind, path))
        damage(victim, kind, bad / f"{i:05d}-{kind}{''.join(victim.suffixes[-2:])}", rng)
    survey, report = ingest([tmp_path / "good", bad], tmp_path / "a.survey")
    assert report.files_seen == n_good + n_damaged
    assert report.files["stored"] == n_good
    assert report.files["stored"] + report.files["repeated"] + report.files["defective"] == report.files_seen
    silent = [path.name for path in bad.iterdir() if str(path) not in {defect.source for defect in survey.defects}]
    # A damaged copy has the id of its original: it is repeated or defective, and the original's spectrum stays.
    # A damaged file that can be read has a vote on the grid; both surveys are to have the same.
    same = IngestOptions(grid=survey.grid)
    clean, _ = run_ingest([tmp_path / "good"], tmp_path / "clean.survey", same)
    a, b = survey.select(list(survey.ids)), clean.select(list(clean.ids))
    assert a.ids == b.ids and np.array_equal(a.flux, b.flux) and np.array_equal(a.ivar, b.ivar)
    assert silent == []
    assert len({defect.reason for defect in survey.defects}) >= 8
    assert survey.verify().sound


def test_batch_of_good_and_damaged_files(tmp_path):
    check_batch(tmp_path, 60, 4 * len(KINDS))


@pytest.mark.exhaustive
def test_batch_of_1000_good_and_1000_damaged_files(tmp_path):
    check_batch(tmp_path, 1000, 1000)


def check_silent_corruption(tmp_path, n):
    """Files with one flipped bit, alone in their survey: refused, or stored exactly as the original."""
    rng = np.random.default_rng(4)
    for layout in ("sdss", "lamost-dr8", "lamost-dr9", "desi"):
        (good, *_) = small_survey_files(tmp_path / layout, 3, layout)
        clean, _ = ingest(good, tmp_path / f"{layout}.survey")
        folder = tmp_path / f"{layout}-flipped"
        folder.mkdir()
        content = good.read_bytes()
        for i in range(n // 4):
            damaged = bytearray(content)
            damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
            (folder / f"{i:05d}{''.join(good.suffixes)}").write_bytes(damaged)
        for path in sorted(folder.iterdir()):
            spectra = [item for item in rs.read(path) if isinstance(item, rs.Spectra)]
            for stack in spectra:
                truth = clean.select(stack.ids)
                placed = rs.spectrum.resample(stack, clean.grid)
                assert np.array_equal(placed.flux, truth.flux) and np.array_equal(placed.ivar, truth.ivar), path.name


def test_no_flipped_bit_is_stored_in_silence(tmp_path):
    check_silent_corruption(tmp_path, 80)


@pytest.mark.exhaustive
def test_no_flipped_bit_of_1000_is_stored_in_silence(tmp_path):
    check_silent_corruption(tmp_path, 1000)


def check_descriptors(tmp_path, n):
    paths = small_survey_files(tmp_path / "files", n)
    rng = np.random.default_rng(5)
    for path in paths[::10]:
        damage(path, "truncated-data", path.with_suffix(".cut.fits"), rng)
    open_files = []

    def count(*_):
        open_files.append(len(os.listdir("/proc/self/fd")))

    ingest(paths[:3], tmp_path / "warm.survey", jobs=1)  # Zarr opens three for its event loop, once per process
    ingest(tmp_path / "files", tmp_path / "a.survey", jobs=1, progress=count)
    assert len(open_files) == n + len(paths[::10])
    assert max(open_files[20:]) <= max(open_files[:20])


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc to count open files")
def test_file_descriptors_stay_flat(tmp_path):
    check_descriptors(tmp_path, 100)


@pytest.mark.exhaustive
def test_file_descriptors_stay_flat_over_10000_files(tmp_path):
    check_descriptors(tmp_path, 10_000)


def test_a_file_of_many_spectra_streams_into_several_blocks(tmp_path, monkeypatch):
    from rarespec.survey.store.writer import SurveyWriter

    monkeypatch.setattr(SurveyWriter.__init__, "__defaults__", (False, 100, None))
    spectra = make_spectra(730)
    save_matrix(tmp_path / "m.npz", spectra)
    survey, report = ingest(tmp_path / "m.npz", tmp_path / "a.survey")
    assert report.files == {"stored": 1} and report.spectra["stored"] == 730
    assert survey.n_blocks == 8 and list(survey.ids) == spectra.ids
    _, again = ingest(tmp_path / "m.npz", tmp_path / "a.survey")
    assert again.files == {"repeated": 1}


def test_desi_counts_sky_fibres_and_sets_the_catalogue_aside(tmp_path):
    small_survey_files(tmp_path / "desi", 40, "desi")
    survey, report = ingest(tmp_path / "desi", tmp_path / "a.survey")
    assert report.files == {"stored": 1, "set aside": 1}
    assert len(survey) + sum(report.skipped.values()) >= 40
    assert (survey.catalogue["class"] != "").all()


def test_join_fills_classes_and_redshifts_by_id(files, tmp_path):
    ids = sorted(path.stem.removeprefix("spec-") for path in files.glob("*.fits"))
    Table({"id": ids[:30], "class": ["RARE"] * 30, "z": [0.5] * 30, "note": ["n"] * 30}).write(tmp_path / "c.csv")
    survey, report = ingest(files, tmp_path / "a.survey", join=[tmp_path / "c.csv"])
    assert report.unmatched == N_FILES - 30
    rows = survey.select(ids).catalogue
    assert rows["class"][:30] == ["RARE"] * 30 and rows["class"][30] == "STAR"
    assert rows["z"][0] == 0.5 and rows["note"][29:31] == ["n", None]


def test_a_catalogue_does_not_say_which_files_were_stored(files, tmp_path):
    """A stranger's column `source` named a file, which then passed for one that was read before."""
    paths = sorted(files.glob("*.fits"))[:3]
    ids = [path.stem.removeprefix("spec-") for path in paths]
    columns = {"id": ids, "source": [str(paths[2])] * 3, "coverage": [9.0] * 3, "has_ivar": ["no"] * 3}
    Table(columns).write(tmp_path / "c.csv")
    ingest(paths[:2], tmp_path / "a.survey", join=[tmp_path / "c.csv"])
    survey, report = ingest(paths, tmp_path / "a.survey")
    assert report.files == {"stored": 1, "repeated": 2}
    rows = survey.select(ids).catalogue
    assert rows["source"] == [str(path) for path in paths] and rows["file_source"] == [str(paths[2])] * 2 + [None]
    assert max(rows["coverage"]) <= 1 and rows["has_ivar"] == [True] * 3


def test_join_takes_whole_numbers_of_64_bits(files, tmp_path):
    """Those of SDSS from plate 8192 on are beyond what a signed number holds."""
    ids = [path.stem.removeprefix("spec-") for path in sorted(files.glob("*.fits"))[:2]]
    numbers = pa.array([2**63 + 5, 2**64 - 1], pa.uint64())
    pq.write_table(pa.table({"id": ids, "specobjid": numbers}), tmp_path / "c.parquet")
    survey, report = ingest(files, tmp_path / "a.survey", join=[tmp_path / "c.parquet"])
    assert report.unmatched == N_FILES - 2
    assert [str(value) for value in survey.select(ids).catalogue["specobjid"]] == [str(2**63 + 5), str(2**64 - 1)]


def test_join_of_something_else_fails_before_any_file_is_read(files, tmp_path):
    (tmp_path / "c.csv").write_text("not,a\nkey,column\n")
    with pytest.raises(SurveyError, match=r"c\.csv"):
        ingest(files, tmp_path / "a.survey", join=[tmp_path / "c.csv"])


def test_rest_frame_needs_a_redshift_and_says_which_spectrum_has_none(tmp_path):
    spectra = make_spectra(2)
    save_matrix(tmp_path / "m.npz", spectra, id=["with", "without"], z=[0.1, np.nan])
    survey, _ = run_ingest([tmp_path / "m.npz"], tmp_path / "a.survey", IngestOptions(rs.PAPER_GRID, rest_frame=True))
    assert list(survey.ids) == ["with"]
    (defect,) = survey.defects
    assert defect.reason == Reason.NO_REDSHIFT and defect.id == "without"
    assert survey["with"].bad[-300:].all() and survey["with"].bad[:3000].mean() < 0.05


def test_frames_are_not_mixed(files, tmp_path):
    ingest(files, tmp_path / "a.survey")
    with pytest.raises(UsageError, match="observed frame"):
        run_ingest([files], tmp_path / "a.survey", IngestOptions(rest_frame=True))


def test_choices_are_recorded(files, tmp_path):
    survey, _ = ingest(files, tmp_path / "a.survey")
    (entry,) = survey.manifest.provenance
    assert entry["reading"]["sdss_bad_bits"] == 0xFFFF0000
    assert entry["account"]["files"]["stored"] == N_FILES
    assert {"rarespec", "numpy", "zarr", "time"} <= set(entry)


def test_names_that_are_no_text_are_survived(files, tmp_path):
    good = min(files.glob("*.fits")).read_bytes()
    folder = tmp_path / "odd"
    folder.mkdir()
    with open(os.fsencode(folder) + b"/\xff\xfe\n.fits", "wb") as file:
        file.write(good)
    (folder / 'ünï cødé, "quoted".fits').write_bytes(good[:4000])
    survey, report = ingest(folder, tmp_path / "a.survey")
    assert report.files == {"stored": 1, "defective": 1}
    assert "quoted" in survey.defects[0].source
    _, again = ingest(folder, tmp_path / "a.survey")
    assert again.files == {"repeated": 1, "defective": 1}


def test_names_that_look_the_same_are_not_taken_for_one(files, tmp_path):
    """A file passed for one that was stored before, and was never read."""
    one, other = sorted(files.glob("*.fits"))[:2]
    (tmp_path / "in").mkdir()
    shutil.copy(one, tmp_path / "in" / "a\nb.fits")
    ingest(tmp_path / "in", tmp_path / "a.survey")
    shutil.copy(other, tmp_path / "in" / "a\\nb.fits")
    survey, report = ingest(tmp_path / "in", tmp_path / "a.survey")
    assert report.files == {"stored": 1, "repeated": 1} and len(survey) == 2


def test_what_can_never_be_read_is_named(tmp_path):
    os.mkfifo(tmp_path / "pipe.fits")
    (tmp_path / "gone.fits").symlink_to(tmp_path / "nowhere")
    survey, report = ingest([tmp_path, tmp_path / "missing.fits"], tmp_path / "s" / "a.survey")
    assert report.files["defective"] == 3
    assert {defect.reason for defect in survey.defects} == {Reason.UNREADABLE}


OTHER_LAYOUTS = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("sdss-v", "sdss-spspec", "lamost-dr1")]


@pytest.mark.parametrize("layout", ["sdss", "lamost-dr8", *OTHER_LAYOUTS])
def test_one_process_is_enough_for_plain_files_until_the_first_other_one(layout, tmp_path, monkeypatch):
    paths = small_survey_files(tmp_path / "files", 40, layout)
    with monkeypatch.context() as patched:
        patched.setattr(pool, "read_groups_contained", None)
        one, report = ingest(paths, tmp_path / "one.survey", jobs=1)
    two, _ = ingest(paths, tmp_path / "two.survey", jobs=2)
    assert report.files == {"stored": 40} and one.ids.tolist() == two.ids.tolist()
    for here, there in zip(one.blocks(), two.blocks(), strict=True):
        assert np.array_equal(here.flux, there.flux) and np.array_equal(here.bad, there.bad)

    paths[35].write_bytes(paths[35].read_bytes()[:-3000])
    survey, report = ingest(paths, tmp_path / "cut.survey", jobs=1)
    assert report.files == {"stored": 39, "defective": 1}
    assert [defect.source for defect in survey.defects] == [str(paths[35])]


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_a_file_that_is_too_much_for_its_reader_costs_itself_alone(files, tmp_path, monkeypatch, jobs):
    folder = tmp_path / "files"
    shutil.copytree(files, folder)
    for name, number in (("dies", 3), ("hangs", 34), ("swallows", 38), ("dies-too", 39)):
        (folder / f"spec-1000-55000-{number:04d}.fits").rename(folder / f"spec-1000-55000-{number:04d}-{name}.fits")
    monkeypatch.setattr(reading, "outcomes_of", mistreated)
    monkeypatch.setattr(pool, "plain_outcomes", lambda options, path: None)
    options = IngestOptions(limits=ReadLimits(seconds=2.0, memory=1_000_000_000))
    survey, report = run_ingest([folder], tmp_path / "a.survey", options, jobs=jobs)
    assert report.files == {"stored": N_FILES - 4, "defective": 4}
    told = {defect.source.rpartition("-")[2]: (defect.reason, defect.detail) for defect in survey.defects}
    assert told["dies.fits"][0] == told["too.fits"][0] == Reason.READER_CRASHED
    assert "exit status 7" in told["dies.fits"][1]
    assert told["hangs.fits"][0] == Reason.TOO_SLOW and "--time-limit" in told["hangs.fits"][1]
    assert told["swallows.fits"][0] == Reason.TOO_MUCH_MEMORY and "--memory-limit" in told["swallows.fits"][1]
    assert survey.verify().sound


def test_what_came_out_before_a_crash_is_stored_and_the_file_is_still_named(tmp_path, monkeypatch):
    save_matrix(tmp_path / "midway.npz", make_spectra(600))
    monkeypatch.setattr(reading, "outcomes_of", mistreated)
    survey, report = ingest(tmp_path / "midway.npz", tmp_path / "a.survey")
    assert 0 < len(survey) < 600 and report.files == {"stored": 1}
    (defect,) = survey.defects
    assert defect.reason == Reason.READER_CRASHED and "midway.npz" in defect.source
    monkeypatch.undo()
    mended, _ = ingest(tmp_path / "midway.npz", tmp_path / "a.survey")
    assert len(mended) == 600 and mended.defects == []


@pytest.mark.parametrize("streamed", [0, 1 << 30])
def test_large_files_are_streamed_stack_by_stack(tmp_path, monkeypatch, streamed):
    """Those that are large, and those out of which more comes than one answer should hold."""
    monkeypatch.setattr(pool, "STREAMED_BYTES", streamed)
    monkeypatch.setattr(pool, "ANSWER_BYTES", 10_000)
    spectra = make_spectra(1200)
    save_matrix(tmp_path / "a.npz", spectra)
    survey, report = ingest(tmp_path / "a.npz", tmp_path / "a.survey")
    assert list(survey.ids) == spectra.ids and report.files == {"stored": 1}


def test_a_catalogue_that_is_too_much_for_its_reader_is_named(files, tmp_path, monkeypatch):
    (tmp_path / "c.csv").write_text("id,class\n" + "x,y\n" * 10)
    monkeypatch.setattr(contained, "_write_catalogue", dies_on_catalogues)
    with pytest.raises(SurveyError, match=r"c\.csv: cannot be used as a catalogue: reader crashed"):
        ingest(files, tmp_path / "a.survey", join=[tmp_path / "c.csv"])


def test_limits_that_leave_no_room_are_refused(files, tmp_path):
    with pytest.raises(ValueError, match="seconds"):
        rs.ingest(files, into=tmp_path / "a.survey", time_limit=0)
    with pytest.raises(ValueError, match=r"0\.5 GB"):
        rs.ingest(files, into=tmp_path / "a.survey", memory_limit=0.1)
    assert not (tmp_path / "a.survey").exists()


def test_a_limit_may_be_endless(files, tmp_path):
    path = min(files.glob("*.fits"))
    survey = rs.ingest(path, into=tmp_path / "a.survey", time_limit=math.inf, memory_limit=math.inf)
    assert len(survey) == 1


def test_nothing_is_said_on_the_way(files, tmp_path, capfd):
    contained.end_readers()  # those of earlier tests would say it to them
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rs.ingest(files, into=tmp_path / "a.survey", jobs=2)
    assert capfd.readouterr() == ("", "")


def test_a_file_with_one_bad_spectrum_is_read_again_until_it_is_mended(tmp_path):
    spectra = make_spectra(5)
    spectra.flux[2] = np.nan
    save_matrix(tmp_path / "m.npz", spectra)
    _, first = ingest(tmp_path / "m.npz", tmp_path / "a.survey")
    _, again = ingest(tmp_path / "m.npz", tmp_path / "a.survey")
    assert first.spectra["defective"] == again.spectra["defective"] == 1
    save_matrix(tmp_path / "m.npz", make_spectra(5))
    survey, mended = ingest(tmp_path / "m.npz", tmp_path / "a.survey")
    assert mended.spectra == {"stored": 1, "repeated": 4} and survey.defects == [] and len(survey) == 5


def test_a_file_cut_short_is_finished_whatever_came_between(tmp_path, monkeypatch):
    """An ingest dies in the middle of a large file; another file and an append come first; then the large one again."""
    from rarespec.survey.store.writer import SurveyWriter

    monkeypatch.setattr(SurveyWriter.__init__, "__defaults__", (False, 100, None))
    save_matrix(tmp_path / "big.npz", make_spectra(1200))
    save_matrix(tmp_path / "other.npz", make_spectra(150, prefix="o"))
    add = SurveyWriter.add

    def dies(writer, spectra, on_full_block=None):
        add(writer, spectra, on_full_block)
        if spectra.ids[0] >= "s00500":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(SurveyWriter, "add", dies)
        ingest(tmp_path / "big.npz", tmp_path / "a.survey")
    assert 0 < len(rs.Survey.open(tmp_path / "a.survey")) < 1200
    survey, _ = ingest(tmp_path / "other.npz", tmp_path / "a.survey")
    survey.append(make_spectra(120, prefix="p"))
    survey, report = ingest(tmp_path / "big.npz", tmp_path / "a.survey")
    assert len(survey) == 1200 + 150 + 120 and report.files == {"stored": 1}
    assert survey.manifest.unfinished == () and survey.verify().sound


def test_two_catalogues_are_joined_value_by_value(files, tmp_path):
    ids = sorted(path.stem.removeprefix("spec-") for path in files.glob("*.fits"))
    Table({"id": ids[:3], "class": ["A", "", "C"], "note": ["x", "y", "z"]}).write(tmp_path / "one.csv")
    Table({"id": ids[1:4], "class": [7, 8, 9], "note": [1, 2, 3]}).write(tmp_path / "two.csv")
    survey, report = ingest(files, tmp_path / "a.survey", join=[tmp_path / "one.csv", tmp_path / "two.csv"])
    rows = survey.select(ids[:5]).catalogue
    assert rows["class"] == ["A", "7", "C", "9", "STAR"] and rows["note"] == ["x", "y", "z", "3", None]
    assert report.unmatched == N_FILES - 4


def test_joining_to_what_is_already_stored_is_said(files, tmp_path):
    Table({"id": ["a"], "class": ["A"]}).write(tmp_path / "one.csv")
    ingest(files, tmp_path / "a.survey")
    _, report = ingest(files, tmp_path / "a.survey", join=[tmp_path / "one.csv"])
    assert report.not_joined == N_FILES


@pytest.mark.parametrize("content", ["id,z\n", "id,z\na,fast\n"])
def test_catalogues_of_no_use_are_refused_with_their_name(files, tmp_path, content):
    (tmp_path / "c.csv").write_text(content)
    with pytest.raises(SurveyError, match=r"c\.csv"):
        ingest(files, tmp_path / "a.survey", join=[tmp_path / "c.csv"])


def test_a_survey_among_the_files_is_set_aside(files, tmp_path):
    small_survey_files(tmp_path / "d", 3)
    ingest(tmp_path / "d", tmp_path / "d" / "a.survey")
    survey, report = ingest(tmp_path / "d", tmp_path / "d" / "a.survey")
    assert report.files == {"repeated": 3, "set aside": 1} and survey.defects == []


def test_a_survey_grows_on_its_own_grid(files, tmp_path):
    grid = rs.WavelengthGrid("linear", 4000, 2.0, 1500)
    paths = sorted(files.glob("*.fits"))
    run_ingest(paths[:5], tmp_path / "a.survey", IngestOptions(grid=grid))
    survey, _ = ingest(paths, tmp_path / "a.survey")
    assert survey.grid == grid and len(survey) == N_FILES


def test_an_unknown_format_is_refused_before_any_file_is_read(files, tmp_path):
    with pytest.raises(ValueError, match="there is no reader 'nope'"):
        rs.ingest(files, into=tmp_path / "a.survey", format="nope")


def test_flux_beyond_float32_is_bad_not_a_warning(tmp_path):
    spectra = make_spectra(2)
    flux = spectra.flux.astype(np.float64)
    flux[1] = 1e300
    save_matrix(tmp_path / "m.npz", spectra, flux=flux)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        survey, _ = ingest(tmp_path / "m.npz", tmp_path / "a.survey")
    assert [defect.reason for defect in survey.defects] == [Reason.NO_GOOD_PIXELS]


def test_a_folder_that_can_be_listed_again_is_no_defect_any_more(tmp_path, monkeypatch):
    small_survey_files(tmp_path / "files", 3)
    (tmp_path / "files" / "below").mkdir()
    listed = os.scandir

    def refuses_below(folder):
        if str(folder).endswith("below"):
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(os, "scandir", refuses_below)
    first, _ = ingest(tmp_path / "files", tmp_path / "a.survey")
    assert [defect.source for defect in first.defects] == [str(tmp_path / "files" / "below")]
    monkeypatch.undo()
    again, _ = ingest(tmp_path / "files", tmp_path / "a.survey")
    assert again.defects == []


def test_a_first_ingest_that_was_killed_goes_on_with_its_grid(tmp_path, monkeypatch):
    """The grid stands in the journal alone when the process dies before the manifest is in place."""
    small_survey_files(tmp_path / "files", 3)
    grid = WavelengthGrid("log", 3.6, 1e-4, 3000)
    monkeypatch.setattr(commit, "_carry_out", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run_ingest([tmp_path / "files"], tmp_path / "a.survey", IngestOptions(grid=grid))
    monkeypatch.undo()
    assert not (tmp_path / "a.survey" / "manifest.json").exists()
    survey, _ = ingest(tmp_path / "files", tmp_path / "a.survey")
    assert survey.grid == grid and len(survey) == 3
