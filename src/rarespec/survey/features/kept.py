"""Arrays and models that are kept beside a survey because they took long to compute."""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import SurveyError
from rarespec.features.recipe import Recipe
from rarespec.features.rows import after
from rarespec.storage.mapped_arrays import DamagedError
from rarespec.storage.whole_file import write_whole
from rarespec.survey.store.location import content_of, is_remote, put_file

Arrays = dict[str, NDArray[Any]]
Made = TypeVar("Made")

MARK = b"rarespec kept arrays, SHA-256 "
N_DIGITS = 64


def npz(arrays: Arrays) -> bytes:
    """Compose a kept file: arrays and a checksum over all of it."""
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    with ZipFile(content, "a") as archive:
        archive.comment = MARK + bytes(N_DIGITS)
    whole = content.getbuffer()
    whole[-N_DIGITS:] = _digits(whole[:-N_DIGITS])
    return content.getvalue()


def _digits(content: bytes | memoryview) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def require_undamaged(content: bytes) -> None:
    """Raise a DamagedError unless this is what `npz` gave, to the last bit."""
    if content[-N_DIGITS - len(MARK) : -N_DIGITS] != MARK:
        raise DamagedError("damaged, or saved by an earlier rarespec without a checksum")
    if _digits(memoryview(content)[:-N_DIGITS]) != content[-N_DIGITS:]:
        raise DamagedError("damaged (its checksum does not match)")


def load_arrays(path: Path) -> Arrays:
    """Read a kept file; raise an OSError if it cannot be read, a DamagedError if it is not as it was written."""
    return arrays_in(plain_content_of(path))


def arrays_in(content: bytes) -> Arrays:
    """Read the arrays of a kept file from its content; raise a DamagedError if it is not one."""
    require_undamaged(content)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            if sum(member.file_size for member in archive.zip.infolist()) > len(content):
                raise DamagedError("not a saved file: its arrays are compressed")
            return dict(archive)
    except DamagedError:
        raise
    except Exception as error:  # a forged archive; zipfile has many ways to stumble
        raise DamagedError(f"not a saved file ({type(error).__name__}: {error})") from None


def plain_content_of(path: Path) -> bytes:
    """Read a whole file, without following a link or waiting for a pipe."""
    if not is_remote(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise DamagedError("not a regular file")
    return content_of(path)


def make_of_kept(
    path: Path, make: Callable[[Arrays], Made], load: Callable[[Path], Arrays] = load_arrays
) -> Made | None:
    """What `make` makes of the arrays in this file; None when it has to be made anew.

    A warning says why, unless there is just no such file. `make` raises a ValueError or a KeyError for arrays that
    are not what it relies on. `load` reads the file; `map_arrays` does so for one of its own kind.
    """
    try:
        return make(load(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        why = f"cannot be read ({error.strerror or error})"
    except KeyError as error:
        why = f"unexpected contents (no {error})"
    except DamagedError as error:
        why = str(error)
    except ValueError as error:
        why = f"unexpected contents ({error})"
    warn_of_damage(path, why)
    return None


def warn_of_damage(path: Path, why: str) -> None:
    warnings.warn(f"{path}: {why}; computing it again", stacklevel=3)


def check_array(
    arrays: Arrays,
    name: str,
    dtype: Any,
    shape: tuple[int, ...],
    least: float | None = None,
    most: float | None = None,
) -> NDArray[Any]:
    """Give the array of this name after a check.

    Parameters
    ----------
    arrays : mapping
        Name -> array, from a file that anybody may have written.
    name : str
        Which one.
    dtype : dtype
        What it must be.
    shape : tuple of int
        What it must have.
    least : float, optional
        The least value; NaN is then refused too.
    most : float, optional
        The largest value; NaN is then refused too.

    Returns
    -------
    array
        The array.

    Raises
    ------
    KeyError
        If there is none.
    ValueError
        If its type, its shape or a value is another.
    """
    array = arrays[name]
    if array.dtype != np.dtype(dtype) or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype} {array.shape}, expected {np.dtype(dtype)} {shape}")
    if least is not None and not (array >= least).all():
        raise ValueError(f"{name} has values below {least:g}")
    if most is not None and not (array <= most).all():
        raise ValueError(f"{name} has values above {most:g}")
    return array


def require_no_links(root: Path, folder: Path) -> None:
    """Raise a SurveyError if a symbolic link is on the way from a survey to a folder in it.

    What is kept would go elsewhere, and files of another place would be swept away.
    """
    if is_remote(root):
        return
    way = [folder, *folder.parents]
    for place in way[: way.index(root)]:
        if place.is_symlink():
            raise SurveyError(f"{place}: a symbolic link inside a survey; remove it")


def keep_if_possible(path: Path, content: bytes) -> bool:
    """Write a file if possible, and say whether it was. If not, only warn: what was computed is good without it."""
    try:
        if is_remote(path):
            put_file(path, content)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
    except OSError as error:
        warnings.warn(
            f"{path.parent}: could not save results ({error.strerror or error}); they will be computed again",
            stacklevel=3,
        )
        return False
    return True


# ---- What a recipe learned from a survey, in a directory named after its content, and the file that says which is
# used.


CURRENT = "current.json"
MODEL = "model.npz"
DIRECTORY = re.compile(r"[0-9a-f]{20}")


def model_content(recipe: Recipe, n_fitted: int) -> bytes:
    """Compose the file of a recipe that has learned from so many rows."""
    return npz(recipe.state() | {"n_fitted": np.array(n_fitted)})


def name_of_model(content: bytes) -> str:
    """Name the directory of a model after the content of its file."""
    return hashlib.sha256(content).hexdigest()[:20]


def restore_model(folder: Path, recipe: Recipe, n_pixels: int) -> int | None:
    """Restore what a recipe learned from the model in this directory.

    Parameters
    ----------
    folder : Path
        Directory of the model, named after its content.
    recipe : Recipe
        The recipe; it is fitted afterwards.
    n_pixels : int
        Pixels of the survey's grid.

    Returns
    -------
    int or None
        Rows that it had learned from. None, with a warning, if the model cannot be used and the recipe must learn anew.
    """
    path = folder / MODEL
    try:
        content = plain_content_of(path)
        require_model_of(folder.name, content)
        state = arrays_in(content)
        check_array(state, "n_features_in", np.int64, (), n_pixels, n_pixels)
        n_fitted = int(check_array(state, "n_fitted", np.int64, (), 1))
        # One row as a trial: arrays of wrong shapes fail here, and not in the middle of a search.
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
    """Raise a DamagedError unless the directory is named after this content."""
    if name_of_model(content) != directory:
        raise DamagedError("damaged, or from another directory")


def current_content(name: str, recipe: str, n_fitted: int) -> bytes:
    """Compose the file that names the model in use, with a digest.

    Parameters
    ----------
    name : str
        Directory of the model.
    recipe : str
        The recipe in words, for people.
    n_fitted : int
        Rows that the model learned from.

    Returns
    -------
    bytes
        JSON.
    """
    said = {"model": name, "recipe": recipe, "n_fitted": n_fitted}
    return json.dumps(said | {"digest": hashlib.sha256(json.dumps(said).encode()).hexdigest()}).encode()


def current_model(home: Path) -> Path | None:
    """Find the directory of the model in use; None if there is none or, with a warning, if its name is damaged."""
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
    """Read the name of a model, never a path, from the content of `current.json`; raise DamagedError if it changed."""
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
