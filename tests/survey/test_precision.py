"""Flux in steps of its noise: how far a stored number is from the given one, for any spectrum and in sums over many."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from typer.testing import CliRunner

import rarespec as rs
from conftest import SMALL_GRID, every, make_spectra
from rarespec.cli.app import app
from rarespec.errors import UsageError
from rarespec.features import measure
from rarespec.features.indices.definitions import load_definitions
from rarespec.spectrum import PAPER_GRID, Spectra, WavelengthGrid
from rarespec.survey import Precision, Survey
from rarespec.survey.store import precision as steps_of_noise
from rarespec.survey.store.precision import (
    DITHERED_ROWS,
    EXACT,
    LINEAR,
    SEGMENT,
    dither,
    to_steps,
    unpack_flux,
    unpack_ivar,
)
from rarespec.survey.store.writer import SurveyWriter

NOISE = Precision()
IVAR_ERROR = 2 ** (1 / 16) - 1 + 1e-5
RELATIVE_ERROR = 3.8e-4
"""Of what is too bright for steps."""


def rows_of(flux, ivar=None, bad=None):
    flux = np.atleast_2d(np.asarray(flux, np.float32))
    ivar = np.zeros_like(flux) if ivar is None else np.broadcast_to(np.asarray(ivar, np.float32), flux.shape)
    bad = np.zeros(flux.shape, bool) if bad is None else np.broadcast_to(bad, flux.shape)
    return flux, ivar, bad


def there_and_back(flux, ivar=None, bad=None, precision=NOISE, first_row=0):
    """Pack and unpack: flux, inverse variances, and the step of each pixel."""
    flux, ivar, bad = rows_of(flux, ivar, bad)
    stored = precision.pack(flux, ivar, bad, first_row)
    rows = first_row + np.arange(len(flux))
    found = unpack_flux(stored["flux"], stored["steps"], rows, np.empty_like(flux))
    steps = np.repeat(to_steps(stored["steps"][:, :-1]), SEGMENT, axis=1)[:, : flux.shape[1]]
    return found, unpack_ivar(stored["ivar"], stored["steps"]), steps


def allowed_error(flux, steps):
    """Half a step, and the last digits of float32; of what is beyond the steps, a part of itself."""
    size = np.abs(flux).astype(np.float64)
    last_digits = 1e-3 * steps
    return np.where(size <= (LINEAR + 1) * steps.astype(np.float64), steps / 2 + last_digits, RELATIVE_ERROR * size)


def require_error_allowed(flux, found, steps):
    flux = np.atleast_2d(np.asarray(flux, np.float32))
    assert np.isfinite(found).all()
    beyond = np.abs(found.astype(np.float64) - flux) > allowed_error(flux, steps.astype(np.float64))
    assert not beyond.any(), (flux[beyond][:5], found[beyond][:5], steps[beyond][:5])
    assert (found[flux == 0] == 0).all()


def noisy(n=100, n_pixels=1000, snr=10.0, seed=0):
    """Continua of 1 with noise, and their true errors."""
    rng = np.random.default_rng(seed)
    return (1 + rng.normal(0, 1 / snr, (n, n_pixels))).astype("f4"), np.full((n, n_pixels), snr**2, "f4")


# ---- Every pixel of every spectrum.


LARGE = float(np.float32(3e38))
FLUX = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 3), st.sampled_from([2, 3, 17, 255, 256, 257, 600])),
    elements=st.floats(-LARGE, LARGE, width=32) | st.floats(-100, 100, width=32) | st.just(0.0),
    fill=st.floats(-100, 100, width=32),
)


@given(flux=FLUX, data=st.data(), step=st.sampled_from([0.01, 0.2, 0.35, 2.0]))
def test_any_flux_comes_back_within_half_a_step(flux, data, step):
    ivar = data.draw(hnp.arrays(np.float32, flux.shape, elements=st.floats(0, LARGE, width=32), fill=st.just(1.0)))
    bad = data.draw(hnp.arrays(bool, flux.shape, fill=st.just(False)))
    found, errors, steps = there_and_back(flux, ivar, bad, Precision(step), data.draw(st.integers(0, 100)))
    good = np.where(bad, 0, flux)
    require_error_allowed(good, np.where(bad, 0, found), steps)
    assert np.isfinite(found).all() and np.isfinite(errors).all()
    assert np.array_equal(errors == 0, ivar == 0)


@given(
    levels=hnp.arrays(np.float64, st.integers(2, 400), elements=st.floats(0, 31.5)),
    top=st.floats(-90, 127.9),
    unknown=st.integers(0, 5),
)
@example(levels=np.linspace(0, 31.7, 300), top=127.99, unknown=3)
def test_inverse_variances_within_nine_decades_keep_four_percent(levels, top, unknown):
    ivar = np.exp2(top - levels).astype("f4")
    ivar[: min(unknown, len(ivar))] = 0
    _, found, _ = there_and_back(np.ones(len(ivar)), ivar)
    assert (found[0][ivar == 0] == 0).all()
    np.testing.assert_allclose(found[0], ivar, rtol=IVAR_ERROR)


def test_inverse_variances_of_sixty_decades_keep_those_of_most_pixels():
    """A few absurd errors do not take the errors of all other pixels with them."""
    ivar = np.random.default_rng(1).uniform(0.5, 2, 1000).astype("f4")
    ivar[::100] = np.logspace(-30, 30, 10)
    _, found, _ = there_and_back(np.ones(1000), ivar)
    usual = (ivar > 1e-4) & (ivar < 1e4)
    np.testing.assert_allclose(found[0][usual], ivar[usual], rtol=IVAR_ERROR)
    assert (found[0][ivar >= 1e4] >= 1e4).all()
    assert (found[0][ivar <= 1e-4] <= 1e-4).all() and (found > 0).all()


def test_the_largest_numbers_stay_finite():
    top = np.finfo(np.float32).max
    found, errors, _ = there_and_back(np.array([[top, -top, 1.0] * 100]), np.full(300, top))
    np.testing.assert_allclose(found[0][:2], [top, -top], rtol=2e-3)
    np.testing.assert_allclose(errors, top, rtol=0.09)
    assert np.isfinite(found).all() and np.isfinite(errors).all()


def test_numbers_below_the_normal_ones_do_no_harm():
    flux = np.full((1, 300), 1e-42, "f4")
    flux[0, ::7] = 0
    found, _, steps = there_and_back(flux)
    require_error_allowed(flux, found, steps)


@pytest.mark.parametrize("scale", [1e-30, 1e-17, 1.0, 1e30])
@pytest.mark.parametrize("snr", [0.1, 3.0, 30.0, 1000.0])
def test_the_error_is_at_most_half_a_step_of_the_noise(scale, snr):
    flux, ivar = noisy(snr=snr)
    with np.errstate(over="ignore"):
        ivar = np.minimum(ivar.astype(np.float64) / scale**2, 1e38).astype("f4") if scale > 1e-18 else None
    found, _, _ = there_and_back(flux * np.float32(scale), ivar)
    error = np.abs(found.astype(np.float64) / scale - flux)
    # the scatter of 256 pixels tells the noise to 6 %
    assert 0.5 * 0.35 / snr / 2 < error.max() <= 0.5 * 0.35 / snr * 1.3


@pytest.mark.parametrize("step", [0.1, 0.35, 1.0])
def test_rounding_adds_the_variance_that_it_says(step):
    """Steps are rounded down to powers of 2^(1/8): by 4 % on average, 8 % of the variance."""
    flux, ivar = noisy(n=400)
    found, _, _ = there_and_back(flux, ivar, precision=Precision(step))
    added = np.var(found.astype(np.float64) - flux) * 100
    assert 0.8 * step**2 / 12 < added <= 1.01 * step**2 / 12


def test_models_without_noise_are_stored_to_a_part_in_sixteen_thousand():
    flux = 1 + 0.1 * np.sin(np.arange(5000) / 500.0)
    found, _, _ = there_and_back(flux, np.full(5000, 1e10))
    assert np.abs(found - np.float32(flux)).max() <= 1.1 / 8192 / 2 * 1.01


def test_negative_flux_is_as_precise():
    flux, ivar = noisy()
    found, _, steps = there_and_back(-flux, ivar)
    require_error_allowed(-flux, found, steps)


# ---- What is noise, and what is not.


def error_in_noise(flux, ivar, found, snr=10.0):
    return np.abs(found.astype(np.float64) - flux).max() * snr


@pytest.mark.parametrize("factor", [1e-4, 1e-2, 1.0, 100.0, 1e8])
def test_wrong_errors_do_not_coarsen_the_flux(factor):
    flux, ivar = noisy()
    found, _, _ = there_and_back(flux, ivar * np.float32(factor))
    assert error_in_noise(flux, ivar, found) < 0.175 * 1.3


def test_without_errors_the_scatter_decides():
    flux, _ = noisy()
    found, errors, _ = there_and_back(flux)
    assert 0.1 < error_in_noise(flux, None, found) < 0.175 * 1.3 and not errors.any()


def test_spikes_leave_their_neighbours_precise():
    for height in (1e4, 1e5, 1e6, 1e7):
        flux, ivar = noisy()
        flux[:, ::128] = height
        found, _, steps = there_and_back(flux, ivar)
        require_error_allowed(flux, found, steps)
        usual = flux < 100
        assert np.abs(found - flux)[usual].max() * 10 < 0.175 * 1.3, height
        np.testing.assert_allclose(found[~usual], flux[~usual], rtol=RELATIVE_ERROR)


def test_bad_pixels_decide_nothing():
    flux, ivar = noisy()
    bad = np.zeros(flux.shape, bool)
    bad[:, ::3] = True
    clean = there_and_back(np.where(bad, 0, flux), np.where(bad, 0, ivar), bad)
    flux[bad], ivar[bad] = 1e20, 1e20
    spoilt = there_and_back(flux, ivar, bad)
    assert np.array_equal(clean[2], spoilt[2]) and np.array_equal(clean[0][~bad], spoilt[0][~bad])


@pytest.mark.parametrize("n_pixels", [2, 3, 255, 256, 257, 513])
@pytest.mark.parametrize(
    "kind",
    ["constant", "zero", "one good pixel", "all bad", "one line", "noise"],
    ids=lambda kind: kind.replace(" ", "_"),
)
def test_spectra_with_little_in_them(tmp_path, kind, n_pixels):
    grid = WavelengthGrid("log", 3.6, 1e-4, n_pixels)
    flux = np.random.default_rng(0).normal(5, 1, (3, n_pixels)).astype("f4")
    flux = {"constant": np.full_like(flux, 7.25), "zero": flux * 0, "one line": flux * 0}.get(kind, flux)
    if kind == "one line":
        flux[:, n_pixels // 2] = 1e4
    bad = np.full(flux.shape, kind in ("all bad", "one good pixel"))
    bad[:, 1] &= kind != "one good pixel"
    found, _, steps = there_and_back(flux, None, bad)
    require_error_allowed(np.where(bad, 0, flux), np.where(bad, 0, found), steps)
    if kind in ("constant", "one line"):
        np.testing.assert_allclose(found, flux, rtol=RELATIVE_ERROR)
    if kind == "constant":
        assert np.ptp(found) == 0  # and does not become a spectrum of dither
    path = tmp_path / "a.survey"
    with SurveyWriter(path, grid) as writer:
        writer.add(Spectra(grid.wavelength, flux, np.ones_like(flux), bad, {"id": list("abc")}))
        writer.commit()
    assert Survey.open(path).verify().sound


# ---- Sums over pixels and over spectra.


def faint_lines(n=20_000, n_pixels=40):
    """Spectra without noise whose flux differs by less than a step: their errors say that a step is 0.35."""
    rng = np.random.default_rng(3)
    truth = 3.1 + 0.05 * rng.random((n, n_pixels)).astype("f4")
    truth[:, 1::2] += 1.7  # so that the scatter does not say that there is no noise
    return truth, np.ones_like(truth)


def mean_error(flux, ivar):
    """Mean error of a pixel over all spectra, in steps."""
    found, _, steps = there_and_back(flux, ivar)
    return ((found.astype(np.float64) - flux) / steps).mean(axis=0)


def test_means_over_many_spectra_are_unbiased():
    """The dither is the same again after some rows, and its mean over them is not exactly 0."""
    left = 5 / np.sqrt(12 * DITHERED_ROWS)
    mean = mean_error(*faint_lines())
    assert np.abs(mean).max() < left and abs(mean.mean()) < left / np.sqrt(len(mean))


def test_without_the_dither_they_would_be_biased(monkeypatch):
    """The test above can fail."""
    monkeypatch.setattr(steps_of_noise, "dither", lambda n_pixels: np.zeros((DITHERED_ROWS, n_pixels), np.float32))
    assert np.abs(mean_error(*faint_lines())).max() > 5 / np.sqrt(12 * DITHERED_ROWS)


def test_errors_of_neighbouring_pixels_and_rows_have_nothing_to_do_with_each_other():
    flux, ivar = noisy(n=1000, seed=5)
    found, _, steps = there_and_back(flux, ivar)
    error = (found.astype(np.float64) - flux) / steps * np.sqrt(12)
    limit = 5 / np.sqrt(error.size)
    for rows, pixels in ((0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (0, SEGMENT), (DITHERED_ROWS, 0)):
        here, there = error[: len(error) - rows, : error.shape[1] - pixels], error[rows:, pixels:]
        assert abs((here * there).mean()) < limit, (rows, pixels)
    assert abs((error * (flux - 1) * 10).mean()) < limit and abs(error.mean()) < limit


def test_neighbouring_numbers_of_the_dither_are_not_alike():
    table = dither(3601).astype(np.float64) * np.sqrt(12)
    for one, other in (
        (table[1:], table[:-1]),
        (table[:, 1:], table[:, :-1]),
        (table[:, SEGMENT:], table[:, :-SEGMENT]),
    ):
        assert abs((one * other).mean()) < 5 / np.sqrt(one.size)
    assert abs(table.mean()) < 5 / np.sqrt(table.size) and abs(table.var() - 1) < 0.01
    assert (np.abs(table) <= np.sqrt(3)).all()


def test_equivalent_widths_are_unbiased():
    rng = np.random.default_rng(8)
    lines = [one for one in load_definitions() if one.kind == "width"]
    flux = (1 + rng.normal(0, 0.1, (2000, PAPER_GRID.n_pixels))).astype("f4")
    ivar = np.full_like(flux, 100)
    found, errors, _ = there_and_back(flux, ivar)
    before, after = measure(flux, ivar, PAPER_GRID, lines), measure(found, errors, PAPER_GRID, lines)
    seen = np.isfinite(before.errors).all(axis=0)
    change = ((after.values - before.values) / before.errors)[:, seen]
    assert seen.sum() > 10
    assert (np.abs(change.mean(axis=0)) < 5 * change.std(axis=0) / np.sqrt(len(change))).all()
    assert change.std() < 0.12  # 1 % of the variance
    np.testing.assert_allclose(after.errors[:, seen], before.errors[:, seen], rtol=0.045)


# ---- The format stays as it is.


DITHER_0 = [-0.5, -0.3789229393005371, -0.2993740439414978, 0.44918888807296753, 0.42474067211151123]
DITHER_63 = [-0.06765961647033691, -0.18582075834274292, -0.42520785331726074, -0.17816418409347534]


def test_the_dither_is_the_same_for_ever():
    """Part of the format: with other numbers, every survey that was ever written would be read wrongly."""
    assert [float(x) for x in dither(5)[0]] == DITHER_0
    assert [float(x) for x in dither(4000)[63, [0, 1, 3600, 3999]]] == DITHER_63


def test_a_stored_row_is_read_the_same_for_ever():
    codes = np.array([[0, 5, -5, LINEAR, -LINEAR, LINEAR + 1024, -LINEAR - 2048, -32768]], np.int16)
    steps = np.array([[-8, 16]], np.int16)
    found = unpack_flux(codes, steps, np.array([0]), np.empty(codes.shape, np.float32))
    expected = (codes.astype(float) - dither(8)[:1]) / 2
    expected[0, 5:] = [LINEAR, -2 * LINEAR, 0]
    np.testing.assert_array_equal(found, expected.astype("f4"))
    assert unpack_ivar(np.array([[0, 1, 9, 17, 255]], np.uint8), steps)[0].tolist() == pytest.approx(
        [0, 4, 2, 1, 4 * 2 ** (-254 / 8)]
    )


def files_of(survey):
    names = ("flux", "ivar", "mask", "steps")
    return {
        str(path.relative_to(survey.path)): path.read_bytes()
        for name in names
        for path in sorted((survey.path / name).rglob("*"))
        if path.is_file()
    }


ONE_BY_ONE = pytest.param([1] * 70, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize("sizes", [[1, 1, 46, 1, 1, 1, 19], [7] * 10, [64, 6], [3, 40, 27], ONE_BY_ONE], ids=str)
def test_files_do_not_depend_on_the_stacks_that_were_appended(tmp_path, monkeypatch, sizes):
    monkeypatch.setattr(SurveyWriter.__init__, "__defaults__", (False, 50, None))
    spectra = make_spectra(70, SMALL_GRID)
    surveys = [Survey.create(tmp_path / name, SMALL_GRID) for name in ("at once", "in parts")]
    surveys[0].append(spectra)
    for start, stop in zip(np.cumsum([0, *sizes[:-1]]), np.cumsum(sizes), strict=True):
        surveys[1].append(spectra.take(np.arange(start, stop)))
    assert files_of(surveys[0]) == files_of(surveys[1])


# ---- Ways to read.


@pytest.fixture(scope="module", params=["noise", "exact"])
def survey(tmp_path_factory, request):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SurveyWriter.__init__, "__defaults__", (False, 100, None))
        survey = Survey.create(tmp_path_factory.mktemp("read") / "a.survey", SMALL_GRID, precision=request.param)
        spectra = make_spectra(250, SMALL_GRID)
        spectra.flux[::9, 100] = 1e6
        survey.append(spectra)
    return survey


def test_all_ways_to_read_agree_to_the_last_bit(survey):
    everything = survey.at(np.arange(len(survey)))
    shuffled = np.random.default_rng(0).permutation(len(survey))
    assert np.array_equal(survey.at(shuffled).flux, everything.flux[shuffled])
    assert np.array_equal(survey.at(shuffled).ivar, everything.ivar[shuffled])
    masked = np.where(everything.bad, np.float32("nan"), everything.flux)
    for i in range(survey.n_blocks):
        rows, block = slice(100 * i, 100 * i + 100), survey.block(i)
        for name in ("flux", "ivar", "bad"):
            assert np.array_equal(getattr(block, name), getattr(everything, name)[rows])
        assert np.array_equal(survey.masked_flux(i), masked[rows], equal_nan=True)
        for n_rows in (1, 7, 64, 65, 1000):
            parts = list(survey.masked_flux_parts(i, n_rows))
            assert np.array_equal(np.concatenate(parts), masked[rows], equal_nan=True) and len(parts[0]) <= n_rows
        some = np.array([7, 0, len(block.flux) - 1])
        assert np.array_equal(survey.masked_flux_at(i, some), masked[rows][some], equal_nan=True)
    assert np.array_equal(survey[3].flux, everything.flux[3])


def test_what_is_read_is_what_was_given_as_the_precision_says(survey):
    given = make_spectra(250, SMALL_GRID)
    given.flux[::9, 100] = 1e6
    found = survey[:]
    if survey.precision == EXACT:
        assert np.array_equal(found.flux, given.flux) and np.array_equal(found.ivar, given.ivar)
    else:
        # errors between 0.7 and 1.4, scatter 1
        assert 0.1 < np.abs(found.flux - given.flux)[given.flux < 1e5].max() < 0.175 * 1.4
        np.testing.assert_allclose(found.flux, given.flux, atol=0.175 * 1.4, rtol=RELATIVE_ERROR)
        np.testing.assert_allclose(found.ivar, given.ivar, rtol=IVAR_ERROR)
    assert np.array_equal(found.bad, given.bad)


def test_it_takes_less_room(tmp_path):
    sizes = {}
    for precision in ("exact", "noise:0.2", "noise"):
        survey = Survey.create(tmp_path / precision, precision=precision)
        survey.append(make_spectra(300))
        sizes[precision] = sum(len(content) for content in files_of(survey).values())
    assert sizes["noise"] < sizes["noise:0.2"] < sizes["exact"] / 3


# ---- Surveys that someone made up.


@pytest.mark.parametrize("code", every(3, [32767, -32768, 4000, -4000]))
@pytest.mark.filterwarnings("ignore")
def test_forged_steps_lose_rows_with_a_reason_and_never_a_search(tmp_path, code):
    from rarespec.survey.store.manifest import Manifest

    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    pack = Precision.pack

    def forge(self, flux, ivar, bad, first_row):
        stored = pack(self, flux, ivar, bad, first_row)
        stored["steps"][:7] = code
        return stored

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Precision, "pack", forge)
        survey.append(make_spectra(200, SMALL_GRID))
    assert isinstance(survey.manifest, Manifest)
    for recipe in ("sky", "paper"):
        ranking = rs.search(survey, survey.ids[20:25].tolist(), recipe=recipe, method="matched_filter")
        listed = set(ranking.table["id"])
        assert np.isfinite(ranking.scores).all() and listed >= set(survey.ids[25:])
        if code > 0:
            assert not listed & set(survey.ids[:7])
    for row in survey.at(np.arange(10)):
        assert row.flux.shape == (300,)
    assert survey.verify().sound == (code < 0)


@pytest.mark.parametrize("array", ["flux", "ivar", "mask", "steps"])
def test_a_flipped_bit_of_any_array_is_found(tmp_path, array):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(60, SMALL_GRID))
    path = survey.path / array / "c" / "0" / "0"
    content = path.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content) * 8, 60):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        assert str(path) in "".join(survey.verify().problems)
    path.write_bytes(content)
    assert survey.verify().sound


# ---- What a person may ask for.


@pytest.mark.parametrize("text", ["noise", "noise:0.2", "noise:0.1234567891", "noise:1", "noise:2.0", "exact"])
def test_a_precision_is_what_its_text_says(text):
    precision = Precision.parse(text)
    assert Precision.parse(str(precision)) == precision


@pytest.mark.parametrize(
    "text", ["", "noise:", "noise:0", "noise:5", "noise:-1", "noise:nan", "Exact", "0.35", "noise:1e-1"]
)
def test_anything_else_is_refused(tmp_path, text):
    with pytest.raises(UsageError, match="precision"):
        Survey.create(tmp_path / "a.survey", SMALL_GRID, precision=text)
    assert not (tmp_path / "a.survey").exists()


def test_a_survey_keeps_its_precision(tmp_path):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID, precision="noise:0.2")
    survey.append(make_spectra(3, SMALL_GRID))
    survey.append(make_spectra(3, SMALL_GRID, prefix="t"))
    assert Survey.open(survey.path).precision == Precision(0.2)


def test_info_says_the_precision(tmp_path):
    for text, words in (("noise", "steps of 0.35 of its noise, which add 1.0 % to its variance"), ("exact", "float32")):
        survey = Survey.create(tmp_path / text, SMALL_GRID, precision=text)
        survey.append(make_spectra(3, SMALL_GRID))
        shown = CliRunner().invoke(app, ["info", str(survey.path)], env={"COLUMNS": "200"}).output
        assert words in shown and words in survey._repr_html_()
        assert f'"precision": "{text}"' in CliRunner().invoke(app, ["info", "--json", str(survey.path)]).output


def test_ingest_with_another_precision_is_refused_before_a_file_is_read(tmp_path):
    survey = Survey.create(tmp_path / "a.survey", SMALL_GRID)
    survey.append(make_spectra(3, SMALL_GRID))
    before = shutil.copytree(survey.path, tmp_path / "before")
    (tmp_path / "file.fits").write_text("not looked at")
    done = CliRunner().invoke(
        app, ["ingest", str(tmp_path / "file.fits"), "--into", str(survey.path), "--precision", "exact"]
    )
    assert done.exit_code == 2 and "precision noise, not exact" in done.output and "rarespec repack" in done.output
    assert names_in(survey.path) == names_in(before)
    assert CliRunner().invoke(app, ["ingest", "x", "--into", "y", "--precision", "half"]).exit_code == 2


def names_in(folder):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}


@settings(max_examples=20)
@given(step=st.floats(0.01, 2.0))
def test_any_step_is_kept_by_the_manifest(step):
    from dataclasses import replace

    from rarespec.survey.store.manifest import Manifest

    manifest = Manifest(SMALL_GRID, precision=Precision(step))
    assert Manifest.from_bytes(manifest.to_bytes(), Path("manifest.json")) == manifest
    assert replace(manifest, precision=EXACT).to_bytes() != manifest.to_bytes()
