"""Events: what may be in one, and how it is written."""

import numpy as np
import pytest

from rarespec.errors import UsageError
from rarespec.labels.event import MAX_COMMENT, Label, LabelEvent, check_event, in_utc, new_event_id, now, person_named


def label(**changes):
    return LabelEvent(**{"event_id": new_event_id(), "spectrum": "s1", "label": Label.YES, "person": "Ada"} | changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"event_id": ""}, "not an event id"),
        ({"event_id": "17"}, "not an event id"),
        ({"event_id": new_event_id().upper().replace("0", "A", 1)}, "lower case"),
        ({"label": None}, "either a label or"),
        ({"undoes": new_event_id()}, "either a label or"),
        ({"label": None, "undoes": "x"}, "not an event id"),
        ({"label": "maybe"}, "yes, no, unsure, bad"),
        ({"spectrum": ""}, "id of a spectrum"),
        ({"spectrum": "x" * 1001}, "1001 characters"),
        ({"comment": "x" * (MAX_COMMENT + 1)}, "4001 characters"),
        ({"comment": "\udcff"}, "invalid text"),
        ({"spectrum": "\udcff"}, "invalid text"),
        ({"person": ""}, "empty"),
        ({"person": " \t"}, "empty"),
        ({"person": "A\nB"}, "printable"),
        ({"person": "\x1b[31mA"}, "printable"),
        ({"person": "A" * 101}, "100 characters"),
        ({"at": "yesterday"}, "ISO 8601"),
        ({"at": "2025-03-01T20:15:00"}, "time zone"),
        ({"at": "0001-01-01T00:00:00+10:00"}, "out of range"),
        ({"rank": 1.5}, "rank 1.5"),
        ({"rank": -1}, "rank -1"),
        ({"rank": 1 << 63}, "out of range"),
        ({"score": float("nan")}, "score nan"),
        ({"score": float("inf")}, "score inf"),
        ({"score": "3"}, "score '3'"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(changes, said):
    with pytest.raises(UsageError, match=said):
        check_event(label(**changes))


def test_numbers_of_numpy_become_plain():
    event = check_event(label(rank=np.int64(3), score=np.float32(0.5), revision=np.int16(0)))
    assert (event.rank, event.score, event.revision) == (3, 0.5, 0)
    assert type(event.rank) is int and type(event.score) is float and type(event.revision) is int


@pytest.mark.parametrize(
    "time", ["2025-03-01T20:15:00Z", "2025-03-01T21:15:00+01:00", "2025-03-01 12:15-08:00", "20250301T201500Z"]
)
def test_every_zone_becomes_utc(time):
    assert in_utc(time) == check_event(label(at=time)).at == "2025-03-01T20:15:00.000000Z"


def test_now_is_in_the_same_form():
    time = now()
    assert in_utc(time) == time


def test_a_name_is_the_same_however_its_accents_are_typed():
    assert person_named(" Jose\u0301 ") == person_named("Jos\u00e9") == "Jos\u00e9"


def test_without_a_name_it_is_the_user_of_the_system(monkeypatch):
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    assert person_named() == "ada"


def test_on_a_hub_people_have_the_names_that_the_hub_knows(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "jovyan")
    monkeypatch.setenv("JUPYTERHUB_USER", "ada")
    assert person_named() == "ada" and person_named("Grace") == "Grace"


def test_a_system_that_knows_no_name_asks_for_one(monkeypatch):
    def nobody():
        raise KeyError("uid not found")

    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    monkeypatch.setattr("getpass.getuser", nobody)
    with pytest.raises(UsageError, match="give a name"):
        person_named()
