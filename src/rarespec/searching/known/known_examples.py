"""Known examples, in whatever form they are given, as rows of the survey and as spectra on its grid.

Known non-members are given in the same forms.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.searching.known.example_file import ExampleInput, Unusable
from rarespec.searching.known.example_inputs import Matching, on_grid, options_of, read_examples, stack_spectra
from rarespec.searching.known.example_rows import ExampleRows
from rarespec.searching.known.example_table import ExampleTable
from rarespec.searching.request import check_radius
from rarespec.spectrum import Noted, Resolution, Spectra, Spectrum
from rarespec.storage.text import end_sentence
from rarespec.survey import Survey

TOLD = 5
"""Problems that a message lists at most."""


@dataclass(frozen=True, eq=False)
class Examples:
    """The usable ones among the examples given.

    Parameters
    ----------
    rows : (n,) intp array
        Rows of the survey in the order given, each once.
    spectra : Spectra or None
        Those that are not in the survey, on its grid and in its frame; None when there are none.
    ids : list of str
        Ids of the rows, then of the spectra.
    problems : list of str
        What could not be used or was given twice, one line each.
    n_given : int
        Examples given, usable or not.
    lost : bool
        Whether one could not be used; one that was given twice is not lost.
    """

    rows: NDArray[np.intp]
    spectra: Spectra | None
    ids: list[str]
    problems: list[str]
    n_given: int
    lost: bool


def examples_of(
    survey: Survey, known: Any, radius_arcsec: float = 2.0, resolution: Resolution | None = None
) -> Examples:
    """Find examples in the survey, or put them on its grid.

    Parameters
    ----------
    survey : Survey
        The survey that is searched.
    known : ids, table, positions, spectra or files
        Ids; positions (SkyCoord); a table with ids or positions (of astropy, pandas, Arrow); files with such a table
        (CSV, ECSV, VOTable, FITS, Parquet, or text with an id a line); spectra (Spectrum, Spectra), or files of spectra
        of any survey. One of them or a list, also of several forms.
    radius_arcsec : float
        How far from a given position a spectrum of the survey may be.
    resolution : Resolution, optional
        Of the spectra given; by default as their files say. Sharper ones than the survey's are smoothed.

    Returns
    -------
    Examples
        The usable ones; `problems` says what is wrong with the others.

    Raises
    ------
    UsageError
        If none can be used.
    """
    check_radius(radius_arcsec)
    if not len(survey):
        raise UsageError(f"{survey.path}: the survey is empty; add spectra with `rarespec ingest`")
    gathering = _Gathering(survey, radius_arcsec, Matching(survey, resolution))
    for given in read_examples(known, survey, options_of(survey)):
        gathering.add(given)
    examples = gathering.examples()
    if not examples.ids:
        raise UsageError(_nothing_usable(survey, examples))
    return examples


class _Gathering:
    """Examples as they come in. Rows of the survey are known at once, ids of spectra are looked up at the end."""

    def __init__(self, survey: Survey, radius_arcsec: float, matching: Matching) -> None:
        self._survey = survey
        self._matching = matching
        self._found: list[int | Spectrum] = []
        self._problems: list[str] = []
        self._n_harmless = 0
        self._noted: Counter[str] = Counter()
        self._n_given = 0
        self._rows = ExampleRows(survey, radius_arcsec, self._problems)

    def add(self, given: ExampleInput | Spectrum) -> None:
        if isinstance(given, ExampleTable):
            self._n_given += len(given)
            if not len(given) and given.where:
                self._problems.append(f"{given.where}: contains no examples")
            self._found += self._rows.of(given).tolist()
        elif isinstance(given, Unusable):
            self._n_given += given.count
            self._problems.append(given.problem)
        elif isinstance(given, Noted):
            self._noted[given.note] += given.count
        elif isinstance(given, Spectra):
            for spectrum in on_grid(given, self._survey, self._matching):
                self.add(spectrum)
        else:
            self._n_given += 1
            self._found.append(given)

    def examples(self) -> Examples:
        rows, spectra = self._in_the_survey()
        ids, elsewhere = self._name_once(spectra)
        notes = (f"{count} of the examples: {note}" for note, count in self._noted.items())
        for line in (*_repeats(rows, self._survey), *self._matching.in_words(), *notes):
            self._tell(line)
        places = np.array(list(rows), dtype=np.intp)
        stack = stack_spectra(elsewhere, ids) if elsewhere else None
        all_ids = self._survey.catalogue_at(places, ["id"])["id"] + ids
        return Examples(places, stack, all_ids, self._problems, self._n_given, len(self._problems) > self._n_harmless)

    def _tell(self, line: str) -> None:
        """Note a problem of an example that is used all the same."""
        self._problems.append(line)
        self._n_harmless += 1

    def _in_the_survey(self) -> tuple[Counter[int], list[Spectrum]]:
        """Count how often each row was given, in the order given, and list the spectra that are not in the survey."""
        own = [found.id for found in self._found if isinstance(found, Spectrum)]
        row_of = dict(zip(own, self._survey.rows_of(own).tolist(), strict=True)) if own else {}
        rows: Counter[int] = Counter()
        elsewhere: list[Spectrum] = []
        for found in self._found:
            if not isinstance(found, Spectrum):
                rows[found] += 1
            elif row_of[found.id] < 0:
                elsewhere.append(found)
            else:
                rows[row_of[found.id]] += 1
                self._tell(f"{_name(found)}: the survey has a spectrum with this id; using that one")
        return rows, elsewhere

    def _name_once(self, spectra: list[Spectrum]) -> tuple[list[str], list[Spectrum]]:
        """Give spectra ids of their own. A repeated spectrum is left out; another of the same id gets a number."""
        named: dict[str, Spectrum] = {}
        n_named: Counter[str] = Counter()
        for spectrum in spectra:
            n_named[spectrum.id] += 1
            if any(_is_same(spectrum, other) for other in named.values() if other.id == spectrum.id):
                self._tell(f"{_name(spectrum)}: given twice; it counts once")
                continue
            id = spectrum.id if n_named[spectrum.id] == 1 else f"{spectrum.id}#{n_named[spectrum.id]}"
            if id != spectrum.id:
                self._tell(f"{_name(spectrum)}: another spectrum has the same id; this one is renamed {id}")
            named[id] = spectrum
        return list(named), list(named.values())


def _is_same(one: Spectrum, other: Spectrum) -> bool:
    return np.array_equal(one.flux, other.flux) and np.array_equal(one.bad, other.bad)


def _name(spectrum: Spectrum) -> str:
    source = spectrum.catalogue.get("source")
    return f"{source}, {spectrum.id}" if source else spectrum.id


def _repeats(rows: Counter[int], survey: Survey) -> list[str]:
    repeated = {row: n for row, n in rows.items() if n > 1}
    ids = survey.catalogue_at(np.array(list(repeated), dtype=np.intp), ["id"])["id"] if repeated else []
    return [f"{id}: given {n} times; it counts once" for id, n in zip(ids, repeated.values(), strict=True)]


def _nothing_usable(survey: Survey, examples: Examples) -> str:
    some_id = survey.catalogue[0]["id"]
    wanted = (
        f"give ids such as {some_id}, a table with a column id or with ra and dec, or files of spectra; "
        "separate several with spaces or commas"
    )
    if not examples.n_given and not examples.problems:
        return f"{survey.path}: no examples were given; {wanted}"
    more = len(examples.problems) - TOLD
    told = [*examples.problems[:TOLD], *([f"and {more} more"] if more > 0 else [])]
    problems = "; ".join(told).replace("?; ", "? ")
    said = (
        f"none of the {examples.n_given} examples given can be used" if examples.n_given else "no examples were given"
    )
    return f"{end_sentence(f'{survey.path}: {said}: {problems}')} To fix this, {wanted}"
