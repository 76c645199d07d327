"""A worker's memory of prepared blocks: bounded, and of use to a job that reads all blocks again and again."""

from rarespec.survey.features.prepared import BlockMemory, Place


def test_it_keeps_what_fits_in_and_none_is_lost_to_its_own_kind():
    memory = BlockMemory(100)
    for i in range(5):
        memory.keep(Place("job", i), f"block {i}", 30)
    assert [memory.get(Place("job", i)) for i in range(5)] == ["block 0", "block 1", "block 2", None, None]


def test_another_job_takes_the_room():
    memory = BlockMemory(100)
    for i in range(3):
        memory.keep(Place("old", i), i, 30)
    memory.keep(Place("new", 0), "new", 60)
    assert memory.get(Place("new", 0)) == "new"
    assert sum(memory.get(Place("old", i)) is not None for i in range(3)) == 1


def test_what_is_forgotten_or_replaced_gives_room():
    memory = BlockMemory(100)
    memory.keep(Place("job", 0), "a", 90)
    memory.keep(Place("job", 0), "b", 100)
    assert memory.get(Place("job", 0)) == "b"
    memory.forget(Place("job", 0))
    memory.forget(Place("job", 0))
    memory.keep(Place("job", 1), "c", 100)
    assert memory.get(Place("job", 0)) is None and memory.get(Place("job", 1)) == "c"
