"""Labels by way of the server: acknowledged when stored, once each, and none lost by restarts or by many clients."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid1, uuid4

import pytest

from inspector.running_inspector import PATIENCE, Running, campaign_of, exchanged, label_of, labels_in, running
from rarespec.labels.event import LabelEvent
from rarespec.labels.log import LabelLog
from rarespec.survey import Survey


@pytest.fixture
def server(survey: Survey, tmp_path: Path) -> Iterator[Running]:
    with running(campaign_of(survey), tmp_path / "labels.sqlite") as server:
        yield server


def test_a_label_is_stored_as_it_was_given(server: Running) -> None:
    comment = "<script>alert(1)</script> ‮ Δ\nline"
    asked = label_of("s012", "unsure", comment=comment, rank=3, score=-1.5, revision=7)
    answer = server.post("/api/labels", asked)
    (stored,) = labels_in(server.log)
    assert answer.status == 200 and answer.json["event"]["at"] == stored.at
    assert (stored.spectrum, stored.label, stored.person) == ("s012", "unsure", "Ada")
    assert (stored.comment, stored.rank, stored.score, stored.revision) == (comment, 3, -1.5, 7)


def test_an_answer_comes_after_the_commit(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the log is still writing there is no answer to the label, but there are answers to others."""
    is_writing, may_go_on = Event(), Event()
    append = LabelLog.append

    def slow_append(log: LabelLog, event: LabelEvent) -> LabelEvent:
        is_writing.set()
        assert may_go_on.wait(PATIENCE)
        return append(log, event)

    monkeypatch.setattr(LabelLog, "append", slow_append)
    with ThreadPoolExecutor(1) as pool:
        label = pool.submit(server.post, "/api/labels", label_of("s012"))
        assert is_writing.wait(PATIENCE)
        assert server.get("/api/yield").status == 200
        assert not label.done() and not labels_in(server.log)
        may_go_on.set()
        assert label.result().status == 200 and len(labels_in(server.log)) == 1


