"""`rarespec labels`: what people said about the spectra of a survey."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarespec.cli.exits import Exit, report_failures
from rarespec.cli.search_options import Kind, Log
from rarespec.cli.terminal import console, print_rows, say, say_json

if TYPE_CHECKING:
    from rarespec.labels.event import Label, LabelEvent
    from rarespec.labels.log import LabelLog
    from rarespec.labels.merging import ChosenLabels, Merged
    from rarespec.survey import Survey

HEADINGS = ("id", "who", "label", "when (UTC)", "tags", "comment", "disagreement")
SPARE = ("when (UTC)", "comment")
"""What a narrow terminal leaves out."""


@report_failures
def command(
    survey: Annotated[Path, typer.Argument(help="Survey directory.")],
    export: Annotated[
        Path | None, typer.Option(help="Write the current labels to a .csv, .ecsv, .vot or .fits table.")
    ] = None,
    import_: Annotated[Path | None, typer.Option("--import", help="Add the labels of such a table.")] = None,
    merge: Annotated[Path | None, typer.Option(help="Add all labels of another label log.")] = None,
    redshifts: Annotated[
        Path | None, typer.Option(help="Write the redshifts that people set to a table, for example .csv.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="Table columns: rarespec or prospect.")] = "rarespec",
    rule: Annotated[
        str, typer.Option(help="How to combine labels: majority, latest, unanimous or any_yes.")
    ] = "majority",
    only: Annotated[str | None, typer.Option(help="List or export only spectra with this combined label.")] = None,
    tag: Annotated[str | None, typer.Option(help="List or export only spectra with this tag.")] = None,
    send: Annotated[bool, typer.Option("--send", help="Send the labels to TOPCAT or Aladin via SAMP.")] = False,
    person: Annotated[
        str | None, typer.Option(help="Person who gave the imported labels. Default: your user name.")
    ] = None,
    kind: Kind = None,
    log: Log = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Let your group read and write a new log. Default: only you.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """List, export, send, import or merge the labels of a survey.

    Example: rarespec labels dr17.survey --export found.vot --only yes
    """
    from rarespec.labels.event import label_named
    from rarespec.labels.exchange import write_labels
    from rarespec.labels.kinds import path_of_log
    from rarespec.labels.merging import choose_labels
    from rarespec.survey import Survey

    opened = Survey.open(survey)
    place = path_of_log(survey, log, kind)
    complete = True
    if import_ is not None or merge is not None:
        complete = _add_labels(opened, place, import_, merge, form, person, shared)
    events = _events(place)
    wanted = None if only is None else label_named(only)
    chosen = choose_labels(events, rule, wanted, tag)
    if export is not None:
        with _telling_warnings():
            n_rows = write_labels(export, events, form, rule, wanted, opened, tag)
        say(f"{_count(n_rows, 'label')} written to {export}", err=True)
    if redshifts is not None:
        _export_redshifts(redshifts, place)
    if send:
        with _telling_warnings():
            say(f"sent to {', '.join(_send(chosen, opened, place, rule, wanted, tag))}", err=True)
    if as_json:
        say_json(_as_json(survey, place, chosen, rule))
    elif not (export or import_ or merge or redshifts or send):
        show(place, chosen, only, tag)
        _say_other_kinds(survey, place)
    if not complete:
        raise typer.Exit(Exit.DEFECTS)


@contextmanager
def _telling_warnings() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    for warning in found:
        say(str(warning.message), err=True)


def _send(
    chosen: ChosenLabels, survey: Survey, place: Path, rule: str, only: Label | None, tag: str | None
) -> list[str]:
    from rarespec.labels.exchange import provenance_of, table_of_labels
    from rarespec.searching.samp import send_table

    table = table_of_labels(chosen, survey)
    return send_table(table, f"rarespec: {place.name}", provenance=provenance_of(rule, only, tag))


def _say_other_kinds(survey: Path, place: Path) -> None:
    from rarespec.labels.kinds import kind_of_log, kinds_beside, path_beside

    here = kind_of_log(survey, place)
    others = [kind for kind in kinds_beside(survey) if kind != here]
    if others:
        say(f"kinds that have labels of their own here (--kind): {', '.join(others)}", err=True)
    if here is not None and path_beside(survey).exists():
        say("there are labels without a kind too; leave out --kind to see them", err=True)


def _events(place: Path) -> list[tuple[int, LabelEvent]]:
    """Nothing is created only because somebody looked."""
    from rarespec.labels.log import LabelLog

    if not place.exists():
        return []
    with LabelLog(place, read_only=True) as log:
        return log.events()


def _add_labels(
    survey: Survey,
    place: Path,
    table: Path | None,
    other: Path | None,
    form: str,
    person: str | None,
    shared: bool,
) -> bool:
    """Whether all of it could be used."""
    from rarespec.labels.log import LabelLog

    from_log = [] if other is None else _events_of(other, survey)
    from_table, complete = ([], True) if table is None else _labels_of(table, form, person, survey)
    with LabelLog(place, shared=shared) as log:
        if other is not None:
            _add(log, from_log, other)
        if table is not None:
            _add(log, from_table, table)
    return complete


def _add(log: LabelLog, events: list[LabelEvent], source: Path) -> None:
    n_new = log.add(events)
    say(f"{source}: {_count(n_new, 'event')} added to {log.path}, {len(events) - n_new} already there", err=True)


def _events_of(other: Path, survey: Survey) -> list[LabelEvent]:
    """All of them, also about spectra that the survey does not have (yet); but not when it is about none of them."""
    from rarespec.errors import UsageError
    from rarespec.labels.log import LabelLog

    with LabelLog(other, read_only=True) as log:
        events = [event for _, event in log.events()]
    strangers = _strangers(events, survey)
    if events and len(strangers) == len({event.spectrum for event in events}):
        raise UsageError(f"{other}: none of its spectra are in {survey.path}; these labels belong to another survey")
    if strangers:
        say(f"{other}: {len(strangers)} of its spectra are not in {survey.path}, for example {strangers[0]}", err=True)
    return events


def _labels_of(table: Path, form: str, person: str | None, survey: Survey) -> tuple[list[LabelEvent], bool]:
    """Those about spectra of the survey, and whether that is all."""
    from rarespec.labels.exchange import read_labels

    read = read_labels(table, form, person)
    for line in read.left_out:
        say(line, err=True)
    strangers = _strangers(read.events, survey)
    if strangers:
        some = ", ".join(strangers[:5])
        say(f"{table}: skipped {len(strangers)} ids that are not in {survey.path} ({some})", err=True)
    return [event for event in read.events if event.spectrum not in set(strangers)], not strangers


def _strangers(events: list[LabelEvent], survey: Survey) -> list[str]:
    ids = list(dict.fromkeys(event.spectrum for event in events))
    return [id for id, row in zip(ids, survey.rows_of(ids), strict=True) if row < 0]


def _export_redshifts(path: Path, labels: Path) -> None:
    from rarespec._version import __version__
    from rarespec.labels.redshifts import redshift_table, redshifts_beside
    from rarespec.searching.export import write_table

    table = redshift_table(redshifts_beside(labels))
    write_table(table, path, {"what": "redshifts set by hand", "rarespec": __version__})
    say(f"{_count(len(table), 'redshift')} written to {path}", err=True)


def show(place: Path, chosen: ChosenLabels, only: str | None = None, tag: str | None = None) -> None:
    """The labels that stand, for a person at a terminal."""
    labels, together = chosen.rows, chosen.together
    out = console()
    if not labels:
        asked = [f"is labelled {only}" if only else "", f"has the tag {tag}" if tag else ""]
        what = " and ".join(filter(None, asked))
        out.print(f"{place}: no spectrum {what}" if what else f"{place}: no labels yet", soft_wrap=True)
        return
    tags = chosen.count_tags()
    headings = tuple(name for name in HEADINGS if tags or name != "tags")
    print_rows(out, headings, (_cells(event, together, bool(tags)) for event in labels), spare=SPARE)
    out.print(_summary(labels, together), soft_wrap=True)
    if tags:
        out.print("tags: " + ", ".join(f"{count} {name}" for name, count in tags.most_common()), soft_wrap=True)


def _cells(event: LabelEvent, together: dict[str, Merged], has_tags: bool) -> list[str]:
    when, tags = f"{event.at[:10]} {event.at[11:16]}", [", ".join(event.tags)] if has_tags else []
    first = [event.spectrum, event.person, str(event.label), when]
    return [*first, *tags, event.comment, _dispute(together[event.spectrum])]


def _dispute(said: Merged) -> str:
    return f"yes; combined: {said.label or 'undecided'}" if said.disagree else ""


def _summary(labels: list[LabelEvent], together: dict[str, Merged]) -> str:
    from rarespec.labels.event import Label

    people = {event.person for event in labels}
    counts = {label: sum(said.label == label for said in together.values()) for label in (*Label, None)}
    found = ", ".join(f"{count} {label or 'undecided'}" for label, count in counts.items() if count)
    disputed = sum(said.disagree for said in together.values())
    what = f"{_count(len(labels), 'label')} of {_count(len(together), 'spectrum', 'spectra')}"
    return f"{what} by {_count(len(people), 'person', 'people')}: {found}; people disagree on {disputed}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _as_json(survey: Path, place: Path, chosen: ChosenLabels, rule: str) -> dict[str, Any]:
    from rarespec.labels.kinds import kinds_beside

    spectra = [{"id": id} | asdict(said) for id, said in chosen.together.items()]
    return {
        "log": str(place),
        "rule": rule,
        "kinds": kinds_beside(survey),
        "tags": dict(chosen.count_tags()),
        "labels": list(map(asdict, chosen.rows)),
        "spectra": spectra,
    }
