"""Which spectra of a survey are of the rare class, by what its catalogue says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.survey import Survey
from rarespec.survey.manifest import WrongUseError

NAMED = 20
"""Classes that a message lists at most."""


@dataclass(frozen=True)
class RareClass:
    """The rare spectra of a survey, (n,) bool in its order, and how they were recognised."""

    members: NDArray[np.bool_]
    matched_by: str


def rare_class(survey: Survey, name: str) -> RareClass:
    """Spectra whose class is `name`; where there are none, whose subclass is, or else begins with it. Case is ignored.

    A WrongUseError, which names the classes that there are, when no spectrum matches, or all do.
    """
    wanted = name.strip().casefold()
    classes, subclasses = _text(survey, "class"), _text(survey, "subclass")
    for members, matched_by in (
        (classes == wanted, f"class is {name}"),
        (subclasses == wanted, f"subclass is {name}"),
        (np.char.startswith(subclasses, wanted), f"subclass begins with {name}"),
    ):
        if wanted and members.any():
            if members.all():
                raise WrongUseError(f"{survey.path}: all spectra are {name}; there is nothing to tell them from")
            return RareClass(members, matched_by)
    raise WrongUseError(f"{survey.path}: no spectrum has the class or subclass {name!r}; {_what_there_is(survey)}")


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
        return "its catalogue names no classes: ingest with --join CATALOGUE"
    listed = ", ".join(sorted(names)[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"there are {listed}"
