"""Rows of a chunk of the store, read without reading all of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numcodecs import Blosc

from rarespec.errors import SurveyError
from rarespec.survey.store.arrays import rows_of_chunk, whole_chunk

N, WIDTH = 600, 700


def values(kind: str) -> np.ndarray:
    """Noise, which Blosc may give up packing; numbers that pack to almost nothing; bytes."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(N, WIDTH)).astype("<f4")
    return {"noise": noise, "steps": np.round(noise, 0), "bytes": rng.integers(0, 4, (N, WIDTH)).astype("|u1")}[kind]


def stored(folder, rows, level=1, shuffle=Blosc.BITSHUFFLE, piece=0):
    path = folder / "chunk"
    path.write_bytes(Blosc("lz4", level, shuffle, blocksize=piece).encode(rows))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("chunks")


@settings(deadline=None, max_examples=200)
@given(
    kind=st.sampled_from(["noise", "steps", "bytes"]),
    level=st.sampled_from([0, 1, 9]),
    shuffle=st.sampled_from([Blosc.NOSHUFFLE, Blosc.SHUFFLE, Blosc.BITSHUFFLE]),
    piece=st.sampled_from([0, 1024, 5000, 65536]),
    rows=st.lists(st.integers(0, N - 1), min_size=1, max_size=20),
)
def test_any_rows_are_those_of_the_whole(folder, kind, level, shuffle, piece, rows):
    expected = values(kind)
    path = stored(folder, expected, level, shuffle, piece)
    assert np.array_equal(rows_of_chunk(path, np.array(rows), WIDTH, expected.dtype.str), expected[rows])
    assert np.array_equal(whole_chunk(path, (N, WIDTH), expected.dtype.str), expected)


@pytest.mark.parametrize("seed", range(4))
def test_pieces_in_any_order_in_the_file(folder, seed):
    """As several threads write them."""
    expected = values("steps")
    content = stored(folder, expected, piece=4096).read_bytes()
    n_pieces = -(-expected.nbytes // int.from_bytes(content[8:12], "little"))
    starts = np.frombuffer(content, "<i4", n_pieces, 16)
    pieces = np.split(np.frombuffer(content, "u1"), starts)[1:]
    order = np.random.default_rng(seed).permutation(n_pieces)
    lengths = np.array([len(piece) for piece in pieces])[order]
    moved = np.empty(n_pieces, "<i4")
    moved[order] = starts[0] + np.cumsum(lengths) - lengths
    path = folder / "shuffled"
    path.write_bytes(content[:16] + moved.tobytes() + b"".join(pieces[i].tobytes() for i in order))
    assert np.array_equal(whole_chunk(path, (N, WIDTH), "<f4"), expected)
    for row in range(0, N, 7):
        assert np.array_equal(rows_of_chunk(path, np.array([row]), WIDTH, "<f4"), expected[[row]])


def test_little_is_read_for_one_row(folder, monkeypatch):
    from rarespec.survey.store import arrays as chunk

    n_read, read = [], chunk._read
    monkeypatch.setattr(chunk, "_read", lambda file, places: n_read.extend(n for _, n in places) or read(file, places))
    path = stored(folder, values("noise"), piece=4096)
    rows_of_chunk(path, np.array([7]), WIDTH, "<f4")
    assert sum(n_read) < 0.1 * path.stat().st_size


def both(path):
    return [
        lambda: whole_chunk(path, (N, WIDTH), "<f4"),
        lambda: rows_of_chunk(path, np.array([0, N - 1]), WIDTH, "<f4"),
    ]


@pytest.mark.parametrize("keep", [0, 10, 16, 100, 0.5, 0.99])
def test_a_chunk_cut_short_is_refused(folder, keep):
    path = stored(folder, values("noise"), piece=4096)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep >= 1 or keep == 0 else keep * len(content))])
    for attempt in both(path):
        with pytest.raises(SurveyError, match=r"chunk: damaged.*rarespec verify"):
            attempt()


@pytest.mark.parametrize("place", [4, 8, 12, 16, 20])
@pytest.mark.parametrize("number", [0, 1, 2**31 - 1, 2**32 - 1])
def test_wrong_numbers_in_the_header_are_refused(folder, place, number):
    path = stored(folder, values("noise"), piece=4096)
    content = bytearray(path.read_bytes())
    content[place : place + 4] = number.to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(SurveyError, match=r"damaged"):
        rows_of_chunk(path, np.arange(N), WIDTH, "<f4")
    with pytest.raises(SurveyError, match=r"damaged"):
        whole_chunk(path, (N, WIDTH), "<f4")


def test_a_chunk_of_another_size_is_refused(folder):
    path = stored(folder, values("noise")[:-1])
    for attempt in both(path):
        with pytest.raises(SurveyError, match=r"(wrong size for|smaller than) a block"):
            attempt()
