"""A small survey for all that is inspected, and sums in one thread: for so few, threads cost more than they save."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from rarespec.survey import Survey
from search_rankings import survey_with_bands


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="session")
def survey(tmp_path_factory: pytest.TempPathFactory, _one_thread: None) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("inspected") / "a.survey")
