"""Learning through the server: one at a time, in a thread of its own, while all others are answered."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from inspector.running_inspector import PATIENCE, Running, campaign_of, label_of, running
from rarespec.labels.campaign import Campaign
from rarespec.labels.campaign_progress import Change
from rarespec.survey import Survey


@pytest.fixture
def server(survey: Survey, tmp_path: Path) -> Iterator[Running]:
    with running(campaign_of(survey), tmp_path / "labels.sqlite", relearn_every=7) as server:
        yield server


def _listed(server: Running) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = server.get("/api/candidates?n=100").json["candidates"]
    return rows


def test_labels_change_the_ranking_and_labelled_ones_keep_their_place(server: Running) -> None:
    before = _listed(server)
    ids = [one["id"] for one in before]
    for id, label in ((ids[0], "yes"), (ids[1], "no"), (ids[2], "bad"), (ids[3], "unsure")):
        server.post("/api/labels", label_of(id, label))
    change = server.post("/api/relearn", {}).json
    assert (change["revision"], change["n_yes"], change["n_no"]) == (1, 1, 1) and change["seconds"] >= 0
    after = _listed(server)
    assert [one["id"] for one in after[:4]] == ids[:4]
    assert [one["label"] for one in after[:4]] == ["yes", "no", "bad", "unsure"]
    assert all(one["score"] is not None and one["rank"] is not None for one in after)
    assert {one["id"]: one["moved"] for one in after if one["moved"]} == {
        id: old for id, (old, _) in change["moved"].items() if old
    }
    assert [one["ranked"] for one in after[:5]] == [False, False, False, True, True]
    assert server.get("/api/session").json["revision"] == 1


def test_what_differs_from_the_start_is_told(server: Running) -> None:
    known = server.inspection.campaign.known_ids[0]
    server.post("/api/labels", label_of(known, "no"))
    assert [line for line in server.post("/api/relearn", {}).json["problems"] if line.startswith(f"{known}: given as")]
    assert server.get("/api/session").json["examples_lost"]


def test_what_is_learned_is_forgotten_after_an_undo(server: Running) -> None:
    before = _listed(server)
    server.post("/api/labels", label_of(before[0]["id"]))
    assert server.post("/api/relearn", {}).json["revision"] == 1
    server.post("/api/undo", {"event_id": label_of("")["event_id"], "undoes": None})
    assert server.post("/api/relearn", {}).json["n_yes"] == 0
    after = _listed(server)
    assert [one["id"] for one in after] == [one["id"] for one in before]


def test_flags_of_new_candidates_come_later(server: Running) -> None:
    before = {one["id"] for one in _listed(server)}
    for id in sorted(before)[:20]:
        server.post("/api/labels", label_of(id, "no"))
    server.post("/api/relearn", {})
    server.inspection.read_ahead.result(PATIENCE)
    new = [one for one in _listed(server) if one["id"] not in before]
    assert new and all(one["flags"] != "unexamined" for one in new)


def test_asked_again_the_answer_is_the_same(server: Running) -> None:
    server.post("/api/labels", label_of(_listed(server)[0]["id"]))
    assert server.post("/api/relearn", {}).json == server.post("/api/relearn", {}).json


def test_requests_go_on_while_the_ranking_learns(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    is_learning, may_go_on, at_once = Event(), Event(), []
    relearn = Campaign.relearn

    def slow_relearn(campaign: Campaign, labels: Any) -> Change:
        at_once.append(1)
        assert len(at_once) == 1, "two learn at the same time"
        is_learning.set()
        assert may_go_on.wait(PATIENCE)
        change = relearn(campaign, labels)
        at_once.pop()
        return change

    monkeypatch.setattr(Campaign, "relearn", slow_relearn)
    ids = [one["id"] for one in _listed(server)]
    server.post("/api/labels", label_of(ids[0]))
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(server.post, "/api/relearn", {}) for _ in range(3)]
        assert is_learning.wait(PATIENCE)
        assert server.post("/api/labels", label_of(ids[1])).status == 200
        assert server.get(f"/api/spectrum?id={ids[1]}").status == 200
        assert server.post("/api/order", {"order": "informative"}).status == 200
        assert server.get("/api/session").json["revision"] == 0 and not any(one.done() for one in asked)
        may_go_on.set()
        assert sorted(one.result().json["revision"] for one in asked) == [1, 2, 2]  # the label came in between
    assert server.get("/api/session").json["order"] == "informative"


def test_the_order_is_chosen(server: Running) -> None:
    likely = _listed(server)
    assert server.post("/api/order", {"order": "informative"}).json == {"order": "informative"}
    informative = _listed(server)
    assert [one["id"] for one in informative] == server.inspection.campaign.list_ids("informative")
    assert {one["id"] for one in informative} == {one["id"] for one in likely}
    assert [one["position"] for one in informative] == list(range(len(likely)))
    server.post("/api/order", {"order": "likely"})
    assert [one["id"] for one in _listed(server)] == [one["id"] for one in likely]


def test_all_known_refused_is_told_and_changes_nothing(server: Running) -> None:
    for id in server.inspection.campaign.known_ids:
        server.post("/api/labels", label_of(id, "no"))
    answer = server.post("/api/relearn", {})
    assert answer.status == 409 and "known" in answer.json["error"]
    assert server.get("/api/session").json["revision"] == 0
    assert server.get("/api/candidates").status == 200
