"""A checkup as text and for programs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rarespec.doctor.checkup import Checkup, SelfTest, SurveySeen
from rarespec.doctor.machine import Place
from rarespec.doctor.software import Package
from rarespec.doctor.text import as_json, as_text

WELL = Checkup(
    machine={"rarespec": "1.0", "python": "3.13.0"},
    needed=[Package(f"package-{i}", ">=1", "1.2.3", None) for i in range(20)],
    optional={
        "dask": [Package("distributed", ">=2", None, "not installed")],
        "gpu": [Package("torch", ">=2", "2.9", None)],
        "cloud": [],
    },
    gpu="A Card, torch 2.9, CUDA 13",
    browser="firefox",
    places=[Place("temporary directory", "/tmp", None, 5 * 10**9, "ext4", False)],
    survey=SurveySeen("~/a.survey", "10 spectra", None),
    self_test=SelfTest(True, 3.14159, "12 of 12 found"),
)


def test_all_is_said_in_80_columns() -> None:
    text = as_text(WELL)
    assert max(map(len, text.splitlines())) < 80 and text.isascii()
    flat = " ".join(text.split())
    for words in (
        "package-19 1.2.3",
        "pip install 'rarespec[dask]'",
        "torch 2.9; A Card",
        "unknown to this installation",
        "/tmp: writable, 5.0 GB free, ext4",
        "passed in 3.1 s: 12 of 12 found",
        "~/a.survey: 10 spectra",
    ):
        assert words in flat
    assert text.endswith("No problems found.") and WELL.problems == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"needed": [Package("numpy", ">=2", "1.0", "too old")]}, "numpy: too old"),
        ({"needed": []}, "rarespec is not installed as a package; install it with pip"),
        ({"optional": {"gpu": [Package("torch", "", "2", "cannot be imported: x")]}}, "torch (optional): cannot be"),
        (
            {"places": [Place("temporary directory", "/t", "No room", 10**10, None, True, True)]},
            "/t: not writable: No",
        ),
        (
            {"places": [Place("temporary directory", "/t", None, 10**8, "nfs", True, True)]},
            "/t: less than 1 GB is free",
        ),
        ({"survey": SurveySeen("a.survey", "", "damaged")}, "survey a.survey: damaged"),
        ({"self_test": SelfTest(False, 1.0, "0 of 12", "Traceback: ...")}, "self-test: 0 of 12"),
    ],
)
def test_what_is_wrong_is_said_last(changes: dict, problem: str) -> None:
    ill = replace(WELL, **changes)
    assert len(ill.problems) == 1 and problem in ill.problems[0]
    assert f"- {ill.problems[0]}" in " ".join(as_text(ill).split())
    assert "Problems: 1" in as_text(ill) and "No problems found" not in as_text(ill)
    assert as_json(ill)["problems"] == ill.problems


def test_a_survey_that_is_only_read_is_no_problem() -> None:
    shared = replace(WELL, places=[Place("survey", "/data", "Permission denied", 10**7, "nfs4", True)])
    assert shared.problems == [] and "NOT WRITABLE (Permission denied)" in " ".join(as_text(shared).split())


def test_network_file_systems_are_named() -> None:
    shared = replace(WELL, places=[Place("survey", "/data", None, 10**10, "nfs4", True)])
    assert "nfs4, a network file system" in " ".join(as_text(shared).split())
    unknown = replace(WELL, places=[Place("survey", "/data", None, 10**10, None, True)])
    assert "file system unknown" in as_text(unknown) and "network" not in as_text(unknown)


def test_for_programs() -> None:
    told = json.loads(json.dumps(as_json(WELL)))
    assert told["problems"] == [] and told["self_test"]["passed"] and told["needed"][0]["version"] == "1.2.3"
