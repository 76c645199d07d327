"""Kinds of objects that people look for in one survey: each has its own labels and its own campaign beside it."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

from rarespec.errors import UsageError
from rarespec.survey.store.location import local_neighbour

LABELS, CAMPAIGN = ".labels.sqlite", ".campaign.json"
"""How the names of the two files end."""
MAX_KIND = 40
KIND = r"\w[\w+-]*"


def kind_named(name: str) -> str:
    """Bring the name of a kind to one form, which is safe as a part of a file name on every system."""
    kind = unicodedata.normalize("NFC", name.strip())
    if len(kind) > MAX_KIND or not re.fullmatch(KIND, kind):
        raise UsageError(
            f"the kind {kind[:MAX_KIND]!r} must have 1 to {MAX_KIND} letters, digits, - or _, for example carbon"
        )
    return kind


def path_beside(survey: str | os.PathLike[str], kind: str | None = None) -> Path:
    """Say where the labels of a survey are kept by default: beside its directory, whatever link led there.

    A database cannot live on an object store: the labels of a survey under a URL are kept in the current directory.

    Parameters
    ----------
    survey : path or str
        The directory or URL of the survey.
    kind : str, optional
        What is looked for, if several kinds are kept apart.

    Returns
    -------
    Path
        The file, which need not exist.

    Raises
    ------
    UsageError
        If the name of the kind cannot be part of a file name.

    Examples
    --------
    >>> from rarespec.labels import path_beside
    >>> path_beside("sdss.survey").name
    'sdss.survey.labels.sqlite'
    >>> path_beside("sdss.survey", kind="carbon").name
    'sdss.survey.carbon.labels.sqlite'
    """
    return local_neighbour(survey, LABELS if kind is None else f".{kind_named(kind)}{LABELS}")


def path_of_log(
    survey: str | os.PathLike[str], log: str | os.PathLike[str] | None = None, kind: str | None = None
) -> Path:
    """Say which file holds the labels.

    Parameters
    ----------
    survey : path or str
        The directory or URL of the survey.
    log : path, optional
        The file, if it is not beside the survey.
    kind : str, optional
        What is looked for.

    Returns
    -------
    Path
        The file, which need not exist.

    Raises
    ------
    UsageError
        If both are given.
    """
    if log is None:
        return path_beside(survey, kind)
    if kind is not None:
        raise UsageError(f"{log}: give either the kind or the log of the labels; a log given by name is of one kind")
    return Path(log)


def start_of_log(log: Path) -> Path:
    """Say where the campaign is kept whose labels are in this log; the file need not exist."""
    named = log.with_name(f"{log.name}{CAMPAIGN}")
    if not log.name.endswith(LABELS):
        return named
    beside = log.with_name(f"{log.name.removesuffix(LABELS)}{CAMPAIGN}")
    return named if named.exists() and not beside.exists() else beside


def kind_of_log(survey: str | os.PathLike[str], log: Path) -> str | None:
    """Say for which kind this log is kept beside the survey; None for the log without a kind, and for one elsewhere."""
    plain = path_beside(survey)
    start = re.escape(plain.name.removesuffix(LABELS))
    named = re.fullmatch(rf"{start}\.({KIND}){re.escape(LABELS)}", log.name)
    return named[1] if named and log.parent.resolve() == plain.parent else None


def kinds_beside(survey: str | os.PathLike[str]) -> list[str]:
    """List the kinds that have labels beside a survey.

    Parameters
    ----------
    survey : path or str
        The directory or URL of the survey.

    Returns
    -------
    list of str
        Names of kinds, sorted; labels without a kind are not among them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.labels import LabelLog, kinds_beside, path_beside
    >>> with TemporaryDirectory() as folder:
    ...     LabelLog(path_beside(f"{folder}/dr17.survey", kind="carbon")).close()
    ...     print(kinds_beside(f"{folder}/dr17.survey"))
    ['carbon']
    """
    here = path_beside(survey).parent
    found = (kind_of_log(survey, path) for path in here.iterdir()) if here.is_dir() else ()
    return sorted(kind for kind in found if kind is not None)
