"""`rarespec search` on a HATS catalogue instead of a survey."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rarespec.cli.exits import Exit, arguments
from rarespec.cli.search_options import SearchOptions
from rarespec.cli.terminal import console, print_rows, say, say_json

if TYPE_CHECKING:
    from rarespec.hats.ranking import HatsRanking
    from rarespec.searching.ranking import Ranking

N_LISTED = 10


def is_hats(place: Path) -> bool:
    from rarespec.hats.catalogue import is_hats

    return is_hats(place)


def check_outputs(out: Path | None, model: Path | None) -> None:
    """Refuse a place that cannot be written, before anything is computed."""
    from rarespec.errors import UsageError
    from rarespec.searching.export import check_table_path

    if out is not None and out.suffix != ".hats":
        check_table_path(out)
    elif out is not None and out.exists() and not is_hats(out):
        raise UsageError(f"{out}: already exists and is not a HATS catalogue; choose another name")
    for path in (out, model):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"{path}: the directory {path.parent} does not exist; create it first")
    if model is not None and model.is_dir():
        raise UsageError(f"{model}: this is a directory; give a file name")


def write_candidates(ranking: Ranking, out: Path) -> Path:
    """The candidates of a survey as the end of the name says; a HATS catalogue is a directory."""
    if out.suffix != ".hats":
        return ranking.write(out)
    from rarespec.hats.writing import write_hats

    return write_hats(ranking, out)


def search_catalogue(
    options: SearchOptions,
    out: Path | None,
    model: Path | None,
    send: bool,
    as_json: bool,
    verbose: bool = False,
    columns: list[str] | None = None,
) -> None:
    """Search, tell what became of every spectrum, and keep what was asked for."""
    ranking = _ranking(options, model, columns or [])
    for problem in ranking.problems:
        say(problem, err=True)
    say(account_of(ranking), err=True)
    if out is not None:
        say(f"{len(ranking)} candidates written to {ranking.write(out)}", err=True)
    if model is not None:
        say(f"model saved to {model}", err=True)
    if send:
        from rarespec.searching.samp import send_table

        name = f"rarespec: {ranking.provenance['catalogue']}"
        say(f"sent to {', '.join(send_table(ranking.table, name, provenance=ranking.provenance))}", err=True)
    say_json(_as_json(ranking)) if as_json else _show(ranking, verbose)
    if ranking.examples_lost or ranking.unread:
        raise typer.Exit(Exit.DEFECTS)


def _ranking(options: SearchOptions, save_model: Path | None, columns: list[str]) -> HatsRanking:
    from rarespec.cli.progress import progress
    from rarespec.hats.search import HatsPlan, rank_catalogue

    request = options.request()
    with arguments():
        plan = HatsPlan(save_model=save_model, columns=dict(map(_role_and_name, columns)))
    with progress("read", "partitions") as show:
        return rank_catalogue(options.survey, request, plan, show)


def _role_and_name(word: str) -> tuple[str, str]:
    role, _, name = word.partition("=")
    if not (role and name):
        raise ValueError(f"--column {word}: write ROLE=NAME, for example spectrum=spectra_b,spectra_r,spectra_z")
    return role, name


def account_of(ranking: HatsRanking) -> str:
    account, unusable = ranking.account, sum(ranking.account.unusable.values())
    return (
        f"read {account.read} spectra, scored {account.scored}, could not use {unusable}; "
        f"{account.not_listed} of those scored are known examples and are not listed"
    )


def _show(ranking: HatsRanking, verbose: bool) -> None:
    out = console()
    if ranking.sample_yield is not None:
        out.print(f"Estimate for the training sample only: {ranking.sample_yield.why}")
    if verbose:
        out.print(f"method {ranking.method}: {ranking.why}")
    rows = map(_cells, ranking.table[:N_LISTED])
    print_rows(out, ("rank", "id", "ra", "dec", "class", "score"), rows, spare=("class", "dec", "ra"))
    if len(ranking) > N_LISTED:
        out.print(f"... and {len(ranking) - N_LISTED} more of {ranking.n_listed} ranked spectra")


def _cells(row: Any) -> list[str]:
    kind = " ".join(word for word in (row["class"], row["subclass"]) if word)
    return [str(row["rank"]), row["id"], f"{row['ra']:.5f}", f"{row['dec']:+.5f}", kind, f"{row['score']:.4g}"]


def _as_json(ranking: HatsRanking) -> dict[str, Any]:
    table, account = ranking.table, ranking.account
    return {
        "method": ranking.method,
        "why": ranking.why,
        "n_listed": ranking.n_listed,
        "account": {"read": account.read, "scored": account.scored, "unusable": dict(account.unusable)},
        "unread": ranking.unread,
        "problems": ranking.problems,
        "candidates": [{name: _unmask(row[name]) for name in table.colnames} for row in table],
    }


def _unmask(value: Any) -> Any:
    """What is masked is not known."""
    return None if getattr(value, "mask", False) else value
