"""Features measured against what does not matter: what changes, what is learned, and that it can be kept."""

from __future__ import annotations

import numpy as np
import pytest

from rarespec.features import MeanFilter, MinMax, PaperFeatures, SkyFeatures
from rarespec.features.nuisance import SPEED_OF_LIGHT, STRETCH, FluxNoise, Nuisance, extinction, noise_of, shift
from rarespec.features.recipe import sample_blocks, sample_survey, spread_rows
from rarespec.spectrum import PAPER_GRID, WavelengthGrid

GRID = WavelengthGrid("log", 3.6, 1e-3, 300)
NOTHING = {"reddening": 0.0, "tilt": 0.0, "bend": 0.0, "velocity": 0.0, "noise": 0.0, "other": 0.0}


def survey_of(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Spectra that differ mostly by dust, and a tenth of them by a band; which have the band."""
    rng = np.random.default_rng(seed)
    wavelength = GRID.wavelength
    has_band = np.arange(n) % 10 == 0
    band = 0.15 * np.exp(-0.5 * ((wavelength - 5165) / 60) ** 2)
    flux = 1 + 0.2 * np.sin(wavelength / 300) - has_band[:, None] * band
    curves = np.stack([-0.4 * np.log(10) * extinction(wavelength), np.linspace(-1, 1, len(wavelength))])
    flux = flux * np.exp(rng.normal(0, [0.3, 0.1], (n, 2)) @ curves)
    return (flux + rng.normal(0, 0.005, flux.shape)).astype(np.float32), has_band


def test_without_nuisance_nothing_changes():
    assert not list(Nuisance(**NOTHING).change(np.ones((3, GRID.n_pixels)), GRID))


@pytest.mark.parametrize("grid", [GRID, PAPER_GRID, WavelengthGrid("linear", 1000.0, 50.0, 700)])
def test_every_spectrum_changes_alike_wherever_it_stands(grid):
    flux = np.random.default_rng(0).uniform(1, 2, (4, grid.n_pixels))
    changed, reversed_ = (list(Nuisance().change(rows, grid)) for rows in (flux, flux[::-1]))
    assert len(changed) == 4
    assert all(np.array_equal(one, other[::-1]) for one, other in zip(changed, reversed_, strict=True))
    _, tilt, bend, _ = changed
    assert np.allclose(np.log(flux / tilt)[:, [0, -1]], [-0.025, 0.025])
    assert np.allclose(np.log(flux / bend)[:, [0, -1]], 0.015)


def test_dust_follows_its_law():
    (changed,) = Nuisance(**NOTHING | {"reddening": 0.1}).change(np.ones((2, GRID.n_pixels)), GRID)
    assert np.allclose(-2.5 * np.log10(changed) / extinction(GRID.wavelength), -0.1)
    visual = np.interp(5500, GRID.wavelength, extinction(GRID.wavelength))
    assert 2.9 < visual < 3.3  # R(V) is 3.1


def test_a_line_moves_by_its_velocity():
    wavelength = PAPER_GRID.wavelength
    line = 1 - np.exp(-0.5 * ((wavelength - 6000) / 5) ** 2)
    moved = shift(np.array([line, line]), PAPER_GRID, np.array([300.0, -300.0]))
    found = wavelength[moved.argmin(axis=1)]
    assert np.allclose(found, 6000 * (1 + np.array([300.0, -300.0]) / SPEED_OF_LIGHT), atol=1.5)


def test_bad_pixels_stay_bad():
    flux = np.ones((1, GRID.n_pixels))
    flux[0, 100] = np.nan
    for changed in Nuisance().change(flux, GRID):
        assert 1 <= np.isnan(changed[0]).sum() <= 3


def test_what_matters_comes_first():
    flux, has_band = survey_of(600)

    def separation(features):
        """How far the two kinds lie apart along one of the first two features, in standard deviations."""
        first = features[:, :2]
        return (abs(first[has_band].mean(axis=0) - first[~has_band].mean(axis=0)) / first[~has_band].std(axis=0)).max()

    sky = SkyFeatures(5, 20, grid=GRID, width_angstrom=30).fit_transform(flux)
    paper = PaperFeatures(5, grid=GRID, width_angstrom=30).fit_transform(flux)
    assert separation(sky) > 5 > 1 > separation(paper)


def test_nuisance_has_about_unit_variance_along_every_feature():
    flux, _ = survey_of(600)
    tilted = NOTHING | {"tilt": 0.05, "other": 1e-7}
    recipe = SkyFeatures(5, 20, grid=GRID, **tilted).fit(flux)
    (changed,) = Nuisance(**tilted).change(flux, GRID)
    moves = recipe.transform(changed) - recipe.transform(flux)
    assert ((moves**2).mean(axis=0) < 2).all()  # the longest were shortened when they were learned from
    variance = recipe.transform(flux).var(axis=0)
    assert np.allclose(variance, recipe.steps_[-1].explained_variance_, rtol=0.15)  # rows that change much counted less


def test_blocks_and_memory_learn_the_same():
    flux, _ = survey_of(300)
    whole = SkyFeatures(4, 10, grid=GRID, n_changed=300).fit(flux)
    parts = SkyFeatures(4, 10, grid=GRID, n_changed=300).fit_blocks(lambda: iter(np.array_split(flux, 7)))
    for one, other in zip(whole.transform(flux).T, parts.transform(flux).T, strict=True):
        assert np.corrcoef(one, other)[0, 1] > 0.999  # sums over other pieces turn directions that are equally strong


def test_what_was_learned_can_be_kept():
    flux, _ = survey_of(200)
    recipe = SkyFeatures(4, 10, grid=GRID).fit(flux)
    again = SkyFeatures(4, 10, grid=GRID).restore(recipe.state())
    assert np.array_equal(again.transform(flux), recipe.transform(flux))
    rows = recipe.steps_[-1].inverse_transform(recipe.transform(flux))
    assert np.array_equal(again.steps_[-1].inverse_transform(again.transform(flux)), rows)
    broken = recipe.state() | {"2.patterns": np.zeros((1, 2))}
    with pytest.raises(ValueError, match="patterns"):
        SkyFeatures(4, 10, grid=GRID).restore(broken)


def test_weights_become_a_template():
    flux, _ = survey_of(200)
    recipe = SkyFeatures(4, 10, grid=GRID).fit(flux)
    weights = np.array([1.0, -2.0, 0.5, 0.0])
    prepared = recipe.prepare(flux)[0]
    assert prepared.shape[1] == GRID.n_pixels / 2
    scores = (prepared - recipe.steps_[-1].mean_) @ recipe.to_flux(weights)
    assert np.allclose(recipe.transform(flux) @ weights, scores, rtol=1e-3, atol=1e-3)


def test_rows_are_described_by_their_features():
    """The features keep what matters of a row: its band, and not its dust."""
    flux, has_band = survey_of(600)
    recipe = SkyFeatures(3, 20, grid=GRID, width_angstrom=30).fit(flux)
    rows = recipe.steps_[-1].inverse_transform(recipe.transform(flux))
    at_band = abs(GRID.wavelength[::2] - 5165).argmin()
    depth = rows[~has_band, at_band].mean() - rows[has_band, at_band].mean()
    assert depth > 0.05


@pytest.mark.parametrize(
    "other", [{"reddening": 0.2}, {"tilt": 0.0}, {"velocity": 0.0}, {"noise": 1.0}, {"other": 0.0}, {"n_changed": 10}]
)
def test_another_nuisance_is_another_recipe(other):
    assert SkyFeatures(**other).fingerprint != SkyFeatures().fingerprint


def test_few_spectra_give_fewer_features():
    flux, _ = survey_of(12)
    with pytest.warns(UserWarning, match="11 components instead of 50"):
        assert SkyFeatures(grid=GRID).fit_transform(flux).shape == (12, 11)


def test_samples_are_spread_over_everything():
    rows = np.arange(10_000.0).reshape(-1, 1)
    blocks = np.array_split(rows, 23)

    def read(i, n):
        return spread_rows(blocks[i], n)

    for sample in (sample_blocks(lambda: iter(blocks), 100), sample_survey(read, len(blocks), 100)):
        assert 90 <= len(sample) <= 130 and len(np.unique(sample)) == len(sample)
        assert abs(sample.mean() - 5000) < 300 and sample.min() < 200 and sample.max() > 9800
    assert len(sample_survey(read, len(blocks), 0)) == 1
    with pytest.raises(ValueError, match="no blocks"):
        sample_blocks(lambda: iter([]), 10)


def test_unusable_rows_are_located():
    flux, _ = survey_of(50)
    flux[3] = np.nan
    flux[4] = 1.0
    features, lost_at = SkyFeatures(3, 5, grid=GRID).fit(flux).transform_and_locate(flux)
    assert lost_at[3] == 1 and lost_at[4] == 2 and not lost_at[[0, 1, 2, 5]].any()
    assert np.isnan(features[[3, 4]]).all()
    assert MinMax().why_unusable in SkyFeatures(3, 5, grid=GRID).fit(flux).why_lost(2)


def test_noise_is_measured_from_the_spectrum_itself():
    rng = np.random.default_rng(3)
    wavelength = PAPER_GRID.wavelength
    shape = 1 + 0.5 * np.sin(wavelength / 200) + 5 * np.exp(-0.5 * ((wavelength - 6563) / 4) ** 2)
    sigma = np.array([[0.02], [0.1]])
    flux = shape + sigma * rng.standard_normal((2, len(wavelength)))
    flux[0, 500:700] = np.nan
    assert np.allclose(np.median(noise_of(flux), axis=1), sigma[:, 0], rtol=0.1)
    assert not noise_of(flux)[0, 10:14].any()  # nothing is known there


def test_noise_is_followed_as_if_it_were_drawn():
    """Through the filter and into weighted sums, for spectra with noise and scale of their own."""
    rng, mean_filter, n_pixels = np.random.default_rng(4), MeanFilter(width_pixels=5, every=2), 170
    weights, sigma, shares = rng.normal(size=(85, 3)), np.array([0.1, 0.4]), np.array([0.7, 0.3])
    of_stretches = np.repeat(sigma[:, None] ** 2, -(-n_pixels // STRETCH), axis=1)
    noise = FluxNoise(of_stretches, mean_filter.transpose(weights, n_pixels))
    drawn = [mean_filter.fit_transform(rng.normal(0, one, (20_000, n_pixels))) @ weights for one in sigma]
    lengths = [(sums**2).sum(axis=1).mean() for sums in drawn]
    assert np.allclose(noise.sums_of_squares(), lengths, rtol=0.05)
    together = sum(share * np.cov(sums.T) for share, sums in zip(shares, drawn, strict=True))
    assert np.allclose(noise.covariance(shares), together, atol=0.05 * together.max())
