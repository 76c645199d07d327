"""Labelling blind: what others say is neither shown before one's own label nor learned from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from inspector.running_inspector import Running, campaign_of, label_of, running
from rarespec.labels.event import Label, LabelEvent
from rarespec.survey import Survey


@pytest.fixture
def server(survey: Survey, tmp_path: Path) -> Iterator[Running]:
    with running(campaign_of(survey), tmp_path / "labels.sqlite", blind=True) as server:
        yield server


def others_say(server: Running, id: str, label: str, person: str = "Grace") -> LabelEvent:
    return server.log.append(LabelEvent(str(uuid4()), id, Label(label), person=person, comment=f"by {person}"))


def candidate(server: Running, id: str) -> Any:
    rows = server.get("/api/candidates?n=40").json["candidates"]
    return next(row for row in rows if row["id"] == id)


def test_what_others_say_is_shown_once_one_has_said_something_oneself(server: Running) -> None:
    id = server.inspection.listing.ids[0]
    others_say(server, id, "no")
    others_say(server, id, "yes", "Vera")
    row = candidate(server, id)
    assert (row["others"], row["remarks"], row["disagree"], row["label"]) == ({}, {}, False, None)
    assert server.get("/api/disagreements").json == []
    answer = server.post("/api/labels", label_of(id, "yes")).json
    assert answer["others"] == {"Grace": "no", "Vera": "yes"} and answer["disagree"] is True
    assert answer["remarks"] == {"Grace": "by Grace", "Vera": "by Vera"}
    assert candidate(server, id)["others"] == {"Grace": "no", "Vera": "yes"}
    assert [one["id"] for one in server.get("/api/disagreements").json] == [id]


def test_after_an_undo_it_is_hidden_again(server: Running) -> None:
    id = server.inspection.listing.ids[0]
    others_say(server, id, "no")
    server.post("/api/labels", label_of(id, "yes"))
    answer = server.post("/api/undo", {"event_id": str(uuid4()), "undoes": None}).json
    assert (answer["id"], answer["others"], answer["disagree"]) == (id, {}, False)
    assert candidate(server, id)["others"] == {}


def test_ranking_list_and_progress_know_ones_own_labels_alone(server: Running) -> None:
    first, second, third = server.inspection.listing.ids[:3]
    for id in (first, second):
        others_say(server, id, "yes")
    server.post("/api/labels", label_of(third, "no"))
    change = server.post("/api/relearn", {}).json
    assert (change["n_yes"], change["n_no"]) == (0, 1)
    assert candidate(server, first)["ranked"] and not candidate(server, third)["ranked"]
    progress = server.get("/api/progress").json
    assert (progress["inspected"], progress["found"], progress["refused"]) == (1, 0, 1)


def test_it_starts_with_ones_own_labels_alone(survey: Survey, tmp_path: Path) -> None:
    campaign = campaign_of(survey)
    first, second = campaign.list_ids()[:2]
    for blind, n_yes in ((True, 1), (False, 2)):
        with running(campaign_of(survey), tmp_path / "labels.sqlite", blind=blind) as server:
            if blind:
                others_say(server, first, "yes")
                server.post("/api/labels", label_of(second, "yes"))
        with running(campaign_of(survey), tmp_path / "labels.sqlite", blind=blind) as again:
            assert again.get("/api/session").json["blind"] is blind
            assert again.get("/api/progress").json["found"] == n_yes
            assert set(again.inspection.campaign.now.labels) == ({second} if blind else {first, second})
