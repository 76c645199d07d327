"""Work in subprocesses: order, failures, deaths, isolation, limits."""

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import rarespec
from conftest import every
from process_functions import (
    answer_at_length,
    count_to,
    dies_on_three,
    fails_on_three,
    fails_strangely,
    first_is_slow,
    hang_after_two,
    import_places,
    own_number,
    read_text,
    repeat,
    slow_square,
    swallow_memory,
)
from rarespec.storage.processes import (
    AHEAD,
    LARGEST_ANSWER,
    Died,
    Limits,
    WorkerDiedError,
    Workers,
    WorkerTooSlowError,
    map_as_finished,
    map_in_order,
    workers_calling,
)


def test_results_come_in_order():
    assert list(map_in_order(slow_square, 100, range(20), 2)) == [(i, 100 + i * i) for i in range(20)]


def test_an_exception_reaches_the_caller():
    with pytest.raises(ValueError, match="three"):
        list(map_in_order(fails_on_three, None, range(10), 2))


def test_a_death_costs_one_item():
    results = dict(map_in_order(dies_on_three, None, range(8), 2))
    assert results[3] == Died(9)
    assert all(results[i] == i for i in range(8) if i != 3)


def test_only_a_bounded_number_of_items_is_taken_ahead():
    taken = 0

    def items():
        nonlocal taken
        for i in range(100):
            taken += 1
            yield i

    results = map_in_order(slow_square, 0, items(), 2)
    next(results)
    assert taken <= 6
    results.close()


def as_finished(function, shared, items):
    with closing(workers_calling(function, shared)) as workers:
        return list(map_as_finished(workers, items, 2))


def test_results_as_they_are_finished_are_the_same_results():
    results = as_finished(slow_square, 100, range(20))
    assert sorted(results) == [(i, 100 + i * i) for i in range(20)]


def test_a_finished_result_does_not_wait_behind_a_slow_one():
    assert [item for item, _ in as_finished(first_is_slow, None, range(4))][-1] == 0


def test_a_death_costs_one_item_in_any_order():
    results = dict(as_finished(dies_on_three, None, range(8)))
    assert results == {i: i for i in range(8) if i != 3} | {3: Died(9)}


def test_nothing_to_do_is_done_at_once():
    assert as_finished(slow_square, 0, []) == []


def test_the_same_processes_take_the_next_items():
    with closing(workers_calling(own_number, None)) as workers:
        (first,), (second,) = ([number for _, number in map_as_finished(workers, [0], 1)] for _ in range(2))
    assert first == second != os.getpid()


def test_results_that_nobody_takes_end_the_processes():
    with closing(workers_calling(own_number, None)) as workers:
        results = map_as_finished(workers, range(2), 1)
        _, number = next(results)
        results.close()
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_an_exception_that_does_not_travel_is_told_in_words():
    with pytest.raises(RuntimeError, match="StrangeError: 1 and 2"):
        list(map_in_order(fails_strangely, None, range(2), 1))


# ---- what lies in the current folder


