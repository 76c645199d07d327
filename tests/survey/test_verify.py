"""Promise: a flipped bit in a survey is found by `verify`, 500 of 500; so is anything else not as it was written."""

import numpy as np
import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec.spectrum import Defect, Reason
from rarespec.survey import Survey
from rarespec.survey.store import accounts as defect_table
from rarespec.survey.store.precision import EXACT
from rarespec.survey.store.writer import SurveyWriter


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("verify") / "a.survey"
    with SurveyWriter(path, SMALL_GRID, block_rows=20, precision=EXACT) as writer:
        writer.add(make_spectra(50, SMALL_GRID))
        listed = [Defect("bad.fits", Reason.TRUNCATED, "cut")]
        writer.commit({defect_table.NAME: defect_table.to_csv(listed)})
    return Survey.open(path)


def files_of(survey):
    return sorted(path for path in survey.path.rglob("*") if path.is_file() and path.stat().st_size)


def test_a_fresh_survey_is_sound(survey):
    result = survey.verify()
    assert result.sound and result.n_rows == 50 and result.n_files == len(files_of(survey))


@pytest.mark.parametrize("n_flips", [50, pytest.param(500, marks=pytest.mark.exhaustive)])
def test_flipped_bits_are_all_found(survey, n_flips):
    rng = np.random.default_rng(11)
    files = files_of(survey)
    for i in range(n_flips):
        path = files[i % len(files)]
        original = path.read_bytes()
        damaged = bytearray(original)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            result = Survey(survey.path, survey.manifest).verify()
            assert not result.sound, f"a flip in {path.name} went unnoticed"
            assert any(path.name in problem for problem in result.problems)
        finally:
            path.write_bytes(original)
    assert survey.verify().sound


def test_a_missing_file_is_found(survey, tmp_path):
    path = survey.path / "ivar/c/1/0"
    content = path.read_bytes()
    path.unlink()
    (problem,) = survey.verify().problems
    path.write_bytes(content)
    assert "ivar/c/1/0: missing" in problem


def test_a_file_that_does_not_belong_is_found(survey):
    stray = survey.path / "flux/c/9/0"
    stray.parent.mkdir()
    stray.write_bytes(b"?")
    (problem,) = survey.verify().problems
    stray.unlink()
    stray.parent.rmdir()
    assert "does not belong" in problem


def written(path, spectra):
    with SurveyWriter(path, SMALL_GRID, block_rows=20, precision=EXACT) as writer:
        writer.add(spectra)
        writer.commit()
    return Survey.open(path)


def test_contents_are_checked_too(tmp_path):
    """Rows that no reader of ours would store, written past its checks: the digests match, the contents are wrong."""
    twice = written(tmp_path / "twice", make_spectra(30, SMALL_GRID, id=[f"s{i % 29}" for i in range(30)]))
    assert any("'s0' occurs 2 times" in problem for problem in twice.verify().problems)
    spectra = make_spectra(30, SMALL_GRID)
    spectra.flux[3, 3] = np.inf
    assert any("not finite" in problem for problem in written(tmp_path / "inf", spectra).verify().problems)
    spectra = make_spectra(30, SMALL_GRID)
    spectra.ivar[3, 3] = -1
    assert any("negative" in problem for problem in written(tmp_path / "negative", spectra).verify().problems)


def test_a_damaged_manifest_is_a_problem_not_an_exception(survey, tmp_path):
    for content in (b"", b"{", b"[]", b'{"format": "other"}', survey.manifest.to_bytes() + b" "):
        (tmp_path / "manifest.json").write_bytes(content)
        from rarespec.survey.verify import verify

        assert len(verify(tmp_path).problems) == 1
