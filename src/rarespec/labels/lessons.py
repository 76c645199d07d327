"""What a search learns from a log of labels, so that nothing that people did is lost when they search again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rarespec.errors import UsageError
from rarespec.labels.campaign_start import CampaignStart
from rarespec.labels.event import Label, tag_named
from rarespec.labels.kinds import kind_of_log, kinds_beside, path_of_log, start_of_log
from rarespec.labels.log import LabelLog
from rarespec.labels.merging import Merged, merge_labels
from rarespec.searching.lessons import Lessons
from rarespec.survey import Survey

RULE = "majority"
"""Where people disagree; the inspector learns by the same rule."""

AnyLog = bool | str | os.PathLike[str] | LabelLog
"""True for the log beside the survey, a file, or a log that is open."""


def read_lessons(
    survey: Any,
    labels: AnyLog = True,
    *,
    kind: str | None = None,
    tag: str | None = None,
    not_tags: Sequence[str] = (),
) -> Lessons:
    """Read from a log what a search can learn: yes is known, no is refused, the rest of the labelled is not listed.

    With a tag, only spectra that are labelled yes and have this tag are known. Those labelled yes without it are not
    listed, and nothing is learned from them: a tag that is missing may mean that nobody looked for it.

    Parameters
    ----------
    survey : Survey or path
        The survey, or a HATS catalogue.
    labels : True, path or LabelLog
        The log; True for the one beside the survey.
    kind : str, optional
        Which log beside the survey, if several kinds are kept apart.
    tag : str, optional
        Only spectra with this tag are known.
    not_tags : sequence of str
        Spectra with one of these tags are refused.

    Returns
    -------
    Lessons
        Ids by what was said of them, and what to tell the user.

    Raises
    ------
    UsageError
        If there is no such log.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rarespec.labels import Label, LabelEvent, LabelLog, new_event_id, read_lessons
    >>> with TemporaryDirectory() as folder, LabelLog(f"{folder}/labels.sqlite") as log:
    ...     for id, label in (("a", Label.YES), ("b", Label.NO), ("c", Label.UNSURE)):
    ...         stored = log.append(LabelEvent(new_event_id(), id, label, person="Ada"))
    ...     lessons = read_lessons("dr17.survey", log)
    >>> lessons.members, lessons.refused, lessons.left_out
    (('a',), ('b',), ('c',))
    """
    place, merged = _read(survey, labels, kind)
    sorted_out = _Sorted(merged, None if tag is None else tag_named(tag), tuple(map(tag_named, not_tags)))
    started_with: tuple[str, ...] = ()
    with suppress(UsageError):  # a campaign that cannot go on has labels all the same
        started_with = ids_at_the_start(CampaignStart.read(start_of_log(place)))
    of_campaign = [id for id in started_with if id not in merged] if sorted_out.tag else []
    return Lessons(
        members=sorted_out.members,
        refused=sorted_out.refused,
        bad=sorted_out.bad,
        left_out=(*sorted_out.left_out, *of_campaign),
        about=_about(survey, place, sorted_out),
        said=(_in_words(place, sorted_out, len(of_campaign)),),
        started_with=() if sorted_out.tag else started_with,
    )


def with_lessons(
    survey: Any,
    settings: Mapping[str, Any],
    labels: AnyLog = True,
    *,
    kind: str | None = None,
    tag: str | None = None,
    not_tags: Sequence[str] = (),
) -> dict[str, Any]:
    """Add the labels of a log to the settings of a search.

    Without known examples among the settings, those of the campaign are taken in which the labels were given; if there
    was none, or a tag is given, the spectra labelled yes.

    Parameters
    ----------
    survey : Survey or path
        The survey, or a HATS catalogue.
    settings : mapping
        What a `SearchRequest` takes, by name.
    labels : True, path or LabelLog
        The log; True for the one beside the survey.
    kind : str, optional
        Which log beside the survey.
    tag : str, optional
        Only spectra with this tag are known.
    not_tags : sequence of str
        Spectra with one of these tags are refused.

    Returns
    -------
    dict
        Settings for a `SearchRequest`.

    Raises
    ------
    UsageError
        If there is no such log, or nothing is known.
    """
    lessons = read_lessons(survey, labels, kind=kind, tag=tag, not_tags=not_tags)
    taught = {**settings, "lessons": lessons}
    if settings.get("known") is not None or settings.get("model") is not None:
        return taught
    start = start_of_log(_place_of(survey, labels, kind))
    if tag is None and start.exists():
        return taught | _known_at_the_start(CampaignStart.read(start), settings)
    if not lessons.members:
        what = "is labelled yes" if tag is None else f"is labelled yes and has the tag {tag}"
        raise UsageError(f"{lessons.about['log']}: no spectrum {what}; give the known examples with --known")
    return taught | {"known": list(lessons.members)}


def _known_at_the_start(start: CampaignStart, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What was known and refused at the start, and how it was found; what is given now goes before."""
    kept = {name: getattr(start.request, name) for name in ("known", "non_members", "known_resolution")}
    now = {name: value for name in kept if (value := settings.get(name)) is not None}
    return kept | now | {"radius_arcsec": start.request.radius_arcsec}


