"""A fitted ranker in one file: arrays and JSON in a safetensors container. Nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import get_annotations
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rarespec._version import __version__
from rarespec.errors import ModelFileError
from rarespec.rankers.auto.signal import Signal
from rarespec.rankers.by_name import NAMES, by_name, name_of
from rarespec.rankers.model_values import Arrays, describe_all, pack_values, read, rebuilt_all, unpack_values
from rarespec.rankers.neighbours.neighbour_graph import NeighbourGraph
from rarespec.rankers.ranker import Ranker
from rarespec.spectrum import WavelengthGrid
from rarespec.storage.whole_file import write_whole
from rarespec.versions import versions_with

FORMAT = "rarespec-model"
VERSION = 1
MAX_FEATURES, MAX_PIXELS = 2**20, 2**24
"""Far more than a row or a spectrum has. A file that says more would only be given memory for it."""

__all__ = ["Model", "ModelFileError", "as_loaded", "hash_of_ids", "load_model", "save_model"]


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted ranker and where it comes from.

    Parameters
    ----------
    ranker : Ranker
        The ranker, fitted.
    recipe_fingerprint : str or None
        Fingerprint of the features that it was fitted on; None when it was not said.
    grid : dict or None
        The wavelength grid of the spectra behind the features, as `WavelengthGrid.to_json` gives it.
    known_hash : str or None
        SHA-256 of the ids of the known examples, in any order (`hash_of_ids`).
    n_known : int or None
        How many known examples there were.
    versions : dict of str to str
        Versions of the software that fitted and wrote it.
    seed : int or None
        `random_state` of the ranker where that was a number. None when it has none, none was set, or it was a
        generator, which has moved on and does not tell the seed that it began with.
    created : str
        When it was written: UTC, ISO 8601.
    extra : dict
        What the caller added.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rarespec.rankers import MatchedFilter, load_model, save_model
    >>> ranker = MatchedFilter().fit(np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) < 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/model.safetensors", ranker, known_ids=["a", "b"])
    ...     model = load_model(f"{folder}/model.safetensors")
    >>> model.ranker, model.n_known
    (MatchedFilter(), 2)
    """

    ranker: Ranker
    recipe_fingerprint: str | None
    grid: dict[str, Any] | None
    known_hash: str | None
    n_known: int | None
    versions: dict[str, str]
    seed: int | None
    created: str
    extra: dict[str, Any]

    @property
    def wavelength_grid(self) -> WavelengthGrid | None:
        """The wavelength grid of the spectra behind the features; None when it was not said."""
        return None if self.grid is None else WavelengthGrid.from_json(self.grid)

    def require_recipe(self, fingerprint: str) -> None:
        """Check that the model was fitted on features of this recipe.

        Parameters
        ----------
        fingerprint : str
            Fingerprint of the recipe.

        Raises
        ------
        ModelFileError
            If it was fitted on others, or does not say on which.
        """
        if self.recipe_fingerprint is None:
            raise ModelFileError(
                "the model does not say which features it was fitted on: fit it again and save it with "
                "recipe_fingerprint=recipe.fingerprint"
            )
        if self.recipe_fingerprint != fingerprint:
            raise ModelFileError(
                f"the model was fitted on features of recipe {self.recipe_fingerprint}, these are of {fingerprint}: "
                "its scores would be meaningless. Compute features with the model's recipe, or fit it again on these"
            )


