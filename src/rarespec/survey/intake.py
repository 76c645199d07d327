"""Spectra entering a survey: each id once, what is refused kept with its reason, all of it counted."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rarespec.spectrum import Defect, Spectra
from rarespec.survey import defects as defect_table
from rarespec.survey.column_limit import ColumnLimit
from rarespec.survey.report import IngestReport
from rarespec.survey.stored import StoredValues
from rarespec.survey.survey import Survey
from rarespec.survey.writer import SurveyWriter


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
        """Whether this input was stored before, to its end and without a defect; otherwise it is read again."""
        return source in self._sources and source not in self._unfinished and source not in self._defects

    def begin(self, source: str) -> None:
        """This input is about to be read; what was wrong with it before is found anew, or has been mended."""
        self._unfinished.add(source)
        if self._defects.pop(source, None):
            self._defects_changed = True

    def forget_mended_folders(self) -> None:
        """Folders that could not be listed once, and can be now. No file bears their name, so none is begun again."""
        mended = [source for source in self._defects if os.path.isdir(source) and os.access(source, os.R_OK | os.X_OK)]
        for source in mended:
            del self._defects[source]
            self._defects_changed = True

    def finish(self, source: str) -> None:
        """This input was read to its end."""
        self._unfinished.discard(source)

    def store(self, source: str, spectra: Spectra) -> set[str]:
        """Take what is new; says whether spectra were stored, repeated, or both."""
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
        self._ids.published(manifest)
        self._sources.published(manifest)


def _by_source(defects: list[Defect]) -> dict[str, dict[Defect, None]]:
    """In their order, each once."""
    grouped: dict[str, dict[Defect, None]] = {}
    for defect in defects:
        grouped.setdefault(defect.source, {})[defect] = None
    return grouped
