"""One piece of an experiment: a method, its parameters, and the draw of known examples it is given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.methods import version_of

Kind = Literal["trial", "tuning", "bags", "strength", "timing"]

STREAM: dict[Kind, int] = {"trial": 0, "timing": 0, "tuning": 1, "bags": 2, "strength": 2}
"""Kinds of one stream share their draws: figures 8 and 9 agree where their parameters do."""


@dataclass(frozen=True)
class Task:
    """Known by its key, under which its outcome is found again after an interruption."""

    kind: Kind
    method: str
    params: str
    """Parameters other than the method's own, as JSON with sorted names."""
    n_known: int
    draw: int

    @property
    def key(self) -> str:
        """Of a method of the user's own, also the version of its code: what an older one did counts for nothing."""
        version = version_of(self.method)
        name = f"{self.method}@{version}" if version else self.method
        return "|".join((self.kind, name, self.params, str(self.n_known), str(self.draw)))

    @property
    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = json.loads(self.params)
        return parameters

    def known(self, rare_rows: NDArray[np.intp], seed: int, attempt: int = 0) -> NDArray[np.intp]:
        """Rows of the known examples, drawn from the rare ones; the same for every method."""
        return np.sort(self._random(seed, purpose=2 * attempt).choice(rare_rows, self.n_known, replace=False))

    def ranker_seed(self, seed: int) -> int:
        """For what a method draws itself; another one with every draw of known examples."""
        return int(self._random(seed, purpose=1).integers(2**31))

    def _random(self, seed: int, purpose: int = 0) -> np.random.Generator:
        return np.random.default_rng([seed, STREAM[self.kind], self.n_known, self.draw, purpose])


def as_text(params: dict[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)
