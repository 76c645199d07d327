"""The grid of a new survey comes from its first spectra, and whatever a grid leaves out is told."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rarespec as rs
from conftest import SMALL_GRID, make_spectra, small_survey_files
from rarespec.errors import UsageError
from rarespec.features import PaperFeatures
from rarespec.formats import read_here
from rarespec.spectrum import NAMED_GRIDS, PAPER_GRID, Spectra, WavelengthGrid
from rarespec.spectrum.grid import MOST_PIXELS
from rarespec.survey import Survey
from rarespec.survey.fit_of_grid import fits_of, percent
from rarespec.survey.grid_choice import Call, calls_of, choose_grid
from rarespec.survey.ingest import GridWarning, ingest
from rarespec.survey.ingest.reading import IngestOptions
from rarespec.survey.ingest.run import run_ingest
from rarespec.survey.store.manifest import Manifest

INFRARED = WavelengthGrid("linear", 8000.0, 20.0, 801)
GRID_OF_LAYOUT = {
    "sdss": "sdss",
    "sdss-spplate": "sdss",
    "sdss-spspec": "sdss",
    "sdss-v": "boss",
    "lamost-dr1": "lamost",
    "lamost-dr8": "lamost",
    "lamost-dr9": "lamost",
    "desi": "desi",
}


def write_matrix(path, spectra):
    columns = {"id": np.array(spectra.ids), "z": np.array(spectra.catalogue["z"])}
    np.savez(path, wavelength=spectra.wavelength, flux=spectra.flux, ivar=spectra.ivar, mask=spectra.bad, **columns)
    return path


# --- known layouts


@pytest.mark.parametrize("layout", GRID_OF_LAYOUT)
def test_files_of_a_known_layout_get_the_grid_of_their_survey(layout, tmp_path):
    files = small_survey_files(tmp_path / "files", 3, layout)
    survey = ingest(files, tmp_path / "a.survey", precision="exact")
    assert survey.grid.name == GRID_OF_LAYOUT[layout] and len(survey) == 3
    assert survey.catalogue["outside"].tolist() == [0, 0, 0]
    stack = next(found for found in read_here(files[0]) if isinstance(found, Spectra))
    offset = survey.grid.offset_of(stack.wavelength)
    assert offset is not None
    np.testing.assert_array_equal(survey[stack.ids[0]].flux[offset:][: len(stack.wavelength)], stack.flux[0])


@pytest.mark.parametrize(
    ("files", "grid"),
    [("desi/coadd-*", "desi"), ("lamost/*", "lamost"), ("sdss/spec-0*", "sdss"), ("sdss-v/*", "boss")],
)
def test_real_files_lose_no_pixel(real_data, tmp_path, files, grid):
    if not list((real_data / "files").glob(files)):
        pytest.skip(f"no {files} in ../shared/data/files")
    survey = ingest(str(real_data / "files" / files), tmp_path / "a.survey")
    assert survey.grid == NAMED_GRIDS[grid] and len(survey)
    assert (survey.catalogue["outside"] == 0).all() and not any(fit.keeps for fit in fits_of(survey))


def test_a_survey_in_name_only_gets_the_grid_of_its_pixels():
    """Spectra that call themselves DESI but are sampled otherwise, as medium-resolution ones are."""
    grid = WavelengthGrid("linear", 5000.0, 0.1, 400)
    assert choose_grid([Call("DESI", grid)]).grid == grid
    assert choose_grid([Call("LAMOST", NAMED_GRIDS["boss"])]).grid == NAMED_GRIDS["boss"]


# --- any other spectra


def test_an_infrared_library_is_stored_whole_and_searched(tmp_path):
    """A matrix of 0.8 to 2.4 micron, which the paper's grid would refuse."""
    spectra = make_spectra(60, INFRARED)
    band = np.exp(-0.5 * ((INFRARED.wavelength - 16000) / 400) ** 2)
    spectra.flux[:8] -= 6 * band.astype("f4")
    survey = ingest(write_matrix(tmp_path / "nir.npz", spectra), tmp_path / "nir.survey")
    assert survey.grid == INFRARED and len(survey) == 60 and not survey.defects
    assert (survey.catalogue["outside"] == 0).all()
    ranking = rs.search(survey, spectra.ids[:3], "matched_filter", recipe=PaperFeatures(n_components=5), top=5)
    assert set(ranking.table["id"]) == set(spectra.ids[3:8])
    assert any("narrower than 3 pixels" in problem for problem in ranking.problems)
    assert not ranking.examples_lost


