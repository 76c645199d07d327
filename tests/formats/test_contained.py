"""Reading in a process of its own: the same spectra, and nothing but a defect from files that do harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from contracts.reader_files import READER_FILES
from process_functions import examples_that_die, hang
from rarespec import formats
from rarespec.formats import ReadLimits, contained
from rarespec.formats.contained import LEAST_MEMORY, end_readers, read_catalogue_contained, read_limits
from rarespec.formats.reader import ReadOptions
from rarespec.spectrum import DefectError, Noted, Skipped, Spectra
from shared_readers import of_one_job


@pytest.fixture(autouse=True, scope="module")
def _own_readers() -> object:
    """Not those of all tests; and no process is left."""
    with patch("rarespec.formats.contained._readers", of_one_job):
        yield
        end_readers()


@pytest.mark.parametrize("kind", READER_FILES)
def test_what_is_read_there_is_what_is_read_here(kind: str, tmp_path: Path) -> None:
    path = READER_FILES[kind].write(tmp_path, READER_FILES[kind].spectra)
    least = read_limits(60.0, LEAST_MEMORY)  # also shows that the least memory that is allowed is enough
    format = READER_FILES[kind].format
    there, here = list(formats.read(path, format, limits=least)), list(formats.read_here(path, format))
    assert len(there) == len(here) and any(isinstance(one, Spectra) for one in there)
    for one, other in zip(there, here, strict=True):
        if not isinstance(one, Spectra):
            assert one == other and isinstance(one, Skipped | Noted)
            continue
        assert isinstance(other, Spectra)
        assert np.array_equal(one.flux, other.flux) and np.array_equal(one.wavelength, other.wavelength)
        assert one.catalogue == other.catalogue


def test_a_defect_there_is_the_defect_here(tmp_path: Path) -> None:
    (tmp_path / "a.fits").write_bytes(b"<html>no such file</html>")
    assert list(formats.read(tmp_path / "a.fits")) == list(formats.read_here(tmp_path / "a.fits"))


def test_the_catalogue_of_a_file_that_is_none_is_a_defect(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("id,class,ra\n7,STAR,1.5\n8,GALAXY,\n")
    table = read_catalogue_contained(tmp_path / "c.csv")
    assert table.to_pydict()["id"] == ["7", "8"] and table.to_pydict()["ra"] == [1.5, None]
    (tmp_path / "d.csv").write_bytes(b"\0\1\2" * 100)
    with pytest.raises(DefectError, match="unrecognised"):
        read_catalogue_contained(tmp_path / "d.csv")


def test_a_catalogue_that_hangs_is_a_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.csv").write_text("id\n7\n")
    monkeypatch.setattr(contained, "_write_catalogue", hang)
    with pytest.raises(DefectError, match="takes too long"):
        read_catalogue_contained(tmp_path / "c.csv", ReadLimits(1.0, 1_000_000_000))


def test_an_example_that_kills_its_reader_is_told_and_the_others_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rarespec.searching.known import example_file

    monkeypatch.setattr(example_file, "_examples_here", examples_that_die)
    (told,) = example_file.examples_in(tmp_path / "a.fits", ReadOptions())
    assert isinstance(told, example_file.Unusable) and "crashed the process" in told.problem


CHILDREN = """
import sys
from pathlib import Path
import rarespec as rs
from rarespec.searching.known.known_examples import examples_of

def children():
    return "".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()

survey = rs.ingest(sys.argv[1], into=sys.argv[2])
left_by_ingest = children()
known = examples_of(survey, sys.argv[1])
print(len(survey), len(left_by_ingest), len(known.ids), len(children()))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="there is no /proc here")
def test_neither_an_ingest_nor_the_examples_of_a_search_leave_a_process_behind(tmp_path: Path) -> None:
    kind = READER_FILES["spplate"]
    path = kind.write(tmp_path, kind.spectra)
    command = [sys.executable, "-c", CHILDREN, str(path), str(tmp_path / "a.survey")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["3", "0", "3", "0"], done.stderr


FORKED = """
import multiprocessing, sys
from rarespec import formats

def ids_in(path):
    return [id for stack in formats.read(path) for id in stack.ids]

paths = sys.argv[1:]
assert ids_in(paths[0])  # so that a reader waits for the next file
with multiprocessing.get_context("fork").Pool(4) as pool:
    print(pool.map_async(ids_in, paths, chunksize=1).get(60) == [[path.rpartition("/")[2][:-4]] for path in paths])
print(bool(ids_in(paths[0])))
"""


def test_a_fork_has_readers_of_its_own(tmp_path: Path) -> None:
    """Forks of a process that had read a file before took each other's answers from one pipe."""
    paths = [tmp_path / f"s{i}.csv" for i in range(24)]
    for path in paths:
        path.write_text("wavelength,flux\n" + "".join(f"{4000 + i},{i % 7}\n" for i in range(2000)))
    done = subprocess.run([sys.executable, "-c", FORKED, *paths], capture_output=True, text=True, timeout=120)
    assert done.stdout == "True\nTrue\n", done.stderr


def test_holes_in_a_file_give_it_neither_time_nor_memory(tmp_path: Path) -> None:
    with open(tmp_path / "c.csv", "wb") as file:
        file.write(b"id,class\n")
        file.truncate(1 << 36)
    limits = ReadLimits(1.0, 10**9)
    assert limits.for_file(tmp_path / "c.csv").seconds < 1.1
    assert limits.for_catalogue(tmp_path / "c.csv").memory < 1.1e9
