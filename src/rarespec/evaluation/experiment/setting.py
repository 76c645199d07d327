"""What an experiment does: which class, which methods, how many draws, and the seed of all draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.evaluation.experiment.methods import OUR_METHODS, PAPER_METHODS, method
from rarespec.survey import Survey

# ---- Which spectra of a survey are of the rare class, by what its catalogue says.


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

    A UsageError, which names the classes that there are, when a name matches no spectrum, or all are rare.
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
        raise UsageError(
            f"{survey.path}: all spectra are {' or '.join(names)}, so there is nothing to rank them against"
        )
    by_subclass = [name for name, one in zip(names, present, strict=True) if one.matched_by == f"{SUBCLASS} {name}"]
    matched_by = _join_matches([one.matched_by for one in present])
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


def _join_matches(matched_by: list[str]) -> str:
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


def _absent(survey: Survey, name: str) -> UsageError:
    return UsageError(f"{survey.path}: no spectrum has the class or subclass {name!r}; {_what_there_is(survey)}")


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


N_KNOWN = (1, 3, 5, 10, 15, 30, 50)
"""Numbers of known examples in the paper."""

TRIALS_OF_PAPER = 50

DEFAULT_METHODS = PAPER_METHODS + OUR_METHODS

Tune = Literal["paper", "all", "none"]
TUNES: tuple[Tune, ...] = get_args(Tune)
"""What is tuned: what the paper tuned, every parameter that there is a grid for, or nothing."""


@dataclass(frozen=True)
class Setting:
    """Everything that the results depend on, besides the survey."""

    rare: str
    """Of one class or subclass, or of several with commas between them."""
    methods: tuple[str, ...] = DEFAULT_METHODS
    n_known: tuple[int, ...] = N_KNOWN
    trials: int = TRIALS_OF_PAPER
    """Reported draws of known examples for each number of them."""
    tune: Tune = "paper"
    tuning_draws: int = 3
    """Draws, none of them reported, that the parameters of each method are chosen on; with 0 nothing is tuned."""
    sensitivity_draws: int = 10
    """Draws behind each point of figures 8 and 9; 0 leaves these out."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tune not in TUNES:
            raise ValueError(f"tune must be one of {', '.join(TUNES)}, not {self.tune!r}")
        if not self.rare_names:
            raise ValueError("rare must be the name of a class")
        for name in self.methods:
            method(name)
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError("methods: give at least one, and each only once")
        if not self.n_known or min(self.n_known) < 1 or len(set(self.n_known)) < len(self.n_known):
            raise ValueError(
                f"np: give numbers of known examples of at least 1, each only once, not {list(self.n_known)}"
            )
        if self.trials < 1:
            raise ValueError(f"trials must be at least 1, not {self.trials}")
        if min(self.tuning_draws, self.sensitivity_draws) < 0:
            raise ValueError("draws must be at least 0")

    @classmethod
    def quick(cls, rare: str, **others: Any) -> Self:
        """A first look: few draws, no tuning."""
        few: dict[str, Any] = {"n_known": (1, 10, 30), "trials": 5, "tune": "none", "sensitivity_draws": 2}
        return cls(rare, **(few | others))

    @property
    def tuned(self) -> Tune:
        """What is tuned in the end: without draws to tune on, nothing."""
        return self.tune if self.tuning_draws else "none"

    @property
    def rare_names(self) -> tuple[str, ...]:
        return names_in(self.rare)

    @property
    def rare_in_words(self) -> str:
        return " or ".join(self.rare_names)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
