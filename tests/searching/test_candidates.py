"""The table of candidates."""

from __future__ import annotations

import numpy as np

from conftest import SMALL_GRID, make_spectra
from rarespec import search
from rarespec.features import PaperFeatures
from rarespec.searching.explain.template import Template
from rarespec.searching.flags.flags import flags_of
from rarespec.survey import Survey
from search_rankings import ranking_of, survey_with_bands


def table_of(folder, **columns):
    survey = Survey.create(folder / "a.survey", SMALL_GRID)
    survey.append(make_spectra(60, SMALL_GRID, **columns))
    known = survey.ids[:3].tolist()
    recipe = PaperFeatures(n_components=4, grid=SMALL_GRID)
    return search(survey, known, "matched_filter", top=50, recipe=recipe).table


def test_each_row_has_the_values_of_its_spectrum(tmp_path):
    ra = [float(i) for i in range(60)]
    table = table_of(tmp_path, ra=ra, **{"class": [f"K{i}" for i in range(60)]})
    rows = [int(id[1:]) for id in table["id"]]
    assert sorted(rows) != rows  # the order is that of the ranking
    assert table["ra"].tolist() == [ra[row] for row in rows]
    assert table["class"].tolist() == [f"K{row}" for row in rows]
    assert table["rank"].tolist() == list(range(1, 51))


def test_what_a_catalogue_does_not_know_is_empty_or_nan(tmp_path):
    known_or_not = [None if i % 2 else i for i in range(60)]
    table = table_of(tmp_path, dec=known_or_not, subclass=known_or_not)
    rows = np.array([int(id[1:]) for id in table["id"]])
    assert np.isnan(table["ra"]).all()
    assert np.array_equal(table["dec"], np.where(rows % 2, np.nan, rows), equal_nan=True)
    assert table["subclass"].tolist() == ["" if row % 2 else str(row) for row in rows]


def test_a_search_flags_spectra_that_lack_pixels_where_its_template_looks(tmp_path):
    first = ranking_of(survey_with_bands(tmp_path / "a.survey"))
    assert isinstance(first.template, Template)
    weights = np.abs(first.template.weights)
    looked_at = int(np.convolve(weights, np.ones(20), "valid").argmax())
    survey = survey_with_bands(tmp_path / "b.survey", bad=(12, slice(looked_at, looked_at + 20)))
    id = str(survey.ids[12])
    ranking = ranking_of(survey)
    (row,) = (row for row in ranking.table if row["id"] == id)
    assert "bad-pixels" in row["flags"]
    assert "bad-pixels" not in flags_of(survey, [12])[0]