def test_most_spectra_decide_and_the_others_are_cut_aloud(tmp_path):
    narrow, wide = SMALL_GRID, SMALL_GRID.part(3900, 9000)
    for number, grid in enumerate([narrow, narrow, wide]):
        write_matrix(tmp_path / f"{number}.npz", make_spectra(2, grid, prefix=f"f{number}-"))
    with pytest.warns(GridWarning, match=r"lie outside this grid: a new survey with --grid like:.*2\.npz keeps them"):
        survey = ingest(tmp_path / "*.npz", tmp_path / "a.survey")
    assert survey.grid == narrow
    (fit,) = fits_of(survey)
    n_outside = (~make_spectra(2, wide).bad[:, _outside(wide, narrow)]).sum(1) / (~make_spectra(2, wide).bad).sum(1)
    assert fit.outside == pytest.approx(n_outside.sum() / 6, abs=1e-5) and fit.spectra == 6
    again = ingest(tmp_path / "*.npz", tmp_path / "b.survey", grid=f"like:{tmp_path / '2.npz'}")
    assert again.grid == wide and (again.catalogue["outside"] == 0).all()
    (fit,) = fits_of(again)
    assert fit.empty > 0.1 and "of this grid has no good pixel" in fit.in_words()[0]


def _outside(wide, narrow):
    return (wide.wavelength < narrow.edges[0]) | (wide.wavelength > narrow.edges[-1])


def test_what_half_of_the_spectra_cover_is_covered():
    blue, red = SMALL_GRID.part(4000, 5000), SMALL_GRID.part(5500, 7000)
    both = choose_grid([Call("", blue), Call("", red)]).grid
    assert both.wavelength[[0, -1]] == pytest.approx([4000, 7000], rel=2e-3) and both.step == SMALL_GRID.step
    assert choose_grid([Call("", blue)] * 3 + [Call("", red)]).grid == blue


def test_ends_without_a_good_pixel_do_not_count():
    spectra = make_spectra(3, SMALL_GRID)
    spectra.bad[:, :100] = True
    assert choose_grid(calls_of(spectra)).grid.wavelength[0] == pytest.approx(SMALL_GRID.wavelength[100], rel=2e-3)
    spectra.bad[:, :100], spectra.bad[:, :3] = False, True
    assert choose_grid(calls_of(spectra)).grid == SMALL_GRID


def test_a_fine_spectrum_is_binned_and_that_is_said(tmp_path):
    fine = WavelengthGrid("linear", 4000.0, 0.05, 2 * MOST_PIXELS)
    survey = ingest(write_matrix(tmp_path / "a.npz", make_spectra(2, fine)), tmp_path / "a.survey")
    assert survey.grid.n_pixels == MOST_PIXELS and survey.grid.step == pytest.approx(0.1)
    assert "wider pixels" in survey.manifest.provenance[-1]["grid_from"]
    given = ingest(tmp_path / "a.npz", tmp_path / "b.survey", grid=str(fine))
    assert given.grid == fine


def test_at_rest_the_grid_is_at_rest(tmp_path):
    spectra = make_spectra(4, SMALL_GRID)
    spectra = replace(spectra, catalogue=spectra.catalogue | {"z": [1.0] * 4})
    survey = ingest(write_matrix(tmp_path / "a.npz", spectra), tmp_path / "a.survey", rest_frame=True)
    assert survey.grid.wavelength == pytest.approx(SMALL_GRID.wavelength / 2, rel=1e-4)
    assert (survey.catalogue["outside"] == 0).all() and len(survey) == 4


# --- the same files, the same grid


def test_the_number_of_jobs_does_not_matter(tmp_path):
    for number in range(3):
        write_matrix(
            tmp_path / f"{number}.npz", make_spectra(3, SMALL_GRID.part(4000 + number, 6000), prefix=f"{number}-")
        )
    surveys = [ingest(tmp_path / "*.npz", tmp_path / f"{jobs}.survey", jobs=jobs) for jobs in (1, 2)]
    assert surveys[0].grid == surveys[1].grid
    np.testing.assert_array_equal(*(survey.at(np.arange(9)).flux for survey in surveys))


