"""Flags: planted artefacts are found, ordinary spectra are left alone, whatever is missing."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec.mock import MockSky
from rarespec.searching.explain.template import NoTemplate, Template
from rarespec.searching.flags.artefacts import JOINS, SKY_LINES, lacks_pixels
from rarespec.searching.flags.flags import FLAG_MEANINGS, flags_of, flags_of_spectra
from rarespec.spectrum import PAPER_GRID, Spectra
from rarespec.survey import Survey
from rarespec.survey.store import arrays

WAVELENGTH = PAPER_GRID.wavelength
BRIGHT = 10.0


@pytest.fixture(scope="module")
def sky() -> Spectra:
    return MockSky(250, {"carbon": 40}, seed=2, block_rows=300).block(0)


@pytest.fixture(scope="module")
def stars(sky) -> Spectra:
    """Bright ones without bands, in which a step or a spike stands out; those that are flagged by nature left out."""
    kinds, snr = np.array(sky.catalogue["class"]), np.array(sky.catalogue["snr"])
    bright = sky.take(np.flatnonzero(np.isin(kinds, ["A", "F", "G"]) & (snr > BRIGHT))[:40])
    return bright.take(np.array([i for i, flags in enumerate(flags_of_spectra(bright, PAPER_GRID)) if not flags]))


def changed(spectra: Spectra, factor=1.0, add=0.0, bad=None, ivar="same", **columns) -> Spectra:
    flux = (spectra.flux * factor + add).astype(np.float32)
    bad = spectra.bad if bad is None else spectra.bad | bad
    ivar = spectra.ivar if isinstance(ivar, str) else ivar
    return Spectra(spectra.wavelength, flux, ivar, bad, spectra.catalogue | columns)


def sigma(spectra: Spectra) -> np.ndarray:
    return np.where(spectra.ivar > 0, spectra.ivar, np.median(spectra.ivar)) ** -0.5


def share(spectra: Spectra, flag: str, **how) -> float:
    return float(np.mean([flag in flags for flags in flags_of_spectra(spectra, PAPER_GRID, **how)]))


def step_at(wavelength: float, size: float) -> np.ndarray:
    return 1 + size / (1 + np.exp(-(WAVELENGTH - wavelength) / 10))


def template_at(start: float, stop: float) -> Template:
    weights = ((start < WAVELENGTH) & (stop > WAVELENGTH)).astype(float)
    return Template(WAVELENGTH, weights, np.zeros_like(weights), 1.0, "")


def test_ordinary_spectra_are_left_alone(sky):
    flags = flags_of_spectra(sky, PAPER_GRID)
    assert np.mean([bool(set(found) - {"low-snr"}) for found in flags]) < 0.08  # the mock has artefacts of its own
    assert {flag for found in flags for flag in found} <= set(FLAG_MEANINGS)
    assert all(list(found) == sorted(found) for found in flags)


def test_bands_of_molecules_are_no_camera_joins(sky):
    cool = np.flatnonzero(np.isin(sky.catalogue["class"], ["CARBON", "M"]))
    assert len(cool) > 60 and share(sky.take(cool), "camera-join") <= 0.03


def test_flux_that_fades_at_the_join_is_no_step():
    dwarfs = MockSky(1, {"l": 60}, seed=3, median_snr=25, block_rows=100).block(0)
    assert share(dwarfs, "camera-join") <= 0.04


@pytest.mark.parametrize("survey", ["SDSS", "BOSS", "SDSS-V", "LAMOST", "DESI", "mock"])
@pytest.mark.parametrize("size", [0.4, -0.4])
def test_a_step_at_the_join_is_found(stars, survey, size):
    start, stop = JOINS[survey.lower()][0]
    stepped = changed(stars, step_at((start + stop) / 2, size), survey=[survey] * len(stars))
    assert share(stepped, "camera-join") > 0.85


def test_the_same_step_elsewhere_is_not(stars):
    for survey, wavelength in (("SDSS", 7000), ("unknown", 5950), (None, 5950)):
        stepped = changed(stars, step_at(wavelength, 0.4), survey=[survey] * len(stars))
        assert share(stepped, "camera-join") < 0.05


def test_no_join_is_judged_at_a_redshift(stars):
    stepped = changed(stars, step_at(5950, 0.4), z=[0.5] * len(stars))
    assert share(stepped, "camera-join") == 0


def test_sky_residuals_are_found_and_need_errors(stars):
    rng, residual = np.random.default_rng(0), np.zeros(stars.flux.shape)
    for line in SKY_LINES:
        profile = np.exp(-0.5 * (np.log(WAVELENGTH / line) / 2.8e-4) ** 2)
        residual += rng.normal(0, 6, (len(stars), 1)) * profile * sigma(stars)
    spoilt = changed(stars, add=residual)
    assert share(spoilt, "sky-residuals") > 0.85
    assert share(changed(spoilt, ivar=None), "sky-residuals") == 0
    assert share(changed(stars, add=np.roll(residual, 30, axis=1)), "sky-residuals") < 0.1


def test_instrument_is_looked_for_where_it_saw_the_light(stars):
    """A survey at rest: the join lies elsewhere in each spectrum."""
    z = np.linspace(-0.12, -0.08, len(stars))
    at_rest = changed(stars, np.array([step_at(5950 / (1 + one), 0.4) for one in z]), z=z.tolist())
    assert share(at_rest, "camera-join", rest_frame=True) > 0.8
    assert share(at_rest, "camera-join") < 0.05


def test_a_strong_line_at_the_join_is_no_step(stars):
    line = 1 - 0.8 * np.exp(-0.5 * ((WAVELENGTH - 5892) / 6) ** 2)  # sodium in a cool dwarf: 12 A wide
    assert share(changed(stars, line), "camera-join") < 0.05


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_spike_is_found(stars, width, sign):
    tall = np.zeros(stars.flux.shape)
    tall[:, 2000 : 2000 + width] = sign * (6 * np.ptp(stars.flux, axis=1)[:, None] + 20 * sigma(stars)[:, [2000]])
    assert share(changed(stars, add=tall), "spike") == 1
    masked = np.zeros(stars.flux.shape, bool)
    masked[:, 2000 : 2000 + width] = True
    assert share(changed(stars, add=tall, bad=masked), "spike") == 0


@pytest.mark.parametrize("centre", [2000.0, 2000.25, 2000.5])
def test_an_unresolved_emission_line_is_no_spike(stars, centre):
    line = np.exp(-0.5 * ((np.arange(len(WAVELENGTH)) - centre) / (2.4 / 2.3548)) ** 2)
    assert share(changed(stars, add=20 * np.ptp(stars.flux, axis=1)[:, None] * line), "spike") == 0


def test_low_snr_is_that_of_the_catalogue_or_else_measured(stars):
    n = len(stars)
    assert share(changed(stars, snr=[2.9] * n), "low-snr") == 1
    assert share(changed(stars, snr=[None] * n), "low-snr") == 0
    noise = np.random.default_rng(0).normal(0, 1, stars.flux.shape) * stars.flux.mean(axis=1, keepdims=True)
    noisy = changed(stars, add=noise, snr=[None] * n)
    assert share(noisy, "low-snr") == 1
    assert share(changed(noisy, ivar=None), "low-snr") == 1


def test_flux_far_below_zero_is_found(stars):
    level = np.median(stars.flux, axis=1, keepdims=True)
    assert share(changed(stars, add=-1.5 * level * (WAVELENGTH > 7000)), "negative-flux") == 1
    assert share(changed(stars, add=-1.0 * level), "negative-flux") > 0.5


@pytest.mark.parametrize(("start", "length", "found"), [(1000, 150, True), (1000, 60, False), (0, 300, False)])
def test_a_long_gap_is_found_and_an_end_may_be_missing(stars, start, length, found):
    gap = np.zeros(stars.flux.shape, bool)
    gap[:, start : start + length] = True
    assert share(changed(stars, bad=gap), "bad-pixels") == found


def test_many_single_bad_pixels_are_found(stars):
    bad = np.random.default_rng(0).random(stars.flux.shape)
    assert share(changed(stars, bad=bad < 0.1), "bad-pixels") == 1
    assert share(changed(stars, bad=bad < 0.02), "bad-pixels") == 0


def test_a_gap_counts_where_the_template_looks(stars):
    end = np.broadcast_to(WAVELENGTH < 4100, stars.flux.shape)
    cut = changed(stars, bad=end)
    assert share(cut, "bad-pixels", template=template_at(4000, 4200)) == 1
    for template in (None, NoTemplate("none"), template_at(5000, 5200)):
        assert share(cut, "bad-pixels", template=template) == 0


def test_a_spectrum_without_any_good_pixel(stars):
    nothing = np.zeros(stars.flux.shape, bool)
    nothing[1] = True
    flags = flags_of_spectra(changed(stars, bad=nothing), PAPER_GRID)
    assert flags[1] == ("bad-pixels",) and not any(flags[:1] + flags[2:])
    assert flags_of_spectra(stars.take(np.arange(0)), PAPER_GRID) == []


def test_models_without_noise_and_other_grids_do_no_harm():
    spectra = make_spectra(20, SMALL_GRID)
    flat = Spectra(spectra.wavelength, np.ones_like(spectra.flux), None, np.zeros_like(spectra.bad), spectra.catalogue)
    with np.errstate(all="raise"):
        assert flags_of_spectra(flat, SMALL_GRID) == [()] * 20
        flags_of_spectra(spectra, SMALL_GRID)
        flags_of_spectra(make_spectra(5, SMALL_GRID, survey=["DESI"] * 5, snr=["text"] * 5), SMALL_GRID)


@pytest.mark.parametrize("unit", [1e-17, 1e8])
def test_units_do_not_matter(sky, unit):
    other = Spectra(
        WAVELENGTH,
        (sky.flux * unit).astype("f4"),
        (sky.ivar / unit**2).astype("f4"),
        sky.bad,
        sky.catalogue | {"snr": [None] * len(sky)},
    )
    same = changed(sky, snr=[None] * len(sky))
    assert flags_of_spectra(other, PAPER_GRID) == flags_of_spectra(same, PAPER_GRID)
    without = flags_of_spectra(changed(other, ivar=None), PAPER_GRID)
    assert without == flags_of_spectra(changed(same, ivar=None), PAPER_GRID)


def test_rows_of_a_survey_keep_their_order_and_only_their_blocks_are_read(tmp_path, monkeypatch):
    snr = [float(i % 7) for i in range(2060)]
    Survey.create(tmp_path / "s", SMALL_GRID).append(make_spectra(2060, SMALL_GRID, snr=snr))
    survey, read = Survey.open(tmp_path / "s"), set()
    taken = arrays.rows_of_chunk
    monkeypatch.setattr(arrays, "rows_of_chunk", lambda path, *rest: read.add(path.parts[-2]) or taken(path, *rest))
    rows = [2059, 2050, 2055, 2051, 2050]
    flags = flags_of(survey, rows)
    assert ["low-snr" in found for found in flags] == [snr[row] < 3 for row in rows]
    assert read == {"1"}
    assert flags_of(survey, []) == []


def test_every_template_looks_for_pixels_of_its_own():
    bad = np.zeros((3, 4), bool)
    bad[0, 0] = bad[1, 3] = True
    weights = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    assert lacks_pixels(bad, weights).tolist() == [[True, False, False], [False, True, False], [False, False, False]]


def test_real_carbon_stars_and_m_dwarfs_are_no_camera_joins(real_data):
    with open(real_data / "templates.csv") as table:
        rows = [i for i, row in enumerate(csv.DictReader(table)) if row["class"] in ("CARBON", "M")]
    flux = np.load(real_data / "templates.npz")["flux"][rows]
    noise = np.median(np.abs(flux), axis=1, keepdims=True) / 30 * np.ones_like(flux)
    noisy = (flux + np.random.default_rng(0).normal(0, 1, flux.shape) * noise).astype("f4")
    catalogue = {"id": [str(row) for row in rows], "survey": ["SDSS"] * len(rows)}
    spectra = Spectra(WAVELENGTH, noisy, noise**-2, ~np.isfinite(flux), catalogue)
    assert share(spectra, "camera-join") <= 0.03


def test_the_manual_gives_every_meaning():
    page = (Path(__file__).parents[2] / "docs" / "explanations.md").read_text()
    for flag, meaning in FLAG_MEANINGS.items():
        assert f"| `{flag}` | {meaning} |" in page
