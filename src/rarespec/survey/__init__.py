"""Spectra on disk: open, read, append, ingest, verify."""

from rarespec.survey.manifest import SurveyError, WrongUseError
from rarespec.survey.survey import Block, Survey

__all__ = ["Block", "Survey", "SurveyError", "WrongUseError"]
