"""Blocks in steps of the noise become the same flux on a device as on the CPU."""

import numpy as np
import pytest

from conftest import SMALL_GRID
from gpu import made_up
from rarespec.spectrum import Spectra
from rarespec.survey import Survey
from rarespec.survey.features.computing import _gather_block, packed_rows


@pytest.fixture(params=["cpu", "cuda"])
def device(request, torch):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return request.param


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    flux = made_up.with_bad_pixels(made_up.flux(150, SMALL_GRID, seed=3), seed=3)
    bad = ~np.isfinite(flux)
    flux = np.where(bad, 0, flux).astype(np.float32)
    flux[5, 20], flux[6, 30], flux[7, 40] = 1e7, -1e7, 0  # two far beyond the linear codes
    bad[[5, 6, 7], [20, 30, 40]] = False
    ivar = np.full(flux.shape, 400, np.float32)
    made = Survey.create(tmp_path_factory.mktemp("packed") / "a.survey", SMALL_GRID)
    made.append(Spectra(SMALL_GRID.wavelength, flux, ivar, bad, {"id": [f"s{i}" for i in range(len(flux))]}))
    return made


def test_flux_is_that_of_the_cpu(device, survey, torch):
    layout = packed_rows(survey)
    rows = np.empty((len(survey), layout.n_words), np.int16)
    start = 0
    for i, record in enumerate(survey.manifest.blocks):
        _gather_block(survey, layout, i, rows[start : start + record.rows])
        start += record.rows
    found = layout.to_flux(torch.as_tensor(rows, device=device)).cpu().numpy()
    expected = np.concatenate([survey.masked_flux(i) for i in range(survey.n_blocks)])
    assert np.array_equal(np.isnan(found), np.isnan(expected)) and np.isnan(expected).any()
    assert (expected == 0).any() and np.nanmax(np.abs(expected)) > 9e6
    assert np.array_equal(found, expected, equal_nan=True)
