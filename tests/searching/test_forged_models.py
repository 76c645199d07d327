"""Models that a stranger made, with a digest that matches: each ranks with finite scores or is refused in words."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec import search
from rarespec.errors import UsageError
from rarespec.features import PaperFeatures
from rarespec.rankers import model_values as container
from rarespec.rankers.by_name import NAMES
from rarespec.rankers.model_file import ModelFileError, load_model
from rarespec.searching.search import search_with_model
from rarespec.survey import Survey

N, TOP = 60, 10
QUICK: dict[str, dict[str, Any]] = {
    "bagging_svm": {"n_bags": 3},
    "bagging_top_push": {"n_bags": 3},
    "bipartite_boosting": {"n_rounds": 5},
}


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    survey = Survey.create(tmp_path_factory.mktemp("forged") / "a.survey", SMALL_GRID)
    survey.append(make_spectra(N, SMALL_GRID))
    return survey


@pytest.fixture(scope="module")
def models(survey: Survey, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One of each ranker, as `search` keeps it."""
    folder, known = tmp_path_factory.mktemp("models"), survey.ids[:5].tolist()
    found = {}
    for name in NAMES:
        ranking = search(survey, known, name, TOP, params=_quick(name), recipe=PaperFeatures(n_components=5))
        found[name] = ranking.save(folder / name).read_bytes()
    return found


def _quick(name: str) -> dict[str, Any]:
    from rarespec.rankers.by_name import by_name

    there_are = by_name(name)._get_param_names()
    return {key: value for key, value in QUICK.get(name, {}).items() if key in there_are}


VALUES: list[Any] = [
    None, True, 0, -1, 1, 2, 7, 10**6, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, -1e308, 1e-320, float("inf"),
    float("nan"), "", "x", "paper", "\x1b[31m", "0", "auto", [], [1], {}, {"number": "nan"}, {"number": "inf"},
    {"list": []}, {"list": [1, "x", None]}, {"tuple": [1]}, {"dict": {}}, {"dict": {"x": 1}}, {"array": {}},
    {"text": {"dtype": "U1", "shape": [2], "items": ["a", "b"]}}, {"list": [{"list": [{"list": []}]}]},
    {"text": {"dtype": "O", "shape": [0, 2**40], "items": []}},
]  # fmt: skip


def places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every way from the top of a document to a value in it."""
    if way:
        yield way
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from places(node[key], (*way, key))


def forged(content: bytes, chance: random.Random) -> bytes:
    """The model with something in its document or its arrays replaced by anything else, once or a few times."""
    document, arrays = container.unpack_values(content)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        chance.choice([_other_value, _other_value, _other_numbers, _other_shape])(document, arrays, chance)
    return packed_anyway(document, arrays)


def packed_anyway(document: Any, arrays: dict[str, Any]) -> bytes:
    """As `pack_values`, for what it would refuse to write."""
    from safetensors.numpy import save

    content: bytes = save(arrays, metadata={"rarespec": json.dumps(document), "digest": container.NO_DIGEST})
    return signed(content)


def signed(content: bytes) -> bytes:
    return content.replace(container.NO_DIGEST.encode(), hashlib.sha256(content).hexdigest().encode())


def _other_value(document: Any, arrays: dict[str, Any], chance: random.Random) -> None:
    *way, last = chance.choice(list(places(document)))
    node = document
    for key in way:
        node = node[key]
    if isinstance(node, dict) and chance.random() < 0.15:
        del node[last]
    else:
        node[last] = copy.deepcopy(chance.choice(VALUES))


def _other_numbers(document: Any, arrays: dict[str, Any], chance: random.Random) -> None:
    if not arrays:
        return
    name = chance.choice(sorted(arrays))
    array = arrays[name]
    if array.dtype.kind == "f":
        largest = float(np.finfo(array.dtype).max)
        value = chance.choice([0.0, -1.0, 1e30, -1e30, largest, -largest, 1e-38, float("nan"), float("inf")])
    else:
        value = chance.choice([0, 1, 2, 100, np.iinfo(array.dtype).max if array.dtype.kind in "iu" else 1])
    if chance.random() < 0.5 and array.size:
        array.flat[chance.randrange(array.size)] = value
    else:
        array[...] = value


def _other_shape(document: Any, arrays: dict[str, Any], chance: random.Random) -> None:
    """Another shape or type, of which the document tells the same."""
    if not arrays:
        return
    name = chance.choice(sorted(arrays))
    array = arrays[name]
    changes = [
        array.reshape(-1),
        array[:0],
        array[..., None],
        np.concatenate([array.reshape(-1)] * 2),
        array.astype(np.float16) if array.dtype.kind != "b" else array,
        array.astype(bool),
        array.astype(np.int64, casting="unsafe") if np.isfinite(array).all() else array,
        np.zeros((0, 5)),
    ] if array.ndim else [array.reshape(1), array[None, None]]  # fmt: skip
    with np.errstate(all="ignore"):
        arrays[name] = changed = np.ascontiguousarray(chance.choice(changes))
    for way in places(document):
        if way[-1] == "array":
            node = document
            for key in way:
                node = node[key]
            if isinstance(node, dict) and node.get("name") == name:
                node.update(dtype=changed.dtype.name, shape=list(changed.shape), columns=False, scalar=False)


def answer_of(survey: Survey, content: bytes, path: Path) -> str:
    path.write_bytes(content)
    try:
        ranking = search_with_model(survey, path, TOP)
    except UsageError as error:
        assert str(path) in str(error), error
        return "refused"
    assert np.isfinite(ranking.scores).all() and np.isfinite(np.asarray(ranking.table["score"])).all()
    assert isinstance(ranking.why, str) and ranking.yield_curve.why
    return "ranked"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_forged_models_rank_or_are_refused(models: dict[str, bytes], survey: Survey, tmp_path: Path, name: str) -> None:
    assert answer_of(survey, models[name], tmp_path / "whole") == "ranked"
    answers = [
        answer_of(survey, forged(models[name], random.Random(f"{name}{i}")), tmp_path / "forged") for i in range(12)
    ]
    assert answers.count("refused") >= 4  # what is kept only to be shown, such as the places of the hidden, may be any


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_forged_models_at_full_size(models: dict[str, bytes], survey: Survey, tmp_path: Path, name: str) -> None:
    for i in range(1000):
        answer_of(survey, forged(models[name], random.Random(f"more {name}{i}")), tmp_path / "forged")


# --- the container


def with_header(content: bytes, change: Any) -> bytes:
    """The file with another header, the digest made to match."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"]["digest"] = container.NO_DIGEST
    text = change(header)
    new = text if isinstance(text, bytes) else json.dumps(header).encode()
    return signed(len(new).to_bytes(8, "little") + new + content[8 + length :])


