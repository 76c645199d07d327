"""The page of an experiment, read by a parser as a browser would."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from experiment_results import made_up_results, without_last_draw
from rarespec.evaluation import paired_difference
from rarespec.evaluation.experiment.finding import format_signed
from rarespec.evaluation.experiment.findings import findings
from rarespec.evaluation.experiment.metric_table import metrics
from rarespec.evaluation.experiment.page import write_page
from rarespec.evaluation.experiment.tables import write_tables
from rarespec.pages.html import element

HOSTILE = "<script>alert('&')</script>\" onload=\"x"


class Reader(HTMLParser):
    """Tags that were opened, each closed in its turn, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if self.open and self.open[-1] != "style" else ""

    def values(self, tag: str, attribute: str) -> list[str | None]:
        return [attributes[attribute] for name, attributes in self.tags if name == tag and attribute in attributes]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the tables, a PNG and a PDF of figure 2, PNGs of figures 5 and 8, and a Parquet file."""
    folder = tmp_path_factory.mktemp("page")
    write_tables(made_up_results(), folder)
    for name in ("figure-2.png", "figure-2.pdf", "figure-5.png", "figure-8.png", "trials.parquet"):
        (folder / name).touch()
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> Reader:
    results = replace(made_up_results(), bags={})
    made_with = {"versions": {"numpy": "9.9"}, "recipe": HOSTILE}
    path = write_page(results, folder, made_with, f"rarespec experiment {HOSTILE}", [f"a trouble {HOSTILE}"])
    assert path == folder / "index.html"
    return Reader(path.read_text())


def test_every_finding_is_there(page: Reader) -> None:
    for finding in findings(replace(made_up_results(), bags={})):
        assert finding.title in page.text
        assert all(sentence in page.text for sentence in finding.sentences)
        assert finding.verdict is None or finding.verdict in page.text
        assert finding.quote is None or str(finding.quote) in page.text
        assert finding.where in page.text


def test_figures_that_exist_are_shown_and_others_explained(page: Reader) -> None:
    assert page.values("img", "src") == ["figure-2.png", "figure-5.png"]
    assert all(page.values("img", "alt")) and len(page.values("img", "alt")) == 2
    links = page.values("a", "href")
    assert "figure-2.pdf" in links and "figure-5.pdf" not in links
    assert "Figure 3 is left out: figure-3.png was not drawn." in page.text
    assert "Figure 8 is left out: BaggingTopPush is not among the methods, or no draws were requested." in page.text


def test_a_figure_of_an_earlier_run_is_not_shown(folder: Path, page: Reader) -> None:
    assert (folder / "figure-8.png").exists() and "figure-8.png" not in page.values("img", "src")


def test_only_what_was_written_in_this_run_is_shown_and_linked(folder: Path) -> None:
    written = [folder / name for name in ("figure-2.png", "table-1.md", "results.parquet")]
    reader = Reader(write_page(made_up_results(), folder, written=written).read_text())
    assert reader.values("img", "src") == ["figure-2.png"]
    assert [link for link in reader.values("a", "href") if not str(link).startswith("#")] == ["./table-1.md"]
    assert "Figure 5 is left out: figure-5.png was not drawn." in reader.text


def test_captions_say_with_which_parameters(tmp_path: Path) -> None:
    for number in (7, 8, 9):
        (tmp_path / f"figure-{number}.png").touch()
    results = made_up_results(("emr", "bagging_top_push"))
    text = Reader(write_page(results, tmp_path).read_text()).text
    timed = "Timed with the tuned parameters: BaggingTopPush regularisation = 10; defaults for EMR."
    assert timed in text.split("Figure 7.")[1]
    assert "λ is always the default, 100." in text and "K and T are always the defaults, 200 and 50." in text
    assert "Timed with default parameters." in Reader(write_page(replace(results, tuned={}), tmp_path).read_text()).text


def test_it_is_said_whose_the_grids_of_tuning_are(tmp_path: Path, page: Reader) -> None:
    assert "LP, EMR and LRGA use the k, α, σ and d of the paper." in page.text
    assert "C refers to rows divided by their rms distance from the mean" in page.text
    results = made_up_results(("lda",), (3,), 1)
    for tune, said in {"all": "the values tried for these are ours", "none": "Nothing was tuned"}.items():
        other = replace(results, setting=replace(results.setting, tune=tune))
        assert said in Reader(write_page(other, tmp_path).read_text()).text and said not in page.text


def test_the_draws_that_are_left_are_counted(tmp_path: Path) -> None:
    results = without_last_draw(made_up_results(("lda", "emr"), (1, 10), 3), 1)
    text = Reader(write_page(results, tmp_path).read_text()).text
    assert "the same draws: 2 to 3 draws for each NP of 1, 10." in text
    assert "over 2 to 3 draws" in text and "over 3 draws" not in text


def test_the_differences_from_the_reference_are_on_the_page(page: Reader) -> None:
    results = made_up_results()
    for metric in metrics(results)[:3]:
        own, other = (metric.of(results.trials[name, 10]) for name in ("bagging_top_push", "lda"))
        assert format_signed(paired_difference(own, other).mean, metric.digits) in page.text
        assert f"BaggingTopPush minus the others: {metric.title}" in page.text


def test_every_link_leads_somewhere(page: Reader, folder: Path) -> None:
    anchors = {attributes.get("id") for _, attributes in page.tags}
    links = [str(link) for link in page.values("a", "href")]
    assert all(link[1:] in anchors if link.startswith("#") else (folder / link).exists() for link in links)
    assert {"./table-1.tex", "./paired-differences.csv", "./trials.parquet"} <= set(links)


def test_the_tables_have_the_numbers_of_the_results(page: Reader) -> None:
    results = made_up_results()
    assert f"{results.trials['emr', 10].auc.mean():.3f}" in page.text
    assert f"{results.trials['emr', 10].average_precision.mean():.3f}" in page.text
    assert f"{results.trials['emr', 10].places.recall(500).mean():.3f}" in page.text


def test_settings_versions_and_the_command_are_written_out(page: Reader) -> None:
    assert "regularisation = 10" in page.text and "versions: numpy" in page.text and "9.9" in page.text
    assert "BaggingTopPush (bagging_top_push)" in page.text


def test_text_from_outside_stays_text(page: Reader) -> None:
    assert page.text.count(HOSTILE) == 3
    assert not {"script", "link", "iframe"} & {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]


def test_the_page_needs_nothing_from_the_network(folder: Path, page: Reader) -> None:
    assert "//" not in (folder / "index.html").read_text().replace("<!DOCTYPE", "")


def test_a_hostile_class_and_survey_stay_text(tmp_path: Path) -> None:
    results = made_up_results(("emr",), (1,), 1, rare=HOSTILE)
    results = replace(results, facts=replace(results.facts, survey=HOSTILE, matched_by=HOSTILE))
    reader = Reader(write_page(results, tmp_path).read_text())
    assert "script" not in {tag for tag, _ in reader.tags} and HOSTILE in reader.text


def test_without_provenance_command_and_troubles_their_parts_are_left_out(tmp_path: Path) -> None:
    text = Reader(write_page(made_up_results(("lda",), (3,), 1, "QSO"), tmp_path).read_text()).text
    assert not any(heading in text for heading in ("How to repeat this", "Troubles", "made with"))


@given(st.text(), st.text())
@example("<b>&amp;", "\"><b>'&amp;")
def test_an_element_gives_back_what_was_put_in(inside: str, attribute: str) -> None:
    inside, attribute = (text.replace("\r", "").replace("\0", "") for text in (inside, attribute))
    reader = Reader(element("p", inside, class_=attribute))
    assert reader.text == inside and reader.tags == [("p", {"class": attribute})]
