"""Spectra entering a survey: each id once, what is refused kept with its reason, all of it counted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.spectrum import Defect, Spectra
from rarespec.spectrum.spectra import COMMON_COLUMNS
from rarespec.survey.grid_choice import choose_from_stacks
from rarespec.survey.placement import place
from rarespec.survey.store import accounts as defect_table
from rarespec.survey.store.accounts import IngestReport
from rarespec.survey.store.catalogue import Catalogue
from rarespec.survey.store.manifest import Manifest
from rarespec.survey.store.writer import SurveyWriter, provenance_entry
from rarespec.survey.survey import Survey

# ---- Which strings (ids, input files) a survey already holds, in 16 bytes each.


Run = tuple[NDArray[np.uint64], NDArray[np.int64]]
"""Sorted hashes, and the row of each."""


class StoredValues:
    """The values of one text column of a survey, and those added since.

    Published values are kept as 64-bit hashes with their rows; a hash that is met again is compared with the value
    in the catalogue, so two values with one hash are never confused.
    """

    def __init__(self, survey: Survey, column: str) -> None:
        self._survey = survey
        self._column = column
        self._fresh: list[str] = []
        self._fresh_set: set[str] = set()
        self._runs: list[Run] = []
        self._n_published = 0
        self._show(survey.catalogue)
        if column in survey.catalogue:
            for table in survey.catalogue.blocks([column]):
                self._absorb(table.column(0).to_pylist())

    def _show(self, catalogue: Catalogue) -> None:
        column, rows = self._column, self._survey.manifest.block_rows
        read_block = lru_cache(maxsize=4)(lambda block: catalogue.block(block, [column]).column(0).to_pylist())
        self._value_at = lambda row: read_block(row // rows)[row % rows]

    def __contains__(self, value: str) -> bool:
        if value in self._fresh_set:
            return True
        key = _hash(value)
        return any(self._value_at(row) == value for hashes, rows in self._runs for row in _rows_with(key, hashes, rows))

    def add(self, values: Sequence[str]) -> None:
        """Add values of the next rows, which are not published yet."""
        self._fresh += values
        self._fresh_set.update(values)

    def forget_published(self, manifest: Manifest) -> None:
        """Forget the text of values whose rows this manifest has on disk."""
        n_new = manifest.n_rows - self._n_published
        self._show(Catalogue(self._survey.path, manifest))
        self._absorb(self._fresh[:n_new])
        self._fresh = self._fresh[n_new:]
        self._fresh_set = set(self._fresh)

    def _absorb(self, values: Sequence[str | None]) -> None:
        hashes = np.fromiter((_hash(value or "") for value in values), np.uint64, len(values))
        # The rows of one file carry the same value: its first row is enough.
        first = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]])[: len(hashes)])
        self._runs.append(_sort_run(hashes[first], first + self._n_published))
        self._n_published += len(values)
        # Runs of like size are merged, so that their number stays logarithmic and each value moves only a few times.
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            (hashes, rows), (more, their) = self._runs.pop(), self._runs.pop()
            self._runs.append(_sort_run(np.concatenate([more, hashes]), np.concatenate([their, rows])))


def _sort_run(hashes: NDArray[np.uint64], rows: NDArray[np.int64]) -> Run:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], rows[order]


def _rows_with(key: np.uint64, hashes: NDArray[np.uint64], rows: NDArray[np.int64]) -> list[int]:
    start, stop = np.searchsorted(hashes, key, "left"), np.searchsorted(hashes, key, "right")
    return rows[start:stop].tolist()


def _hash(value: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "little"))


# ---- How many catalogue columns a survey takes: each costs time and room in every block, also in those without it.


OF_A_FILE = 1000
"""New columns that one file may bring. The richest headers of surveys have some hundred cards."""
OF_A_SURVEY = 4000

ALWAYS = frozenset((*COMMON_COLUMNS, "coverage", "outside", "has_ivar"))


class ColumnLimit:
    """Leaves out the columns of a file beyond its first thousand, and new ones when the survey is full of them.

    What is left out depends on the files and their order alone, so that an interrupted ingest ends the same way.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = {*known, *ALWAYS}
        self.left_out: set[str] = set()

    def within(self, spectra: Spectra) -> Spectra:
        """Keep the columns of these spectra that the survey takes."""
        if self._known.issuperset(spectra.catalogue):
            return spectra
        own = [name for name in spectra.catalogue if name not in ALWAYS]
        for position, name in enumerate(own):
            if name not in self._known and position < OF_A_FILE and len(self._known) < OF_A_SURVEY:
                self._known.add(name)
        self.left_out.update(name for name in own if name not in self._known)
        taken = {name: values for name, values in spectra.catalogue.items() if name in self._known}
        return Spectra(spectra.wavelength, spectra.flux, spectra.ivar, spectra.bad, taken)


