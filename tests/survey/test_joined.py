"""What a large survey keeps in one file, features and columns: the same as in the files of its blocks, or made anew."""

import numpy as np
import pytest

import rarespec
from rarespec.features import PaperFeatures
from rarespec.mock import MockSky
from rarespec.spectrum import Spectra
from rarespec.storage.mapped_arrays import map_arrays, write_arrays
from rarespec.survey import Survey
from rarespec.survey.features import feature_set, joined
from rarespec.survey.features.computing import features_of
from rarespec.survey.store import joined_columns
from rarespec.survey.store.joined_columns import join_columns

RECIPE = PaperFeatures(n_components=8)


@pytest.fixture
def survey(tmp_path):
    survey = Survey.create(tmp_path / "a.survey")
    survey.append(with_gaps(MockSky(120, {"carbon": 12}, seed=2).block(0)))
    return survey


def with_gaps(spectra):
    """One spectrum without features, and unknown values of all kinds in the catalogue."""
    spectra.flux[5] = 1.0
    for name in ("z", "class", "snr"):
        spectra.catalogue[name] = [None if i % 7 == 3 else value for i, value in enumerate(spectra.catalogue[name])]
    return Spectra(spectra.wavelength, spectra.flux, spectra.ivar, spectra.bad, spectra.catalogue)


@pytest.fixture
def apart(survey):
    """The features as they are read block by block."""
    found = features_of(survey, RECIPE)
    return found.usable_values.copy(), found.fingerprint, found.usable, found.n_bad, found.spread


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(joined, "JOINED_FROM", 1)
    monkeypatch.setattr(joined_columns, "JOINED_FROM", 1)


def require_same(features, apart):
    values, fingerprint, usable, n_bad, spread = apart
    np.testing.assert_array_equal(features.usable_values, values)
    np.testing.assert_array_equal(features.usable, usable)
    np.testing.assert_array_equal(features.n_bad, n_bad)
    assert features.fingerprint == fingerprint
    for one, other in zip(features.spread, spread, strict=True):
        np.testing.assert_array_equal(one, other)


def file_of(survey, pattern="features/*/*/*.rows"):
    (path,) = survey.path.glob(pattern)
    return path


def test_joined_features_are_those_of_the_blocks(survey, apart, large):
    features = features_of(survey, RECIPE)
    require_same(features, apart)
    assert not features.usable[5] and not features.usable_values.flags.writeable


def test_they_are_mapped_the_second_time_and_no_block_is_read(survey, apart, large, monkeypatch):
    features_of(survey, RECIPE).usable_values  # noqa: B018
    monkeypatch.setattr(feature_set.FeatureSet, "block", None)
    require_same(features_of(survey, RECIPE), apart)


@pytest.mark.parametrize("place", [0, 1000, -1])
def test_damaged_ones_are_joined_anew_with_a_warning(survey, apart, large, place):
    features_of(survey, RECIPE).usable_values  # noqa: B018
    path = file_of(survey)
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)
    assert any("checksum" in problem or "damaged" in problem for problem in survey.verify().problems)
    with pytest.warns(UserWarning, match="computing it again"):
        require_same(features_of(survey, RECIPE), apart)
    assert survey.verify().sound


@pytest.mark.parametrize("name", ["values", "lost_at", "n_bad", "fingerprint", "mean", "covariance", None])
def test_well_formed_ones_with_wrong_contents_are_joined_anew(survey, apart, large, name):
    features_of(survey, RECIPE).usable_values  # noqa: B018
    path = file_of(survey)
    arrays = {key: values.copy() for key, values in map_arrays(path).items()}
    if name is None:
        del arrays["values"]
    elif arrays[name].dtype.kind == "f":
        arrays[name].flat[3] = np.nan
    else:
        arrays[name].flat[3] = 200 if arrays[name].dtype.kind == "u" else -1
    with write_arrays(path) as file:
        for key, values in arrays.items():
            file.add(key, [values])
    with pytest.warns(UserWarning, match="computing it again"):
        require_same(features_of(survey, RECIPE), apart)


def test_features_that_cannot_be_joined_are_held_in_memory(survey, apart, large, monkeypatch):
    def refuse(path):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(joined, "write_arrays", refuse)
    with pytest.warns(UserWarning, match="could not save the features as one matrix"):
        require_same(features_of(survey, RECIPE), apart)


