"""Which spectra of a survey are listed: by signal-to-noise ratio, class, and place on the sky."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.searching.crossmatch import Sky, directions, numbers_of
from rarespec.survey import Survey

NAMED = 20
"""Classes that a message lists at most."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Whether each spectrum is listed, (n,) bool in the survey's order, and what was left out, a line each."""

    mask: NDArray[np.bool_]
    said: list[str]


@dataclass(frozen=True)
class Selection:
    """Which spectra to list; by default every one.

    Parameters
    ----------
    min_snr : float, optional
        Least signal-to-noise ratio.
    classes : str or tuple of str
        Classes, subclasses or CLASS/SUBCLASS, of which one must fit; `*`, `?` and `[]` as in file names. Case does not
        matter.
    not_classes : str or tuple of str
        The same, of which none may fit.
    cone : tuple of float, optional
        Right ascension, declination and radius, in degrees.

    Raises
    ------
    UsageError
        If a value is not finite, or the cone is not on the sky.

    Examples
    --------
    >>> from rarespec import Selection
    >>> Selection(min_snr=5, classes="STAR", cone=(150.1, 2.2, 1.0)).classes
    ('STAR',)
    """

    min_snr: float | None = None
    classes: tuple[str, ...] = ()
    not_classes: tuple[str, ...] = ()
    cone: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("classes", "not_classes"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if self.min_snr is not None and not _is_number(self.min_snr):
            raise UsageError(f"minimum S/N must be a finite number, not {self.min_snr!r}")
        if self.cone is not None:
            object.__setattr__(self, "cone", _check_cone(tuple(self.cone)))

    def choose(self, survey: Survey) -> Chosen:
        """Choose the spectra of a survey to list.

        A spectrum whose signal-to-noise ratio, class or position is needed but unknown is left out, and counted.

        Parameters
        ----------
        survey : Survey
            The survey.

        Returns
        -------
        Chosen
            `mask`, (n,) bool in the order of the survey, and `said`, one line for each reason to leave spectra out.

        Raises
        ------
        UsageError
            If no spectrum of the survey has one of the classes.
        """
        chosen = Chosen(np.ones(len(survey), bool), [])
        for is_left_out, why in self._find_left_out(survey):
            n = int((is_left_out & chosen.mask).sum())
            chosen.mask[is_left_out] = False
            if n:
                chosen.said.append(f"not listed: {n} {why}")
        return chosen

    def _find_left_out(self, survey: Survey) -> Iterator[tuple[NDArray[np.bool_], str]]:
        if self.min_snr is not None:
            yield from _by_snr(survey, self.min_snr)
        if self.classes:
            yield ~_is_of(survey, self.classes), f"not of the class {' or '.join(self.classes)}"
        if self.not_classes:
            yield _is_of(survey, self.not_classes), f"of the class {' or '.join(self.not_classes)}"
        if self.cone:
            yield from _by_cone(survey, *self.cone)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(np.isfinite(value))


def _check_cone(cone: tuple[float, ...]) -> tuple[float, float, float]:
    if len(cone) != 3 or not all(map(_is_number, cone)):
        raise UsageError(f"cone must be right ascension, declination and radius in degrees, not {cone}")
    ra, dec, radius = map(float, cone)
    if not (abs(ra) <= 360 and abs(dec) <= 90):
        raise UsageError(f"cone: ra = {ra}, dec = {dec} is not a position on the sky; give both in degrees")
    if not 0 < radius <= 180:
        raise UsageError(f"cone: the radius must be above 0 and at most 180 degrees, not {radius}")
    return ra, dec, radius


def _by_snr(survey: Survey, min_snr: float) -> Iterator[tuple[NDArray[np.bool_], str]]:
    snr = numbers_of(survey, "snr")
    yield np.isnan(snr), "of unknown S/N"
    yield snr < min_snr, f"with S/N below {min_snr:g}"


def _by_cone(survey: Survey, ra: float, dec: float, radius: float) -> Iterator[tuple[NDArray[np.bool_], str]]:
    sky = Sky.of(survey)
    centre = directions(np.array([ra]), np.array([dec]))[0]
    chords = np.linalg.norm(directions(sky.ra, sky.dec) - centre, axis=1)
    outside = sky.placed & (chords > 2 * np.sin(np.radians(radius) / 2))
    yield ~sky.placed, "of unknown position"
    yield outside, f"more than {radius:g} degrees from {ra:g} {dec:+g}"


def _is_of(survey: Survey, patterns: tuple[str, ...]) -> NDArray[np.bool_]:
    """(n,) whether class, subclass or CLASS/SUBCLASS fits one of the patterns; each must fit something."""
    numbers, names = _kinds(survey)
    fits = np.array([[_fits(pattern, kind) for kind in names] for pattern in patterns], bool)
    for pattern, row in zip(patterns, fits, strict=True):
        if not row.any():
            raise UsageError(f"{survey.path}: no spectrum has the class {pattern!r}; {_what_there_is(names)}")
    is_wanted: NDArray[np.bool_] = np.any(fits, axis=0)
    return is_wanted[numbers]


def _fits(pattern: str, kind: tuple[str, str]) -> bool:
    pattern = pattern.strip().casefold()
    whole, part = (name.casefold() for name in kind)
    return any(name and fnmatchcase(name, pattern) for name in (whole, part, f"{whole}/{part}" if part else ""))


def _kinds(survey: Survey) -> tuple[NDArray[np.intp], list[tuple[str, str]]]:
    """(n,) number of each spectrum's kind; and the kinds, class and subclass, of which a survey has few."""
    (whole, class_names), (part, subclass_names) = _encode(survey, "class"), _encode(survey, "subclass")
    pairs, numbers = np.unique(whole * len(subclass_names) + part, return_inverse=True)
    names = [(class_names[i // len(subclass_names)], subclass_names[i % len(subclass_names)]) for i in pairs.tolist()]
    return numbers, names


def _encode(survey: Survey, column: str) -> tuple[NDArray[np.intp], list[str]]:
    """A text column as numbers and the texts they stand for."""
    import pyarrow as pa

    if column not in survey.catalogue:
        return np.zeros(len(survey), np.intp), [""]
    text = survey.catalogue.arrow([column]).column(0).cast(pa.string()).fill_null("")
    coded = text.combine_chunks().dictionary_encode()
    return coded.indices.to_numpy().astype(np.intp), [name.strip() for name in coded.dictionary.to_pylist()]


def _what_there_is(kinds: list[tuple[str, str]]) -> str:
    classes, subclasses = (sorted({kind[i] for kind in kinds} - {""}) for i in (0, 1))
    names = list(dict.fromkeys(classes + subclasses))
    if not names:
        return "its catalogue has no classes; ingest again with --join CATALOGUE"
    return f"there are {', '.join(names[:NAMED])}" + (", ..." if len(names) > NAMED else "")
