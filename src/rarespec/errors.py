"""The errors that rarespec raises on purpose. Each says what is wrong, where, and what to do about it.

One bad file of many is not an error but a value: see `rarespec.Defect`.
"""

from __future__ import annotations


class RarespecError(Exception):
    """The root of all errors that rarespec raises on purpose."""


class UsageError(RarespecError, ValueError):
    """What was asked for cannot be done as it was asked. The command line exits with code 2."""


class SurveyError(RarespecError):
    """A survey that cannot be opened, read or written. The command line exits with code 3."""


class BusyError(SurveyError):
    """Another process holds the lock of the survey."""


class LabelLogError(SurveyError):
    """The log of labels could not be read, or an event could not be added to it."""


class DifferentEventError(UsageError):
    """The log already has an event with this id, and it says something else."""


class ModelFileError(RarespecError):
    """A model file that cannot be written, read or used."""


class EngineError(RarespecError):
    """The work cannot run where it was sent. The work itself is not at fault."""