def test_a_survey_that_grew_is_joined_anew_and_the_earlier_file_goes(survey, large):
    features_of(survey, RECIPE).usable_values  # noqa: B018
    first = file_of(survey)
    earlier = features_of(Survey.open(survey.path), RECIPE).usable_values
    survey.append(MockSky(40, seed=9).block(0))
    features = features_of(survey, RECIPE)
    assert len(features.usable_values) == len(earlier) + 40
    assert file_of(survey) != first and survey.verify().sound
    assert np.isfinite(earlier).all()  # whoever has mapped the earlier file still has it


COLUMNS = ["id", "ra", "dec", "z", "class", "subclass", "snr", "survey"]


def joined_catalogue(survey):
    join_columns(survey.path, survey.manifest, survey.catalogue)
    return Survey.open(survey.path).catalogue


def test_joined_columns_are_those_of_the_blocks(survey, large, monkeypatch):
    apart = survey.catalogue.arrow(COLUMNS)
    catalogue = joined_catalogue(survey)
    monkeypatch.setattr(type(catalogue), "block", None)
    assert catalogue.arrow(COLUMNS).to_pydict() == apart.to_pydict()
    assert catalogue.arrow(COLUMNS).schema == apart.schema
    rows = np.array([70, 3, 3, 9])
    assert catalogue.take(rows).arrow(["z", "class"]).to_pydict() == apart.select(["z", "class"]).take(rows).to_pydict()
    assert Survey.open(survey.path).rows_of([apart["id"][4].as_py(), "none"]).tolist() == [4, -1]


def test_columns_that_are_not_joined_come_from_the_blocks(survey, large):
    catalogue = joined_catalogue(survey)
    assert set(catalogue.columns) > set(COLUMNS)
    assert catalogue.arrow().to_pydict() == survey.catalogue.arrow().to_pydict()


def test_damaged_columns_are_read_from_the_blocks_and_joined_anew(survey, large):
    apart = survey.catalogue.arrow(COLUMNS).to_pydict()
    joined_catalogue(survey)
    path = file_of(survey, "columns/*")
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    assert not survey.verify().sound
    with pytest.warns(UserWarning, match="checksum"):
        assert Survey.open(survey.path).catalogue.arrow(COLUMNS).to_pydict() == apart
    again = Survey.open(survey.path)
    with pytest.warns(UserWarning, match="checksum"):
        joined_catalogue(again)
    assert survey.verify().sound


@pytest.mark.parametrize(
    ("name", "value"),
    [("id offsets", 2**30), ("id offsets", -5), ("id data", 255), ("z data", None), ("z validity", None)],
)
def test_forged_columns_are_not_used(survey, large, name, value):
    apart = survey.catalogue.arrow(COLUMNS).to_pydict()
    joined_catalogue(survey)
    path = file_of(survey, "columns/*")
    arrays = {key: values.copy() for key, values in map_arrays(path).items()}
    if value is None:
        arrays[name] = arrays[name][:-1]
    else:
        arrays[name][6] = value
    with write_arrays(path) as file:
        for key, values in arrays.items():
            file.add(key, [values])
    with pytest.warns(UserWarning, match="joined columns cannot be used"):
        assert Survey.open(survey.path).catalogue.arrow(COLUMNS).to_pydict() == apart


def test_columns_of_a_survey_that_grew_are_joined_anew(survey, large):
    joined_catalogue(survey)
    survey.append(MockSky(40, seed=9).block(0))
    assert len(joined_catalogue(survey)["id"]) == len(survey)
    assert len(list(survey.path.glob("columns/*"))) == 1 and survey.verify().sound


def test_a_search_gives_the_same_answer(survey, large, monkeypatch):
    known = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()[:4]
    found = [rarespec.search(survey.path, known, top=30) for _ in range(2)]
    assert len(list(survey.path.glob("columns/*"))) == 1
    monkeypatch.setattr(joined, "JOINED_FROM", 10**9)
    monkeypatch.setattr(joined_columns, "JOINED_FROM", 10**9)
    apart = rarespec.search(survey.path, known, top=30)
    for one in found:
        assert one.table["id"].tolist() == apart.table["id"].tolist()
        np.testing.assert_array_equal(one.scores, apart.scores)
        assert one.table["flags"].tolist() == apart.table["flags"].tolist()
        assert one.provenance["features_fingerprint"] == apart.provenance["features_fingerprint"]
