"""Searching again with the labels of a log: nothing that people did is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import rarespec
from rarespec.cli.app import app
from rarespec.errors import UsageError
from rarespec.labels import Campaign, Label, LabelEvent, LabelLog, kinds_beside, new_event_id, path_beside, read_lessons
from rarespec.survey import Survey
from search_rankings import survey_with_bands

KNOWN = ["s000", "s001", "s002"]
SETTINGS = {"method": "matched_filter", "recipe": "paper", "params": {"method": "lda"}}


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("lessons") / "a.survey")


@pytest.fixture
def log(survey: Survey):
    """Two yes, one of them with a tag, one each of the others, and one on which people disagree."""
    place = path_beside(survey.path)
    with LabelLog(place) as log:
        said = {"s003": "yes", "s004": "yes", "s050": "no", "s051": "unsure", "s052": "bad", "s053": "yes"}
        for id, label in said.items():
            tags = ("dC",) if id == "s003" else ("CH",) if id == "s004" else ()
            log.append(LabelEvent(new_event_id(), id, Label(label), person="Ada", tags=tags))
        log.append(LabelEvent(new_event_id(), "s053", Label.NO, person="Bea"))
        yield log
    for path in place.parent.glob(f"{place.name}*"):
        path.unlink()
    (place.parent / "a.survey.campaign.json").unlink(missing_ok=True)


LABELLED = {"s003", "s004", "s050", "s051", "s052", "s053"}


@pytest.mark.parametrize("how", ["beside", "path", "log"])
def test_what_is_known_or_labelled_is_not_listed_again(survey, log, how):
    labels = {"beside": True, "path": log.path, "log": log}[how]
    ranking = rarespec.search(survey, KNOWN, labels=labels, **SETTINGS)
    assert {*KNOWN, *LABELLED}.isdisjoint(ranking.table["id"].tolist())
    assert set(ranking.provenance["known_ids"]) == {*KNOWN, "s003", "s004"}
    assert ranking.provenance["labelled_no"] == ["s050"] and ranking.provenance["labels"]["yes"] == 2
    assert (
        "2 yes known, 1 no refused; left out: 1 unsure, 1 bad data, 1 on which people disagree" in ranking.problems[0]
    )
    assert not ranking.examples_lost


def test_without_known_those_count_with_which_the_campaign_was_started(survey, log):
    with pytest.raises(UsageError, match="known"):
        rarespec.search(survey, **SETTINGS)
    alone = rarespec.search(survey, labels=True, **SETTINGS)  # no campaign was kept: the yes are known
    assert set(alone.provenance["known_ids"]) == {"s003", "s004"}
    Campaign.start(survey, KNOWN, **SETTINGS).keep()
    again = rarespec.search(survey, labels=True, **SETTINGS)
    given = rarespec.search(survey, KNOWN, labels=True, **SETTINGS)
    assert again.table["id"].tolist() == given.table["id"].tolist()


def test_a_label_wins_over_what_was_known_and_the_user_is_told(survey, log):
    log.append(LabelEvent(new_event_id(), "s000", Label.NO, person="Ada"))
    ranking = rarespec.search(survey, KNOWN, labels=True, **SETTINGS)
    assert "s000" not in ranking.provenance["known_ids"]
    assert any("s000" in line and "treated as a non-member" in line for line in ranking.problems)


def test_labels_of_a_search_for_other_examples_are_doubted(survey, log):
    Campaign.start(survey, KNOWN, **SETTINGS).keep()
    doubts = [line for line in rarespec.search(survey, ["s060"], labels=True, **SETTINGS).problems if "--kind" in line]
    assert len(doubts) == 1 and "s000, s001, s002" in doubts[0]
    same = rarespec.search(survey, KNOWN[:1], labels=True, **SETTINGS)
    assert not any("--kind" in line for line in same.problems)


def test_a_tag_is_the_kind_of_a_new_search(survey, log):
    ranking = rarespec.search(survey, labels=True, tag="dC", not_tags=["CH"], **SETTINGS)
    assert ranking.provenance["known_ids"] == ["s003"] and ranking.provenance["labelled_no"] == ["s004", "s050"]
    without = read_lessons(survey, tag="dC")
    assert without.refused == ("s050",) and "s004" in without.left_out  # nobody said that it is no dC
    with pytest.raises(UsageError, match="has the tag DZ"):
        rarespec.search(survey, labels=True, tag="DZ", **SETTINGS)


def test_kinds_are_kept_apart(survey, log):
    with LabelLog.beside(survey, kind="DZ") as other:
        other.append(LabelEvent(new_event_id(), "s070", Label.YES, person="Ada"))
    assert other.path.name == "a.survey.DZ.labels.sqlite" and kinds_beside(survey.path) == ["DZ"]
    try:
        ranking = rarespec.search(survey, ["s071"], labels=True, kind="DZ", **SETTINGS)
        assert set(ranking.provenance["known_ids"]) == {"s070", "s071"}
        assert set(ranking.table["id"].tolist()) >= LABELLED
        listed = CliRunner().invoke(app, ["labels", str(survey.path)])
        assert "DZ" in listed.stderr and listed.exit_code == 0
    finally:
        other.path.unlink()


@pytest.mark.parametrize("kind", ["", "a/b", "..", "a.b", "x" * 41, "a b", "-x", "a\x00"])
def test_a_kind_that_is_no_part_of_a_file_name_is_refused(kind):
    with pytest.raises(UsageError, match="the kind"):
        path_beside("a.survey", kind)


def test_the_command_line_says_what_is_missing(survey, tmp_path: Path):
    def said(*words: str) -> str:
        result = CliRunner().invoke(app, ["search", str(survey.path), *words])
        assert result.exit_code == 2
        return result.stderr

    assert "there are no labels here" in said("--labels", "--log", str(tmp_path / "none.sqlite"))
    assert "add --labels" in said("--known", "s000", "--kind", "carbon")
    assert "--labels" in said()