def test_a_label_that_could_not_be_stored_is_not_acknowledged(server: Running) -> None:
    server.log.close()
    answer = server.post("/api/labels", label_of("s012"))
    assert answer.status == 500 and "closed" in answer.json["error"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_fault_of_our_own_is_an_answer_too(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LabelLog, "append", lambda log, event: 1 / 0)
    answer = server.post("/api/labels", label_of("s012"))
    assert answer.status == 500 and "bug in rarespec" in answer.json["error"]
    assert "content-security-policy" in answer.headers


def test_the_same_label_again_is_answered_the_same(server: Running) -> None:
    asked = label_of("s012")
    first, second = (server.post("/api/labels", asked) for _ in range(2))
    assert first.status == second.status == 200 and first.json == second.json
    assert server.post("/api/labels", asked | {"label": "no"}).status == 409
    assert server.post("/api/labels", asked | {"comment": "other"}).status == 409
    assert len(labels_in(server.log)) == 1


def test_undo_takes_back_the_last_label_that_stands(server: Running) -> None:
    for id, label in (("s012", "yes"), ("s013", "no"), ("s013", "yes")):
        assert server.post("/api/labels", label_of(id, label)).status == 200
    assert [_undo(server).json["id"] for _ in range(3)] == ["s013", "s013", "s012"]
    assert _undo(server).status == 404
    assert len(labels_in(server.log)) == 6 and not server.inspection.history().standing


def test_an_undo_sent_again_takes_back_nothing_more(server: Running) -> None:
    for id in ("s012", "s013"):
        server.post("/api/labels", label_of(id))
    again = {"event_id": str(uuid4()), "undoes": None}
    first, second = (server.post("/api/undo", again) for _ in range(2))
    assert first.json == second.json and first.json["id"] == "s013"
    assert set(server.inspection.history().standing) == {("s012", "Ada")}
    with_target = again | {"undoes": first.json["event"]["undoes"]}
    assert server.post("/api/undo", with_target).json == first.json


def test_undo_of_a_certain_label(server: Running) -> None:
    first, second = label_of("s012"), label_of("s013")
    for asked in (first, second):
        server.post("/api/labels", asked)
    assert _undo(server, first["event_id"]).json["id"] == "s012"
    assert _undo(server, first["event_id"]).status == 404
    assert _undo(server, str(uuid4())).status == 404
    assert server.post("/api/undo", {"event_id": second["event_id"], "undoes": None}).status == 409
    assert set(server.inspection.history().standing) == {("s013", "Ada")}


def test_nobody_takes_back_what_others_said(server: Running) -> None:
    theirs = LabelEvent(str(uuid4()), "s012", "yes", person="Grace")  # type: ignore[arg-type]
    server.log.append(theirs)
    undo = server.log.append(LabelEvent(str(uuid4()), "", None, theirs.event_id, "Grace"))
    assert _undo(server).status == 404 and _undo(server, theirs.event_id).status == 404
    assert server.post("/api/undo", {"event_id": undo.event_id, "undoes": None}).status == 404
    assert len(labels_in(server.log)) == 2


def _undo(server: Running, undoes: str | None = None) -> Any:
    return server.post("/api/undo", {"event_id": str(uuid4()), "undoes": undoes})


LONE_HALF = '"\\ud800"'
MALFORMED: tuple[bytes | dict[str, Any], ...] = (
    b"",
    b"{",
    b"null",
    b"[]",
    b'"yes"',
    b"1",
    b"{}",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    "{}".encode("utf-16"),
    b"{}{}",
    b"[" * 60000,
    b'{"a":' * 10000,
    b'{"label": NaN}',
    b"9" * 5000,
    b'{"id": "s012", "id": "s013"}',
    {"event_id": None},
    {"event_id": "1"},
    {"event_id": 1},
    {"event_id": str(uuid1())},
    {"event_id": str(uuid4()).upper()},
    {"event_id": f"{{{uuid4()}}}"},
    {"event_id": uuid4().hex},
    {"id": None},
    {"id": 12},
    {"id": ["s012"]},
    {"id": ""},
    {"id": "nobody"},
    {"id": "s012\0"},
    {"id": "x" * 2000},
    {"label": None},
    {"label": "maybe"},
    {"label": "YES"},
    {"label": ""},
    {"label": True},
    {"label": ["yes"]},
    {"comment": 1},
    {"comment": {"a": 1}},
    {"comment": "x" * 4001},
    {"comment": "a\0b"},
    {"rank": 0},
    {"rank": -1},
    {"rank": 1.5},
    {"rank": True},
    {"rank": "1"},
    {"rank": 10**30},
    {"score": "1"},
    {"score": True},
    {"score": [1]},
    {"score": 10**400},
    {"revision": -1},
    {"revision": 0.5},
    {"person": "Grace"},
    {"at": "2020-01-01T00:00:00Z"},
    {"undoes": None},
    {"__proto__": {}},
)


def _bodies() -> Iterator[bytes]:
    asked = label_of("s012")
    for fault in MALFORMED:
        yield fault if isinstance(fault, bytes) else json.dumps(asked | fault).encode()
    yield json.dumps(asked).encode()[:-1] + b', "label": "no"}'
    for word in ("NaN", "Infinity", "-Infinity", "1e999"):
        yield json.dumps(asked).replace('"score": 0.5', f'"score": {word}').encode()
    for name in ("event_id", "id", "label"):
        yield json.dumps({key: value for key, value in asked.items() if key != name}).encode()
    for name in ("id", "comment", "label"):
        yield json.dumps(asked).replace(json.dumps(asked[name]), LONE_HALF).encode()


def test_malformed_bodies_get_an_answer_and_change_nothing(server: Running) -> None:
    before = server.state()
    for body in _bodies():
        answer = server.post("/api/labels", body)
        assert answer.status in (400, 404) and set(answer.json) == {"error"}, (body[:200], answer)
    for path, body in [
        ("/api/undo", b"{}"),
        ("/api/undo", b'{"event_id": 1}'),
        ("/api/undo", json.dumps({"event_id": str(uuid4()), "undoes": "x"}).encode()),
        ("/api/undo", json.dumps({"event_id": str(uuid4()), "undoes": None, "id": "s012"}).encode()),
        ("/api/relearn", b'{"labels": {}}'),
        ("/api/relearn", b"[]"),
        ("/api/relearn", b""),
        ("/api/order", b"{}"),
        ("/api/order", b'{"order": "random"}'),
        ("/api/order", b'{"order": null}'),
        ("/api/order", b'{"order": ["likely"]}'),
    ]:
        assert server.post(path, body).status == 400, (path, body)
    assert server.state() == before


def test_what_may_be_left_out(server: Running) -> None:
    asked = label_of("s012")
    assert server.post("/api/labels", {name: asked[name] for name in ("event_id", "id", "label")}).status == 200
    (stored,) = labels_in(server.log)
    assert (stored.comment, stored.rank, stored.score, stored.revision) == ("", None, None, None)


def test_a_restart_in_mid_session_loses_nothing(survey: Survey, tmp_path: Path) -> None:
    """The page goes on with the new server: what was answered stands, what was not is sent again and counts once."""
    sent = [label_of(f"s{i:03d}", "yes" if i < 14 else "no") for i in range(12, 18)]
    with running(campaign_of(survey), tmp_path / "labels.sqlite") as first:
        for asked in sent[:4]:
            assert first.post("/api/labels", asked).status == 200
        old = first.get_call("/api/session")
    with running(campaign_of(survey), tmp_path / "labels.sqlite") as second:
        host = second.get_call("/").headers[0]
        moved = old.having(*host)
        assert second.send(moved).status == 401  # the old token opens nothing
        for asked in sent[2:]:
            assert second.post("/api/labels", asked).status == 200
        listed = second.get("/api/candidates?n=100").json["candidates"]
        labelled = {one["id"]: one["label"] for one in listed if one["label"]}
        assert labelled == {asked["id"]: asked["label"] for asked in sent}
        assert second.get("/api/progress").json["inspected"] == 6
        assert [event.event_id for event in labels_in(second.log)] == [asked["event_id"] for asked in sent]
        assert _undo(second).json["id"] == sent[-1]["id"]
        assert len(second.inspection.history().events) == 7


def test_labels_of_earlier_sessions_are_learned_from_at_once(survey: Survey, tmp_path: Path) -> None:
    with running(campaign_of(survey), tmp_path / "labels.sqlite") as first:
        as_they_were = first.get("/api/candidates?n=3").json["candidates"]
        ids = [one["id"] for one in as_they_were]
        for id in ids:
            first.post("/api/labels", label_of(id))
        assert first.post("/api/relearn", {}).json["n_yes"] == 3
    with running(campaign_of(survey), tmp_path / "labels.sqlite") as second:
        assert second.inspection.listing.ranking.rows.known.sum() == 4 + 3
        answer = second.post("/api/relearn", {}).json
        assert answer["n_yes"] == 3 and answer["moved"] == {}
        second.inspection.read_ahead.result(PATIENCE)
        shown = second.get("/api/candidates?n=3").json["candidates"]
        assert [one["id"] for one in shown] == ids and all(one["label"] == "yes" for one in shown)
        known = {*ids, *second.inspection.campaign.known_ids}
        for one, before in zip(shown, as_they_were, strict=True):
            assert not one["ranked"] and one["nearest_known"] in known - {one["id"]}
            assert all(one[name] == before[name] for name in ("flags", "snr", "ra", "class"))


def _label_many(server: Running, client: int, n: int, ids: list[str]) -> list[str]:
    """Over one connection; every third label is sent twice, as after an answer that was lost."""
    acknowledged = []
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        for i in range(n):
            asked = label_of(ids[(client * n + i) % len(ids)], ("yes", "no", "unsure", "bad")[i % 4])
            for _ in range(1 + (i % 3 == 0)):
                answer = exchanged(connection, server.post_call("/api/labels", asked))
                assert answer.status == 200 and answer.json["event"]["event_id"] == asked["event_id"]
            acknowledged.append(asked["event_id"])
    return acknowledged


@pytest.mark.parametrize(
    ("n_clients", "n_labels"),
    [pytest.param(8, 20, id="8 clients"), pytest.param(16, 250, id="16 clients", marks=pytest.mark.exhaustive)],
)
def test_many_clients_lose_and_double_nothing(server: Running, survey: Survey, n_clients: int, n_labels: int) -> None:
    ids = [str(id) for id in survey.ids[20:]]
    with ThreadPoolExecutor(n_clients) as pool:
        parts = list(pool.map(lambda client: _label_many(server, client, n_labels, ids), range(n_clients)))
    acknowledged = [event_id for part in parts for event_id in part]
    stored = [event.event_id for event in labels_in(server.log)]
    assert len(stored) == len(set(stored)) == n_clients * n_labels
    assert sorted(stored) == sorted(acknowledged)
