"""Licences of what is used, out of the packages' own metadata; and the file of notices that was made from them."""

from __future__ import annotations

import re
import tomllib
from email.message import Message
from pathlib import Path

import pytest

from rarespec.doctor.software import OPTIONAL_PARTS, as_markdown, licence_of, licences_used

ROOT = Path(__file__).parents[2]


def facts(*lines: tuple[str, str]) -> Message:
    message = Message()
    for name, value in lines:
        message[name] = value
    return message


@pytest.mark.parametrize(
    ("lines", "licence"),
    [
        ([("License-Expression", "MIT"), ("License", "other")], "MIT"),
        ([("License", "BSD 3-Clause")], "BSD 3-Clause"),
        (
            [("License", "A long text\nof many lines"), ("Classifier", "License :: OSI Approved :: MIT License")],
            "MIT License",
        ),
        ([("License", "UNKNOWN"), ("Classifier", "License :: OSI Approved")], "see the package files"),
        ([], "see the package files"),
    ],
)
def test_where_a_licence_is_written(lines: list[tuple[str, str]], licence: str) -> None:
    assert licence_of(facts(*lines)) == licence


def test_a_licence_is_known_by_its_text() -> None:
    text = "Redistribution and use in source\n and binary forms ... may be used to endorse\n or promote products"
    assert licence_of(facts(), [text]) == "BSD-3-Clause"
    assert licence_of(facts(("License", text))) == "BSD-3-Clause"
    assert licence_of(facts(), ["nothing of note", "Permission is hereby granted, free of charge"]) == "MIT"
    dual = [("Classifier", "License :: OSI Approved :: X"), ("Classifier", "License :: OSI Approved :: Y")]
    assert licence_of(facts(("License", "Dual License"), *dual)) == "X or Y"


def test_what_is_used_and_what_that_uses() -> None:
    used = {one.name.lower(): one for one in licences_used()}
    assert used["numpy"].used_by == "rarespec" and "BSD" in used["numpy"].licence
    assert used["pyerfa"].used_by == "astropy"
    assert "pytest" not in used and "rarespec" not in used
    assert "| numpy |" in as_markdown(list(used.values()))


def test_the_notices_name_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [
        line for part in OPTIONAL_PARTS for line in project["optional-dependencies"][part]
    ]
    noticed = {
        row.split("|")[1].strip().lower().replace("_", "-")
        for row in (ROOT / "NOTICES.md").read_text().splitlines()
        if row.startswith("| ")
    }
    for line in wanted:
        name = re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0].lower().replace("_", "-")
        assert name in noticed, f"{name} is not in NOTICES.md: rarespec doctor --licences"
