"""Several people's labels become one, by rule."""

import pytest

from rarespec.errors import UsageError
from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.merging import RULES, merge_labels


def events(*labels, spectrum="a"):
    """One person after the other."""
    return [
        LabelEvent(
            new_event_id(),
            spectrum,
            Label(label),
            None,
            f"p{i}",
            f"2025-03-01T20:15:{i:02d}.000000Z",
            comment=f"c{i}" * (i % 2),
        )
        for i, label in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("labels", "majority", "latest", "unanimous", "any_yes"),
    [
        (["yes"], "yes", "yes", "yes", "yes"),
        (["no", "no"], "no", "no", "no", "no"),
        (["yes", "no"], None, "no", None, "yes"),
        (["no", "yes", "no"], "no", "no", None, "yes"),
        (["no", "unsure"], None, "unsure", None, None),
        (["bad", "bad", "no", "no"], None, "no", None, None),
        (["yes", "yes", "no", "unsure"], "yes", "unsure", None, "yes"),
        (["bad", "no", "no"], "no", "no", None, "no"),
    ],
)
def test_rules(labels, majority, latest, unanimous, any_yes):
    wanted = {"majority": majority, "latest": latest, "unanimous": unanimous, "any_yes": any_yes}
    assert {rule: merge_labels(events(*labels), rule)["a"].label for rule in RULES} == wanted


def test_who_said_what_is_kept():
    together = merge_labels(events("yes", "no", "no"))["a"]
    assert together.by == {"p0": "yes", "p1": "no", "p2": "no"} and together.disagree
    assert together.comments == {"p1": "c1"}
    assert not merge_labels(events("no", "no"))["a"].disagree


def test_the_latest_is_by_time_and_not_by_place():
    assert merge_labels(events("yes", "no")[::-1], "latest")["a"].label == "no"


def test_who_says_it_again_is_the_latest():
    first, second = events("yes", "no")
    again = LabelEvent(new_event_id(), "a", Label.YES, None, "p0", "2025-03-01T20:16:00.000000Z")
    assert merge_labels([first, second, again], "latest")["a"].label == "yes"


def test_spectra_are_apart_and_an_undone_one_is_not_there():
    a, b = events("yes"), events("no", spectrum="b")
    undo = LabelEvent(new_event_id(), "b", None, b[0].event_id, "p0", "2025-03-01T20:16:00.000000Z")
    assert merge_labels([*a, *b]).keys() == {"a", "b"} and merge_labels([*a, *b, undo]).keys() == {"a"}


def test_an_unknown_rule_is_refused_even_without_labels():
    with pytest.raises(UsageError, match="majority, latest"):
        merge_labels([], "loudest")