def test_an_ingest_killed_at_once_decides_again_and_alike(tmp_path):
    """The process dies when the grid is chosen and nothing stored; the next run ends like an unharmed one."""
    files = tmp_path / "files"
    write_matrix(_folder(files) / "a.npz", make_spectra(5, INFRARED))
    script = (
        "import os, sys\n"
        "from rarespec.survey.ingest import ingest\n"
        "from rarespec.survey.store.writer import SurveyWriter\n"
        "SurveyWriter.add = lambda *_, **__: os._exit(9)\n"
        "ingest(sys.argv[1], sys.argv[2])"
    )
    killed = subprocess.run([sys.executable, "-c", script, files, tmp_path / "a.survey"], check=False)
    assert killed.returncode == 9
    again, unharmed = ingest(files, tmp_path / "a.survey"), ingest(files, tmp_path / "b.survey")
    assert again.grid == unharmed.grid == INFRARED and again.verify().sound
    np.testing.assert_array_equal(again.at(np.arange(5)).flux, unharmed.at(np.arange(5)).flux)


def _folder(path):
    path.mkdir()
    return path


def test_a_survey_keeps_its_grid(tmp_path):
    survey = ingest(write_matrix(tmp_path / "a.npz", make_spectra(3, SMALL_GRID)), tmp_path / "a.survey")
    write_matrix(tmp_path / "b.npz", make_spectra(3, SMALL_GRID.part(4100, 9000), prefix="b"))
    with pytest.warns(GridWarning):
        grown = ingest(tmp_path / "b.npz", tmp_path / "a.survey")
    assert grown.grid == survey.grid == SMALL_GRID and len(grown) == 6
    with pytest.raises(UsageError, match="it keeps its grid"):
        ingest(tmp_path / "b.npz", tmp_path / "a.survey", grid="desi")


# --- a survey whose grid is still to come


def test_the_first_spectra_that_are_appended_decide(tmp_path):
    survey = Survey.create(tmp_path / "a.survey")
    assert not survey.manifest.has_grid and survey.verify().sound and not len(survey)
    survey.append(iter([make_spectra(2, INFRARED), make_spectra(2, INFRARED, prefix="t")]))
    assert survey.grid == INFRARED and survey.manifest.has_grid and survey.verify().sound and len(survey) == 4
    survey.append(make_spectra(1, INFRARED.part(7000, 20000), prefix="u"))
    assert survey.grid == INFRARED and survey.catalogue["outside"][-1] > 0


def test_an_empty_survey_may_still_be_given_a_grid(tmp_path):
    Survey.create(tmp_path / "a.survey")
    survey = Survey.create(tmp_path / "a.survey", "desi")
    assert survey.grid.name == "desi" and survey.manifest.has_grid and survey.verify().sound
    ingest(write_matrix(tmp_path / "a.npz", make_spectra(2, PAPER_GRID)), tmp_path / "a.survey")
    assert Survey.open(tmp_path / "a.survey").grid.name == "desi"


@pytest.mark.filterwarnings("ignore")
def test_files_that_cannot_be_read_decide_nothing(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"no matrix")
    survey = ingest(tmp_path / "a.npz", tmp_path / "a.survey")
    assert not survey.manifest.has_grid and len(survey.defects) == 1
    survey = ingest(write_matrix(tmp_path / "a.npz", make_spectra(2, INFRARED)), tmp_path / "a.survey")
    assert survey.grid == INFRARED and not survey.defects and survey.verify().sound


def test_an_empty_survey_of_an_earlier_version_keeps_its_grid(tmp_path):
    """Its manifest says nothing of a grid that is to come."""
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    assert Manifest.load(survey.path).provenance == () and survey.manifest.has_grid
    survey.append(make_spectra(1, PAPER_GRID))
    assert survey.grid == SMALL_GRID


# --- what is asked for in words


def test_a_grid_like_that_of_a_survey(tmp_path):
    Survey.create(tmp_path / "a.survey", "lamost")
    write_matrix(tmp_path / "a.npz", make_spectra(1, PAPER_GRID))
    assert ingest(tmp_path / "a.npz", tmp_path / "b.survey", grid=f"like {tmp_path / 'a.survey'}").grid.name == "lamost"


