"""The contact sheet of a search, and the report as a whole."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rarespec.errors import UsageError
from rarespec.plots.contact_sheet import A4, COLUMNS, LONGEST_ID, ROWS, sheets
from rarespec.plots.search_report import write_report
from rarespec.searching.explain.portrait import portraits_of
from rarespec.searching.explain.template import NoTemplate
from rarespec.searching.ranking import Ranking
from rarespec.storage.text import printable
from rarespec.survey import Survey
from search_rankings import HOSTILE, ranking_of, survey_with_bands


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("sheet") / "a.survey")


@pytest.fixture(scope="module")
def ranking(survey: Survey) -> Ranking:
    return ranking_of(survey)


def n_pages(path: Path) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))


def test_every_candidate_is_on_a_page_with_its_caption(ranking: Ranking) -> None:
    portraits = portraits_of(ranking, ROWS * COLUMNS + 6)
    first, *others = sheets(ranking, portraits)
    assert [len(page.axes) for page in others] == [ROWS * COLUMNS, 6]
    captions = [panel.get_title(loc="left") for page in others for panel in page.axes]
    for caption, one in zip(captions, portraits, strict=True):
        assert caption.startswith(f"{one.facts['rank']}  {printable(one.facts['id'])[: LONGEST_ID - 1]}")
        assert f"S/N {one.facts['snr']:.1f}" in caption
    assert {printable(id) for id in HOSTILE} <= {caption.split("  ")[1] for caption in captions}
    for number, page in enumerate([first, *others], start=1):
        said = [text.get_text() for text in page.texts]
        assert f"page {number} of 3" in said and any("a.survey · method matched_filter · 20" in one for one in said)
        assert tuple(page.get_size_inches()) == A4


def test_the_first_page_says_what_cannot_be_drawn(ranking: Ranking) -> None:
    silent = replace(ranking, yield_curve=replace(ranking.yield_curve, can_tell=False))
    silent.__dict__["template"] = NoTemplate("There is no template in flux space: a test.")
    page = next(sheets(silent, portraits_of(ranking, 1)))
    said = [text.get_text() for panel in page.axes for text in panel.texts]
    assert any("no yield curve" in one for one in said) and any("no template" in one for one in said)
    assert any("a test" in text.get_text() for text in page.texts)
    assert not any(panel.lines for panel in page.axes)


def test_long_names_and_words_are_cut_with_a_sign(ranking: Ranking) -> None:
    wordy = replace(ranking, why="very " * 900 + "long")
    page = next(sheets(wordy, portraits_of(ranking, 1)))
    text = max((text.get_text() for text in page.texts), key=len)
    assert "[...]" in text and text.count("\n") < 30
    (one,) = portraits_of(ranking, 1)
    *_, last = sheets(ranking, [replace(one, facts=dict(one.facts) | {"id": "x" * 300})])
    assert f"{'x' * (LONGEST_ID - 1)}…" in last.axes[0].get_title(loc="left")


@pytest.mark.parametrize("n", [1, 1000])
def test_the_report_is_two_files_that_stand_alone(ranking: Ranking, tmp_path: Path, n: int) -> None:
    short = replace(ranking, table=ranking.table[:18])
    page, sheet = write_report(short, tmp_path / "new" / "folder", n)
    assert [page.name, sheet.name] == ["report.html", "contact-sheet.pdf"]
    assert sorted(path.name for path in page.parent.iterdir()) == ["contact-sheet.pdf", "report.html"]
    text = page.read_text()
    assert text.count("<article") == min(n, 18) and n_pages(sheet) == (2 if n == 1 else 3)
    n_plots = 4  # yield, means and weights of the template, means of the candidates; then two for each candidate
    assert text.count("<svg") == n_plots + 2 * min(n, 18) and "<img" not in text
    assert b"/FontFile2" in sheet.read_bytes() and b"/Type3" not in sheet.read_bytes()  # TrueType, not outlines
    assert not re.findall(r'(?:src|srcset|data|poster)="(?!data:)', text) and "@import" not in text


def test_without_a_curve_or_a_template_the_page_has_no_pictures_of_them(ranking: Ranking, tmp_path: Path) -> None:
    silent = replace(ranking, yield_curve=replace(ranking.yield_curve, can_tell=False))
    silent.__dict__["template"] = NoTemplate("A test has none.", (("Lick <Fe>", 0.5),))
    text = write_report(silent, tmp_path, 2)[0].read_text()
    assert "<img" not in text and "A test has none." in text and "Lick &lt;Fe&gt;: +0.5" in text


def test_spectra_without_errors_positions_or_class(tmp_path: Path) -> None:
    nothing = [None] * 200
    bare = survey_with_bands(
        tmp_path / "bare.survey", ra=nothing, dec=nothing, snr=nothing, z=nothing, without_ivar=True
    )
    text = write_report(ranking_of(bare), tmp_path / "out", 3)[0].read_text()
    assert text.count("<article") == 3 and "unknown" in text
    assert not re.search(r"\bnan\b", text, re.IGNORECASE) and "https://" not in text


def test_a_report_of_nothing_is_refused(ranking: Ranking, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="n must be at least 1"):
        write_report(ranking, tmp_path, 0)
