"""Labels read from a table, and what of the table was left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from uuid import UUID, uuid5

from rarespec.labels.event import LabelEvent, checked
from rarespec.survey.manifest import WrongUseError

ROWS = UUID("6f0d3d0e-5a0b-4c57-9a53-0f6f6a1d1c5b")
"""Under which rows without an id of their own get one."""
TOLD = 5


@dataclass(frozen=True)
class LabelTable:
    """events : in the order of the rows; left_out : one line for each kind of thing that was not taken over."""

    events: list[LabelEvent]
    left_out: list[str]


Row = dict[str, str]


def labels_of(
    path: Path, rows: Iterable[Row], event_of: Callable[[Row], LabelEvent | None], left_out: list[str]
) -> LabelTable:
    """The labels of rows, each of which is a label, none at all (None), or wrong (a WrongUseError)."""
    events, problems, n_empty = [], [], 0
    for number, row in enumerate(rows, 1):
        try:
            event = event_of(row)
            if event is not None:
                events.append(with_id(event))
            n_empty += event is None
        except WrongUseError as error:
            problems.append(f"row {number}: {error}")
    if problems:
        more = f"; and {len(problems) - TOLD} more rows" if len(problems) > TOLD else ""
        raise WrongUseError(f"{path}: nothing was read. {'; '.join(problems[:TOLD])}{more}")
    return LabelTable(events, [*left_out, *([f"{path}: {n_empty} rows have no label"] if n_empty else [])])


def with_id(event: LabelEvent) -> LabelEvent:
    """The same content always gets the same id, so that a table read twice counts once."""
    content = json.dumps(astuple(event)[1:], ensure_ascii=True)
    return checked(event if event.event_id else replace(event, event_id=str(uuid5(ROWS, content))))
