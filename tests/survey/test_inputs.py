"""From what the user names to the files that are read."""

import os
import subprocess

from rarespec.spectrum import Defect, Reason
from rarespec.survey.ingest import inputs
from rarespec.survey.ingest.inputs import input_files


def make(tmp_path, *names):
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def names(tmp_path, *paths):
    return [
        found if isinstance(found, Defect) else os.path.relpath(found, tmp_path) for found in input_files(list(paths))
    ]


def test_files_directories_and_globs(tmp_path):
    make(tmp_path, "b/2.fits", "b/1.fits", "b/deep/3.fits", "c.fits", "b/.hidden", "b/.git/config")
    assert names(tmp_path, tmp_path / "c.fits", tmp_path / "b") == [
        "c.fits",
        "b/1.fits",
        "b/2.fits",
        "b/deep/3.fits",
    ]
    assert names(tmp_path, f"{tmp_path}/**/[13].fits") == ["b/1.fits", "b/deep/3.fits"]


def test_a_name_with_brackets_that_exists_is_no_pattern(tmp_path):
    make(tmp_path, "a[1].fits")
    assert names(tmp_path, tmp_path / "a[1].fits") == ["a[1].fits"]


def test_a_list_of_files_relative_to_itself(tmp_path):
    make(tmp_path, "d/1.fits", "d/2.fits")
    (tmp_path / "list.txt").write_text("# the good ones\nd/2.fits\n\n d/1.fits \n")
    assert names(tmp_path, f"@{tmp_path}/list.txt") == ["d/2.fits", "d/1.fits"]


def test_what_is_not_there_is_said(tmp_path):
    (pattern,) = names(tmp_path, f"{tmp_path}/*.fits")
    (listing,) = names(tmp_path, f"@{tmp_path}/none.txt")
    assert pattern.reason == listing.reason == Reason.UNREADABLE
    assert names(tmp_path, tmp_path / "missing.fits") == ["missing.fits"]  # its reader will say so


def test_a_loop_of_directories_ends_and_is_named(tmp_path):
    make(tmp_path, "a/1.fits")
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
    first, loop = names(tmp_path, tmp_path / "a")
    assert first == "a/1.fits"
    assert loop.reason == Reason.DIRECTORY_LOOP and loop.source.endswith("a/again")


def test_a_web_of_links_is_walked_once(tmp_path):
    for i in range(12):
        make(tmp_path, f"w/{i}/{i}.fits")
        for j in range(12):
            (tmp_path / f"w/{i}/to{j}").symlink_to(tmp_path / f"w/{j}")
    found = names(tmp_path, tmp_path / "w")
    assert sum(isinstance(name, str) for name in found) == 12


def test_a_zarr_directory_is_one_input(tmp_path):
    make(tmp_path, "m/cube.zarr/zarr.json", "m/cube.zarr/c/0/0", "m/1.fits")
    assert names(tmp_path, tmp_path / "m") == ["m/1.fits", "m/cube.zarr"]


def test_folders_a_thousand_deep_are_walked(tmp_path):
    depth, here = 1200, os.getcwd()
    os.chdir(tmp_path)
    try:
        for _ in range(depth):  # step by step: the whole path may be longer than the system takes at once
            os.mkdir("d")
            os.chdir("d")
        with open("1.fits", "w") as file:
            file.write("x")
        os.chdir(here)
        assert [os.path.basename(name) for name in names(tmp_path, tmp_path / "d")] == ["1.fits"]
        (pattern,) = names(tmp_path, f"{tmp_path}/**/*.fits")
        assert isinstance(pattern, Defect) and "too deeply" in pattern.detail
    finally:
        os.chdir(here)
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # pytest's own way to clean up calls itself


def test_lists_may_name_lists_but_each_is_read_once(tmp_path, monkeypatch):
    make(tmp_path, "1.fits", "2.fits", "below/3.fits")
    (tmp_path / "one.txt").write_text("1.fits\n@below/two.txt\n@one.txt\n2.fits\n")
    (tmp_path / "below" / "two.txt").write_text("3.fits\n@../one.txt\n")
    monkeypatch.chdir(tmp_path)
    for given in ("@one.txt", f"@{tmp_path}/one.txt"):
        found = names(tmp_path, given)
        assert [name for name in found if isinstance(name, str)] == ["1.fits", "below/3.fits", "2.fits"]
        again = [item for item in found if isinstance(item, Defect)]
        assert [item.reason for item in again] == [Reason.DIRECTORY_LOOP] * 2
        assert all("already read" in item.detail for item in again)


def test_lists_that_name_each_other_a_thousand_times_are_read(tmp_path):
    make(tmp_path, "last.fits")
    for i in range(1200):
        (tmp_path / f"{i}.txt").write_text(f"@{i + 1}.txt\n")
    (tmp_path / "1200.txt").write_text("last.fits\n")
    assert names(tmp_path, f"@{tmp_path}/0.txt") == ["last.fits"]


def test_a_list_that_names_a_pipe_does_not_wait(tmp_path):
    make(tmp_path, "1.fits")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "one.txt").write_text("@pipe.txt\n1.fits\n")
    pipe, file = names(tmp_path, f"@{tmp_path}/one.txt")
    assert isinstance(pipe, Defect) and "not a regular file" in pipe.detail and file == "1.fits"


def test_a_list_without_end_is_not_read_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "MOST_TEXT", 1 << 20)
    (endless,) = names(tmp_path, "@/dev/zero")
    assert isinstance(endless, Defect) and "more than 1 MB" in endless.detail


def test_a_list_with_a_name_that_no_file_can_have(tmp_path):
    make(tmp_path, "1.fits")
    (tmp_path / "one.txt").write_bytes(b"@a\0b\na\0b\n*\0\n1.fits\n")
    found = names(tmp_path, f"@{tmp_path}/one.txt")
    assert [item.reason for item in found[:3]] == [Reason.UNREADABLE] * 3 and found[3:] == ["1.fits"]
