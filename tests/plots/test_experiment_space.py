"""Figure 5 of an experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from experiment_results import N_OTHER, N_RARE, made_up_results
from rarespec.evaluation.experiment.results import Shown
from rarespec.plots.experiment.space import _split_hidden_found, draw_figure_5, space_figure

RARE = np.arange(N_RARE + N_OTHER) < N_RARE
X = np.random.default_rng(0).normal(size=(N_RARE + N_OTHER, 4)).astype(np.float32)


@given(st.data())
def test_every_rare_object_is_known_found_or_hidden(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 40))
    rare = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    order = np.array(data.draw(st.permutations(range(n))))
    known = order[rare[order]][: data.draw(st.integers(0, n))]
    unlabelled = order[~np.isin(order, known)]
    shown = Shown(known, unlabelled[: data.draw(st.integers(0, n))])
    hidden, found = _split_hidden_found(shown, rare)
    assert sorted([*known, *hidden, *found]) == np.flatnonzero(rare).tolist()
    assert set(found) <= set(shown.top) and not set(hidden) & set(shown.top)


def test_each_cell_says_how_many_were_found() -> None:
    results = made_up_results(trials=1)
    titles = [panel.get_title() for panel in space_figure(results, X, RARE).axes]
    found = RARE[results.shown["label_propagation", 10].top].sum()
    assert f"LP, 10 known examples\n{found} of 440 found" in titles
    assert len([title for title in titles if title]) == 9 and len(titles) == 18


def test_points_are_where_the_features_are() -> None:
    results = made_up_results(("emr",), (1,), 1)
    upper, lower = space_figure(results, X, RARE).axes
    known = results.shown["emr", 1].known
    assert np.allclose(upper.collections[-1].get_offsets(), X[known][:, [0, 1]])
    assert np.allclose(lower.collections[-1].get_offsets(), X[known][:, [0, 2]])


def test_rings_do_not_hide_what_was_found() -> None:
    view = space_figure(made_up_results(("emr",), (1,), 1), X, RARE).axes[0]
    found, hidden, known = view.collections
    assert hidden.get_zorder() < found.get_zorder() < known.get_zorder()
    assert len(hidden.get_facecolor()) == 0 and len(found.get_facecolor())


def test_two_features_have_one_view() -> None:
    assert len(space_figure(made_up_results(("emr",), (1,), 1), X[:, :2], RARE).axes) == 1


def test_without_the_methods_of_the_paper_the_first_three_are_shown() -> None:
    results = made_up_results(("lda", "cosine", "ocsvm", "whitened_top_push"), (3,), 1)
    titles = " ".join(panel.get_title() for panel in space_figure(results, X, RARE).axes)
    assert "OCSVM" in titles and "Whitened TopPush" not in titles


def test_a_cell_that_was_not_run_says_so() -> None:
    results = made_up_results(trials=1)
    shown = {cell: one for cell, one in results.shown.items() if cell != ("emr", 10)}
    titles = [panel.get_title() for panel in space_figure(replace(results, shown=shown), X, RARE).axes]
    assert "EMR, 10 known examples\nnot run" in titles


def test_the_document_stays_small(tmp_path: Path) -> None:
    """With every point of the survey in it, it would be many megabytes."""
    paths = draw_figure_5(made_up_results(("emr",), (1,), 1), X, RARE, tmp_path)
    assert [path.name for path in paths] == ["figure-5.png", "figure-5.pdf"]
    assert paths[1].stat().st_size < 400_000


def test_nothing_shown_nothing_drawn(tmp_path: Path) -> None:
    assert draw_figure_5(replace(made_up_results(("emr",), (1,), 1), shown={}), X, RARE, tmp_path) == []
