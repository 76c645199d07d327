"""Arrays that are kept beside a survey because they took long to compute: written whole, with a digest, no pickles.

A kept file is what `numpy.savez` writes, with a SHA-256 of everything before it as the archive's comment: `numpy.load`
opens it, and every bit of it is checked. The archive's own checksums leave out names, headers and directory, so a
flipped bit there gives other arrays. What is damaged, or is not what its reader relies on, is computed anew, and a
warning says so. A digest shows damage, not forgery; so readers check shapes and ranges besides.
"""

from __future__ import annotations

import hashlib
import io
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from rarespec.survey.location import content_of, is_remote, put
from rarespec.survey.manifest import SurveyError
from rarespec.whole_file import write_whole

Arrays = dict[str, NDArray[Any]]
Made = TypeVar("Made")

MARK = b"rarespec kept arrays, SHA-256 "
N_DIGITS = 64


class DamagedError(ValueError):
    """A kept file that is not as it was written."""


def npz(arrays: Arrays) -> bytes:
    """The content of a kept file."""
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
    """A DamagedError unless this is what `npz` gave, to the last bit."""
    if content[-N_DIGITS - len(MARK) : -N_DIGITS] != MARK:
        raise DamagedError("damaged, or saved by an earlier rarespec without a checksum")
    if _digits(memoryview(content)[:-N_DIGITS]) != content[-N_DIGITS:]:
        raise DamagedError("damaged (its checksum does not match)")


def load_arrays(path: Path) -> Arrays:
    """An OSError for a file that cannot be read, a DamagedError for one that is not as it was written."""
    return arrays_in(plain_content_of(path))


def arrays_in(content: bytes) -> Arrays:
    """The arrays of a kept file of this content, or a DamagedError."""
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
    """All of a file; neither a link is followed nor a pipe waited for."""
    if not is_remote(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise DamagedError("not a regular file")
    return content_of(path)


def made_of_kept(path: Path, make: Callable[[Arrays], Made]) -> Made | None:
    """What `make` makes of the arrays in this file; None when it has to be made anew.

    A warning says why, unless there is just no such file. `make` raises a ValueError or a KeyError for arrays that
    are not what it relies on.
    """
    try:
        return make(load_arrays(path))
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


def checked(
    arrays: Arrays,
    name: str,
    dtype: Any,
    shape: tuple[int, ...],
    least: float | None = None,
    most: float | None = None,
) -> NDArray[Any]:
    """The array of this name; a ValueError unless it has this type and shape, and values from `least` to `most`.

    With limits, NaN is refused too.
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
    """A SurveyError if a symbolic link is on the way from a survey to a folder in it: what is kept would go elsewhere.

    Files that are swept away would, too, be those of another place.
    """
    if is_remote(root):
        return
    way = [folder, *folder.parents]
    for place in way[: way.index(root)]:
        if place.is_symlink():
            raise SurveyError(f"{place}: a symbolic link inside a survey; remove it")


def keep_if_possible(path: Path, content: bytes) -> bool:
    """Whether the file could be written; a warning says so if not, as what was computed is good without its file."""
    try:
        if is_remote(path):
            put(path, content)
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
