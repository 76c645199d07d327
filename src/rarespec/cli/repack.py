"""`rarespec repack`: a survey in another precision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarespec.cli.exits import arguments, report_failures
from rarespec.cli.terminal import say


@report_failures
def command(
    survey: Annotated[Path, typer.Argument(help="Survey directory. It stays as it is.")],
    into: Annotated[Path, typer.Option(help="Directory of the new survey.")],
    precision: Annotated[str, typer.Option(help="noise (steps of 0.35 of the noise), noise:STEP, or exact.")] = "noise",
) -> None:
    """Write a survey anew in another precision, with the same ids, catalogue and history.

    In steps of its noise, a survey takes a fifth of the room. If interrupted, run the same command again to continue.

    Example: rarespec repack dr17.survey --into dr17-small.survey
    """
    from rarespec.cli.progress import progress
    from rarespec.survey import Survey
    from rarespec.survey.repack import repack
    from rarespec.survey.store.location import sizes_below
    from rarespec.survey.store.precision import Precision

    with arguments():
        wanted = Precision.parse(precision)
    old = Survey.open(survey)
    with progress("repack", "spectra") as show:
        new = repack(old, into, wanted, show)
    before, after = (sum(sizes_below(one.path / "flux").values()) / 1e6 for one in (old, new))
    say(f"{into}: {len(new)} spectra, precision {new.precision}; flux {after:,.1f} MB, before {before:,.1f} MB")
