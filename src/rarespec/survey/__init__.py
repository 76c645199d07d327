"""Spectra on disk: open, read, append, ingest, verify."""

from rarespec.errors import SurveyError, UsageError
from rarespec.survey.survey import Block, Survey

__all__ = ["Block", "Survey", "SurveyError", "UsageError"]
