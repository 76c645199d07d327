"""Files of arrays that are mapped: what is written comes back, and nothing that was changed is accepted."""

import hashlib
import json
import mmap
import os

import numpy as np
import pytest

from conftest import every
from rarespec.storage import mapped_arrays
from rarespec.storage.mapped_arrays import MARK, DamagedError, map_arrays, sweep_beside, write_arrays


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32)


@pytest.fixture
def path(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(mapped_arrays, "PIECE", 512)
    with write_arrays(tmp_path / "a.rows") as file:
        file.add("rows", [rows[:30], rows[30:31], rows[31:]])
        file.add("none", [np.empty((0, 3), np.int8)])
        file.add("number", [np.array([1.5])])
    return tmp_path / "a.rows"


def test_arrays_come_back_and_cannot_be_changed(path, rows):
    found = map_arrays(path)
    np.testing.assert_array_equal(found["rows"], rows)
    assert found["none"].shape == (0, 3) and found["number"].tolist() == [1.5]
    with pytest.raises(ValueError, match="read-only"):
        found["rows"][0] = 0


@pytest.mark.parametrize(("kind", "is_mapped"), [("ext4", True), ("nfs4", False), (None, False)])
def test_on_a_network_disk_the_file_is_read(path, rows, monkeypatch, kind, is_mapped):
    monkeypatch.setattr(mapped_arrays, "file_system_of", lambda _: kind)
    values = map_arrays(path)["rows"]
    np.testing.assert_array_equal(values, rows)
    assert isinstance(memoryview(values.base.base).obj, mmap.mmap) is is_mapped


def test_an_array_can_be_looked_at_while_the_file_is_written(tmp_path, rows):
    with write_arrays(tmp_path / "b.rows") as file:
        np.testing.assert_array_equal(file.add("rows", [rows[:30], rows[30:]]), rows)
        assert not (tmp_path / "b.rows").exists()


def test_an_error_leaves_nothing_behind(tmp_path, rows):
    with pytest.raises(RuntimeError), write_arrays(tmp_path / "b.rows") as file:
        file.add("rows", [rows])
        raise RuntimeError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("first", every(4, range(4)))
def test_no_flipped_bit_is_accepted(path, first):
    content, rng = path.read_bytes(), np.random.default_rng(1)
    for place in range(first, len(content), 4):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        with pytest.raises(DamagedError):
            map_arrays(path)


def test_no_file_that_was_cut_is_accepted(path):
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(DamagedError):
            map_arrays(path)


def test_a_link_or_a_pipe_is_refused(path):
    (path.parent / "link.rows").symlink_to(path)
    os.mkfifo(path.parent / "pipe.rows")
    for name in ("link.rows", "pipe.rows"):
        with pytest.raises(DamagedError, match="regular"):
            map_arrays(path.parent / name)


def test_files_of_earlier_states_go_and_those_being_written_stay(path):
    for name in ("b.rows", "c.rows.0123.tmp", "d.rows.4567.tmp", "e.npz"):
        (path.parent / name).write_bytes(b"x")
    os.utime(path.parent / "d.rows.4567.tmp", (0, 0))
    sweep_beside(path)
    assert {other.name for other in path.parent.iterdir()} == {"a.rows", "c.rows.0123.tmp", "e.npz"}


@pytest.mark.parametrize(
    "forged",
    [
        {"type": "|O", "shape": [2], "start": 0},
        {"type": "<f4", "shape": [10**12], "start": 0},
        {"type": "<f4", "shape": [-1], "start": 0},
        {"type": "<f4", "shape": [2], "start": -64},
        {"type": "<f4", "shape": [2], "start": 1 << 40},
        {"type": "<f4", "shape": "wide", "start": 0},
        {"type": "no type", "shape": [2], "start": 0},
        {"shape": [2], "start": 0},
        "rows",
    ],
)
def test_a_forged_index_with_a_right_digest_is_refused(path, forged):
    content = path.read_bytes()
    end = len(content) - len(MARK) - 32
    length = int.from_bytes(content[end - 8 : end], "little")
    said = json.loads(content[end - 8 - length : end - 8])
    said["arrays"]["rows"] = forged
    index = json.dumps(said).encode()
    head = content[: end - 8 - length]
    path.write_bytes(head + index + len(index).to_bytes(8, "little") + hashlib.sha256(index).digest() + MARK)
    with pytest.raises(DamagedError):
        map_arrays(path)
