"""The page of a search: complete, well-formed, and harmless whatever the names in a catalogue are."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rarespec.pages.html import EMPTY, Html
from rarespec.pages.sorting import policy_with_sorting, sorting_script
from rarespec.searching.explain.portrait import portraits_of
from rarespec.searching.flags.flags import FLAG_MEANINGS
from rarespec.searching.in_common import find_in_common
from rarespec.searching.ranking import Ranking
from rarespec.searching.report import Pictures, report_page
from rarespec.searching.report_words import describe_yield, sentence
from rarespec.searching.yields.yield_curve import yield_curve
from rarespec.storage.text import printable
from rarespec.survey import Survey
from search_rankings import HOSTILE, ranking_of, survey_with_bands


class Reader(HTMLParser):
    """Reads a page, and complains of elements that do not end."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: dict[str, list[str]] = {}
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in EMPTY:
            self.open.append(tag)
            self.words.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.words[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("report") / "<i>name.survey")


@pytest.fixture(scope="module")
def ranking(survey: Survey) -> Ranking:
    return ranking_of(survey)


def page_of(ranking: Ranking, n: int = 40) -> str:
    portraits = portraits_of(ranking, n)
    drawn = [Html('<div class="drawn"></div>')] * len(portraits)
    pictures = Pictures(None, None, None, drawn, thumbnails=[Html('<svg class="thumbnail"></svg>')] * len(portraits))
    return report_page(ranking, portraits, find_in_common(ranking, portraits), pictures)


@pytest.fixture(scope="module")
def page(ranking: Ranking) -> Reader:
    return Reader(page_of(ranking))


def test_hostile_names_are_text_and_nothing_else(page: Reader) -> None:
    assert set(map(printable, HOSTILE)) <= set(page.words["bdi"])
    assert "<b>C</b>" in page.words["bdi"] and "<i>name.survey" in page.words["h1"][0]
    assert not {"img", "i", "b"} & {tag for tag, attributes in page.tags if "class" not in attributes} - {"b"}
    assert page.words["script"] == [sorting_script().removeprefix("<script>").removesuffix("</script>")]
    assert all(words in ("in favour:", "against:") for words in page.words["b"])
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_letters_that_turn_the_line_round_are_written_out(page: Reader) -> None:
    assert r"\u202egpj.exe" in page.words["bdi"]


def test_nothing_is_loaded_and_links_say_nothing_of_the_reader(page: Reader) -> None:
    assert not any({"src", "srcset", "data"} & set(attributes) for _, attributes in page.tags)
    assert not page.all("link") and "url(" not in page.words["style"][0]
    outside = [a for a in page.all("a") if not str(a["href"]).startswith(("#", "data:"))]
    assert outside and all("noreferrer" in str(a["rel"]) and str(a["href"]).startswith("https://") for a in outside)
    policy = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy == [policy_with_sorting()]


def test_links_inside_the_page_lead_somewhere(page: Reader) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {str(a["href"])[1:] for a in page.all("a") if str(a["href"]).startswith("#")} <= set(ids)


def test_every_candidate_has_its_row(ranking: Ranking, page: Reader) -> None:
    assert len(page.words["article"]) == len(ranking)
    for row, words in zip(ranking.table, page.words["article"], strict=True):
        for told in (f"{row['rank']}. ", printable(row["id"]), f"{row['snr']:.1f}", f"{row['score']:.4g}"):
            assert told in words
        assert f"{row['chance']:.2f}" in words and printable(row["nearest_known"]) in words


def test_the_policy_names_the_digest_of_the_script_and_allows_no_other() -> None:
    source = sorting_script().removeprefix("<script>").removesuffix("</script>")
    digest = b64encode(sha256(source.encode()).digest()).decode()
    policy = dict(part.split(" ", 1) for part in policy_with_sorting().split("; "))
    assert policy["script-src"] == f"'sha256-{digest}'" and policy["default-src"] == "'none'"
    assert policy["base-uri"] == policy["form-action"] == "'none'"


def test_the_overview_leads_to_every_candidate(ranking: Ranking, page: Reader) -> None:
    rows = [words for words in page.words["tr"] if any(printable(id) in words for id in ranking.table["id"])]
    assert len(rows) == len(ranking)
    jumps = [a["href"] for a in page.all("a") if str(a["href"]).startswith("#rank-")]
    assert jumps == [f"#rank-{rank}" for rank in ranking.table["rank"]]


