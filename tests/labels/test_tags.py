"""Tags of one's own: a few short words of a label, which come back from every table."""

import pytest

from rarespec.errors import UsageError
from rarespec.labels.event import MAX_TAG, Label, LabelEvent, check_event, new_event_id
from rarespec.labels.exchange import read_labels, write_labels
from rarespec.labels.exchange.text_rows import with_id
from rarespec.labels.log import LabelLog
from rarespec.labels.merging import choose_labels, merge_labels

AT = "2025-03-01T20:15:00.000000Z"


def label(spectrum="s1", said=Label.YES, person="Ada", **more):
    return check_event(LabelEvent(new_event_id(), spectrum, said, person=person, at=AT, **more))


def test_tags_have_one_form_and_case_counts():
    assert label(tags=(" dC ", "DC", "dC", "high  velocity")).tags == ("dC", "DC", "high velocity")


@pytest.mark.parametrize("tag", ["", " ", "a,b", "a;b", "x" * (MAX_TAG + 1), "bell\x07", "\u202eevil"])
def test_a_tag_that_cannot_be_is_refused(tag):
    with pytest.raises(UsageError, match="tag"):
        label(tags=(tag,))


def test_an_undo_has_no_tags_and_there_are_not_too_many():
    with pytest.raises(UsageError, match="undo has no tags"):
        check_event(LabelEvent(new_event_id(), "", None, new_event_id(), "Ada", tags=("dC",)))
    with pytest.raises(UsageError, match="limit of 10"):
        label(tags=tuple(f"t{i}" for i in range(11)))


def test_the_tags_of_the_last_label_stand_and_those_of_all_people_count_together(tmp_path):
    with LabelLog(tmp_path / "a.sqlite") as log:
        for person, tags in (("Ada", ("dC",)), ("Ada", ("CH",)), ("Bea", ("N", "CH"))):
            log.append(LabelEvent(new_event_id(), "s1", Label.YES, person=person, tags=tags))
        together = merge_labels(log.events())["s1"]
    assert together.tags == {"Ada": ("CH",), "Bea": ("N", "CH")} and together.all_tags == ("CH", "N")


def test_labels_are_chosen_and_counted_by_tag():
    events = [label("a", tags=("dC",)), label("b"), label("c", Label.NO, tags=("dC", "M"))]
    assert [event.spectrum for event in choose_labels(events, tag="dC").rows] == ["a", "c"]
    assert [event.spectrum for event in choose_labels(events, only=Label.YES, tag="dC").rows] == ["a"]
    assert choose_labels(events).count_tags() == {"dC": 2, "M": 1}


@pytest.mark.parametrize("ending", ["csv", "ecsv", "vot", "fits"])
@pytest.mark.filterwarnings("ignore:.*characters that this format")
def test_every_table_comes_back_as_it_was(tmp_path, ending):
    path = tmp_path / f"labels.{ending}"
    events = [
        label("a", tags=("dC", "=1+1"), chance=0.25, rank=3, score=0.5, revision=1, comment="-strong, C\u2082"),
        label("b", Label.BAD, "Bea"),
    ]
    assert write_labels(path, events) == 2
    read = read_labels(path)
    assert sorted(read.events, key=repr) == sorted(events, key=repr) and read.left_out == []


def test_a_row_without_tags_keeps_the_id_that_earlier_versions_gave_it():
    event = LabelEvent("", "0012", Label.YES, person="Ada")
    assert with_id(event).event_id == "f4d21d0a-a729-5269-8bb1-1c3138d00c34"
    assert with_id(LabelEvent("", "0012", Label.YES, person="Ada", tags=("dC",))).event_id != with_id(event).event_id
