"""What a person may say about a spectrum."""

from __future__ import annotations

from enum import StrEnum

from rarespec.survey.manifest import WrongUseError


class Label(StrEnum):
    YES = "yes"
    NO = "no"
    UNSURE = "unsure"
    BAD = "bad"
    """Bad data: nobody could tell."""


def label_named(word: str) -> Label:
    try:
        return Label(word.strip().lower())
    except ValueError:
        raise WrongUseError(f"the label {word!r} is not one of {', '.join(Label)}") from None
