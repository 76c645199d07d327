"""`rarespec demo`: the whole way from survey files to a picture, on a mock survey, without any download."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarespec.cli.exits import told

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rarespec.survey import Survey
    from rarespec.survey.features import FeatureSet

MARK = ".rarespec-demo"
"""Shows that a directory may be removed by the next demo."""

N_COMMON, N_CARBON, N_DAMAGED = 1500, 30, 3
N_KNOWN, N_LISTED = 3, 10
SHOWN = (("Carbon", 2), ("M", 1), ("D", 1), ("F", 1))
"""Start of the subclass -> how many of these to draw."""


@told
def command(
    out: Annotated[Path, typer.Option(help="Directory for what the demo makes.")] = Path("rarespec-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same mock survey.")] = 1,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes; one per core by default.")] = None,
) -> None:
    """Simulate a small survey as SDSS files, ingest it, look at it, and rank it by three carbon stars.

    Takes well under a minute.

    Example: rarespec demo
    """
    files, survey_path, picture = out / "files", out / "demo.survey", out / "spectra.png"
    _start_afresh(out)
    _simulate(files, seed, jobs)
    survey = _ingest(files, survey_path, jobs)
    _show(survey)
    _draw(survey, picture)
    _rank(survey, out / "weights.png")


def _start_afresh(out: Path) -> None:
    """A directory that an earlier demo made is replaced; any other with something in it is left alone."""
    from rarespec.survey.manifest import WrongUseError

    if out.exists() and any(out.iterdir()):
        if not (out / MARK).exists():
            raise WrongUseError(f"{out}: exists and was not made by the demo; choose another with --out")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()


def _step(title: str, real: str) -> None:
    typer.echo(f"\n{title}\n  for your own data:  {real}\n")


def _simulate(files: Path, seed: int, jobs: int | None) -> None:
    import numpy as np

    from rarespec.cli.progress import progress
    from rarespec.mock.damage import damage
    from rarespec.mock.simulate import SkyChoice, simulate_files

    _step(
        f"1. A mock survey: {N_COMMON} ordinary objects and {N_CARBON} carbon stars as SDSS files in {files},"
        f" {N_DAMAGED} of them damaged on purpose",
        "fetch spectra from your archive, for example the spec-PLATE-MJD-FIBER.fits files of SDSS",
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
    from rarespec.survey.ingest.options import IngestOptions
    from rarespec.survey.ingest.run import run_ingest

    _step(f"2. The files become one survey, {into}", "rarespec ingest 'dr17/**/spec-*.fits' --into dr17.survey")
    with progress("ingest", "files") as show:
        survey, report = run_ingest(
            [files], into, IngestOptions(), jobs=jobs, progress=lambda so_far, total: show(so_far.files_seen, total)
        )
    typer.echo(account(survey, report))
    return survey


def _show(survey: Survey) -> None:
    from rarespec.cli.info import show
    from rarespec.survey.summary import summarise

    _step("3. What is in it", "rarespec info dr17.survey")
    show(summarise(survey))


def _draw(survey: Survey, picture: Path) -> None:
    from rarespec.plots.spectra import draw_spectra

    _step("4. A few of its spectra", "in Python, rarespec.Survey.open('dr17.survey')['0355-51788-0579']")
    draw_spectra(survey.select(_examples(survey)), picture, "A mock sky, as SDSS would see it")
    typer.echo(f"drawn in {picture}")


def _rank(survey: Survey, picture: Path) -> None:
    import numpy as np

    from rarespec.features import PaperFeatures
    from rarespec.rankers import BaggingTopPush
    from rarespec.survey.features import features_of

    _step(
        f"5. {N_KNOWN} carbon stars are known: which spectra are most like them?",
        "in Python, rarespec.rankers.BaggingTopPush().fit(X, y).rank(X) with X = features.values[features.usable]",
    )
    features = features_of(survey, PaperFeatures())
    rows = np.flatnonzero(features.usable)
    carbon = np.char.startswith(survey.catalogue["subclass"][rows].astype(str), "Carbon")
    known = np.flatnonzero(carbon)[:N_KNOWN]
    y = np.zeros(len(rows), dtype=int)
    y[known] = 1
    ranker = BaggingTopPush(random_state=0).fit(features.values[rows], y)
    best = ranker.rank(features.values[rows])
    best = best[y[best] == 0]
    _list_best(survey, rows[best[:N_LISTED]])
    n = int(carbon.sum()) - N_KNOWN
    found, later = carbon[best[:n]].sum(), carbon[best[: 2 * n]].sum()
    typer.echo(f"of the {n} other carbon stars {found} are among the first {n}, {later} among the first {2 * n}")
    _draw_weights(survey, features, ranker.coef_, rows[known], picture)


def _list_best(survey: Survey, rows: NDArray[np.intp]) -> None:
    ids, kinds = survey.catalogue["id"][rows], survey.catalogue["subclass"][rows]
    for place, (id, kind) in enumerate(zip(ids, kinds, strict=True), start=1):
        typer.echo(f"  {place:3d}  {id}  {kind}")


def _draw_weights(
    survey: Survey, features: FeatureSet, weights: NDArray[np.float64], known: NDArray[np.intp], picture: Path
) -> None:
    from rarespec.plots.weights import draw_weights

    pca = features.recipe.steps_[-1]
    mean_known = pca.inverse_transform(features.values[known].mean(axis=0, keepdims=True))[0]
    draw_weights(features.recipe.to_flux(weights), mean_known, pca.mean_, survey.grid, picture)
    typer.echo(f"what counts in favour and against, pixel by pixel, is drawn in {picture}")


def _examples(survey: Survey) -> list[str]:
    """Ids of the best observed spectrum of a few kinds, two carbon stars first."""
    ids, snr = survey.catalogue["id"], survey.catalogue["snr"]
    kind = survey.catalogue["subclass"]
    best = snr.argsort()[::-1]
    chosen: list[str] = []
    for start, wanted in SHOWN:
        chosen += [ids[row] for row in best if kind[row].startswith(start)][:wanted]
    return chosen
