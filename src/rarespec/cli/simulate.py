"""`rarespec simulate`: a mock survey to practise on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarespec.cli.exits import arguments, report_failures
from rarespec.cli.terminal import say

LAYOUTS = "sdss, sdss-v, sdss-spplate, sdss-spspec, lamost-dr1, lamost-dr8, lamost-dr9, desi"


@report_failures
def command(
    n: Annotated[
        int, typer.Option("--n", min=0, help="Number of common objects: stars, galaxies, quasars, sky.")
    ] = 10_000,
    rare: Annotated[list[str] | None, typer.Option(help="Rare objects, CLASS=NUMBER; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    median_snr: Annotated[float, typer.Option(min=0.1, help="Median signal-to-noise ratio per pixel.")] = 12.0,
    into: Annotated[Path | None, typer.Option(help="Write a survey to this new directory.")] = None,
    layout: Annotated[str | None, typer.Option("--as", help=f"Write survey files instead: {LAYOUTS}.")] = None,
    out: Annotated[Path | None, typer.Option(help="Output directory for the survey files.")] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            help="Wavelength grid: paper (the default), sdss, boss, lamost, desi, log:START:STEP:PIXELS, linear:..."
        ),
    ] = None,
    precision: Annotated[
        str, typer.Option(help="How a survey stores its spectra: noise (steps of 0.35 of it), noise:STEP, or exact.")
    ] = "noise",
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of worker processes. Default: one per core.")] = None,
) -> None:
    """Simulate a survey: O to T stars, white dwarfs, galaxies, quasars, and carbon stars or other rare objects.

    Example: rarespec simulate --n 100000 --rare carbon=450 --seed 1 --into mock.survey
    """
    from rarespec.cli.progress import progress
    from rarespec.mock.simulate import SkyChoice, simulate_files, simulate_survey, sky_of
    from rarespec.spectrum import WavelengthGrid
    from rarespec.survey import Precision

    with arguments():
        if (into is None) == (layout is None) or (layout is None) != (out is None):
            raise ValueError("give either --into SURVEY, or --as LAYOUT with --out DIR")
        if layout and grid:
            raise ValueError("--grid and --as exclude each other: survey files use the pixels of their survey")
        pixels = WavelengthGrid.parse(grid or "paper")
        steps = Precision.parse(precision)
        choice = SkyChoice(n, rare_counts(rare or []), seed, median_snr, layout, pixels, steps)
        sky_of(choice)
    with progress("simulate", "spectra") as show:
        if into is not None:
            made = f"{into}: {len(simulate_survey(choice, into, jobs, show))} spectra"
        elif out is not None:
            made = f"{out}: {len(simulate_files(choice, out, jobs, show))} {layout} files"
    say(made)


def rare_counts(words: list[str]) -> tuple[tuple[str, int], ...]:
    """`["carbon=450", "dz=20"]` as pairs; also `carbon=450,dz=20`."""
    from rarespec.mock import CLASSES
    from rarespec.storage.text import choose_from

    counts = {}
    for word in (part for words_ in words for part in words_.split(",")):
        name, _, number = word.partition("=")
        if not number.isdigit():
            raise ValueError(f"--rare {word}: write CLASS=NUMBER, for example carbon=450")
        if name.lower() not in CLASSES:
            raise ValueError(f"--rare {word}: there is no class {name!r}; {choose_from(CLASSES, name)}")
        counts[name.lower()] = int(number)
    return tuple(counts.items())