def first_array(header: dict[str, Any]) -> dict[str, Any]:
    return next(value for name, value in header.items() if name != "__metadata__")


HEADERS: dict[str, Any] = {
    "negative offsets": lambda h: first_array(h).update(data_offsets=[-8, 0]),
    "offsets beyond the end": lambda h: first_array(h).update(data_offsets=[0, 2**60]),
    "offsets that overlap": lambda h: [value.update(data_offsets=[0, 8]) for key, value in h.items() if key[0] != "_"],
    "dimensions beyond any memory": lambda h: first_array(h).update(shape=[2**40, 2**40]),
    "negative dimensions": lambda h: first_array(h).update(shape=[-1]),
    "dimensions that are no numbers": lambda h: first_array(h).update(shape="x"),
    "an unknown type": lambda h: first_array(h).update(dtype="X128"),
    "a type that NumPy has not": lambda h: first_array(h).update(dtype="F8_E4M3"),
    "an array that is none": lambda h: h.update(more=7),
    "a name twice": lambda h: json.dumps(h).encode()[:-1] + b', "more": {}, "more": {}}',
    "numbers of the document that are none": lambda h: (
        json.dumps(h).replace(r"\"n_known\": 5", r"\"n_known\": 1e999").encode()
    ),
    "a document twice": lambda h: json.dumps(h).encode()[:-1] + b', "__metadata__": {"rarespec": "{}"}}',
    "metadata of another kind": lambda h: h.update(__metadata__=[1]),
    "lists without end": lambda h: b'{"a":' * 200_000,
    "blanks for a hundred megabytes": lambda h: json.dumps(h).encode() + b" " * 100_000_000,
    "numbers of a million digits": lambda h: b'{"a":' + b"9" * 1_000_000 + b"}",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_forged_containers_are_refused(models: dict[str, bytes], tmp_path: Path, kind: str) -> None:
    path = tmp_path / "forged"
    path.write_bytes(with_header(models["matched_filter"], HEADERS[kind]))
    with pytest.raises(ModelFileError, match="forged"):
        load_model(path)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(ModelFileError, match=name):
            load_model(tmp_path / name)


def test_a_file_that_is_no_model_by_its_size_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "m", "wb") as file:
        file.truncate(1 << 42)  # a hole, which takes no room on the disk
    with pytest.raises(ModelFileError, match="too large"):
        load_model(tmp_path / "m")
