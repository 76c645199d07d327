"""`rarespec verify`: is a survey on disk still what was written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarespec.cli.exits import Exit, report_failures
from rarespec.cli.terminal import say, say_json, say_lines


@report_failures
def command(
    survey: Annotated[Path, typer.Argument(help="Survey directory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check a survey: checksums of all files, counts, unique ids, finite numbers.

    Example: rarespec verify dr17.survey
    """
    from rarespec.cli.progress import progress
    from rarespec.survey.verify import verify

    with progress("verify", "files") as show:
        result = verify(survey, show)
    if as_json:
        content = {"sound": result.sound, "rows": result.n_rows, "files": result.n_files, "problems": result.problems}
        say_json(content)
    elif result.sound:
        say(f"{survey}: OK; {result.n_rows} spectra in {result.n_files} files")
    else:
        say_lines(result.problems)
        say(f"{survey}: {len(result.problems)} problems; restore these files, or ingest again into a new survey")
    raise typer.Exit(Exit.DONE if result.sound else Exit.DEFECTS)
