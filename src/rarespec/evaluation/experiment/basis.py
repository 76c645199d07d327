"""What results rest on, in words: how many draws there are, and which parameters the methods had."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from rarespec.evaluation.experiment.finding import listed
from rarespec.evaluation.experiment.methods import method
from rarespec.evaluation.experiment.plan import STUDIED
from rarespec.evaluation.experiment.results import Results

ONE_DRAW = "one draw"


def draws_in_words(results: Results, n_known: Collection[int] | None = None) -> str:
    """Draws that each mean is over, of these numbers of known examples or of all: those asked for less those lost."""
    counts = {len(trials.auc) for (_, n), trials in results.trials.items() if n_known is None or n in n_known} or {0}
    if counts == {1}:
        return ONE_DRAW
    return f"{max(counts)} draws" if len(counts) == 1 else f"{min(counts)} to {max(counts)} draws"


def parameters_in_words(results: Results, methods: Iterable[str]) -> str:
    """What these methods were run with, to stand after "with"."""
    tuned = {name: results.tuned.get(name, {}) for name in methods}
    chosen = [f"{results.label(name)} {assigned(params)}" for name, params in tuned.items() if params]
    default = [results.label(name) for name, params in tuned.items() if not params]
    if not chosen:
        return "default parameters"
    rest = f"; defaults for {listed(default)}" if default else ""
    return f"the tuned parameters: {'; '.join(chosen)}{rest}"


def assigned(params: Mapping[str, Any]) -> str:
    """Numbers as one reads them: C = 54.5982."""
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in params.items()
    )


def default_of_studied(parameter: str) -> Any:
    """What the method of figures 8 and 9 has where this parameter is not the one that is varied."""
    return method(STUDIED).make().get_params()[parameter]