@pytest.mark.parametrize("name", ["candidates.csv", "candidates.ecsv"])
def test_the_table_can_be_taken_along(ranking: Ranking, tmp_path: Path, name: str) -> None:
    page = Reader(page_of(ranking, 3))
    (link,) = [a for a in page.all("a") if a.get("download") == name]
    file = tmp_path / name
    file.write_bytes(b64decode(str(link["href"]).partition("base64,")[2]))
    whole = ranking.write(tmp_path / f"whole{file.suffix}").read_text().splitlines()
    assert file.read_text().splitlines() == whole[: len(whole) - (len(ranking) - 3)]


def test_flags_come_with_their_meaning(ranking: Ranking, page: Reader) -> None:
    flagged = {flag for flags in ranking.table["flags"] for flag in flags.split(",") if flag}
    assert "bad-pixels" in flagged
    assert all(any(f"{flag}: {FLAG_MEANINGS[flag]}" in item for item in page.words["li"]) for flag in flagged)


def test_what_the_candidates_have_in_common_is_told_in_words(ranking: Ranking) -> None:
    all_true = replace(ranking.yield_curve, stopping_rank=16)
    page = Reader(page_of(replace(ranking, yield_curve=all_true)))
    words = next(words for words in page.words["section"] if words.startswith("What the candidates have in common"))
    assert "the best 16 candidates" in words and "<b>C</b> (16)" in words and "C₂" in words
    assert "bad-pixels 1 (" in words and "S/N9.5 (9.5 to 9.5)" in words


def test_the_bands_that_speak_for_a_candidate_are_named(page: Reader) -> None:
    best = page.words["article"][0]
    assert "in favour:" in best and "C₂" in best.partition("in favour:")[2]


def test_settings_and_problems_are_told(ranking: Ranking) -> None:
    many = {"known_ids": [f"<{i}>" for i in range(30)], "params": {}, "n": 0, "versions": {"numpy": "2"}}
    told = Reader(page_of(replace(ranking, problems=["<x>: unknown"], provenance=many), 1))
    settings = dict(zip(told.words["dt"][-4:], told.words["dd"][-4:], strict=True))
    assert settings["params"] == "none" and settings["n"] == "0" and settings["versions: numpy"] == "2"
    assert "30 values" in settings["known_ids"] and "<29>" in settings["known_ids"] and told.words["details"]
    assert "<x>: unknown" in told.words["li"]


def test_a_curve_that_cannot_tell_is_words_alone(survey: Survey) -> None:
    ranking = ranking_of(survey, n_known=1)
    ranking = replace(ranking, yield_curve=yield_curve(np.zeros(5), [], 1))
    ranking.table["chance"] = np.nan
    page = Reader(page_of(ranking, 2))
    assert "no estimate" in page.words["p"][0] and sentence(ranking.yield_curve.why) in page.words["p"]
    assert "no estimate" in page.words["article"][0] and "nan" not in page.words["article"][0]


def test_what_was_found_in_one_sentence(ranking: Ranking) -> None:
    curve = replace(ranking.yield_curve, can_tell=True, stopping_rank=3)
    for name, values in (("expected", [1, 1.9, 2.6, 2.7]), ("low", [0, 1, 1, 1]), ("high", [1, 2, 3, 4])):
        curve = replace(curve, **{name: np.array(values, float)})
    said = describe_yield(replace(ranking, yield_curve=curve))
    assert said == "Of the first 3, about 3 (1 to 3) are expected to be true; stop there."
    assert "Even at the top" in describe_yield(replace(ranking, yield_curve=replace(curve, stopping_rank=0)))


@pytest.mark.parametrize("n", [1, 1000])
def test_one_candidate_or_more_than_there_are(ranking: Ranking, n: int) -> None:
    assert len(Reader(page_of(ranking, n)).words["article"]) == min(n, len(ranking))


def test_without_positions_there_are_no_links(tmp_path: Path) -> None:
    nowhere = survey_with_bands(tmp_path / "a.survey", ra=[None] * 200, dec=[-9999.0] * 200)
    page = Reader(page_of(ranking_of(nowhere), 3))
    assert all(str(a["href"]).startswith(("#", "data:")) for a in page.all("a")) and "position" not in page.words["dt"]
