"""A campaign learns what a search from scratch would, keeps places, and goes on after a restart."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rarespec import search
from rarespec.errors import UsageError
from rarespec.features import PaperFeatures
from rarespec.labels.campaign import Campaign
from rarespec.labels.campaign_start import CampaignStart, start_beside
from rarespec.labels.event import Label
from rarespec.rankers.ranker import Kept, PreparingRanker
from rarespec.searching import candidates
from rarespec.searching.candidates import UNEXAMINED
from rarespec.searching.relearning import Relearning
from rarespec.searching.request import SearchRequest
from rarespec.searching.search import prepare_search
from rarespec.searching.selection import Selection
from rarespec.survey import Survey
from search_rankings import N_RARE, N, spectra_with_bands, survey_with_bands

YES, NO, UNSURE, BAD = Label
QUICK: dict[str, Any] = {
    "method": "matched_filter",
    "params": {"method": "lda"},
    "recipe": PaperFeatures(n_components=10),
    "top": 40,
}


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return survey_with_bands(tmp_path_factory.mktemp("campaign") / "a.survey")


@pytest.fixture(scope="module")
def rare(survey: Survey) -> list[str]:
    return survey.ids[:N_RARE].tolist()


@pytest.fixture
def campaign(survey: Survey, rare: list[str]) -> Campaign:
    return Campaign.start(survey, rare[:3], **QUICK)


def assert_same_candidates(ranking: Any, other: Any, but: str = "") -> None:
    for name in set(ranking.table.colnames) - {but}:
        np.testing.assert_array_equal(ranking.table[name], other.table[name], err_msg=name)
        assert ranking.table[name].info.description == other.table[name].info.description
    assert ranking.n_listed == other.n_listed and ranking.rows.known_ids == other.rows.known_ids


# --- learning


def test_a_campaign_starts_with_the_ranking_of_a_search(survey: Survey, rare: list[str], campaign: Campaign) -> None:
    first = search(survey, rare[:3], **QUICK)
    assert_same_candidates(campaign.ranking, first)
    assert campaign.ranking.yield_curve.why == first.yield_curve.why
    assert campaign.revision == 0 and campaign.known_ids == rare[:3]
    assert campaign.list_ids() == campaign.ranking.table["id"].tolist()


@pytest.mark.parametrize("method", ["matched_filter", "label_propagation", "auto"])
def test_what_it_learns_is_what_a_new_search_learns(survey: Survey, rare: list[str], method: str) -> None:
    given = {"method": method, "top": 60, "recipe": QUICK["recipe"], "selection": Selection(min_snr=1)}
    campaign = Campaign.start(survey, rare[:3], **given)
    yes, no = rare[3:6], survey.ids[100:104].tolist()
    campaign.relearn(dict.fromkeys(yes, YES) | dict.fromkeys(no, NO))
    campaign.examine()
    assert_same_candidates(campaign.ranking, search(survey, rare[:6], non_members=no, **given), "chance")
    assert campaign.known_ids == rare[:3] and campaign.ranking.provenance["known_ids"] == rare[:6]
    assert campaign.ranking.provenance["labelled_no"] == sorted(no)


def test_examples_from_elsewhere_stay(survey: Survey, rare: list[str]) -> None:
    campaign = Campaign.start(survey, [rare[1], spectra_with_bands(3)], **QUICK)
    assert campaign.known_ids[0] == rare[1] and len(campaign.known_ids) == 4
    campaign.relearn({rare[0]: YES})
    assert campaign.ranking.rows.known_ids == [rare[0], *campaign.known_ids]
    assert set(campaign.ranking.table["nearest_known"]) <= {rare[0], *campaign.known_ids}


class Remembering(PreparingRanker):
    """Says what it was told, and can be prepared as Auto can."""

    learns_from_non_members = True

    def hidden_scores(self) -> Any:
        return np.zeros(2)

    def _prepare(self, X: Any, kept: Kept) -> Any:
        return X

    def _learn(self, ready: Any, X: Any, known: Any, refused: Any) -> None:
        assert X is ready
        self.told_ = known.astype(int) - refused

    def _scores(self, X: Any) -> Any:
        return np.asarray(X[:, 0], np.float64)


def test_non_members_are_told_to_a_ranker_that_learns_from_them_and_bad_data_is_not(
    survey: Survey, rare: list[str]
) -> None:
    made = prepare_search(survey, SearchRequest(rare[:2], non_members=[survey.ids[50]], **QUICK))
    relearning = Relearning(replace(made, ranker=Remembering()))
    ranker: Any = relearning.ranking([rare[2]], survey.ids[60:62].tolist(), [survey.ids[70]]).ranker
    assert np.flatnonzero(ranker.told_ == 1).tolist() == [0, 1, 2]
    assert np.flatnonzero(ranker.told_ == -1).tolist() == [50, 60, 61]


def test_bad_data_leaves_the_list_and_teaches_nothing(campaign: Campaign) -> None:
    first, *others = campaign.list_ids()
    scores = campaign.ranking.scores
    change = campaign.relearn({first: BAD})
    np.testing.assert_array_equal(campaign.ranking.scores, scores)
    assert first not in campaign.ranking.table["id"] and campaign.ranking.table["id"].tolist()[:39] == others
    assert {id: ranks for id, ranks in change.moved.items() if ranks[1] < 40} == {}
    assert (change.revision, change.n_yes, change.n_no) == (1, 0, 0)


def test_unsure_changes_no_ranking(campaign: Campaign) -> None:
    before = campaign.ranking
    change = campaign.relearn({campaign.list_ids()[0]: UNSURE})
    assert campaign.ranking is before and change.revision == 0 and change.moved == {}


def test_what_moved_is_told(campaign: Campaign, survey: Survey) -> None:
    before, labelled = campaign.ranking, survey.ids[150:156].tolist()
    change = campaign.relearn(dict.fromkeys(labelled, YES))
    old = [id for id in survey.ids[np.argsort(-before.scores, kind="stable")] if id not in before.rows.known_ids]
    old = [id for id in old if id not in labelled]
    now = campaign.ranking.table["id"].tolist()
    moved = {id: (old.index(id) + 1, rank) for rank, id in enumerate(now, 1) if old.index(id) + 1 != rank}
    assert change.moved == moved and len(moved) > 10 and change.n_yes == 6


def test_a_label_taken_back_is_forgotten(campaign: Campaign) -> None:
    before = campaign.ranking.table["id"].tolist()
    id = before[5]
    campaign.relearn({id: NO})
    change = campaign.relearn({})
    assert campaign.ranking.table["id"].tolist() == before and campaign.list_ids() == before
    assert change.moved[id] == (None, 6) and change.revision == 2


def test_labels_go_before_what_was_given_at_the_start(survey: Survey, rare: list[str]) -> None:
    campaign = Campaign.start(survey, rare[:3], non_members=[survey.ids[50]], **QUICK)
    campaign.relearn({rare[0]: NO, survey.ids[50]: YES})
    assert campaign.ranking.rows.known_ids == [*rare[1:3], survey.ids[50]]
    said = " ".join(campaign.ranking.problems)
    assert f"{rare[0]}: given as known at the start" in said and f"{survey.ids[50]}: given as a non-member" in said
    with pytest.raises(UsageError, match="all known examples were labelled as non-members"):
        campaign.relearn(dict.fromkeys(rare[:3], NO))
    assert campaign.revision == 1  # what was there before is still there


def test_labels_of_spectra_that_are_not_there_are_told(campaign: Campaign) -> None:
    campaign.relearn({"nobody": YES})
    assert any("nobody: labelled as a member" in problem for problem in campaign.ranking.problems)
    assert "nobody" not in campaign.list_ids()


def test_an_earlier_ranking_keeps_its_own_ranker(campaign: Campaign, rare: list[str]) -> None:
    before = campaign.ranking
    weights = before.ranker.coef_.copy()  # type: ignore[attr-defined]
    campaign.relearn(dict.fromkeys(rare[3:8], YES))
    np.testing.assert_array_equal(before.ranker.coef_, weights)  # type: ignore[attr-defined]
    assert not np.array_equal(campaign.ranking.ranker.coef_, weights)  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["matched_filter", "label_propagation"])
def test_what_was_learned_can_be_saved(survey: Survey, rare: list[str], tmp_path: Path, method: str) -> None:
    campaign = Campaign.start(survey, rare[:3], method, top=20, recipe=QUICK["recipe"])
    campaign.relearn({rare[3]: YES})
    assert campaign.ranking.save(tmp_path / "model.safetensors").exists()


# --- flags


def test_only_spectra_that_are_new_to_the_list_are_examined(
    campaign: Campaign, survey: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    examined: list[str] = []
    flags_of = candidates.flags_of

    def counted(survey: Survey, rows: Any, template: Any) -> Any:
        examined.extend(survey.ids[rows])
        return flags_of(survey, rows, template)

    monkeypatch.setattr(candidates, "flags_of", counted)
    first = set(campaign.ranking.table["id"])
    labelled = survey.ids[150:156].tolist()
    campaign.relearn(dict.fromkeys(labelled, YES) | {campaign.list_ids()[0]: UNSURE})
    new = set(campaign.ranking.table["id"]) - first
    flags = dict(zip(campaign.ranking.table["id"], campaign.ranking.table["flags"], strict=True))
    assert new and {id for id, flag in flags.items() if flag == UNEXAMINED} == new and not examined
    campaign.examine()
    campaign.examine()
    assert set(examined) == new | set(labelled) - first and len(examined) == len(set(examined))
    assert UNEXAMINED not in campaign.ranking.table["flags"]


# --- places


def test_labelled_spectra_keep_their_places(campaign: Campaign, rare: list[str]) -> None:
    listed = campaign.list_ids()
    chosen = {listed[place]: YES if listed[place] in rare else NO for place in (0, 1, 7, 20)}
    campaign.relearn(chosen)
    after = campaign.list_ids()
    assert [after.index(id) for id in chosen] == [0, 1, 7, 20]
    others = [id for id in after if id not in chosen]
    assert others == campaign.ranking.table["id"].tolist() and len(after) == len(set(after))
    further = {after[30]: NO, after[2]: BAD, after[3]: UNSURE}
    campaign.relearn(chosen | further)
    again = campaign.list_ids()
    assert [again.index(id) for id in (*chosen, *further)] == [0, 1, 7, 20, 30, 2, 3]
    assert len(again) == len(set(again))


def test_each_order_has_its_own_places(survey: Survey, rare: list[str]) -> None:
    campaign = Campaign.start(survey, rare[:10], **QUICK)  # enough for a chance above one half
    informative = campaign.list_ids("informative")
    id = informative[0]
    at = campaign.list_ids().index(id)
    assert sorted(informative) == sorted(campaign.list_ids()) and at > 0
    campaign.relearn({id: NO})
    assert campaign.list_ids("informative")[0] == id and campaign.list_ids()[at] == id
    with pytest.raises(UsageError, match="there is no order 'best'"):
        campaign.list_ids("best")


def test_when_all_are_labelled_the_last_list_stays(survey: Survey, rare: list[str], tmp_path: Path) -> None:
    few = Selection(cone=(5.0, -43.3, 4.5))
    campaign = Campaign.start(survey, rare[:3], selection=few, **QUICK)
    listed = campaign.list_ids()
    labels = {id: YES if id in rare else NO for id in listed}
    change = campaign.relearn(labels)
    assert (change.revision, change.moved, change.n_yes) == (0, {}, len(listed)) and campaign.list_ids() == listed
    assert campaign.progress(labels).suggestion == "Stop: every candidate in the list has a label."
    again = Campaign.resume(survey, labels, campaign.keep(tmp_path / "c.json"))
    assert again.list_ids() == listed
    assert campaign.relearn(dict(list(labels.items())[1:])).revision == 1  # one was taken back


def test_what_is_said_of_those_that_left_the_list(campaign: Campaign, survey: Survey, rare: list[str]) -> None:
    rows = {row["id"]: row for row in campaign.ranking.table}
    yes = next(id for id in campaign.list_ids() if id in rare)
    no = next(id for id in campaign.list_ids() if id not in rare)
    campaign.relearn({yes: YES, no: NO, rare[0]: YES})
    campaign.examine()
    said = campaign.describe([yes, no, rare[0]])
    for id in (yes, no):
        assert all(said[id][name] == rows[id][name] for name in ("id", "class", "snr", "flags"))
    assert said[yes]["nearest_known"] in rare[:3] and said[rare[0]]["nearest_known"] in {*rare[1:3], yes}


def test_a_labelled_spectrum_that_was_not_listed_comes_last(campaign: Campaign, survey: Survey) -> None:
    id = next(id for id in survey.ids[::-1] if id not in campaign.list_ids())
    campaign.relearn({id: NO})
    assert campaign.list_ids()[-1] == id


# --- several threads


def test_learning_in_several_threads_loses_no_revision(campaign: Campaign) -> None:
    wanted = [{id: NO} for id in campaign.list_ids()[:8]]
    with ThreadPoolExecutor(4) as threads:
        changes = list(threads.map(campaign.relearn, wanted))
    assert sorted(change.revision for change in changes) == list(range(1, 9)) and campaign.revision == 8
    now = campaign.now
    assert set(now.labels) & set(now.ranking.table["id"]) == set() and set(now.list_ids()) >= set(now.labels)


# --- restarts


def test_a_campaign_goes_on_where_it_was_left(survey: Survey, rare: list[str], tmp_path: Path) -> None:
    campaign = Campaign.start(survey, rare[:3], non_members=[survey.ids[60]], selection=Selection(min_snr=1), **QUICK)
    labels: dict[str, Label] = {}
    for _ in range(3):
        new = [id for id in campaign.list_ids() if id not in labels][:5]
        labels |= {id: YES if id in rare else NO for id in new}
        campaign.relearn(labels)
    place = campaign.keep(tmp_path / "kept.json")
    again = Campaign.resume(survey.path, labels, place)
    again.examine()
    campaign.examine()
    assert_same_candidates(again.ranking, campaign.ranking)
    assert again.known_ids == campaign.known_ids and again.list_ids()[:15] == list(labels)
    assert again.list_ids() == campaign.list_ids()


def test_it_is_kept_beside_the_survey(campaign: Campaign, survey: Survey) -> None:
    place = campaign.keep()
    assert place == start_beside(survey) and place.name == "a.survey.campaign.json"
    assert Campaign.resume(survey).list_ids() == campaign.list_ids()
    place.unlink()
    with pytest.raises(UsageError, match=r"a\.survey\.campaign\.json: there is no campaign to continue"):
        Campaign.resume(survey)


def test_whether_it_is_blind_is_kept_with_it(campaign: Campaign, survey: Survey, tmp_path: Path) -> None:
    place = campaign.keep(tmp_path / "c.json", blind=True)
    assert CampaignStart.read(place).blind
    assert Campaign.resume(survey, path=place).list_ids() == campaign.list_ids()
    kept = json.loads(place.read_text())
    del kept["blind"]  # as it was written before there was such a thing
    place.write_text(json.dumps(kept))
    assert not CampaignStart.read(place).blind


@pytest.mark.parametrize("wrong", [{"method": "magic"}, {"seed": -1}, {"selection": {"min_snr": "x"}}, {"more": 1}])
def test_a_campaign_that_cannot_go_on_is_told(campaign: Campaign, tmp_path: Path, wrong: dict[str, Any]) -> None:
    place = campaign.keep(tmp_path / "c.json")
    assert CampaignStart.read(place).request.method == "matched_filter"
    place.write_text(json.dumps(json.loads(place.read_text()) | wrong))
    with pytest.raises(UsageError, match=r"c\.json: cannot read the campaign"):
        CampaignStart.read(place)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "other", "version": 1}', "\x00"])
def test_a_file_that_is_no_campaign_is_told(survey: Survey, tmp_path: Path, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(UsageError, match=r"c\.json"):
        Campaign.resume(survey, path=tmp_path / "c.json")


def test_what_cannot_be_kept_is_told(survey: Survey, rare: list[str], tmp_path: Path) -> None:
    in_memory = Campaign.start(survey, spectra_with_bands(3), **QUICK)
    with pytest.raises(UsageError, match="give their files"):
        in_memory.keep(tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()


def test_examples_in_files_are_read_again(survey: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spectra = spectra_with_bands(3)
    np.savez(tmp_path / "mine.npz", wavelength=spectra.wavelength, flux=spectra.flux, ivar=spectra.ivar)
    monkeypatch.chdir(tmp_path)
    campaign = Campaign.start(survey, ["mine.npz"], **QUICK)
    assert len(campaign.known_ids) == 3
    campaign.keep("c.json")
    monkeypatch.chdir("/")
    assert Campaign.resume(survey, path=tmp_path / "c.json").list_ids() == campaign.list_ids()


def test_all_spectra_are_accounted_for(campaign: Campaign, rare: list[str]) -> None:
    campaign.relearn({rare[5]: YES, rare[6]: NO, rare[7]: BAD, rare[8]: UNSURE})
    assert campaign.ranking.n_listed == N - 3 - 3
