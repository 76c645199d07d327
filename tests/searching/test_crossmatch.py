"""Crossmatch against brute force: astropy's separations of every pair."""

from __future__ import annotations

import numpy as np
import pytest
from astropy.coordinates import SkyCoord, angular_separation, offset_by
from hypothesis import given
from hypothesis import strategies as st

from conftest import SMALL_GRID, make_spectra
from rarespec.searching.crossmatch import Sky, is_position
from rarespec.searching.known.example_table import degrees_of
from rarespec.spectrum import DefectError
from rarespec.survey import Survey

NEAR_THE_SEAM = st.one_of(st.floats(0, 0.01), st.floats(359.99, 360), st.floats(-0.01, 0))
RA = st.one_of(st.floats(-180, 360), NEAR_THE_SEAM)
DEC = st.one_of(st.floats(-90, 90), st.floats(89.99, 90), st.floats(-90, -89.99), st.sampled_from([-90.0, 90.0]))
POSITIONS = st.lists(st.tuples(RA, DEC), min_size=1, max_size=12)


def _columns(positions: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    ra, dec = np.array(positions, dtype=float).T
    return ra, dec


def _arcsec(ra, dec, other_ra, other_dec) -> np.ndarray:
    return np.degrees(angular_separation(*map(np.radians, (ra, dec, other_ra, other_dec)))) * 3600


@given(POSITIONS, POSITIONS)
def test_nearest_is_the_nearest_of_all_pairs(survey, wanted):
    sky, (ra, dec) = Sky(*_columns(survey)), _columns(wanted)
    near = sky.nearest(ra, dec)
    pairs = np.sort(_arcsec(ra[:, None], dec[:, None], sky.ra, sky.dec), axis=1)
    # A chord tells little of the angle near 180 degrees, where it does not matter.
    close = {"rtol": 1e-6, "atol": 0.02}
    np.testing.assert_allclose(near.arcsec, pairs[:, 0], **close)
    np.testing.assert_allclose(_arcsec(ra, dec, sky.ra[near.rows], sky.dec[near.rows]), pairs[:, 0], **close)
    np.testing.assert_allclose(near.next_arcsec, pairs[:, 1] if len(survey) > 1 else np.inf, **close)


@given(DEC, RA, st.floats(0, 360), st.floats(0.001, 5))
def test_a_few_arcsec_are_measured_anywhere(dec, ra, angle, arcsec):
    there = offset_by(*np.radians([ra, dec, angle, arcsec / 3600]))
    other_ra, other_dec = np.array([[there[0].deg], [there[1].deg]])
    near = Sky(other_ra % 360, other_dec).nearest(np.array([ra]), np.array([dec]))
    assert near.rows.tolist() == [0]
    assert near.arcsec[0] == pytest.approx(_arcsec(ra, dec, other_ra, other_dec)[0], abs=1e-6)
    assert near.arcsec[0] == pytest.approx(arcsec, abs=1e-2)


def test_rows_without_a_position_are_never_matched():
    sky = Sky(np.array([np.nan, 10.0, 10.0, -9999.0]), np.array([10.0, np.nan, 20.0, 10.0]))
    assert sky.n_without == 3
    assert sky.nearest(np.array([10.0]), np.array([10.0])).rows.tolist() == [2]


def test_a_survey_without_positions_matches_nothing():
    near = Sky(np.full(3, np.nan), np.full(3, np.nan)).nearest(np.array([1.0]), np.array([2.0]))
    assert near.rows.tolist() == [-1] and np.isinf(near.arcsec).all()


def test_positions_of_a_survey_may_be_missing_or_text(tmp_path):
    survey = Survey.create(tmp_path / "s", SMALL_GRID)
    assert not len(Sky.of(survey).ra)
    survey.append(make_spectra(3, SMALL_GRID))
    assert Sky.of(survey).n_without == 3
    survey.append(make_spectra(3, SMALL_GRID, prefix="t", ra=["1.5", "none", "2"], dec=["3", "4", "99"]))
    sky = Sky.of(survey)
    assert np.flatnonzero(sky.placed).tolist() == [3] and sky.ra[3] == 1.5


def test_minus_9999_is_no_place():
    assert is_position(np.array([-9999.0, 0, 0, 360]), np.array([0, -9999.0, 90, -90])).tolist() == [0, 0, 1, 1]


@given(st.floats(0, 359.999), st.floats(-89.999, 89.999), st.sampled_from([":", " ", "hmsdms"]))
def test_sexagesimal_text_is_read_back(ra, dec, sep):
    text = SkyCoord(ra, dec, unit="deg").to_string("hmsdms", precision=6, **({} if sep == "hmsdms" else {"sep": sep}))
    words = text.split()
    half = len(words) // 2
    got = degrees_of([" ".join(words[:half])], in_hours=True)[0], degrees_of([" ".join(words[half:])])[0]
    assert got == pytest.approx((ra, dec), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "unit", "degrees"),
    [
        ([12.5, None], None, 12.5),
        (["12.5", None], "deg", 12.5),
        ([0.5], "hourangle", 7.5),
        ([0.5], "h", 7.5),
        ([np.pi], "rad", 180),
        (["12:30"], '"h:m:s"', 187.5),
        (["12:30"], '"d:m:s"', 12.5),
        (["12d30m"], None, 12.5),
        (["0h30m"], None, 7.5),
    ],
)
def test_units(values, unit, degrees):
    got = degrees_of(values, unit, in_hours=True)
    assert got[0] == pytest.approx(degrees) and np.isnan(got[1:]).all()


def test_words_are_no_position_and_metres_no_unit():
    assert np.isnan(degrees_of(["here", "", "1:2:3:4", "12 99 00"], in_hours=True)[:3]).all()
    with pytest.raises(DefectError, match="'m'"):
        degrees_of([1.0], "m")


def test_all_spectra_around_a_position_are_found_nearest_first() -> None:
    ra = np.array([0.0, 359.9999, 0.0002, 10.0, np.nan, 0.001])
    sky = Sky(ra, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 89.0]))
    rows, arcsec = sky.within(0.0, 0.0, 2.0)
    assert rows.tolist() == [0, 1, 2]
    np.testing.assert_allclose(arcsec, [0, 0.36, 0.72], atol=1e-6)
    assert sky.within(0.0, 0.0, 0.5)[0].tolist() == [0, 1]
    assert sky.within(180.0, 0.0, 2.0)[0].tolist() == []
    assert Sky(np.full(2, np.nan), np.full(2, np.nan)).within(0.0, 0.0, 2.0)[0].tolist() == []
