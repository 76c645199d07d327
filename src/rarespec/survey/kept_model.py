"""What a recipe learned from a survey, in a directory named after its content, and the file that says which is used."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np

from rarespec.features.recipe import Recipe
from rarespec.features.row_blocks import after
from rarespec.survey.kept_arrays import DamagedError, arrays_in, checked, npz, plain_content_of, warn_of_damage

CURRENT = "current.json"
MODEL = "model.npz"
DIRECTORY = re.compile(r"[0-9a-f]{20}")


def model_content(recipe: Recipe, n_fitted: int) -> bytes:
    """Of the file of a recipe that has learned from so many rows."""
    return npz(recipe.state() | {"n_fitted": np.array(n_fitted)})


def name_of_model(content: bytes) -> str:
    """The directory of a model whose file has this content."""
    return hashlib.sha256(content).hexdigest()[:20]


def restore_model(folder: Path, recipe: Recipe, n_pixels: int) -> int | None:
    """Let the recipe be what it was when the model in this directory was kept, and the rows that it had learned from.

    None, with a warning, when it has to learn anew.
    """
    path = folder / MODEL
    try:
        content = plain_content_of(path)
        require_model_of(folder.name, content)
        state = arrays_in(content)
        checked(state, "n_features_in", np.int64, (), n_pixels, n_pixels)
        n_fitted = int(checked(state, "n_fitted", np.int64, (), 1))
        after(recipe.restore(state).steps_, np.zeros((1, n_pixels), np.float32))
        return n_fitted
    except OSError as error:
        why = f"cannot be read ({error.strerror or error})"
    except DamagedError as error:
        why = str(error)
    except Exception as error:  # what a step makes of a state that cannot be its own
        why = f"unexpected contents ({error})"
    warn_of_damage(path, why)
    return None


def require_model_of(directory: str, content: bytes) -> None:
    """A DamagedError unless the directory is named after this content."""
    if name_of_model(content) != directory:
        raise DamagedError("damaged, or from another directory")


def current_content(name: str, recipe: str, n_fitted: int) -> bytes:
    """Of the file that names the model in use, with a digest."""
    said = {"model": name, "recipe": recipe, "n_fitted": n_fitted}
    return json.dumps(said | {"digest": hashlib.sha256(json.dumps(said).encode()).hexdigest()}).encode()


def current_model(home: Path) -> Path | None:
    """The directory of the model in use; None if there is none, or, with a warning, if that cannot be told."""
    path = home / CURRENT
    try:
        return home / model_named(plain_content_of(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        warn_of_damage(path, f"cannot be read ({error.strerror or error})")
    except DamagedError as error:
        warn_of_damage(path, str(error))
    return None


def model_named(content: bytes) -> str:
    """By a file `current.json` of this content: never a path. A DamagedError when it is not as it was written."""
    try:
        said = json.loads(content)
        name = said["model"]
        sound = content == current_content(name, said["recipe"], said["n_fitted"])
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise DamagedError("damaged, or saved by an earlier rarespec without a checksum")
    if not isinstance(name, str) or not DIRECTORY.fullmatch(name):
        raise DamagedError(f"names {name!r}, which cannot be a model of this survey")
    return str(name)
