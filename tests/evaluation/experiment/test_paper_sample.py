"""From what `fetch sdss --paper` stores to the table of the experiment, with one command."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits
from typer.testing import CliRunner

from fetching.archive_server import Answer, Request, quick_patience, serving
from fetching.local_archives import archives_file, serve_sdss
from rarespec.cli.app import app
from rarespec.fetching.job import Place, run_fetch
from rarespec.fetching.question import Question, paper_sample
from rarespec.mock.simulate import SkyChoice, simulate_files
from rarespec.survey import Survey

N_CARBON, N_OTHERS = 12, 48
SUBCLASSES = ("Carbon", "Carbon_lines", "Carbon_lines")
FEW = ("--methods", "lda,ocsvm", "--np", "1,3", "--trials", "2", "--tune", "none", "--jobs", "1", "--json")


def subclass_of(path: Path) -> str:
    """That of the file, in which two of three carbon stars are made such with lines, as SDSS's pipeline has both."""
    with fits.open(path, mode="update", checksum=True) as file:
        row = file[2].data[0]
        if row["SUBCLASS"].strip() == "Carbon":
            row["SUBCLASS"] = SUBCLASSES[int(row["FIBERID"]) % len(SUBCLASSES)]
        return str(row["SUBCLASS"]).strip()


@pytest.fixture(autouse=True)
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time of a small experiment, and are tested elsewhere."""
    monkeypatch.setattr("rarespec.plots.experiment.figures.draw_figures", lambda *args, **kwargs: [])


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    """Fetched from an archive on this machine, as `fetch sdss --paper --into` does; no two objects are alike."""
    folder = tmp_path_factory.mktemp("paper")
    files = sorted(
        simulate_files(SkyChoice(N_OTHERS, (("carbon", N_CARBON),), 4, layout="sdss"), folder / "files", jobs=1)
    )
    subclasses = {path.stem.removeprefix("spec-"): subclass_of(path) for path in files}
    carbon = [id for id, subclass in subclasses.items() if subclass in SUBCLASSES]
    others = [id for id in subclasses if id not in carbon]

    def sky_server(request: Request) -> Answer:
        first = "BETWEEN%201000%20" in request.query
        ids = carbon if "IN%20%28%27Carbon%27" in request.query else others if first else []
        return Answer(
            "\n".join(["plate,mjd,fiberid,run2d", *(f"{id.replace('-', ',')},26" for id in ids), ""]).encode()
        )

    with pytest.MonkeyPatch.context() as patch, serving() as server:
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            patch.delenv(name, raising=False)
        serve_sdss(server, files)
        server.replies["/dr17/SkyServerWS/SearchTools/SqlSearch"] = sky_server
        sample = partial(paper_sample, n_carbon=N_CARBON, n_others=N_OTHERS)
        patch.setattr("rarespec.fetching.question.paper_sample", sample)
        archives = archives_file(server, folder / "archives.toml")
        place = Place(None, folder / "paper.survey", archives, patience=quick_patience(2))
        run_fetch(Question("sdss", paper=True, seed=1), place)
    return Survey.open(folder / "paper.survey")


def test_the_sample_has_both_subclasses(survey: Survey) -> None:
    subclasses = survey.catalogue["subclass"].astype(str)
    assert len(survey) == N_CARBON + N_OTHERS
    assert np.isin(subclasses, SUBCLASSES).sum() == N_CARBON and {"Carbon", "Carbon_lines"} <= set(subclasses)


def test_one_command_leads_from_the_sample_to_the_table(survey: Survey, tmp_path: Path) -> None:
    words = ["experiment", str(survey.path), "--rare", "Carbon,Carbon_lines", "--out", str(tmp_path / "out"), *FEW]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert f"{N_CARBON} of them rare (subclass is Carbon or Carbon_lines)" in result.stderr
    assert {cell["method"] for cell in json.loads(result.stdout)["trials"]} == {"lda", "ocsvm"}
    table = (tmp_path / "out" / "table-1.md").read_text()
    assert "published" in table and "0.689" in table  # the paper's value for OCSVM with one known
    assert "known examples of Carbon or Carbon\\_lines" in table


def test_half_of_the_class_as_rare_says_what_is_missing(survey: Survey, tmp_path: Path) -> None:
    words = ["experiment", str(survey.path), "--rare", "Carbon", "--out", str(tmp_path / "out"), *FEW]
    result = CliRunner().invoke(app, words)
    n_lines = np.sum(survey.catalogue["subclass"] == "Carbon_lines")
    assert f"(subclass is Carbon; not Carbon_lines ({n_lines}))" in result.stderr
