"""Which spectra of a survey are of the rare class, by what its catalogue says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rarespec.survey import Survey
from rarespec.survey.manifest import WrongUseError

SUBCLASS = "subclass is"
NAMED = 20
"""Classes that a message lists at most."""


@dataclass(frozen=True)
class RareClass:
    """The rare spectra of a survey, (n,) bool in its order, and how they were recognised."""

    members: NDArray[np.bool_]
    matched_by: str


def names_in(rare: str) -> tuple[str, ...]:
    """The names in a list with commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in rare.split(",") if name.strip()))


def rare_class(survey: Survey, rare: str) -> RareClass:
    """Spectra of this class, or of any of several, given with commas between them. Case is ignored.

    They are those whose class is the name; where there are none, whose subclass is. One name alone may also be the
    beginning of a subclass; each of several is a whole name, so that Carbon,Carbon_lines never takes in CarbonWD.

    A WrongUseError, which names the classes that there are, when a name matches no spectrum, or all are rare.
    """
    names, classes, subclasses = names_in(rare), _text(survey, "class"), _text(survey, "subclass")
    found = [_members(name, classes, subclasses, is_alone=len(names) == 1) for name in names]
    for name, one in zip(names, found, strict=True):
        if one is None:
            raise _absent(survey, name)
    present = [one for one in found if one is not None]
    if not present:
        raise _absent(survey, rare)
    members = np.logical_or.reduce([one.members for one in present])
    if members.all():
        raise WrongUseError(
            f"{survey.path}: all spectra are {' or '.join(names)}, so there is nothing to rank them against"
        )
    by_subclass = [name for name, one in zip(names, present, strict=True) if one.matched_by == f"{SUBCLASS} {name}"]
    matched_by = _put_together([one.matched_by for one in present])
    return RareClass(members, matched_by + _akin(by_subclass, survey, members))


def _members(name: str, classes: NDArray[np.str_], subclasses: NDArray[np.str_], is_alone: bool) -> RareClass | None:
    wanted = name.casefold()
    for members, matched_by in (
        (classes == wanted, f"class is {name}"),
        (subclasses == wanted, f"{SUBCLASS} {name}"),
        (np.char.startswith(subclasses, wanted) & is_alone, f"subclass begins with {name}"),
    ):
        if members.any():
            return RareClass(members, matched_by)
    return None


def _put_together(matched_by: list[str]) -> str:
    """ "subclass is Carbon" and "subclass is Carbon_lines" become "subclass is Carbon or Carbon_lines"."""
    said = matched_by[0]
    for before, one in pairwise(matched_by):
        same = one.startswith(f"{_verb(before)} ")
        said += f" or {one.removeprefix(f'{_verb(before)} ') if same else one}"
    return said


def _verb(matched_by: str) -> str:
    return " ".join(matched_by.split()[:2])


def _akin(names: Sequence[str], survey: Survey, members: NDArray[np.bool_]) -> str:
    """A word on spectra that are judged as not rare and whose subclass begins like that of the rare ones."""
    beginnings = tuple(name.casefold() for name in names)
    others = Counter(
        str(subclass).strip()
        for subclass in (survey.catalogue["subclass"][~members] if "subclass" in survey.catalogue else ())
        if str(subclass).strip().casefold().startswith(beginnings)
    )
    if not others:
        return ""
    counts = [f"{subclass} ({n})" for subclass, n in sorted(others.items())]
    return f"; not {', '.join(counts[:NAMED])}{', ...' if len(counts) > NAMED else ''}"


def _absent(survey: Survey, name: str) -> WrongUseError:
    return WrongUseError(f"{survey.path}: no spectrum has the class or subclass {name!r}; {_what_there_is(survey)}")


def _text(survey: Survey, column: str) -> NDArray[np.str_]:
    if column not in survey.catalogue:
        return np.full(len(survey), "", dtype=str)
    return np.array([str(value).strip().casefold() for value in survey.catalogue[column]], dtype=str)


def _what_there_is(survey: Survey) -> str:
    names = {
        str(value)
        for column in ("class", "subclass")
        if column in survey.catalogue
        for value in np.unique(survey.catalogue[column].astype(str))
        if value
    }
    if not names:
        return "its catalogue has no classes; ingest again with --join CATALOGUE"
    listed = ", ".join(sorted(names)[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"there are {listed}"
