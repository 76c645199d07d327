"""`rarespec search --kinds`: many kinds of objects at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rarespec.cli.exits import Exit
from rarespec.cli.search_options import SearchOptions
from rarespec.cli.terminal import console, print_rows, say, say_json
from rarespec.errors import UsageError

if TYPE_CHECKING:
    from rarespec.searching.many import Rankings

COLUMNS = ("kind", "known", "first candidate", "chance", "look at", "expected")
SPARE = ("chance", "known")


def refuse_with_kinds(options: SearchOptions, **others: Any) -> None:
    """Refuse what can only be said of one kind."""
    given = {"--known": options.known, "--model": options.model, "--kind": options.kind, "--log": options.log, **others}
    names = [name for name, value in given.items() if value]
    if names:
        raise UsageError(f"--kinds searches for many kinds at once: leave out {', '.join(names)}")


def search_kinds(options: SearchOptions, kinds: Path, out: Path | None, table_format: str, as_json: bool) -> None:
    """Search for each kind, keep the tables where that is asked for, and show how many to expect of each."""
    import rarespec
    from rarespec.cli.progress import progress
    from rarespec.searching.known.kinds_file import read_kinds
    from rarespec.searching.many import paths_of_kinds

    examples = read_kinds(kinds)
    if out is not None:
        paths_of_kinds(out, list(examples), table_format)
    labels: dict[str, Any] = {"labels": options.labels, "tag": options.tag, "not_tags": options.not_tags or ()}
    with progress("search", "steps") as show:
        found = rarespec.search_many(options.survey, examples, progress=show, **labels, **options.settings())
    _tell_problems(found)
    if out is not None:
        n_rows = sum(map(len, found.values()))
        say(f"{n_rows} candidates of {len(found.write(out, table_format))} kinds written to {out}", err=True)
    say_json(_as_json(found)) if as_json else _show(found)
    if found.unsearched or any(ranking.examples_lost for ranking in found.values()):
        raise typer.Exit(Exit.DEFECTS)


def _tell_problems(found: Rankings) -> None:
    for note in found.notes:
        say(note, err=True)
    for kind, ranking in found.items():
        for problem in ranking.problems:
            say(f"{kind}: {problem}", err=True)
    for kind, why in found.unsearched.items():
        say(f"{kind}: not searched: {why}", err=True)


def _show(found: Rankings) -> None:
    out = console()
    print_rows(out, COLUMNS, map(_cells, found.overview), ("kind", "first candidate"), SPARE)
    lost = f"; {len(found.unsearched)} could not be searched" if found.unsearched else ""
    out.print(f"{len(found)} kinds searched{lost}")


def _cells(row: Any) -> list[str]:
    no_estimate = row["look_at"] < 0
    chance = "?" if row["chance"] != row["chance"] else f"{row['chance']:.2f}"
    look_at, expected = ("?", "?") if no_estimate else (str(row["look_at"]), f"{row['expected']:.0f}")
    return [row["kind"], str(row["known"]), row["first"], chance, look_at, expected]


def _as_json(found: Rankings) -> dict[str, Any]:
    return {
        "kinds": {kind: _ranking_as_json(found, kind) for kind in found},
        "unsearched": found.unsearched,
        "notes": list(found.notes),
    }


def _ranking_as_json(found: Rankings, kind: str) -> dict[str, Any]:
    from rarespec.cli.search import json_of  # which imports this file

    return {"n_known": len(found[kind].rows.known_ids), **json_of(found[kind])}