class Intake:
    """Stands between a stream of spectra on the grid and the writer of a survey."""

    def __init__(self, writer: SurveyWriter, provenance: dict[str, Any]) -> None:
        self.report = IngestReport()
        self._writer = writer
        self._provenance = provenance
        self._earlier_provenance = writer.manifest.provenance
        survey = Survey(writer.root, writer.manifest)
        self._ids = StoredValues(survey, "id")
        self._sources = StoredValues(survey, "source")
        self._columns = ColumnLimit(writer.manifest.columns)
        self._unfinished = set(writer.manifest.unfinished)
        self._defects = _by_source(survey.defects)
        self._defects_changed = False

    def holds_all_of(self, source: str) -> bool:
        """Say whether this input was stored before, to its end and without a defect; otherwise it is read again."""
        return source in self._sources and source not in self._unfinished and source not in self._defects

    def begin(self, source: str) -> None:
        """Begin an input; what was wrong with it before is found again, or has been mended."""
        self._unfinished.add(source)
        if self._defects.pop(source, None):
            self._defects_changed = True

    def forget_mended_folders(self) -> None:
        """Forget folders that could not be listed once and can be now. They are no files, so none is begun again."""
        mended = [source for source in self._defects if os.path.isdir(source) and os.access(source, os.R_OK | os.X_OK)]
        for source in mended:
            del self._defects[source]
            self._defects_changed = True

    def finish(self, source: str) -> None:
        """Note that this input was read to its end."""
        self._unfinished.discard(source)

    def store(self, source: str, spectra: Spectra) -> set[str]:
        """Take what is new; say whether spectra were stored, repeated, or both."""
        first_of_id = dict(zip(reversed(spectra.ids), reversed(range(len(spectra))), strict=True))
        new = [i for i, id in enumerate(spectra.ids) if first_of_id[id] == i and id not in self._ids]
        self.report.spectra["repeated"] += len(spectra) - len(new)
        self.report.spectra["stored"] += len(new)
        if new:
            fresh = spectra if len(new) == len(spectra) else spectra.take(np.array(new))
            self._ids.add(fresh.ids)
            self._sources.add([source] * len(fresh))
            fresh = self._columns.within(fresh)
            self.report.columns_left_out = len(self._columns.left_out)
            self._writer.add(fresh, on_full_block=lambda: self.commit(partial=False))
        return ({"stored"} if new else set()) | ({"repeated"} if len(new) < len(spectra) else set())

    def refuse(self, defect: Defect) -> None:
        self._defects.setdefault(defect.source, {})[defect] = None  # the same again, in a second try, is the same
        self._defects_changed = True
        self.report.spectra["defective"] += 1
        self.report.reasons[defect.reason.value] += 1

    def commit(self, partial: bool = True) -> None:
        """Publish what was taken so far; without `partial`, only full blocks."""
        files = {}
        if self._defects_changed:
            files[defect_table.NAME] = defect_table.to_csv(d for some in self._defects.values() for d in some)
            self._defects_changed = False
        provenance = (*self._earlier_provenance, self._provenance | {"account": self.report.to_json()})
        manifest = self._writer.commit(files, tuple(sorted(self._unfinished)), provenance, partial)
        self._ids.forget_published(manifest)
        self._sources.forget_published(manifest)


def _by_source(defects: list[Defect]) -> dict[str, dict[Defect, None]]:
    """In their order, each once."""
    grouped: dict[str, dict[Defect, None]] = {}
    for defect in defects:
        grouped.setdefault(defect.source, {})[defect] = None
    return grouped


# ---- Spectra from memory into a survey.


def append_to(survey: Survey, stacks: Iterable[Spectra], action: str = "append") -> IngestReport:
    """Store spectra in a survey; what cannot be stored goes to the table of defects.

    Parameters
    ----------
    survey : Survey
        The survey.
    stacks : iterable of Spectra
        In the frame of the survey; put on its grid if they are not. The first of them decide about the grid of a survey
        that has none yet.
    action : str
        What the provenance calls this change.

    Returns
    -------
    IngestReport
        How many were stored, repeated and defective.
    """
    with SurveyWriter(survey.path, None, survey.manifest.rest_frame) as writer:
        record: dict[str, str] = {}
        if not writer.has_grid:
            choice, stacks = choose_from_stacks(stacks)
            if choice is not None:
                writer.decide_grid(choice.grid)
                record = choice.record
        intake = Intake(writer, provenance_entry(action, **record))
        for stack in stacks:
            for item in place(stack, writer.manifest.grid):
                if isinstance(item, Spectra):
                    intake.store(action, item)
                else:
                    intake.refuse(item)
        intake.commit()
    return intake.report
