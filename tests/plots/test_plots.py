"""Pictures are drawn from what is given, and look different when it is."""

import subprocess
import sys

import numpy as np
from matplotlib.image import imread

from conftest import make_spectra
from rarespec.features import median_filter
from rarespec.plots.spectra import draw_components, draw_filtering, draw_spectra
from rarespec.spectrum import PAPER_GRID


def has_colour(path, colour):
    """Whether some pixel of the picture is nearly of this colour."""
    image = imread(path)[:, :, :3]
    return bool((np.abs(image - np.array(colour)).max(axis=2) < 0.02).any())


def test_spectra_are_drawn_one_panel_each(tmp_path):
    draw_spectra(make_spectra(2), tmp_path / "two.png", "a title")
    draw_spectra(make_spectra(5), tmp_path / "five.png")
    assert imread(tmp_path / "five.png").shape[0] > 2 * imread(tmp_path / "two.png").shape[0]
    assert has_colour(tmp_path / "two.png", (0, 0x72 / 255, 0xB2 / 255))


def test_filtering_shows_both_curves(tmp_path):
    spectrum = make_spectra(1)[0]
    draw_filtering(spectrum, median_filter(spectrum.flux, PAPER_GRID), tmp_path / "f.png")
    assert has_colour(tmp_path / "f.png", (0, 0x72 / 255, 0xB2 / 255))
    assert has_colour(tmp_path / "f.png", (0xD5 / 255, 0x5E / 255, 0))


def test_components_are_drawn(tmp_path):
    components = np.random.default_rng(0).normal(size=(3, 3601))
    draw_components(components, np.array([0.5, 0.3, 0.1]), PAPER_GRID, tmp_path / "c.png")
    assert has_colour(tmp_path / "c.png", (0, 0x72 / 255, 0xB2 / 255))


def test_settings_of_plots_are_not_taken_from_the_current_folder(tmp_path):
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nlines.linewidth: 77\n")
    code = (
        "import os, warnings; warnings.simplefilter('error')\n"
        "from rarespec.plots.folder_settings import ignore_folder_settings\n"
        "try: ignore_folder_settings()\n"
        "except UserWarning as told: assert 'matplotlibrc is ignored' in str(told)\n"
        "else: raise SystemExit('nothing was said')\n"
        "warnings.simplefilter('ignore'); ignore_folder_settings()\n"
        "import matplotlib; print(matplotlib.rcParams['lines.linewidth'], os.getcwd())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    width, folder = done.stdout.split()
    assert width != "77.0" and folder == str(tmp_path.resolve())