@pytest.mark.parametrize("content", [None, b"", b"no spectrum"])
def test_a_grid_like_nothing_is_refused_and_makes_no_survey(tmp_path, content):
    if content is not None:
        (tmp_path / "x").write_bytes(content)
    with pytest.raises(UsageError, match=f"like:{tmp_path / 'x'}: "):
        ingest(tmp_path / "x", tmp_path / "a.survey", grid=f"like:{tmp_path / 'x'}")
    assert not (tmp_path / "a.survey").exists()


@pytest.mark.parametrize("text", ["like", "like:", "like "])
def test_a_grid_like_needs_a_name(tmp_path, text):
    with pytest.raises(UsageError, match="name a file or a survey"):
        ingest(tmp_path, tmp_path / "a.survey", grid=text)


# --- what is told


def test_the_account_and_info_say_what_the_grid_leaves_out(tmp_path):
    from typer.testing import CliRunner

    from rarespec.cli.app import app

    files = small_survey_files(tmp_path / "files", 3, "desi")
    run = CliRunner()
    told = run.invoke(app, ["ingest", *map(str, files), "--into", str(tmp_path / "a.survey"), "--grid", "paper"])
    said = "19 % of the good pixels of DESI spectra lie outside this grid: a new survey with --grid desi keeps them"
    assert told.exit_code == 0 and said in told.output
    info = run.invoke(app, ["info", str(tmp_path / "a.survey")])
    assert said in " ".join(info.output.split())
    (fit,) = json.loads(run.invoke(app, ["info", str(tmp_path / "a.survey"), "--json"]).output)["fit"]
    assert fit["survey"] == "DESI" and fit["spectra"] == 3 and fit["outside"] == pytest.approx(0.1875, abs=0.005)
    well = run.invoke(app, ["ingest", *map(str, files), "--into", str(tmp_path / "b.survey")])
    assert (
        "grid       desi, 3600.0-9824.0 A, 7781 pixels; 3 of the first 3" in well.output
        and "outside" not in well.output
    )


def test_a_survey_of_an_earlier_version_has_nothing_to_tell_before_it_grows(tmp_path):
    kept = Path(__file__).parents[1] / "kept_surveys" / "0.1.0.dev0" / "plain"
    survey = Survey.open(shutil.copytree(kept, tmp_path / "plain"))
    assert fits_of(survey) == []
    survey.append(make_spectra(3, survey.grid.part(3500, 5000), prefix="new"))
    (fit,) = fits_of(survey)
    assert fit.spectra == 3 and fit.outside > 0.1


@pytest.mark.parametrize(("share", "said"), [(0.1234, "12 %"), (0.012, "1.2 %"), (0.00042, "0.042 %"), (1.0, "100 %")])
def test_percent(share, said):
    assert percent(share) == said


# --- resolution


def test_a_resolution_that_was_given_is_kept(tmp_path):
    path = write_matrix(tmp_path / "a.npz", make_spectra(2, SMALL_GRID))
    assert ingest(path, tmp_path / "b.survey").resolution is None
    assert str(ingest(path, tmp_path / "a.survey", resolution=750).resolution) == "R = 750"
    assert str(ingest(path, tmp_path / "a.survey").resolution) == "R = 750"
    with pytest.raises(UsageError, match="this survey has R = 750, not R = 800"):
        ingest(path, tmp_path / "a.survey", resolution=800)


def test_files_and_usual_values_tell_the_resolution(tmp_path):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(4, SMALL_GRID, survey=["SDSS", "BOSS", "SDSS-V", "BOSS"]))
    assert str(survey.resolution) == "R = 2000"
    survey.append(make_spectra(4, SMALL_GRID, prefix="l", survey=["LAMOST"] * 4))
    assert survey.resolution is None
    other = Survey.create(tmp_path / "b.survey", SMALL_GRID)
    other.append(make_spectra(3, SMALL_GRID, survey=["DESI"] * 3, spec_res=[5000.0, 5010.0, 4990.0]))
    assert str(other.resolution) == "R = 5000"


def test_options_without_a_grid_make_the_same_survey(tmp_path):
    path = write_matrix(tmp_path / "a.npz", make_spectra(2, SMALL_GRID))
    survey, report = run_ingest([path], tmp_path / "a.survey", IngestOptions())
    assert survey.grid == SMALL_GRID and report.spectra["stored"] == 2
