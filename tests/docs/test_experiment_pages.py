"""The pages about the experiment: the defaults that they list are those of the code, and their snippets run."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiment_results import made_up_results
from rarespec.cli.experiment import command
from rarespec.evaluation.experiment.setting import Setting
from rarespec.mock.simulate import SkyChoice, simulate_survey

DOCS = Path(__file__).parents[2] / "docs"
FIELDS = {"rare": "rare", "np": "n_known", "method": None, "jobs": None, "out": None}
"""Option -> field of a Setting, where the two have other names, or there is none."""


def as_written(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def listed_defaults() -> dict[str, str]:
    rows = re.findall(r"^\| `--([a-z-]+)` \| (.*?) \|", (DOCS / "experiments.md").read_text(), flags=re.MULTILINE)
    return {option: default.strip("`") for option, default in rows}


def test_every_option_is_listed_with_its_real_default() -> None:
    listed, setting = listed_defaults(), Setting("CARBON")
    parameters = inspect.signature(inspect.unwrap(command)).parameters
    names = {"n_known": "np"} | {name: name.replace("_", "-") for name in parameters if name != "n_known"}
    assert set(listed) == {names[name] for name in parameters} - {"survey", "quick", "as-json"}
    for option, default in listed.items():
        field = FIELDS.get(option, option.replace("-", "_"))
        if field:
            assert default == as_written(getattr(setting, field)), option
    assert listed["rare"] == parameters["rare"].default and listed["out"] == str(parameters["out"].default)


def test_the_defaults_of_quick_are_the_real_ones() -> None:
    text = (DOCS / "experiments.md").read_text()
    (said,) = re.findall(r"`--quick` has other defaults: (.*)\.", text)
    quick = Setting.quick("CARBON")
    expected = [("np", quick.n_known), ("trials", quick.trials), ("tune", quick.tune)]
    expected.append(("sensitivity-draws", quick.sensitivity_draws))
    assert said == ", ".join(f"`--{option} {as_written(value)}`" for option, value in expected)


@pytest.fixture
def outcomes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """results.parquet as an experiment writes it, where the snippets look for it."""
    results = made_up_results(n_known=(1, 10), trials=3)
    rows = [
        {
            "method": name,
            "n_known": n,
            "draw": draw,
            "n_listed": trials.places.n_listed,
            "average_precision": trials.average_precision[draw],
            "places": trials.places.places[draw].astype(np.int32),
        }
        for (name, n), trials in results.trials.items()
        for draw in range(3)
    ]
    for folder in ("carbon", "t102", "mock5"):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / folder / "results.parquet")
    simulate_survey(SkyChoice(120, (("carbon", 12),), seed=1), tmp_path / "all.survey", jobs=1)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", ["experiments.md", "results.md"])
def test_the_snippets_run_with_what_is_installed(page: str, outcomes: None) -> None:
    snippets = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)
    assert snippets
    for snippet in snippets:
        assert "pandas" not in snippet  # which nobody who installs rarespec has to have
        exec(compile(snippet, page, "exec"), {})
