"""Draws: the same for every method, never shared between what is tuned on and what is reported."""

import numpy as np
import pytest

from rarespec.evaluation.experiment.plan import Task, as_text

RARE = np.arange(100, 550)


def drawn(kind="trial", method="lda", n_known=10, draw=0, seed=0):
    return Task(kind, method, "{}", n_known, draw).known(RARE, seed).tolist()


def test_all_methods_get_the_same_draws():
    assert drawn(method="lda") == drawn(method="emr")


@pytest.mark.parametrize("other", [{"draw": 1}, {"seed": 1}, {"kind": "tuning"}, {"kind": "bags"}, {"n_known": 11}])
def test_another_draw_seed_kind_or_number_is_another_draw(other):
    assert drawn()[:10] != drawn(**other)[:10]


def test_figures_8_and_9_have_the_same_draws():
    assert drawn(kind="bags") == drawn(kind="strength")


def test_known_are_distinct_and_rare():
    known = drawn(n_known=450)
    assert known == RARE.tolist()


def test_every_rare_object_is_equally_likely():
    counts = np.bincount(np.concatenate([drawn(n_known=50, draw=i) for i in range(900)]), minlength=550)[100:]
    assert abs(counts.mean() - 100) < 1e-9
    assert ((counts - 100) ** 2 / (100 * 400 / 450)).sum() < 550  # chi-squared, 449 degrees of freedom


def test_a_ranker_has_another_seed_with_every_draw():
    seeds = {Task("trial", "emr", "{}", 10, draw).ranker_seed(0) for draw in range(50)}
    assert len(seeds) == 50


def test_parameters_survive_as_text():
    params = {"sigma": "self-tuned", "C": 54.598150033144236, "n_bags": 5}
    assert Task("trial", "lda", as_text(params), 1, 0).parameters == params
