"""Many kinds at once give what each gives alone."""

import numpy as np
import pytest

import rarespec as rs
from conftest import every
from rarespec.errors import UsageError
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.rankers import Auto
from rarespec.rankers.auto import walks
from rarespec.searching.flags.flags import flags_of, flags_of_lists
from rarespec.survey.features import feature_set

RARE = {"carbon": 15, "dz": 15, "cv": 15}


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "a.survey"
    return simulate_survey(SkyChoice(500, tuple(RARE.items()), seed=5), path)


@pytest.fixture(scope="module")
def known(survey):
    ids = {name: survey.ids[survey.catalogue["class"] == name.upper()].tolist() for name in RARE}
    return {"carbon": ids["carbon"][:6], "one": ids["dz"][:1], "cv": ids["cv"][:12]}


def require_same(one, other):
    assert one.table.colnames == other.table.colnames
    for name in one.table.colnames:
        assert one.table[name].dtype == other.table[name].dtype, name
        np.testing.assert_array_equal(one.table[name], other.table[name], err_msg=name)
    np.testing.assert_array_equal(one.scores, other.scores)
    assert one.yield_curve.why == other.yield_curve.why and one.why == other.why
    assert one.problems == other.problems and one.examples_lost == other.examples_lost
    assert {**one.provenance, "created": ""} == {**other.provenance, "created": ""}


@pytest.mark.parametrize("method", every(2, ["auto", "bagging_top_push", "label_propagation"]))
def test_each_kind_is_ranked_as_if_alone(survey, known, method):
    settings = {"method": method, "top": 60, "non_members": survey.ids[:3].tolist(), "seed": 3}
    together = rs.search_many(survey, known, **settings)
    assert list(together) == list(known)
    for kind, examples in known.items():
        require_same(together[kind], rs.search(survey, examples, **settings))


def test_walks_of_several_kinds_begin_together_where_rows_are_many(survey, known, monkeypatch):
    monkeypatch.setattr(walks, "MAX_NEAR", 100)  # as in a survey of more rows than are followed to the end
    together = rs.search_many(survey, known, top=60)
    for kind, examples in known.items():
        require_same(together[kind], rs.search(survey, examples, top=60))


def test_many_fits_are_those_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)).astype(np.float32)
    queries = [(np.isin(np.arange(400), rng.choice(400, n)), np.zeros(400, bool)) for n in range(1, 21)]
    preparation = Auto(random_state=np.random.RandomState(3)).prepare(X)
    for fit, query in zip(preparation.fit_each(queries, 2), queries, strict=True):
        np.testing.assert_array_equal(fit.scores, preparation.fit(*query).scores)


def test_examples_from_elsewhere_and_those_inside_are_searched_together(survey, known, tmp_path):
    other = simulate_survey(SkyChoice(5, (("carbon", 4),), seed=9), tmp_path / "b.survey")
    spectra = other[other.catalogue["class"] == "CARBON"]
    together = rs.search_many(survey, {**known, "elsewhere": spectra}, top=60)
    assert list(together) == [*known, "elsewhere"]
    require_same(together["elsewhere"], rs.search(survey, spectra, top=60))
    require_same(together["one"], rs.search(survey, known["one"], top=60))


def test_features_are_read_once(survey, known, monkeypatch):
    rs.search(survey, known["one"], "matched_filter")  # from now on they are kept
    read, block = [], feature_set.FeatureSet.block
    monkeypatch.setattr(feature_set.FeatureSet, "block", lambda self, i: read.append(i) or block(self, i))
    rs.search_many(rs.Survey.open(survey.path), known, method="matched_filter")
    assert sorted(read) == list(range(survey.n_blocks))


def test_each_list_has_the_flags_of_its_own_template(survey, known):
    templates = [rs.search(survey, examples, "matched_filter").template for examples in known.values()]
    lists = [np.arange(30)[::-1], np.arange(20, 60), np.array([5, 5])]
    together = flags_of_lists(survey, lists, [*templates[:2], None])
    for rows, template, found in zip(lists, [*templates[:2], None], together, strict=True):
        assert found == flags_of(survey, rows, template)


def test_a_kind_that_cannot_be_searched_is_a_value(survey, known):
    together = rs.search_many(survey, {"lost": ["nobody"], **known}, method="matched_filter", top=5)
    assert list(together) == list(known) and "nobody" in together.unsearched["lost"]
    assert "3 kinds; 1 could not be searched: lost" in repr(together)
    with pytest.raises(KeyError, match="nobody"):
        together["lost"]
    with pytest.raises(UsageError, match="none of the 1 kinds can be searched: lost: "):
        rs.search_many(survey, {"lost": ["nobody"]})


def test_the_overview_has_a_row_for_each_kind(survey, known, tmp_path):
    together = rs.search_many(survey, known, top=20)
    overview = together.overview
    assert overview["kind"].tolist() == list(known) and overview["known"].tolist() == [6, 1, 12]
    for row in overview:
        ranking = together[row["kind"]]
        assert row["first"] == ranking.table["id"][0] and row["look_at"] == ranking.yield_curve.stopping_rank
    assert set(together.write(tmp_path / "lists", "csv")) == set(known)


@pytest.mark.parametrize(
    "kinds, settings, said",
    [
        ({}, {}, "no kinds"),
        (["a"], {}, "must map"),
        ({"a b": ["x"]}, {}, "letters, digits"),
        ({"a": ["x"]}, {"method": "none"}, "no method"),
        ({"a": ["x"]}, {"model": "m"}, "cannot be set for many kinds"),
        ({"a": ["x"]}, {"labels": "log.sqlite"}, "its own log"),
        ({"a": ["x"]}, {"tag": "t"}, "labels=True"),
    ],
)
def test_wrong_use_is_told(survey, kinds, settings, said):
    with pytest.raises(UsageError, match=said):
        rs.search_many(survey, kinds, **settings)