def test_the_current_folder_is_no_place_to_import_from(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit('ran what lies beside the data')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as `python -m` and a script in this folder do
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:")
    ((_, places),) = map_in_order(import_places, None, [0], 1)
    assert str(tmp_path) not in places and "" not in places and not places[-1].startswith(str(tmp_path))


TRAP = "import pathlib; pathlib.Path({marker!r}).write_text(__file__)\n"
"""What a stranger puts into a folder of data, under the names of modules that a Python imports."""
NAMES = (
    *("pickle", "struct", "signal", "resource", "subprocess", "typing", "encodings", "site", "re", "io", "os"),
    *("sitecustomize", "usercustomize", "numpy", "zarr", "pyarrow", "astropy", "typer", "rarespec", "sklearn"),
)


@pytest.fixture
def trapped(tmp_path):
    """A downloaded folder with spectra in it, and with modules that must not run."""
    from conftest import small_survey_files

    folder, marker = tmp_path / "download", tmp_path / "it-ran"
    small_survey_files(folder, 40)
    for name in NAMES:
        (folder / f"{name}.py").write_text(TRAP.format(marker=str(marker)))
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(TRAP.format(marker=str(marker)))
    return folder, marker


def program() -> list[str]:
    """As the command that pip installs, whose folder is the first place to import from."""
    code = f"import sys; sys.path[0] = {str(Path(rarespec.__file__).parents[1])!r}; sys.argv[0] = 'rarespec'"
    return [sys.executable, "-c", f"{code}\nfrom rarespec.cli import main\nmain()"]


@pytest.mark.parametrize(
    "command",
    every(
        3,
        [
            "ingest . --into ../two.survey --jobs 2 --join list.csv",
            "ingest . --into ../one.survey --jobs 1",
            "simulate --n 60 --rare carbon=5 --into ../mock.survey",
            "search ../one.survey --known spec-1000-55000-0001.fits --method matched_filter --top 5",
            "info ../one.survey",
            "--help",
        ],
    ),
)
def test_no_verb_runs_what_lies_in_the_folder_it_is_called_in(trapped, command):
    folder, marker = trapped
    (folder / "list.csv").write_text("id,class\n1000-55000-0001,CARBON\n")
    if "one.survey" in command and "ingest" not in command:
        rarespec.ingest(folder / "*.fits", into=folder.parent / "one.survey")
    done = subprocess.run([*program(), *command.split()], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr  # the traps themselves are no spectra
    assert not marker.exists(), marker.read_text()


@pytest.mark.parametrize("shell", every(3, ["bash", "zsh", "fish"]))
def test_completion_runs_nothing_that_lies_in_the_current_folder(trapped, shell):
    folder, marker = trapped
    asked = {
        "_RARESPEC_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "rarespec se",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "rarespec se",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": "se",
    }
    done = subprocess.run(program(), cwd=folder, env=os.environ | asked, capture_output=True, text=True)
    assert "search" in done.stdout and not marker.exists()


# ---- limits


@pytest.fixture
def workers():
    """Makes workers, and ends them."""
    made = []

    def make(function, shared=None):
        made.append(Workers(function, shared))
        return made[-1]

    yield make
    for some in made:
        some.close()


def test_results_come_one_by_one_and_the_process_is_used_again(workers):
    counting = workers(count_to, 10)
    first, second = list(counting.results(3)), list(counting.results(2))
    assert [number for number, _ in first] == [10, 11, 12] and [number for number, _ in second] == [10, 11]
    assert len({process for _, process in first + second}) == 1


def test_names_of_files_mean_what_they_mean_here_whatever_the_process_was_started_in(workers, tmp_path, monkeypatch):
    reading = workers(read_text)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        assert list(reading.results("file")) == [name]


def test_a_process_that_is_not_heard_to_the_end_is_not_used_again(workers):
    counting = workers(count_to, 0)
    half = counting.results(1000)
    _, process = next(half)
    half.close()
    assert [number for number, _ in counting.results(2)] == [0, 1]
    assert process not in {other for _, other in counting.results(1)}


def test_a_library_that_never_returns_is_ended(workers):
    hanging, heard = workers(hang_after_two), []
    with pytest.raises(WorkerTooSlowError):
        heard.extend(hanging.results(2, Limits(seconds=1)))
    for result in hanging.results(1, Limits(seconds=0.5)):
        heard.append(result)
        break
    assert heard == [0, 1, 0]


def test_time_spent_by_the_one_who_listens_does_not_count(workers):
    heard = []
    for number, _ in workers(count_to, 0).results(100_000, Limits(seconds=2)):
        if number == 0:
            time.sleep(2.5)  # longer than the limit, with the pipe full
        heard.append(number)
    assert len(heard) == 100_000


def test_results_without_end_are_ended(workers):
    counting, heard = workers(count_to, 0), 0
    with pytest.raises(WorkerTooSlowError):
        for _ in counting.results(10**12, Limits(seconds=5, seconds_in_all=0.5)):
            heard += 1
    assert heard > 10


def test_memory_beyond_the_limit_is_refused_to_the_item_alone(workers):
    swallowing = workers(swallow_memory)
    assert list(swallowing.results(50_000_000, Limits(memory=1 << 30))) == [50_000_000]
    with pytest.raises(MemoryError):
        list(swallowing.results(3 << 30, Limits(memory=1 << 30)))
    assert list(swallowing.results(50_000_000, Limits(memory=1 << 30))) == [50_000_000]
    assert list(swallowing.results(1_200_000_000)) == [1_200_000_000]


def test_an_answer_that_this_process_could_not_hold_is_refused(workers):
    with pytest.raises(MemoryError):
        list(workers(answer_at_length).results(LARGEST_ANSWER + 1, Limits(memory=8 << 30)))


def test_a_death_is_told_with_its_cause(workers):
    with pytest.raises(WorkerDiedError, match="exit status 9"):
        list(workers(dies_on_three).results(3))


# ---- answers ahead of the one who takes them


@pytest.mark.parametrize("n_workers", [1, 3])
def test_answers_come_in_order_from_so_many_processes(workers, n_workers):
    items = [((str(i), 1), Limits()) for i in range(10)]
    answers = list(workers(repeat).answers(items, n_workers))
    assert [text for _, text in answers] == [str(i) for i in range(10)]
    assert len({process for process, _ in answers}) == n_workers


def test_a_worker_is_asked_before_its_last_answer_is_taken(workers):
    given = 0

    def items():
        nonlocal given
        for i in range(20):
            given += 1
            yield (str(i), 1), Limits()

    answers = workers(repeat).answers(items(), 2)
    next(answers)
    assert given == 2 * AHEAD + 1
    answers.close()


def test_requests_and_answers_longer_than_their_pipes_do_not_wait_for_each_other(workers):
    items = [(("x" * 300_000, 20), Limits(seconds=30)) for _ in range(6)]
    assert [len(text) for _, text in workers(repeat).answers(items, 1)] == [6_000_000] * 6


@pytest.mark.parametrize("fault", ["die", "hang"])
def test_what_a_worker_had_before_it_was_one_too_many_is_there_and_the_rest_goes_on(workers, fault):
    texts = ["a", "b", fault, "c", "d", "e", "f"]
    answers = list(workers(repeat).answers([((text, 1), Limits(seconds=1)) for text in texts], 1))
    assert [text for _, text in answers[:2]] == ["a", "b"] and answers[2] is None
    assert answers[3] is None or answers[3][1] == "c"  # not begun when the worker ended
    assert [text for _, text in answers[4:]] == ["d", "e", "f"]


def test_a_worker_that_ran_out_of_memory_gets_no_further_items(workers):
    items = [(size, Limits(memory=1 << 30)) for size in (1000, 3 << 30, 1000, 1000, 1000)]
    answers = list(workers(swallow_memory).answers(items, 1))
    assert answers[0] == 1000 and answers[1] is None and answers[3:] == [1000, 1000]


def test_answers_that_nobody_takes_end_their_workers(workers):
    some = workers(repeat)
    answers = some.answers([((str(i), 1), Limits()) for i in range(5)], 1)
    process, _ = next(answers)
    answers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    ((other, text),) = some.results(("again", 1))
    assert text == "again" and other != process
