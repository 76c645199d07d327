"""The surveys below a folder, and the campaigns that are kept beside each: what the start page offers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rarespec.errors import RarespecError
from rarespec.labels.kinds import kinds_beside, path_beside, start_of_log
from rarespec.labels.log import LabelLog
from rarespec.labels.merging import merge_labels
from rarespec.survey.store.manifest import FORMAT, Manifest
from rarespec.survey.store.manifest import NAME as MANIFEST

DEEPEST = 4
"""Folders below folders."""
MOST_FOLDERS, MOST_SURVEYS, MOST_KINDS = 5000, 200, 50
BEGINNING = 200
"""Bytes of a manifest in which it says what it is."""
MOST_BYTES = 2**26
"""Of a log whose labels are counted, and of a manifest: nobody wants to wait long for a list."""


@dataclass(frozen=True)
class FoundCampaign:
    """Labels beside a survey, and whether the campaign that they belong to can go on.

    Parameters
    ----------
    kind : str or None
        What is looked for; None where kinds are not kept apart.
    n_labels : int or None
        Spectra that have a label; None if they could not be counted.
    can_continue : bool
        Whether the start of the campaign is kept as well.
    """

    kind: str | None
    n_labels: int | None
    can_continue: bool


@dataclass(frozen=True)
class FoundSurvey:
    """A survey.

    Parameters
    ----------
    path : Path
        Its directory; no part of it below the folder is a link.
    name : str
        The path below the folder.
    n_spectra : int
        How many it has.
    problem : str
        Why it cannot be opened; empty if it can.
    campaigns : tuple of FoundCampaign
        What is kept beside it.
    """

    path: Path
    name: str
    n_spectra: int
    problem: str
    campaigns: tuple[FoundCampaign, ...]


@dataclass(frozen=True)
class SurveysBelow:
    """All that was found, and in words what was not looked at."""

    surveys: tuple[FoundSurvey, ...] = ()
    note: str = ""


def find_surveys(folder: Path, most_folders: int = MOST_FOLDERS, most_surveys: int = MOST_SURVEYS) -> SurveysBelow:
    """Look for surveys in a folder and below it; no link is followed, and hidden folders are left out.

    Parameters
    ----------
    folder : Path
        Where to begin.
    most_folders, most_surveys : int
        Where to stop; folders near the first one come first.

    Returns
    -------
    SurveysBelow
        Sorted by name.
    """
    root = folder.resolve()
    found: list[FoundSurvey] = []
    for n, (place, is_survey) in enumerate(_folders(root), 1):
        if is_survey:
            found.append(_describe(place, root))
        if n == most_folders or len(found) == most_surveys:
            seen = f"the first {most_folders} folders" if n == most_folders else f"the first {most_surveys} surveys"
            return SurveysBelow(_sorted(found), f"Only {seen} are looked at. Start Jupyter in a smaller folder.")
    return SurveysBelow(_sorted(found))


def _sorted(found: list[FoundSurvey]) -> tuple[FoundSurvey, ...]:
    return tuple(sorted(found, key=lambda one: one.name.casefold()))


def _folders(root: Path) -> Iterator[tuple[Path, bool]]:
    """Folders, the near ones first, and whether each is a survey; what is inside a survey is not gone through."""
    waiting = [(root, 0)]
    for place, depth in waiting:  # which grows meanwhile
        names = _names_in(place)
        if names is None:
            continue
        is_survey = MANIFEST in names and _is_ours(place / MANIFEST)
        yield place, is_survey
        if not is_survey and depth < DEEPEST:
            waiting += [(place / name, depth + 1) for name in sorted(names) if names[name] and name[0] != "."]


def _names_in(folder: Path) -> dict[str, bool] | None:
    """Names of plain files and folders -> whether it is a folder. None if the folder may not be read, or is gone."""
    try:
        with os.scandir(folder) as entries:
            plain = (entry for entry in entries if not entry.is_symlink())
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in plain}
    except OSError:
        return None


def _is_ours(manifest: Path) -> bool:
    """Other programs call a file so too; one of ours says at its beginning what it is, even if the rest is damaged."""
    try:
        with manifest.open("rb") as file:
            return f'"{FORMAT}"'.encode() in file.read(BEGINNING)
    except OSError:
        return False


def _describe(path: Path, root: Path) -> FoundSurvey:
    name = str(path.relative_to(root)) if path != root else path.name
    try:
        if (path / MANIFEST).stat().st_size > MOST_BYTES:
            raise OSError(f"{path.name}: its manifest is too large for this list; use `rarespec inspect`")
        return FoundSurvey(path, name, Manifest.load(path).n_rows, "", tuple(_campaigns(path)))
    except (RarespecError, OSError) as error:
        return FoundSurvey(path, name, 0, str(error), ())


def _campaigns(survey: Path) -> Iterator[FoundCampaign]:
    """A link beside the survey is left out: its labels belong to something else."""
    for kind in (None, *kinds_beside(survey)[:MOST_KINDS]):
        log = path_beside(survey, kind)
        start = start_of_log(log)
        if log.is_symlink() or start.is_symlink() or not (log.is_file() or start.is_file()):
            continue
        yield FoundCampaign(kind, _count_labels(log), start.is_file())


def _count_labels(log: Path) -> int | None:
    try:
        if not log.exists():
            return 0
        if log.stat().st_size > MOST_BYTES:
            return None
        with LabelLog(log, read_only=True) as labels:
            return len(merge_labels(labels.events()))
    except (RarespecError, OSError):
        return None
