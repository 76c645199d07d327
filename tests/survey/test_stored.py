"""The index of what a survey holds must be exact, whatever it saves in memory."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SMALL_GRID, make_spectra
from rarespec.survey import Survey
from rarespec.survey.store import intake as stored
from rarespec.survey.store.intake import StoredValues
from rarespec.survey.store.writer import SurveyWriter


def writer_and_index(path):
    writer = SurveyWriter(path, SMALL_GRID, block_rows=10)
    return writer, StoredValues(Survey(path, writer.manifest), "id")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=80), st.integers(0, 2**31))
def test_knows_exactly_what_was_added(tmp_path_factory, numbers, seed):
    path = tmp_path_factory.mktemp("stored") / "a.survey"
    writer, index = writer_and_index(path)
    rng = np.random.default_rng(seed)
    held: set[str] = set()
    with writer:
        for number in numbers:
            id = f"id-{number}"
            assert (id in index) == (id in held)
            if id not in held:
                writer.add(make_spectra(1, SMALL_GRID, id=[id]))
                index.add([id])
                held.add(id)
            if rng.random() < 0.2:
                index.forget_published(writer.commit(partial=bool(rng.integers(2))))
        index.forget_published(writer.commit())
        assert all((f"id-{i}" in index) == (f"id-{i}" in held) for i in range(201))
        assert index._fresh == []
    fresh = StoredValues(Survey.open(path), "id")
    assert all((f"id-{i}" in fresh) == (f"id-{i}" in held) for i in range(201))


def test_two_values_with_one_hash_are_not_confused(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "_hash", lambda value: np.uint64(7))
    writer, index = writer_and_index(tmp_path / "a.survey")
    with writer:
        writer.add(make_spectra(3, SMALL_GRID, id=["a", "b", "c"]))
        index.add(["a", "b", "c"])
        index.forget_published(writer.commit())
    assert "a" in index and "d" not in index
