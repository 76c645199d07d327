"""Rankers of the user's own: found, tried, and refused with the reason before anything is computed."""

from __future__ import annotations

import itertools
import textwrap
from pathlib import Path

import numpy as np
import pytest

from rarespec.evaluation.experiment.methods import method, version_of
from rarespec.evaluation.experiment.plan import Task, combinations
from rarespec.evaluation.experiment.setting import DEFAULT_METHODS, Setting
from rarespec.evaluation.experiment.task_runner import TaskRunner, carry_out

NUMBER = itertools.count()

GOOD = """
    import numpy as np
    from sklearn.base import BaseEstimator

    class Mine(BaseEstimator):
        def __init__(self, power=2):
            self.power = power
        def fit(self, X, y):
            self.centre_ = X[np.asarray(y) == 1].mean(axis=0)
            return self
        def decision_function(self, X):
            return -(np.abs(X - self.centre_) ** self.power).sum(axis=1)
"""


def changed(before: str, after: str) -> str:
    assert before in GOOD
    return GOOD.replace(before, after)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write this code where the user is; the name of the module, which no other test has."""

    def written(code: str = GOOD) -> str:
        name = f"own_rankers_{next(NUMBER)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(code).lstrip())
        return name

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # so that the path is as before afterwards
    return written


def test_a_ranker_of_ones_own_stands_beside_the_others(module) -> None:
    name = f"{module()}:Mine"
    setting = Setting("CARBON", (*DEFAULT_METHODS, name))
    assert setting.methods[-1] == name and method(name).label == "Mine"
    assert combinations(name, "all") == [{}]
    assert method(name).ranker(3).fit(np.arange(3.0)[:, None], [1, 0, 0]).decision_function(np.ones((1, 1))) == -1.0


def test_other_code_makes_other_tasks(module, tmp_path: Path) -> None:
    """Else trials of the code of yesterday would be taken for those of today's."""
    one, other = module(), module(changed("power=2", "power=3"))
    assert version_of(f"{one}:Mine") != version_of(f"{other}:Mine") and version_of("lda") == ""
    key = Task("trial", f"{one}:Mine", "{}", 1, 0).key
    assert version_of(f"{one}:Mine") in key
    assert Task("trial", "lda", "{}", 1, 0).key == "trial|lda|{}|1|0"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise RuntimeError('boom')", "cannot be imported: RuntimeError: boom"),
        ("class Other: pass", "has no class 'Mine'; it has Other"),
        ("class Mine: pass", "it has no fit, decision_function, get_params, set_params"),
        ("Mine = 3", "has no class 'Mine'"),
        (changed("power=2", "power"), "Mine() without parameters fails"),
        (changed("return self", "return None"), "fit must return the ranker itself"),
        (changed(".sum(axis=1)", ""), "one number for each row, (60,), not float32 of shape (60, 5)"),
        (changed(".sum(axis=1)", ".sum()"), "one number for each row"),
        (changed("-(np.abs", "np.nan * (np.abs"), "60 of 60 scores are not finite"),
        (changed("return -", "X *= 2; return -"), "it modifies its input rows"),
        (changed("return -", "return np.random.rand(len(X)) -"), "a second fit gives the same rows different scores"),
        (
            changed("X[np.asarray(y) == 1]", "X[np.asarray(y) == 1][[2]]"),
            "with 1 of 60 rows known it fails: IndexError",
        ),
        (
            """
            from rarespec.rankers import Ranker
            class Mine(Ranker):
                def _fit(self, X, known): ...
            """,
            "it does not implement _scores",
        ),
    ],
)
def test_what_is_no_ranker_is_refused_with_the_reason(module, code: str, said: str) -> None:
    name = f"{module(code)}:Mine"
    with pytest.raises(ValueError) as caught:
        Setting("CARBON", ("lda", name))
    assert said in str(caught.value) and str(caught.value).startswith(name)


def test_a_word_that_means_something_else_to_the_user_is_left_alone(module) -> None:
    """`prepare` is what an experiment calls of rarespec's own rankers."""
    code = GOOD + "        def prepare(self):\n            raise RuntimeError('not for you')\n"
    name, X = f"{module(code)}:Mine", np.random.default_rng(0).normal(size=(40, 3)).astype("f4")
    runner = TaskRunner(X, np.arange(40) < 10, seed=0, trials=1, graph=None)
    for kind in ("trial", "timing"):
        (outcome,) = carry_out(runner, [Task(kind, name, "{}", 1, 0)])
        assert "error" not in outcome


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="no_such_module_here cannot be imported: ModuleNotFoundError"):
        method("no_such_module_here:Mine")


def test_a_ranker_of_rarespec_can_be_given_by_its_place() -> None:
    assert method("rarespec.rankers:BaggingTopPush").label == "BaggingTopPush"
