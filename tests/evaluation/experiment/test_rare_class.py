"""Which spectra play the rare class."""

import numpy as np
import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec.errors import UsageError
from rarespec.evaluation.experiment.metric_table import is_of_carbon_stars
from rarespec.evaluation.experiment.setting import rare_class
from rarespec.survey import Survey

CLASSES = ["STAR", "STAR", "QSO", "star ", "", "STAR"]
SUBCLASSES = ["Carbon_lines", "K3", "", "Carbon", "M5", "CarbonWD"]


@pytest.fixture
def survey(tmp_path):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    columns = {"class": CLASSES, "subclass": SUBCLASSES}
    survey.append(make_spectra(6, SMALL_GRID, **columns))
    return survey


@pytest.mark.parametrize(
    ("name", "rows", "matched_by"),
    [
        ("qso", [2], "class is qso"),
        ("Star", [0, 1, 3, 5], "class is Star"),
        ("CARBON", [3], "subclass is CARBON; not CarbonWD (1), Carbon_lines (1)"),
        ("Carbon, CARBON_LINES", [0, 3], "subclass is Carbon or CARBON_LINES; not CarbonWD (1)"),
        ("carbon,carbon", [3], "subclass is carbon; not CarbonWD (1), Carbon_lines (1)"),
        ("qso,M5", [2, 4], "class is qso or subclass is M5"),
        ("carbon_", [0], "subclass begins with carbon_"),
        ("m", [4], "subclass begins with m"),
    ],
)
def test_class_before_subclass_before_its_beginning(survey, name, rows, matched_by):
    found = rare_class(survey, name)
    assert np.flatnonzero(found.members).tolist() == rows and found.matched_by == matched_by


@pytest.mark.parametrize("name", ["DZ", "", "  ", "Carbon,DZ", "DZ,Carbon"])
def test_an_absent_class_is_told_with_those_that_there_are(survey, name):
    with pytest.raises(UsageError, match="Carbon, CarbonWD, Carbon_lines, K3, M5, QSO, STAR"):
        rare_class(survey, name)


def test_one_of_several_is_no_beginning_of_a_name(survey):
    """Else Carbo,K3 would take in white dwarfs."""
    with pytest.raises(UsageError, match="'Carbo'"):
        rare_class(survey, "Carbo,K3")


@pytest.mark.parametrize(
    ("rare", "expected"),
    [
        ("CARBON", True),
        ("Carbon,Carbon_lines", True),
        ("Carbon_lines, carbon", True),
        ("Carbon_lines", False),
        ("CarbonWD", False),
        ("Carbon,CarbonWD", False),
        ("QSO", False),
    ],
)
def test_the_published_values_are_for_the_carbon_stars_of_the_paper_alone(rare, expected):
    assert is_of_carbon_stars(rare) == expected


def test_a_class_that_is_everything_is_refused(tmp_path):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(3, SMALL_GRID, **{"class": ["QSO"] * 3}))
    with pytest.raises(UsageError, match="all spectra are qso"):
        rare_class(survey, "qso")


def test_a_catalogue_without_classes_says_how_to_get_them(tmp_path):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(3, SMALL_GRID))
    with pytest.raises(UsageError, match=r"has no classes.*--join"):
        rare_class(survey, "qso")
