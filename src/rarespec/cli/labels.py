"""`rarespec labels`: what people said about the spectra of a survey."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarespec.cli.exits import Exit, report_failures
from rarespec.cli.terminal import console, print_rows, say, say_json

if TYPE_CHECKING:
    from rarespec.labels.event import LabelEvent
    from rarespec.labels.log import LabelLog
    from rarespec.labels.merging import Events, Merged
    from rarespec.survey import Survey


@report_failures
def command(
    survey: Annotated[Path, typer.Argument(help="Survey directory.")],
    export: Annotated[Path | None, typer.Option(help="Write the current labels to a .csv or .ecsv table.")] = None,
    import_: Annotated[Path | None, typer.Option("--import", help="Add the labels of a .csv or .ecsv table.")] = None,
    merge: Annotated[Path | None, typer.Option(help="Add all labels of another label log.")] = None,
    redshifts: Annotated[
        Path | None, typer.Option(help="Write the redshifts that people set to a table, for example .csv.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="Table columns: rarespec or prospect.")] = "rarespec",
    rule: Annotated[
        str, typer.Option(help="How to combine labels: majority, latest, unanimous or any_yes.")
    ] = "majority",
    only: Annotated[str | None, typer.Option(help="List or export only spectra with this combined label.")] = None,
    person: Annotated[
        str | None, typer.Option(help="Person who gave the imported labels. Default: your user name.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Label log. Default: SURVEY.labels.sqlite.")] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Let your group read and write a new log. Default: only you.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """List, export, import or merge the labels of a survey.

    Example: rarespec labels dr17.survey --export found.csv --only yes
    """
    from rarespec.labels.log import path_beside
    from rarespec.survey import Survey

    opened = Survey.open(survey)
    place = path_beside(survey) if log is None else log
    complete = True
    if import_ is not None or merge is not None:
        complete = _add_labels(opened, place, import_, merge, form, person, shared)
    events = _events(place)
    if export is not None:
        _export(export, events, form, rule, only, opened)
    if redshifts is not None:
        _export_redshifts(redshifts, place)
    if as_json:
        say_json(_as_json(place, events, rule, only))
    elif not (export or import_ or merge or redshifts):
        show(place, events, rule, only)
    if not complete:
        raise typer.Exit(Exit.DEFECTS)


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


def _export(path: Path, events: Events, form: str, rule: str, only: str | None, survey: Survey) -> None:
    from rarespec.labels.event import label_named
    from rarespec.labels.exchange import write_labels

    wanted = None if only is None else label_named(only)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        n_rows = write_labels(path, events, form, rule, wanted, survey)
    for warning in found:
        say(str(warning.message), err=True)
    say(f"{_count(n_rows, 'label')} written to {path}", err=True)


def _export_redshifts(path: Path, labels: Path) -> None:
    from rarespec._version import __version__
    from rarespec.labels.redshifts import redshift_table, redshifts_beside
    from rarespec.searching.export import write_table

    table = redshift_table(redshifts_beside(labels))
    write_table(table, path, {"what": "redshifts set by hand", "rarespec": __version__})
    say(f"{_count(len(table), 'redshift')} written to {path}", err=True)


def _choose_labels(events: Events, rule: str, only: str | None) -> tuple[list[LabelEvent], dict[str, Merged]]:
    """The labels that stand, spectrum by spectrum, and what they say together, of the spectra asked for."""
    from rarespec.labels.event import label_named
    from rarespec.labels.merging import find_standing_labels, merge_labels

    wanted = None if only is None else label_named(only)
    together = {id: said for id, said in merge_labels(events, rule).items() if wanted in (None, said.label)}
    place = {id: number for number, id in enumerate(together)}
    labels = [event for event in find_standing_labels(events).values() if event.spectrum in together]
    return sorted(labels, key=lambda event: place[event.spectrum]), together


def show(place: Path, events: Events, rule: str, only: str | None) -> None:
    """The labels that stand, for a person at a terminal."""
    labels, together = _choose_labels(events, rule, only)
    out = console()
    if not labels:
        out.print(
            f"{place}: no labels yet" if only is None else f"{place}: no spectrum is labelled {only}", soft_wrap=True
        )
        return
    rows = (
        (
            event.spectrum,
            event.person,
            str(event.label),
            f"{event.at[:10]} {event.at[11:16]}",
            event.comment,
            _dispute(together[event.spectrum]),
        )
        for event in labels
    )
    headings = ("id", "who", "label", "when (UTC)", "comment", "disagreement")
    print_rows(out, headings, rows, spare=("when (UTC)", "comment"))
    out.print(_summary(labels, together), soft_wrap=True)


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


def _as_json(place: Path, events: Events, rule: str, only: str | None) -> dict[str, Any]:
    labels, together = _choose_labels(events, rule, only)
    spectra = [{"id": id} | asdict(said) for id, said in together.items()]
    return {"log": str(place), "rule": rule, "labels": list(map(asdict, labels)), "spectra": spectra}
