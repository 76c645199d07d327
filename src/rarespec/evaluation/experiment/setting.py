"""What an experiment does: which class, which methods, how many draws, and the seed of all draws."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from rarespec.evaluation.experiment.methods import OUR_METHODS, PAPER_METHODS, method

N_KNOWN = (1, 3, 5, 10, 15, 30, 50)
"""Numbers of known examples in the paper."""


@dataclass(frozen=True)
class Setting:
    """Everything that the results depend on, besides the survey."""

    rare: str
    methods: tuple[str, ...] = PAPER_METHODS + OUR_METHODS
    n_known: tuple[int, ...] = N_KNOWN
    trials: int = 50
    """Reported draws of known examples for each number of them."""
    tuning_draws: int = 3
    """Draws, none of them reported, that the parameters of each method are chosen on; 0 leaves the defaults."""
    sensitivity_draws: int = 10
    """Draws behind each point of figures 8 and 9; 0 leaves these out."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.methods:
            method(name)
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError("methods: at least one is needed, and each once")
        if not self.n_known or min(self.n_known) < 1 or len(set(self.n_known)) < len(self.n_known):
            raise ValueError(f"np: numbers of known examples from 1 up are needed, each once, not {list(self.n_known)}")
        if self.trials < 1:
            raise ValueError(f"trials: at least one is needed, not {self.trials}")
        if min(self.tuning_draws, self.sensitivity_draws) < 0:
            raise ValueError("draws: 0 or more are needed")

    @classmethod
    def quick(cls, rare: str, **others: Any) -> Self:
        """A first look: few draws, no tuning."""
        few: dict[str, Any] = {"n_known": (1, 10, 30), "trials": 5, "tuning_draws": 0, "sensitivity_draws": 2}
        return cls(rare, **(few | others))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
