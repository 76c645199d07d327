"""`rarespec demo`: the whole way from survey files to a picture, on a mock survey, without any download."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarespec.cli.exits import report_failures
from rarespec.cli.search_options import Verbose
from rarespec.cli.terminal import say, say_lines

if TYPE_CHECKING:
    from rarespec.searching.ranking import Ranking
    from rarespec.survey import Survey

MARK = ".rarespec-demo"
"""Shows that a directory may be removed by the next demo."""
SURVEY = "demo.survey"

N_COMMON, N_CARBON, N_DAMAGED = 1500, 30, 3
N_KNOWN, N_CANDIDATES, N_REPORTED = 3, 200, 40
SHOWN = (("Carbon", 2), ("M", 1), ("D", 1), ("F", 1))
"""Start of the subclass -> how many of these to draw."""


@report_failures
def command(
    out: Annotated[Path, typer.Option(help="Output directory.")] = Path("rarespec-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the mock survey.")] = 1,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of worker processes. Default: one per core.")] = None,
    verbose: Verbose = False,
) -> None:
    """Try rarespec on a small mock survey: simulate SDSS files, ingest them, search for carbon stars, write a report.

    Takes less than a minute.

    Example: rarespec demo
    """
    files, survey_path, picture = out / "files", out / SURVEY, out / "spectra.png"
    _start_afresh(out)
    _simulate(files, seed, jobs)
    survey = _ingest(files, survey_path, jobs)
    _show(survey)
    _draw(survey, picture)
    _report(_search(survey, out, verbose), out / "report")
    _go_on(survey)


def _start_afresh(out: Path) -> None:
    """A directory that an earlier demo made is replaced; one that holds labels, or anything else, is left alone."""
    from rarespec.errors import UsageError
    from rarespec.labels.log import path_beside

    if out.exists() and any(out.iterdir()):
        if not (out / MARK).exists():
            raise UsageError(f"{out}: already exists and was not made by the demo; choose another directory with --out")
        if path_beside(out / SURVEY).exists():
            raise UsageError(f"{out}: contains labels; choose another directory with --out, or delete this one")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()


def _step(title: str, real: str) -> None:
    say()
    say(title, bold=True)
    say("  with your own data:  ", nl=False)
    say(real, fg="cyan")
    say()


def _simulate(files: Path, seed: int, jobs: int | None) -> None:
    import numpy as np

    from rarespec.cli.progress import progress
    from rarespec.mock.damage import damage
    from rarespec.mock.simulate import SkyChoice, simulate_files

    _step(
        f"1. Simulate a survey as SDSS files: {N_COMMON} ordinary objects, {N_CARBON} carbon stars,"
        f" {N_DAMAGED} files damaged on purpose",
        "rarespec fetch sdss 0355-51788-0579 --out dr17",
    )
    choice = SkyChoice(N_COMMON, (("carbon", N_CARBON),), seed, layout="sdss")
    with progress("simulate", "spectra") as show:
        paths = simulate_files(choice, files, jobs, show)
    rng = np.random.default_rng(seed)
    for path, kind in zip(paths[5::400], ("truncated-data", "bit-flip-data", "html-page"), strict=False):
        broken = path.with_suffix(".broken")
        damage(path, kind, broken, rng).replace(path)


def _ingest(files: Path, into: Path, jobs: int | None) -> Survey:
    from rarespec.cli.ingest import account
    from rarespec.cli.progress import progress
    from rarespec.survey.ingest.reading import IngestOptions
    from rarespec.survey.ingest.run import run_ingest

    _step(f"2. Ingest the files into one survey, {into}", "rarespec ingest 'dr17/**/spec-*.fits' --into dr17.survey")
    with progress("ingest", "files") as show:
        survey, report = run_ingest([files], into, IngestOptions(), jobs=jobs, progress=show)
    say_lines(account(survey, report))
    return survey


def _show(survey: Survey) -> None:
    from rarespec.cli.info import show
    from rarespec.survey.summary import summarise

    _step("3. See what the survey contains", "rarespec info dr17.survey")
    show(summarise(survey))


def _draw(survey: Survey, picture: Path) -> None:
    from rarespec.plots.spectra import draw_spectra

    _step("4. Plot a few spectra", "in Python, rarespec.Survey.open('dr17.survey')['0355-51788-0579']")
    draw_spectra(survey.select(_examples(survey)), picture, "Mock spectra as SDSS would observe them")
    say(f"plot written to {picture}")


def _search(survey: Survey, out: Path, verbose: bool) -> Ranking:
    from rarespec.cli.search import show
    from rarespec.searching.request import SearchRequest
    from rarespec.searching.search import rank_survey

    candidates = out / "candidates.ecsv"
    _step(
        f"5. Search: {N_KNOWN} carbon stars are known; find the others",
        f"rarespec search dr17.survey --known carbon-stars.csv --out {candidates.name}",
    )
    carbon = _carbon_stars(survey)
    ranking = rank_survey(survey, SearchRequest(carbon[:N_KNOWN], top=N_CANDIDATES))
    show(ranking, verbose)
    _count_found(ranking, set(carbon[N_KNOWN:]))
    say(f"{len(ranking)} candidates written to {ranking.write(candidates)}")
    return ranking


def _count_found(ranking: Ranking, others: set[str]) -> None:
    """The demo knows what a search does not: which of the candidates are carbon stars."""
    right = [id in others for id in ranking.table["id"]]
    n = len(others)
    say(
        f"the demo knows the answer: of the {n} other carbon stars, {sum(right[:n])} are in the first {n} candidates"
        f" and {sum(right[: 2 * n])} in the first {2 * n}"
    )


def _report(ranking: Ranking, folder: Path) -> None:
    from rarespec.cli.progress import progress
    from rarespec.plots.search_report import write_report

    _step(
        "6. Write a report of the best candidates", "rarespec report dr17.survey --known carbon-stars.csv --out report"
    )
    with progress("report", "pages") as show:
        written = write_report(ranking, folder, N_REPORTED, show)
    for path in written:
        say(f"wrote {path}")


def _go_on(survey: Survey) -> None:
    say()
    say("Open report.html in a browser, or inspect the candidates one by one and label them:")
    say(f"  rarespec inspect {survey.path} --known {','.join(_carbon_stars(survey)[:N_KNOWN])}", fg="cyan")


def _carbon_stars(survey: Survey) -> list[str]:
    import numpy as np

    return survey.ids[np.char.startswith(survey.catalogue["subclass"].astype(str), "Carbon")].tolist()


def _examples(survey: Survey) -> list[str]:
    """Ids of the best observed spectrum of a few kinds, two carbon stars first."""
    ids, snr = survey.catalogue["id"], survey.catalogue["snr"]
    kind = survey.catalogue["subclass"]
    best = snr.argsort()[::-1]
    chosen: list[str] = []
    for start, wanted in SHOWN:
        chosen += [ids[row] for row in best if kind[row].startswith(start)][:wanted]
    return chosen
