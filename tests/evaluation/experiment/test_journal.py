"""The journal: nothing finished is lost, nothing foreign is taken for ours."""

import pytest

from rarespec.errors import UsageError
from rarespec.evaluation.experiment.journal import NAME, journal_in, require_ours
from rarespec.evaluation.experiment.plan import Task

IDENTITY = {"survey": "a.survey", "seed": 0}


def task(draw):
    return Task("trial", "lda", "{}", 1, draw)


def test_outcomes_are_there_after_an_end(tmp_path):
    with journal_in(tmp_path, IDENTITY) as journal:
        journal.add(task(0), {"ap": 0.1})
    with journal_in(tmp_path, IDENTITY) as journal:
        assert task(0) in journal and journal[task(0)] == {"ap": 0.1} and task(1) not in journal


def test_every_cut_costs_at_most_the_last_line(tmp_path):
    with journal_in(tmp_path, IDENTITY) as journal:
        for draw in range(3):
            journal.add(task(draw), {"ap": draw})
    whole = (tmp_path / NAME).read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole) + 1):
        (tmp_path / NAME).write_bytes(whole[:cut])
        with journal_in(tmp_path, IDENTITY) as journal:
            n_left = sum(task(draw) in journal for draw in range(3))
            assert n_left == max(sum(end <= cut for end in ends) - 1, 0)
            journal.add(task(9), {"ap": 9})
        with journal_in(tmp_path, IDENTITY) as journal:
            assert task(9) in journal


def test_what_failed_is_tried_again(tmp_path):
    with journal_in(tmp_path, IDENTITY) as journal:
        journal.add(task(0), {"error": "ValueError: no"})
        assert task(0) in journal
    with journal_in(tmp_path, IDENTITY) as journal:
        assert task(0) not in journal


def test_another_experiment_is_refused_by_what_differs(tmp_path):
    with journal_in(tmp_path, IDENTITY):
        pass
    with pytest.raises(UsageError, match="different seed;"), journal_in(tmp_path, IDENTITY | {"seed": 1}):
        pass


def test_a_damaged_journal_is_refused(tmp_path):
    (tmp_path / NAME).write_bytes(b'{"survey": "a.survey", "seed": 0}\nrubbish\n')
    with pytest.raises(UsageError, match="damaged"), journal_in(tmp_path, IDENTITY):
        pass


def test_one_writer_at_a_time(tmp_path):
    refused = pytest.raises(UsageError, match="another experiment")
    with journal_in(tmp_path, IDENTITY), refused, journal_in(tmp_path, IDENTITY):
        pass


def test_what_would_be_refused_is_refused_before_any_work(tmp_path):
    require_ours(tmp_path, IDENTITY)
    assert not (tmp_path / NAME).exists()
    with journal_in(tmp_path, IDENTITY), pytest.raises(UsageError, match="another experiment"):
        require_ours(tmp_path, IDENTITY)
    require_ours(tmp_path, {"seed": 0})
    with pytest.raises(UsageError, match="different seed;"):
        require_ours(tmp_path, {"seed": 1})
