"""Spectra entering a survey: each id once, what is refused kept with its reason, all of it counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from rarespec.spectrum import Defect, Spectra
from rarespec.survey import defects as defect_table
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
        self._unfinished = writer.manifest.unfinished_source
        self._defects = _by_source(survey.defects)
        self._defects_changed = False

    def holds_all_of(self, source: str) -> bool:
        """Whether this input was stored before; one that was cut short by an interruption was not."""
        return source in self._sources and source != self._unfinished

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
            self._writer.add(fresh, on_full_block=lambda: self.commit(unfinished=source, partial=False))
        return ({"stored"} if new else set()) | ({"repeated"} if len(new) < len(spectra) else set())

    def refuse(self, defect: Defect) -> None:
        self._defects.setdefault(defect.source, []).append(defect)
        self._defects_changed = True
        self.report.spectra["defective"] += 1
        self.report.reasons[defect.reason.value] += 1

    def forget_defects(self, source: str) -> None:
        """What was wrong with this input before is about to be found anew, or to have been mended."""
        if self._defects.pop(source, None):
            self._defects_changed = True

    def commit(self, unfinished: str | None = None, partial: bool = True) -> None:
        """Publish what was taken so far; `unfinished` names an input of which more is to come."""
        files = {}
        if self._defects_changed:
            files[defect_table.NAME] = defect_table.to_csv(d for some in self._defects.values() for d in some)
            self._defects_changed = False
        provenance = (*self._earlier_provenance, self._provenance | {"account": self.report.to_json()})
        manifest = self._writer.commit(files, unfinished, provenance, partial)
        self._ids.published(manifest)
        self._sources.published(manifest)


def _by_source(defects: list[Defect]) -> dict[str, list[Defect]]:
    grouped: dict[str, list[Defect]] = {}
    for defect in defects:
        grouped.setdefault(defect.source, []).append(defect)
    return grouped