def _place_of(survey: Any, labels: AnyLog, kind: str | None) -> Path:
    if isinstance(labels, LabelLog):
        return labels.path
    place = survey.path if isinstance(survey, Survey) else survey
    if not isinstance(labels, bool):
        return path_of_log(place, labels, kind)
    if not isinstance(place, str | os.PathLike):
        raise UsageError(
            f"{getattr(place, 'name', place)}: it is not known where this lies; give the log of the labels"
        )
    return path_of_log(place, None, kind)


def _read(survey: Any, labels: AnyLog, kind: str | None) -> tuple[Path, dict[str, Merged]]:
    if isinstance(labels, LabelLog):
        return labels.path, merge_labels(labels.events(), RULE)
    place = _place_of(survey, labels, kind)
    if not place.exists():
        raise UsageError(f"{place}: there are no labels here; give some with `rarespec inspect`{_other_kinds(survey)}")
    with LabelLog(place, read_only=True) as log:
        return place, merge_labels(log.events(), RULE)


def _other_kinds(survey: Any) -> str:
    place = survey.path if isinstance(survey, Survey) else survey
    kinds = kinds_beside(place) if isinstance(place, str | os.PathLike) else []
    return f". Kinds that have labels: {', '.join(kinds)} (--kind)" if kinds else ", or name their log with --log"


class _Sorted:
    """The labelled spectra by what a search does with them."""

    def __init__(self, merged: Mapping[str, Merged], tag: str | None, not_tags: tuple[str, ...]) -> None:
        self.merged, self.tag, self.not_tags = merged, tag, not_tags
        yes, no = self._labelled(Label.YES), self._labelled(Label.NO)
        self.by_tag = tuple(id for id in yes if set(not_tags) & set(merged[id].all_tags))
        kept = [id for id in yes if id not in self.by_tag]
        self.members = tuple(id for id in kept if tag is None or tag in merged[id].all_tags)
        self.without_tag = tuple(id for id in kept if tag is not None and tag not in merged[id].all_tags)
        self.no, self.refused = no, (*no, *self.by_tag)
        self.bad, self.unsure, self.disputed = map(self._labelled, (Label.BAD, Label.UNSURE, None))
        self.left_out = (*self.without_tag, *self.unsure, *self.disputed)

    def _labelled(self, label: Label | None) -> tuple[str, ...]:
        return tuple(id for id, said in self.merged.items() if said.label == label)


def _in_words(place: Path, found: _Sorted, n_of_campaign: int) -> str:
    tagged = f" with the tag {found.tag}" if found.tag else ""
    refused = [f"{len(found.no)} no"]
    if found.not_tags:
        refused.append(f"{len(found.by_tag)} with the tag {' or '.join(found.not_tags)}")
    counts = {
        f"yes without the tag {found.tag}": len(found.without_tag),
        "unsure": len(found.unsure),
        "bad data": len(found.bad),
        "on which people disagree": len(found.disputed),
        f"known at the start without the tag {found.tag}": n_of_campaign,
    }
    left = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    words = f"labels of {place.name}: {len(found.members)} yes{tagged} known, {' and '.join(refused)} refused"
    return f"{words}; left out: {left}" if left else words


def _about(survey: Any, place: Path, found: _Sorted) -> dict[str, Any]:
    beside = survey.path if isinstance(survey, Survey) else survey
    kind = kind_of_log(beside, place) if isinstance(beside, str | os.PathLike) else None
    return {
        "log": place.name,
        "kind": kind,
        "rule": RULE,
        "tag": found.tag,
        "not_tags": list(found.not_tags),
        "yes": len(found.members),
        "no": len(found.refused),
        "unsure": len(found.unsure),
        "bad": len(found.bad),
        "disagree": len(found.disputed),
        "yes_without_tag": len(found.without_tag),
    }


def ids_at_the_start(start: CampaignStart) -> tuple[str, ...]:
    """The known examples at the start, if all of them are ids: files of spectra are kept with their whole path."""
    known = start.request.known or []
    return () if any(os.path.isabs(word) for word in known) else tuple(known)
