"""What a search for many kinds is asked: one request for each kind, with the labels of its own log."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rarespec.errors import UsageError
from rarespec.labels.kinds import kind_named, path_beside
from rarespec.labels.lessons import with_lessons
from rarespec.searching.known.kinds_file import read_kinds
from rarespec.searching.request import SearchRequest
from rarespec.survey import Survey

OF_ONE_KIND = ("known", "model", "lessons")
"""What a request holds that cannot be the same for all kinds."""


@dataclass(frozen=True)
class AskedKinds:
    """Requests by kind, why there is none for some kinds, and which kinds have no labels where labels are asked for."""

    requests: dict[str, SearchRequest] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    without_labels: list[str] = field(default_factory=list)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell the user, a line each."""
        if not self.without_labels:
            return ()
        return (f"no labels yet, searched from the known examples alone: {', '.join(self.without_labels)}",)


def ask_for_kinds(
    survey: Any,
    kinds: Mapping[str, Any] | str | os.PathLike[str],
    settings: Mapping[str, Any],
    *,
    labels: bool = False,
    tag: str | None = None,
    not_tags: Sequence[str] = (),
) -> AskedKinds:
    """Make a request for each kind.

    Parameters
    ----------
    survey : Survey or path
        The survey.
    kinds : mapping or path
        Kind -> known examples, or a file with a column `kind`.
    settings : mapping
        What a `SearchRequest` takes, by name, for all kinds alike.
    labels : bool
        Add the labels of each kind, where it has some beside the survey.
    tag : str, optional
        Only spectra with this tag are known.
    not_tags : sequence of str
        Spectra with one of these tags are refused.

    Returns
    -------
    AskedKinds
        The requests, and why a kind has none.

    Raises
    ------
    UsageError
        If a setting or the name of a kind is wrong, or there are no kinds.
    """
    known, request = _named(kinds), _request_for_any(settings)
    if not isinstance(labels, bool):
        raise UsageError("labels must be True or False: each kind has its own log beside the survey")
    if not labels and (tag is not None or not_tags):
        raise UsageError("tag and not_tags say which labels to use; add labels=True")
    asked = AskedKinds()
    for kind, examples in known.items():
        try:
            if labels and _has_labels(survey, kind):
                taught = with_lessons(
                    survey, {**settings, "known": examples}, kind=kind, tag=tag, not_tags=tuple(not_tags)
                )
                asked.requests[kind] = SearchRequest(**taught)
            else:
                asked.requests[kind] = replace(request, known=examples)
                asked.without_labels.extend([kind] if labels else [])
        except UsageError as error:
            asked.refused[kind] = str(error)
    return asked


def _named(kinds: Any) -> dict[str, Any]:
    if isinstance(kinds, str | os.PathLike):
        kinds = read_kinds(kinds)
    if not isinstance(kinds, Mapping) or not all(isinstance(name, str) for name in kinds):
        raise UsageError("kinds must map the name of each kind to its known examples, or be a table with a column kind")
    if not kinds:
        raise UsageError("no kinds were given; name each kind with its known examples")
    named = {kind_named(name): examples for name, examples in kinds.items()}
    if len({name.casefold() for name in named}) < len(kinds):
        raise UsageError("two kinds have the same name, or names that differ in capital letters alone; rename one")
    return named


def _request_for_any(settings: Mapping[str, Any]) -> SearchRequest:
    """A request without examples: wrong settings are refused once, for all kinds."""
    there_are = [one.name for one in fields(SearchRequest) if one.name not in OF_ONE_KIND]
    wrong = [name for name in settings if name not in there_are]
    if wrong:
        raise UsageError(f"{', '.join(wrong)} cannot be set for many kinds; there are {', '.join(there_are)}")
    return SearchRequest(**{**settings, "known": ()})


def _has_labels(survey: Any, kind: str) -> bool:
    return path_beside(survey.path if isinstance(survey, Survey) else survey, kind).exists()
