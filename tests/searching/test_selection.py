"""Which spectra are listed: each condition, what is unknown, and what cannot be asked."""

from __future__ import annotations

from fnmatch import fnmatch

import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from hypothesis import given
from hypothesis import strategies as st

from conftest import SMALL_GRID, make_spectra
from rarespec.errors import UsageError
from rarespec.searching.selection import Selection
from rarespec.survey import Survey

CLASSES = ["STAR", "STAR", "STAR", "GALAXY", "QSO", None, "star "]
SUBCLASSES = ["M4", "M0", "Carbon", None, "BROADLINE", None, "m9"]
SNR = [5.0, 10.0, None, 20.0, 2.0, 30.0, 10.0]
RA = [0.0, 359.9, 10.0, 0.1, 180.0, None, 90.0]
DEC = [0.0, 0.0, 0.0, 0.1, 89.9, 5.0, 90.0]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    survey = Survey.create(tmp_path_factory.mktemp("selection") / "s", SMALL_GRID)
    columns = {"class": CLASSES, "subclass": SUBCLASSES, "snr": SNR, "ra": RA, "dec": DEC}
    without_errors = make_spectra(len(SNR), SMALL_GRID, **columns)
    survey.append(
        type(without_errors)(
            without_errors.wavelength, without_errors.flux, None, without_errors.bad, without_errors.catalogue
        )
    )
    return survey


def rows(selection: Selection, survey: Survey) -> list[int]:
    return np.flatnonzero(selection.choose(survey).mask).tolist()


def test_by_default_all_are_listed_and_nothing_is_said(survey):
    chosen = Selection().choose(survey)
    assert chosen.mask.all() and chosen.mask.dtype == bool and chosen.said == []


def test_min_snr_and_what_is_unknown(survey):
    chosen = Selection(min_snr=10).choose(survey)
    assert np.flatnonzero(chosen.mask).tolist() == [1, 3, 5, 6]
    assert chosen.said == ["not listed: 1 of unknown S/N", "not listed: 2 with S/N below 10"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["star"], [0, 1, 2, 6]),
        (["GAL*"], [3]),
        (["m?"], [0, 1, 6]),
        (["Star/M*"], [0, 1, 6]),
        (["carbon", "qso"], [2, 4]),
        (["m[0-4]"], [0, 1]),
        ("QSO", [4]),
        (["*"], [0, 1, 2, 3, 4, 6]),
    ],
)
def test_classes_with_wildcards_in_any_case(survey, wanted, expected):
    assert rows(Selection(classes=wanted), survey) == expected
    assert rows(Selection(not_classes=wanted), survey) == [i for i in range(7) if i not in expected]


def test_wanted_and_unwanted_classes_together(survey):
    chosen = Selection(classes=("star",), not_classes=("carbon",)).choose(survey)
    assert np.flatnonzero(chosen.mask).tolist() == [0, 1, 6]
    assert chosen.said == ["not listed: 3 not of the class star", "not listed: 1 of the class carbon"]


def test_a_class_that_is_not_there_is_refused_with_those_that_are(survey):
    for selection in (Selection(classes=("star", "L*")), Selection(not_classes=("L*",))):
        with pytest.raises(UsageError, match=r"'L\*'; there are GALAXY, QSO, STAR.*BROADLINE"):
            selection.choose(survey)


def test_a_survey_without_classes_says_so(tmp_path):
    survey = Survey.create(tmp_path / "s", SMALL_GRID)
    survey.append(make_spectra(3, SMALL_GRID))
    with pytest.raises(UsageError, match="has no classes; ingest again with --join"):
        Selection(classes=("M",)).choose(survey)
    assert Selection(cone=(1, 2, 3)).choose(survey).said == ["not listed: 3 of unknown position"]


def test_cone_across_the_seam_and_at_the_pole(survey):
    chosen = Selection(cone=(0, 0, 0.5)).choose(survey)
    assert np.flatnonzero(chosen.mask).tolist() == [0, 1, 3]
    assert chosen.said == ["not listed: 1 of unknown position", "not listed: 3 more than 0.5 degrees from 0 +0"]
    assert rows(Selection(cone=(0, 90, 0.2)), survey) == [4, 6]
    assert rows(Selection(cone=(0, 0, 180)), survey) == [0, 1, 2, 3, 4, 6]


def test_each_spectrum_is_counted_once(survey):
    chosen = Selection(min_snr=6, classes=("star",), cone=(0, 0, 5)).choose(survey)
    left_out = sum(int(line.split()[2]) for line in chosen.said)
    assert left_out + chosen.mask.sum() == len(survey)


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_snr": np.nan},
        {"min_snr": np.inf},
        {"min_snr": "10"},
        {"cone": (0, 0, 0)},
        {"cone": (0, 0, -1)},
        {"cone": (0, 0, 181)},
        {"cone": (0, 91, 1)},
        {"cone": (400, 0, 1)},
        {"cone": (0, np.nan, 1)},
        {"cone": (0, 0)},
    ],
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(UsageError, match=r"minimum S/N|cone"):
        Selection(**wrong)


class _Memory:
    """The catalogue of a survey that is not on disk."""

    def __init__(self, **columns: list) -> None:
        import pyarrow as pa

        self._table = pa.table(columns)
        self.path, self.catalogue = "memory", self

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, name: str) -> bool:
        return name in self._table.column_names

    def __getitem__(self, name: str) -> np.ndarray:
        return self._table[name].to_numpy()

    def arrow(self, names: list[str]):
        return self._table.select(names)


NAMES = st.sampled_from(["", "M", "m4", "M4III", "star", "STAR", "K", None])


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1), st.sampled_from(["m*", "star", "STAR/M*", "?", "*4*", "k"]))
def test_classes_against_one_row_at_a_time(kinds, pattern):
    survey = _Memory(**{"class": [kind[0] for kind in kinds], "subclass": [kind[1] for kind in kinds]})
    expected = []
    for whole, part in kinds:
        names = [name for name in (whole, part, part and f"{whole or ''}/{part}") if name]
        expected.append(any(fnmatch(name.lower(), pattern.lower()) for name in names))
    if any(expected):
        assert Selection(classes=(pattern,)).choose(survey).mask.tolist() == expected
    else:
        with pytest.raises(UsageError):
            Selection(classes=(pattern,)).choose(survey)


@given(
    st.lists(st.tuples(st.floats(0, 360), st.floats(-90, 90)), min_size=1, max_size=20),
    st.tuples(st.floats(0, 360), st.floats(-90, 90), st.floats(0.001, 180)),
)
def test_cone_against_astropy(positions, cone):
    ra, dec = map(list, zip(*positions, strict=True))
    distance = SkyCoord(ra, dec, unit="deg").separation(SkyCoord(*cone[:2], unit="deg")).deg
    mask = Selection(cone=cone).choose(_Memory(ra=ra, dec=dec)).mask
    clear = np.abs(distance - cone[2]) > 1e-4
    assert (mask == (distance <= cone[2]))[clear].all()