def save_model(
    path: str | os.PathLike[str],
    ranker: Ranker,
    *,
    recipe_fingerprint: str | None = None,
    grid: WavelengthGrid | Mapping[str, Any] | None = None,
    known_ids: Iterable[str] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted ranker to a file, which appears under its name whole or not at all.

    Parameters
    ----------
    path : str or path-like
        The file; one that is there is replaced. `.safetensors` is the usual ending.
    ranker : Ranker
        Fitted, one of `by_name`. Its parameters and what it learned must be numbers, text, arrays or lists of these. A
        parameter `graph` is left out, and a `random_state` that is a generator is kept as None.
    recipe_fingerprint : str, optional
        `fingerprint` of the recipe of the features it was fitted on.
    grid : WavelengthGrid or dict, optional
        Wavelength grid of the spectra.
    known_ids : iterable of str, optional
        Ids of the known examples. Only their number and a hash are kept.
    extra : dict, optional
        More values to keep with the model, such as a note.

    Raises
    ------
    ModelFileError
        If something cannot be kept in a file; the error names it, and nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rarespec.rankers import MatchedFilter, load_model, save_model
    >>> ranker = MatchedFilter().fit(np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) < 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/model.safetensors", ranker, extra={"note": "carbon stars"})
    ...     print(load_model(f"{folder}/model.safetensors").extra["note"])
    carbon stars
    """
    arrays: Arrays = {}
    document = _about(recipe_fingerprint, grid, known_ids) | {
        "ranker": _name_of(ranker),
        "params": describe_all(_parameters(ranker), "parameter", arrays),
        "fitted": describe_all(_list_fitted_values(ranker), "fitted attribute", arrays),
        "extra": describe_all(dict(extra or {}), "extra value", arrays),
    }
    write_whole(Path(path), pack_values(document, arrays))


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a fitted ranker from a file; nothing is ever unpickled.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Model
        The ranker and where it comes from.

    Raises
    ------
    ModelFileError
        If the file is not a model, or is damaged.

    Examples
    --------
    >>> from rarespec.rankers import load_model
    >>> load_model("no-such-model.safetensors")
    Traceback (most recent call last):
    rarespec.errors.ModelFileError: no-such-model.safetensors: ...
    """
    try:
        document, arrays = unpack_values(read(Path(path)))
        return _model(document, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def as_loaded(ranker: Ranker) -> Ranker:
    """This fitted ranker as a file would give it back: without graph and preparation. What it learned is not copied."""
    lean = type(ranker)(**_parameters(ranker))
    for name, value in _list_fitted_values(ranker).items():
        setattr(lean, name, value)
    return lean


def hash_of_ids(ids: Iterable[str]) -> str:
    """SHA-256 of these ids in any order. As JSON, so that no id can look like two."""
    return hashlib.sha256(json.dumps(_sort_ids(ids)).encode()).hexdigest()


def _about(fingerprint: str | None, grid: Any, known_ids: Iterable[str] | None) -> dict[str, Any]:
    if not isinstance(fingerprint, str | None):
        raise ModelFileError(f"recipe_fingerprint must be text, not {fingerprint!r}")
    known = None if known_ids is None else _sort_ids(known_ids)
    return {
        "format": FORMAT,
        "version": VERSION,
        "recipe_fingerprint": fingerprint,
        "grid": None if grid is None else _check_grid(grid.to_json() if isinstance(grid, WavelengthGrid) else grid),
        "known_hash": None if known is None else hash_of_ids(known),
        "n_known": None if known is None else len(known),
        "versions": versions_with("numpy", "scipy", "scikit-learn", "safetensors"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _sort_ids(ids: Iterable[str]) -> list[str]:
    if isinstance(ids, str | bytes):
        raise ModelFileError(f"known_ids must be a list of ids, not a single string ({ids!r})")
    found = list(ids)
    if any(not isinstance(one, str) for one in found):
        raise ModelFileError("known_ids must be strings")
    return sorted({str(one) for one in found})


def _check_grid(value: Any) -> dict[str, Any]:
    try:
        grid = WavelengthGrid.from_json(value)
        if grid.n_pixels > MAX_PIXELS:
            raise ValueError(f"{grid.n_pixels} pixels are more than any spectrum has")
        return grid.to_json()
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"grid is not a wavelength grid ({type(error).__name__}: {error})") from None


def _name_of(ranker: Ranker) -> str:
    try:
        name = name_of(ranker)
    except ValueError as error:
        raise ModelFileError(f"{error}. If this ranker wraps another, save the inner one") from None
    check_is_fitted(ranker)
    return name


def _parameters(ranker: Ranker) -> dict[str, Any]:
    """Graphs and spaces are left out: they can be had again, and a fitted ranker scores without. Generators are too."""
    params = ranker.get_params(deep=False)
    unsaved = (NeighbourGraph, Signal, np.random.RandomState)
    return {name: None if isinstance(value, unsaved) else value for name, value in params.items()}


def _list_fitted_values(ranker: Ranker) -> dict[str, Any]:
    """Attributes whose names end in `_`. Names that begin with `_` are for what can be had again, and are left out."""
    state = {name: value for name, value in vars(ranker).items() if name not in ranker.get_params(deep=False)}
    lost = sorted(name for name in state if not (name.startswith("_") or name.endswith("_")))
    if lost:
        raise ModelFileError(f"{type(ranker).__name__} keeps {', '.join(lost)}, which a model file cannot store")
    return {name: value for name, value in state.items() if _is_fitted_name(name)}


def _is_fitted_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and name.endswith("_") and not name.startswith("_")


def _model(document: dict[str, Any], arrays: Arrays) -> Model:
    _require_ours(document)
    parts = {part: rebuilt_all(document.get(part), arrays) for part in ("params", "fitted", "extra")}
    if arrays:
        raise ModelFileError(
            f"the file has arrays that the model does not use ({', '.join(sorted(arrays))}): do not use it"
        )
    ranker = _ranker(document.get("ranker"), parts["params"], parts["fitted"])
    seed = parts["params"].get("random_state")
    seed = int(seed) if isinstance(seed, Integral) else None
    return Model(ranker=ranker, seed=seed, extra=parts["extra"], **_origin(document))


def _require_ours(document: dict[str, Any]) -> None:
    if document.get("format") != FORMAT:
        raise ModelFileError(f"not a rarespec model (its format is {document.get('format')!r}): use another file")
    found = document.get("version")
    if type(found) is not int or found != VERSION:
        raise ModelFileError(
            f"model format {found}; this rarespec ({__version__}) reads {VERSION}: use a newer rarespec"
        )


def _origin(document: dict[str, Any]) -> dict[str, Any]:
    """The fields that are kept as they are, of the right types."""
    text, optional_text = (str,), (str, type(None))
    kinds: dict[str, tuple[type, ...]] = {
        "recipe_fingerprint": optional_text,
        "known_hash": optional_text,
        "n_known": (int, type(None)),
        "versions": (dict,),
        "created": text,
        "grid": (dict, type(None)),
    }
    for name, kind in kinds.items():
        if name not in document or not isinstance(document[name], kind):
            raise ModelFileError(f"{name} is missing or of the wrong type: save the model again")
    grid = document["grid"]
    return {name: document[name] for name in kinds} | {"grid": None if grid is None else _check_grid(grid)}


def _ranker(name: Any, params: dict[str, Any], fitted: dict[str, Any]) -> Ranker:
    if name not in NAMES:
        raise ModelFileError(f"unknown ranker {name!r}: this rarespec ({__version__}) has {', '.join(NAMES)}")
    kind = by_name(name)
    expected = set(kind._get_param_names())
    if expected != set(params):
        differing = ", ".join(sorted(expected ^ set(params)))
        raise ModelFileError(
            f"{kind.__name__} has different parameters in this version of rarespec ({differing}): fit it again"
        )
    ranker = kind(**params)
    for attribute, value in fitted.items():
        if not _is_fitted_name(attribute) or hasattr(kind, attribute):
            raise ModelFileError(f"{attribute!r} is not an attribute that {kind.__name__} learns: do not use the file")
        setattr(ranker, attribute, value)
    missing = set(_find_declared(kind)) - set(fitted)
    if missing:
        raise ModelFileError(f"{', '.join(sorted(missing))} of {kind.__name__} is missing: fit and save it again")
    _require_kinds(ranker)
    _require_parameters(ranker)
    _require_scores(ranker)
    return ranker


def _find_declared(kind: type[Ranker]) -> dict[str, str]:
    """Fitted attributes that the class and those above it name with a type, as written there."""
    written = (item for one in reversed(kind.__mro__) for item in get_annotations(one).items())
    return {name: str(said) for name, said in written if _is_fitted_name(name)}


def _require_kinds(ranker: Ranker) -> None:
    for name, said in _find_declared(type(ranker)).items():
        if not _is_of(getattr(ranker, name), said):
            raise ModelFileError(f"{name} of {type(ranker).__name__} is no {said}: do not use the file")


def _is_of(value: Any, said: str) -> bool:
    """Whether a value is of a type in the words of the rankers' classes: text, numbers, arrays, dicts of these."""
    if said.endswith(" | None"):
        return value is None or _is_of(value, said.removesuffix(" | None"))
    if said.startswith("dict[str, "):
        return isinstance(value, dict) and all(_is_of(item, said[len("dict[str, ") : -1]) for item in value.values())
    if said in PLAIN:
        return isinstance(value, PLAIN[said]) and (said == "bool" or not isinstance(value, bool))
    return said == "Any" or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")


PLAIN: dict[str, Any] = {"str": str, "bool": bool | np.bool_, "int": int | np.integer, "float": float | int | np.number}
"""How a plain type is written -> what counts as one. Any other word, but `Any`, is an array's."""


def _require_parameters(ranker: Ranker) -> None:
    """As `fit` requires them."""
    try:
        ranker._check_parameters()
    except Exception as error:  # a comparison may fail in any way with a value of the wrong type
        raise ModelFileError(f"a parameter is wrong ({error}): do not use the file") from None


def _require_scores(ranker: Ranker) -> None:
    """What was read must be enough to score a row; a ranker of another version may keep other things."""
    n_features = getattr(ranker, "n_features_in_", None)
    if not isinstance(n_features, int) or not 1 <= n_features <= MAX_FEATURES:
        raise ModelFileError("n_features_in_ is missing or not a number: save the model again")
    coef = ranker.feature_weights()
    if coef is not None and np.shape(coef) != (n_features,):
        raise ModelFileError(f"coef_ has shape {np.shape(coef)}, but there are {n_features} features: fit it again")
    probes = np.stack([np.zeros(n_features), np.sin(np.arange(n_features)), np.linspace(-1, 1, n_features)])
    try:
        score = ranker._scores(probes)
    except Exception as error:  # whatever is missing, the answer is the same
        raise ModelFileError(f"it cannot score ({type(error).__name__}: {error}): fit and save it again") from None
    if np.shape(score) != (len(probes),) or not np.isfinite(score).all():
        raise ModelFileError("its scores are not finite: fit and save it again")
