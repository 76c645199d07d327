"""From what the user names to the files that are read."""

import os

from rarespec.spectrum import Defect, Reason
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
