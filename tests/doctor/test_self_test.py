"""The self-test finds what is hidden, and says so when it does not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rarespec.searching.search
from rarespec.doctor.checkup import self_test


def test_it_passes() -> None:
    result = self_test()
    assert result.passed and "of 12 hidden carbon stars" in result.said and not result.details


def test_a_search_that_finds_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def worst(survey: Any, request: Any) -> Any:
        return SimpleNamespace(table={"id": np.array(survey.ids[: request.top], str)})

    monkeypatch.setattr(rarespec.searching.search, "rank_survey", worst)
    result = self_test()
    assert not result.passed and result.said.startswith("0 of 12")


def test_a_fault_is_told_with_what_python_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **named: Any) -> Any:
        raise ImportError("libgomp.so.1")

    monkeypatch.setattr(rarespec.searching.search, "rank_survey", broken)
    result = self_test()
    assert not result.passed and result.said == "ImportError: libgomp.so.1" and "Traceback" in result.details
