"""Spectra from memory into a survey."""

from __future__ import annotations

from collections.abc import Iterable

from rarespec.spectrum import Spectra
from rarespec.survey.intake import Intake
from rarespec.survey.placement import place
from rarespec.survey.report import IngestReport
from rarespec.survey.survey import Survey
from rarespec.survey.writer import SurveyWriter, provenance_entry


def append_to(survey: Survey, stacks: Iterable[Spectra], action: str = "append") -> IngestReport:
    """Store these spectra, which are in the survey's frame; what cannot be stored goes to the table of defects."""
    with SurveyWriter(survey.path, survey.grid, survey.manifest.rest_frame) as writer:
        intake = Intake(writer, provenance_entry(action))
        for stack in stacks:
            for item in place(stack, survey.grid):
                if isinstance(item, Spectra):
                    intake.store(action, item)
                else:
                    intake.refuse(item)
        intake.commit()
    return intake.report
