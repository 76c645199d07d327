"""Every command and every line of Python of the pages that are run, and what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from runnable_page import WIDTH, Run, nearly_same, steps_of

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted(page for page in (DOCS / "tutorials").glob("*.md") if page.name != "index.md")
PAGES = [DOCS / "start.md", DOCS / "add-a-feature-step.md", *TUTORIALS]
NEEDS = {"on-a-cluster.md": "distributed"}


@pytest.fixture(autouse=True)
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Surveys do not depend on the number of processes, and each costs a second to start."""
    for module in ("rarespec.mock.simulate", "rarespec.survey.ingest.run"):
        monkeypatch.setattr(f"{module}.available_cores", lambda: 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs_and_prints_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason=f"{page.name} needs {NEEDS[page.name]}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    run, steps = Run(), steps_of(page)
    assert steps
    for step in steps:
        printed = run.output_of(step)
        where = f"{page.name}, line {step.line}: {step.code.strip()}"
        assert nearly_same(step.expected, printed), f"{where}\n--- the page says\n{step.expected}--- printed\n{printed}"
