"""Model files: the same to the bit when they are read again, and refused with a reason when they are not sound."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save
from sklearn.exceptions import NotFittedError

from rarespec import __version__
from rarespec.rankers import model_values as container
from rarespec.rankers.matched_filter import MatchedFilter
from rarespec.rankers.model_file import Model, ModelFileError, hash_of_ids, load_model, save_model
from rarespec.rankers.model_values import describe_all, rebuilt_all
from rarespec.rankers.toppush.bagging_top_push import BaggingTopPush
from rarespec.spectrum import PAPER_GRID

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 4))
Y = np.arange(40) < 5


def fitted(**parameters: Any) -> MatchedFilter:
    return MatchedFilter(**parameters).fit(X, Y)


def saved(folder: Path, ranker: Any = None, **values: Any) -> Path:
    path = folder / "model.safetensors"
    save_model(path, fitted() if ranker is None else ranker, **values)
    return path


# --- there and back


@pytest.mark.parametrize("method", ["lda", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_same_to_the_bit(tmp_path: Path, method: str, dtype: Any) -> None:
    ranker = MatchedFilter(method=method).fit(X.astype(dtype), Y)  # type: ignore[arg-type]
    model = load_model(saved(tmp_path, ranker))
    np.testing.assert_array_equal(model.ranker.decision_function(X), ranker.decision_function(X))
    assert type(model.ranker) is MatchedFilter
    assert model.ranker.get_params() == ranker.get_params()


def test_where_a_model_comes_from(tmp_path: Path) -> None:
    extra = {"note": "carbon stars", "weights": np.arange(3)}
    model = load_model(saved(tmp_path, recipe_fingerprint="abc", grid=PAPER_GRID, known_ids=["b", "a"], extra=extra))
    assert model.recipe_fingerprint == "abc"
    assert model.grid == PAPER_GRID.to_json()
    assert model.wavelength_grid == PAPER_GRID
    assert model.known_hash == hash_of_ids(["a", "b"])
    assert model.n_known == 2
    assert model.versions["rarespec"] == __version__
    assert model.created.endswith("+00:00")
    assert model.extra["note"] == "carbon stars"
    np.testing.assert_array_equal(model.extra["weights"], np.arange(3))


def test_a_model_need_not_say_where_it_comes_from(tmp_path: Path) -> None:
    model = load_model(saved(tmp_path))
    nothing = (model.recipe_fingerprint, model.grid, model.wavelength_grid, model.known_hash, model.n_known, model.seed)
    assert nothing == (None,) * 6
    assert model.extra == {}


def test_the_seed_is_told_when_there_is_one(tmp_path: Path) -> None:
    for seed in (11, np.int64(11)):
        ranker = BaggingTopPush(n_bags=3, bag_size=5, random_state=seed).fit(X, Y)
        assert load_model(saved(tmp_path, ranker)).seed == 11


def test_a_generator_does_not_tell_its_seed(tmp_path: Path) -> None:
    for random_state in (None, np.random.RandomState(3)):
        ranker = BaggingTopPush(n_bags=3, bag_size=5, random_state=random_state).fit(X, Y)
        model = load_model(saved(tmp_path, ranker))
        assert model.seed is None
        assert model.ranker.get_params()["random_state"] is None
        np.testing.assert_array_equal(model.ranker.decision_function(X), ranker.decision_function(X))


def test_names_of_features_are_kept(tmp_path: Path) -> None:
    ranker = fitted()
    ranker.feature_names_in_ = np.array(["a", "bb", "ccc", "d"], dtype=object)
    names = load_model(saved(tmp_path, ranker)).ranker.feature_names_in_  # type: ignore[attr-defined]
    assert names.dtype == object
    assert names.tolist() == ["a", "bb", "ccc", "d"]


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3) | st.tuples(inside),
    max_leaves=8,
)


@given(plain)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    text = json.dumps(describe_all({"v": value}, "value", {}), allow_nan=False)
    again = rebuilt_all(json.loads(text), {})["v"]
    assert repr(again) == repr(value)  # tells True from 1, 1 from 1.0, a tuple from a list, -0.0 from 0.0


ARRAYS: list[Any] = [
    np.arange(6).reshape(2, 3).astype(dtype) for dtype in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u8", "?")
]
ARRAYS += [
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(12.0).reshape(3, 4)[:, 1],
    np.arange(12.0).reshape(3, 4)[::2, ::-1],
    np.arange(24.0).reshape(2, 3, 4).T,
    np.zeros((0, 3)),
    np.array(2.5),
    np.float32(0.1),
    np.bool_(True),
    np.int64(2**60),
    np.array(["a", "bcd"]),
    np.array([["x", ""], ["yy", "ü"]], dtype=object),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype.str}{array.shape}")
def test_arrays_come_back_as_they_were(tmp_path: Path, array: Any) -> None:
    again = load_model(saved(tmp_path, extra={"a": array, "list": [array, (array,)]})).extra
    for one in (again["a"], again["list"][0], again["list"][1][0]):
        assert type(one) is type(array)
        assert one.dtype == array.dtype
        assert one.shape == array.shape
        assert one.tolist() == array.tolist()
    if array.flags.c_contiguous or array.flags.f_contiguous:
        assert again["a"].flags.f_contiguous == array.flags.f_contiguous


def test_arrays_of_a_loaded_model_can_be_written_to(tmp_path: Path) -> None:
    coef = load_model(saved(tmp_path)).ranker.coef_  # type: ignore[attr-defined]
    coef += 1


def test_other_byte_orders_keep_their_values(tmp_path: Path) -> None:
    again = load_model(saved(tmp_path, extra={"a": np.arange(3, dtype=">i4")})).extra["a"]
    assert again.dtype == np.int32
    assert again.tolist() == [0, 1, 2]


def test_numbers_that_json_has_not(tmp_path: Path) -> None:
    extra = load_model(saved(tmp_path, extra={"gap": float("inf"), "low": -float("inf"), "none": float("nan")})).extra
    assert extra["gap"] == np.inf
    assert extra["low"] == -np.inf
    assert np.isnan(extra["none"])


# --- the hash of the known ids


@given(st.sets(st.text(), max_size=8), st.sets(st.text(), max_size=8))
def test_hash_of_ids_tells_sets_apart_whatever_their_order(one: set[str], other: set[str]) -> None:
    assert hash_of_ids(sorted(one)) == hash_of_ids(sorted(one, reverse=True))
    assert (hash_of_ids(one) == hash_of_ids(other)) == (one == other)


def test_an_id_said_twice_counts_once(tmp_path: Path) -> None:
    model = load_model(saved(tmp_path, known_ids=["a", "b", "a"]))
    assert model.n_known == 2
    assert model.known_hash == hash_of_ids(["a", "b"])


def test_separators_cannot_be_forged() -> None:
    hashes = {hash_of_ids(ids) for ids in (["a", "b"], ["ab"], ["a,b"], ["a\nb"], ['a", "b'], ["a\0b"], ["", "ab"])}
    assert len(hashes) == 7


@pytest.mark.parametrize("ids", ["0355-51788-0579", [1, 2], [b"a"], [None]])
def test_ids_must_be_a_list_of_texts(tmp_path: Path, ids: Any) -> None:
    with pytest.raises(ModelFileError, match="known_ids must be"):
        saved(tmp_path, known_ids=ids)


# --- what cannot be saved


class Graph:
    pass


@pytest.mark.parametrize(
    "value",
    [Graph(), len, {1, 2}, 1j, np.array([1j]), np.array([1, Graph()], object), np.longdouble(1), b"bytes", {1: 2}],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_kept_is_named_and_nothing_is_written(tmp_path: Path, value: Any) -> None:
    as_attribute, as_parameter = fitted(), fitted()
    as_attribute.graph_ = value  # type: ignore[attr-defined]
    as_parameter.shrinkage = value
    for ranker, named in [(as_attribute, "fitted attribute graph_"), (as_parameter, "parameter shrinkage")]:
        with pytest.raises(ModelFileError, match=f"{named} cannot be saved"):
            saved(tmp_path, ranker)
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    ranker = fitted()
    ranker.coef_[1] = np.nan
    with pytest.raises(ModelFileError, match="fitted attribute coef_ cannot be saved: it has values that are not"):
        saved(tmp_path, ranker)


def test_state_under_other_names_would_be_lost(tmp_path: Path) -> None:
    ranker = fitted()
    ranker.memory = 1  # type: ignore[attr-defined]
    with pytest.raises(ModelFileError, match="MatchedFilter keeps memory"):
        saved(tmp_path, ranker)


def test_what_can_be_had_again_is_left_out(tmp_path: Path) -> None:
    ranker = fitted()
    ranker._graph = Graph()  # type: ignore[attr-defined]
    assert not hasattr(load_model(saved(tmp_path, ranker)).ranker, "_graph")


def test_lists_without_end(tmp_path: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ModelFileError, match="too deeply"):
        saved(tmp_path, extra={"endless": endless})


def test_numbers_beyond_the_limit_of_a_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MAX_HEADER_BYTES", 5000)
    with pytest.raises(ModelFileError, match="is longer than allowed"):
        saved(tmp_path, extra={"many": list(range(3000))})
    assert list(tmp_path.iterdir()) == []


def test_only_fitted_rankers_of_rarespec(tmp_path: Path) -> None:
    class Mine(MatchedFilter):
        pass

    with pytest.raises(NotFittedError):
        saved(tmp_path, MatchedFilter())
    with pytest.raises(ModelFileError, match="Mine is not one of the rankers"):
        saved(tmp_path, Mine().fit(X, Y))


def test_a_grid_is_checked(tmp_path: Path) -> None:
    for grid in ({"spacing": "log"}, {"spacing": "odd", "start": 1, "step": 1, "n_pixels": 2}, {}):
        with pytest.raises(ModelFileError, match="grid is not a wavelength grid"):
            saved(tmp_path, grid=grid)


def test_a_fingerprint_is_text(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="recipe_fingerprint must be text"):
        saved(tmp_path, recipe_fingerprint=3)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        saved(tmp_path, fitted(method="cosine"))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_save_leaves_one_file(tmp_path: Path) -> None:
    path = saved(tmp_path)
    saved(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_a_model_as_any_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(saved(tmp_path).stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


# --- what is refused


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("model")
    return saved(folder, recipe_fingerprint="abc", grid=PAPER_GRID, known_ids=["a"]).read_bytes()


def refused(folder: Path, content: bytes) -> str:
    path = folder / "refused.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as error:
        load_model(path)
    assert str(path) in str(error.value)
    return str(error.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("refused")


@given(data=st.data())
def test_a_flipped_byte_is_always_found(content: bytes, folder: Path, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(content) - 1))
    flip = data.draw(st.integers(1, 255))
    refused(folder, content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])


@given(data=st.data())
def test_a_file_cut_short_or_drawn_out_is_always_found(content: bytes, folder: Path, data: st.DataObject) -> None:
    refused(folder, content[: data.draw(st.integers(0, len(content) - 1))])
    refused(folder, content + data.draw(st.binary(min_size=1, max_size=20)))


@given(data=st.data())
def test_a_piece_overwritten_or_moved_is_always_found(content: bytes, folder: Path, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(content)))
    piece = data.draw(st.binary(max_size=80))
    for damaged in (content[:place] + piece + content[place:], content[:place] + piece + content[place + len(piece) :]):
        if damaged != content:
            refused(folder, damaged)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(folder: Path, junk: bytes) -> None:
    refused(folder, junk)
    refused(folder, len(junk).to_bytes(8, "little") + junk)
    header = b"{" + junk
    refused(folder, len(header).to_bytes(8, "little") + header)


@pytest.mark.exhaustive
def test_every_bit_of_a_file(content: bytes, folder: Path) -> None:
    for place in range(len(content)):
        for bit in range(8):
            refused(folder, content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :])


def test_files_that_are_something_else(folder: Path) -> None:
    assert "not a safetensors file" in refused(folder, b"")
    assert "not a safetensors file" in refused(folder, b"SIMPLE  =                    T")
    assert "not a rarespec model" in refused(folder, save({"a": np.zeros(3)}))
    assert "not a rarespec model" in refused(folder, save({"a": np.zeros(3)}, metadata={"format": "pt"}))
    assert "is longer than allowed" in refused(folder, (2**40).to_bytes(8, "little") + b"{}")
    assert "no checksum" in refused(folder, save({}, metadata={"rarespec": "{}"}))
    assert "no checksum" in refused(folder, save({}, metadata={"rarespec": "{}", "digest": "\u00e4" * 64}))
    digest = save({}, metadata={"rarespec": "{}", "digest": "a" * 64}).replace(b"a" * 64, b"\\u0061" + b"a" * 63)
    assert "no checksum" in refused(
        folder, (int.from_bytes(digest[:8], "little") + 5).to_bytes(8, "little") + digest[8:]
    )
    nested = b'{"a":' * 100_000
    assert "not JSON" in refused(folder, len(nested).to_bytes(8, "little") + nested)


def test_a_path_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(ModelFileError, match="cannot be read"):
            load_model(path)


def changed(content: bytes, change: Callable[[dict[str, Any], dict[str, NDArray[Any]]], Any]) -> bytes:
    """The same model with another document or other arrays, and a digest that matches: as another program writes it."""
    document, arrays = container.unpack_values(content)
    change(document, arrays)
    return container.pack_values(document, arrays)


def coef_in(arrays: dict[str, NDArray[Any]]) -> str:
    return next(name for name in arrays if "coef_" in name)


CHANGES: list[tuple[str, Callable[[dict[str, Any], dict[str, NDArray[Any]]], Any]]] = [
    ("its format is 'other'", lambda d, a: d.update(format="other")),
    ("its format is None", lambda d, a: d.clear()),
    ("model format 2; .* use a newer rarespec", lambda d, a: d.update(version=2)),
    ("model format True; ", lambda d, a: d.update(version=True)),
    (r"model format 1\.0; ", lambda d, a: d.update(version=1.0)),
    ("a parameter is wrong .*method='x'", lambda d, a: d["params"].update(method="x")),
    ("a parameter is wrong .*shrinkage=True", lambda d, a: d["params"].update(shrinkage=True)),
    ("unknown ranker 'nearest'", lambda d, a: d.update(ranker="nearest")),
    ("unknown ranker", lambda d, a: d.update(ranker=["matched_filter"])),
    (r"different parameters .*\(depth\)", lambda d, a: d["params"].update(depth=3)),
    (r"different parameters .*\(method\)", lambda d, a: d["params"].pop("method")),
    ("part of the model is missing", lambda d, a: d.pop("fitted")),
    ("part of the model is missing", lambda d, a: d.update(extra=[])),
    ("coef_' is missing", lambda d, a: a.pop(coef_in(a))),
    ("arrays that the model does not use", lambda d, a: a.update(more=np.zeros(2))),
    ("instead of float64", lambda d, a: a.update({coef_in(a): np.zeros(9)})),
    ("instead of float64", lambda d, a: a.update({coef_in(a): np.zeros(4, np.float32)})),
    ("coef_' has values that are not finite", lambda d, a: a.update({coef_in(a): np.full(4, np.nan)})),
    ("coef_ has shape", lambda d, a: d["fitted"].update(n_features_in_=7)),
    ("n_features_in_ is missing", lambda d, a: d["fitted"].pop("n_features_in_")),
    ("it cannot score", lambda d, a: (a.pop(coef_in(a)), d["fitted"].update(coef_=None))),
    ("coef_ of MatchedFilter is missing", lambda d, a: (a.pop(coef_in(a)), d["fitted"].pop("coef_"))),
    ("shrinkage_ of MatchedFilter is missing", lambda d, a: d["fitted"].pop("shrinkage_")),
    ("not an attribute that MatchedFilter learns", lambda d, a: d["fitted"].update(__class__="x")),
    ("not an attribute that MatchedFilter learns", lambda d, a: d["fitted"].update(fit="x")),
    ("cannot read a value", lambda d, a: d["fitted"].update(mean_={"pickle": "x"})),
    ("cannot read a value", lambda d, a: d["fitted"].update(mean_=[1])),
    ("malformed", lambda d, a: d["fitted"].update(mean_={"array": {"name": []}})),
    ("malformed", lambda d, a: d["fitted"].update(mean_={"number": "one"})),
    ("malformed", lambda d, a: d["fitted"].update(mean_={"text": {"dtype": "O", "shape": [1], "items": [1]}})),
    ("malformed", lambda d, a: d["fitted"].update(mean_={"text": {"dtype": "U1", "shape": [3], "items": ["a"]}})),
    ("malformed", lambda d, a: d["extra"].update(x={"text": {"dtype": "V9", "shape": [1], "items": ["a"]}})),
    ("created is missing", lambda d, a: d.pop("created")),
    ("n_known is missing or of the wrong type", lambda d, a: d.update(n_known="3")),
    ("grid is not a wavelength grid", lambda d, a: d.update(grid={"spacing": "log"})),
]


@pytest.mark.parametrize(("reason", "change"), CHANGES, ids=[f"{i}" for i in range(len(CHANGES))])
def test_sound_files_with_wrong_contents(content: bytes, folder: Path, reason: str, change: Any) -> None:
    with pytest.raises(ModelFileError, match=reason):
        load_model_from(changed(content, change), folder)


def test_a_width_of_text_beyond_any_memory_is_not_believed(content: bytes, folder: Path) -> None:
    wide = {"text": {"dtype": "<U500000000", "shape": [8], "items": ["ab"] * 8}}
    model = load_model_from(changed(content, lambda d, a: d["extra"].update(x=wide)), folder)
    assert model.extra["x"].dtype == np.dtype("<U2")


def test_a_property_of_the_class_cannot_be_set(content: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MatchedFilter, "template_", property(lambda self: 1), raising=False)
    with pytest.raises(ModelFileError, match="'template_' is not an attribute that MatchedFilter learns"):
        load_model_from(changed(content, lambda d, a: d["fitted"].update(template_=2)), folder)


def test_an_unchanged_document_is_read(content: bytes, folder: Path) -> None:
    assert load_model_from(changed(content, lambda d, a: None), folder).n_known == 1


def load_model_from(content: bytes, folder: Path) -> Model:
    path = folder / "changed.safetensors"
    path.write_bytes(content)
    return load_model(path)


# --- use with the right features only


def test_features_of_another_recipe_are_refused(tmp_path: Path) -> None:
    model = load_model(saved(tmp_path, recipe_fingerprint="abc"))
    model.require_recipe("abc")
    with pytest.raises(ModelFileError, match="recipe abc, these are of xyz"):
        model.require_recipe("xyz")
    with pytest.raises(ModelFileError, match="does not say which features"):
        load_model(saved(tmp_path)).require_recipe("abc")
