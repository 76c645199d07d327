"""Which labels stand after undos, undos of undos, and logs merged out of order."""

from hypothesis import given
from hypothesis import strategies as st

from rarespec.labels.event import Label, LabelEvent, new_event_id
from rarespec.labels.merging import find_standing_labels, labels_left, last_label


def said(spectrum, label, person="Ada", second=0):
    at = f"2025-03-01T20:15:{second:02d}.000000Z"
    return LabelEvent(new_event_id(), spectrum, Label(label), None, person, at)


def undo(event):
    return LabelEvent(new_event_id(), event.spectrum, None, event.event_id, event.person, event.at)


def words(events):
    return {key: event.label.value for key, event in find_standing_labels(events).items()}


def test_the_last_label_of_each_person_stands():
    events = [said("a", "yes"), said("a", "no", second=1), said("a", "bad", "Bea", 2), said("b", "unsure", second=3)]
    assert words(events) == {("a", "Ada"): "no", ("a", "Bea"): "bad", ("b", "Ada"): "unsure"}
    assert words(enumerate(events, 1)) == words(events)


def test_an_undo_brings_back_what_was_said_before():
    first, second = said("a", "yes"), said("a", "no", second=1)
    assert words([first, second, undo(second)]) == {("a", "Ada"): "yes"}
    assert words([first, undo(first)]) == {}


def test_an_undo_of_an_undo_restores_and_can_be_undone():
    label = said("a", "yes")
    once = undo(label)
    twice = undo(once)
    assert words([label, once, twice]) == {("a", "Ada"): "yes"}
    assert words([label, once, twice, undo(twice)]) == {}


def test_taken_back_twice_is_taken_back_while_one_of_the_undos_stands():
    label = said("a", "yes")
    one, other = undo(label), undo(label)
    assert words([label, one, other]) == {}
    assert words([label, one, other, undo(one)]) == {}
    assert words([label, one, other, undo(one), undo(other)]) == {("a", "Ada"): "yes"}


def test_time_counts_and_not_the_place_in_the_log():
    assert words([said("a", "no", second=5), said("a", "yes", second=1)]) == {("a", "Ada"): "no"}


def test_at_the_same_time_the_place_in_the_log_counts():
    assert words([said("a", "yes"), said("a", "no")]) == {("a", "Ada"): "no"}


def test_what_is_undone_next():
    events = [said("a", "yes"), said("b", "no", second=1), said("c", "no", "Bea", 2)]
    assert last_label(events, "Ada") == events[1]
    events.append(undo(events[1]))
    assert last_label(events, "Ada") == events[0]
    events.append(undo(events[0]))
    assert last_label(events, "Ada") is None and last_label(events, "Bea") == events[2]


@given(st.lists(st.integers(0, 2), max_size=30))
def test_undoing_until_nothing_is_left_walks_back_through_all_labels(spectra):
    events = [said(str(spectrum), "yes", second=i) for i, spectrum in enumerate(spectra)]
    for expected in reversed(list(events)):
        assert last_label(events, "Ada") == expected
        events.append(undo(expected))
    assert labels_left(events) == [] and find_standing_labels(events) == {}
