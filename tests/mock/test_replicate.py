"""A survey made of another one: the same spectra many times, each time with noise of its own."""

import numpy as np
import pytest

from rarespec.errors import UsageError
from rarespec.mock import MockSky
from rarespec.mock.replicate import replicate
from rarespec.spectrum import WavelengthGrid
from rarespec.survey import Survey
from rarespec.survey.store.writer import SurveyWriter

GRID = WavelengthGrid("log", 3.593, 4e-4, 900)
ROWS = 64


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    path = tmp_path_factory.mktemp("base") / "base.survey"
    sky = MockSky(120, {"carbon": 8}, seed=2, wavelength=GRID.wavelength)
    with SurveyWriter(path, GRID, block_rows=ROWS) as writer:
        for spectra in sky:
            writer.add(spectra)
        writer.commit()
    return Survey.open(path)


def test_rare_objects_come_once_and_noise_is_fresh(base, tmp_path):
    made = replicate(base, tmp_path / "large.survey", 5 * ROWS, "CARBON")
    assert len(made) == 5 * ROWS and len(set(made.ids)) == len(made) and made.verify().sound
    is_rare = made.catalogue["class"] == "CARBON"
    assert is_rare.sum() == (base.catalogue["class"] == "CARBON").sum() == 8 and not is_rare[2 * ROWS :].any()
    first, again, old = made.block(0), made.block(2), base.block(0)
    common = ~is_rare[:ROWS]
    used = ~old.bad & (old.ivar > 0)
    for block in (first, again):
        added = ((block.flux - old.flux) * np.sqrt(old.ivar))[common][used[common]]
        assert abs(added.mean()) < 0.02 and 0.8 < added.std() < 1.2  # as much noise as there was
        np.testing.assert_allclose(block.ivar[common], old.ivar[common] / 2, rtol=1e-5)
    apart = ((first.flux - again.flux) * np.sqrt(old.ivar))[common][used[common]]
    assert apart.std() > 1.2  # each copy has its own


def test_what_cannot_be_replicated_is_refused(base, tmp_path):
    exact = Survey.create(tmp_path / "exact.survey", GRID, precision="exact")
    with pytest.raises(UsageError, match="in steps of its noise"):
        replicate(exact, tmp_path / "a.survey", 10, "CARBON")
    with pytest.raises(UsageError, match="already exists"):
        replicate(base, tmp_path, 10, "CARBON")
