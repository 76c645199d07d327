"""The mock sky: the same survey whoever computes it, the counts asked for, spectra that can be used."""

from __future__ import annotations

import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rarespec.mock import CLASSES, MockSky
from rarespec.mock.classes import MIX
from rarespec.spectrum import PAPER_GRID, Spectra
from rarespec.spectrum.spectra import COMMON_COLUMNS


def small(**changes: object) -> MockSky:
    return MockSky(**{"n": 300, "rare": {"carbon": 12}, "seed": 4, "block_rows": 100, **changes})  # type: ignore[arg-type]


def same(a: Spectra, b: Spectra) -> bool:
    arrays = all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in ("flux", "ivar", "bad"))
    return arrays and a.catalogue == b.catalogue


def column(sky: MockSky, name: str) -> list:
    return [value for block in sky for value in block.catalogue[name]]


def test_same_seed_same_bytes() -> None:
    assert all(same(a, b) for a, b in zip(small(), small(), strict=True))


def test_another_seed_another_survey() -> None:
    assert not same(small().block(0), small(seed=5).block(0))


def test_block_does_not_depend_on_what_came_before() -> None:
    forwards = list(small())
    sky = small()
    backwards = [sky.block(i) for i in reversed(range(sky.n_blocks))][::-1]
    assert all(same(a, b) for a, b in zip(forwards, backwards, strict=True))


def test_threads_and_pickled_copies_give_the_same_survey() -> None:
    sky = small()
    with ThreadPoolExecutor(3) as pool:
        threaded = list(pool.map(sky.block, range(sky.n_blocks)))
    copied = list(pickle.loads(pickle.dumps(sky)))
    assert all(same(a, b) and same(a, c) for a, b, c in zip(small(), threaded, copied, strict=True))


def test_rows_and_blocks_add_up() -> None:
    sky = small()
    assert len(sky) == 312
    assert sky.n_blocks == 4
    assert [len(block) for block in sky] == [100, 100, 100, 12]


@pytest.mark.parametrize("number", [-1, 4])
def test_block_that_is_not_there(number: int) -> None:
    with pytest.raises(IndexError):
        small().block(number)


def test_rare_objects_are_exactly_as_many_as_asked_for_and_never_first() -> None:
    for seed in range(4):
        classes = column(small(rare={"Carbon": 12, "dq": 5, "M": 3}, seed=seed), "class")
        assert classes[0] not in ("CARBON", "DQ", "M")
        assert {name: classes.count(name) for name in ("CARBON", "DQ", "M")} == {"CARBON": 12, "DQ": 5, "M": 3}


def test_rare_objects_are_scattered() -> None:
    rows = np.flatnonzero(np.array(column(small(), "class")) == "CARBON")
    assert rows.min() < 150 < rows.max()


def test_no_carbon_stars_unless_asked_for() -> None:
    assert "CARBON" not in column(small(rare=None), "class")


def test_class_mix_is_the_one_declared() -> None:
    sky = MockSky(4000, seed=2, wavelength=PAPER_GRID.wavelength[::30])
    counts = Counter(column(sky, "class"))
    total = sum(MIX.values())
    for name, share in MIX.items():
        expected = 4000 * share / total
        assert abs(counts[name] - expected) <= 5 * np.sqrt(expected) + 0.5, name


def test_every_class_can_be_simulated() -> None:
    for name in CLASSES:
        block = MockSky(1, {name.title(): 4}, seed=1).block(0)
        assert block.catalogue["class"].count(name.upper()) == 4
        assert np.isfinite(block.flux).all()


def test_only_rare_objects_when_no_common_ones_are_wanted() -> None:
    assert column(MockSky(0, {"t": 5}), "class") == ["T"] * 5


def test_ids_are_unique_and_formed_like_those_of_sdss() -> None:
    sky = MockSky(2500, seed=1, wavelength=PAPER_GRID.wavelength[::30])
    ids = column(sky, "id")
    assert len(set(ids)) == 2500
    parts = [tuple(int(part) for part in name.split("-")) for name in ids]
    assert parts == list(zip(*(column(sky, name) for name in ("plate", "mjd", "fiberid")), strict=True))
    assert {tuple(len(part) for part in name.split("-")) for name in ids} == {(4, 5, 4)}


def test_catalogue_is_complete_and_plausible() -> None:
    for block in small():
        assert {*COMMON_COLUMNS, "plate", "mjd", "fiberid", "teff", "ebv"} <= block.catalogue.keys()
        assert all(0 <= ra < 360 for ra in block.catalogue["ra"])
        assert all(-15 < dec < 70 for dec in block.catalogue["dec"])
        assert all(teff is None or 500 < teff < 90000 for teff in block.catalogue["teff"])
        assert all(-0.01 < z < 4 for z in block.catalogue["z"])
        assert set(block.catalogue["source"]) == {"mock:seed=4"}


def test_arrays_can_be_used() -> None:
    for block in small():
        assert block.ivar is not None
        assert block.flux.dtype == block.ivar.dtype == np.float32
        assert np.isfinite(block.flux).all()
        assert (block.ivar[~block.bad] > 0).all()
        assert (block.ivar[block.bad] == 0).all()
        assert (~block.bad).mean(axis=1).min() > 0.9


def test_some_pixels_are_masked_and_cosmic_rays_stand_in_them() -> None:
    block = MockSky(400, seed=3).block(0)
    assert block.ivar is not None
    assert 0.0005 < block.bad.mean() < 0.02
    typical = np.median(np.abs(block.flux), axis=1, keepdims=True)
    assert np.median((np.abs(block.flux) / typical)[block.bad]) > 1.2


def test_snr_column_is_the_median_over_good_pixels() -> None:
    block = small().block(1)
    assert block.ivar is not None
    expected = [np.median(s.flux[~s.bad] * np.sqrt(s.ivar[~s.bad])) for s in block]
    np.testing.assert_allclose(block.catalogue["snr"], expected, rtol=1e-6)


def test_other_grids() -> None:
    grid = 3600 + 0.8 * np.arange(7781)
    block = MockSky(60, {"carbon": 4}, wavelength=grid).block(0)
    assert block.flux.shape == (64, 7781)
    assert np.isfinite(block.flux).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": -1}, "n >= 0"),
        ({"rare": {"unicorn": 3}}, "there is no class 'unicorn'"),
        ({"rare": {"carbon": -3}}, "must be at least 0"),
        ({"median_snr": 0.0}, "positive median"),
        ({"seed": -1}, "seed >= 0"),
        ({"wavelength": np.linspace(1000, 9000, 500)}, "covers"),
        ({"wavelength": np.linspace(9000, 4000, 500)}, "increasing"),
    ],
)
def test_nonsense_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**arguments)


@pytest.mark.exhaustive
def test_ids_stay_unique_and_counts_right_in_a_large_survey() -> None:
    sky = MockSky(200_000, {"carbon": 450}, seed=1, wavelength=PAPER_GRID.wavelength[::36])
    ids, classes = column(sky, "id"), column(sky, "class")
    assert len(set(ids)) == len(ids) == 200_450
    assert classes.count("CARBON") == 450
