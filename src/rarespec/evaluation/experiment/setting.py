"""What an experiment does: which class, which methods, how many draws, and the seed of all draws."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from rarespec.evaluation.experiment.methods import OUR_METHODS, PAPER_METHODS, method
from rarespec.evaluation.experiment.rare_class import names_in

N_KNOWN = (1, 3, 5, 10, 15, 30, 50)
"""Numbers of known examples in the paper."""

TRIALS_OF_PAPER = 50

DEFAULT_METHODS = PAPER_METHODS + OUR_METHODS

Tune = Literal["paper", "all", "none"]
TUNES: tuple[Tune, ...] = get_args(Tune)
"""What is tuned: what the paper tuned, every parameter that there is a grid for, or nothing."""


@dataclass(frozen=True)
class Setting:
    """Everything that the results depend on, besides the survey."""

    rare: str
    """Of one class or subclass, or of several with commas between them."""
    methods: tuple[str, ...] = DEFAULT_METHODS
    n_known: tuple[int, ...] = N_KNOWN
    trials: int = TRIALS_OF_PAPER
    """Reported draws of known examples for each number of them."""
    tune: Tune = "paper"
    tuning_draws: int = 3
    """Draws, none of them reported, that the parameters of each method are chosen on; with 0 nothing is tuned."""
    sensitivity_draws: int = 10
    """Draws behind each point of figures 8 and 9; 0 leaves these out."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tune not in TUNES:
            raise ValueError(f"tune must be one of {', '.join(TUNES)}, not {self.tune!r}")
        if not self.rare_names:
            raise ValueError("rare must be the name of a class")
        for name in self.methods:
            method(name)
        if not self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError("methods: give at least one, and each only once")
        if not self.n_known or min(self.n_known) < 1 or len(set(self.n_known)) < len(self.n_known):
            raise ValueError(
                f"np: give numbers of known examples of at least 1, each only once, not {list(self.n_known)}"
            )
        if self.trials < 1:
            raise ValueError(f"trials must be at least 1, not {self.trials}")
        if min(self.tuning_draws, self.sensitivity_draws) < 0:
            raise ValueError("draws must be at least 0")

    @classmethod
    def quick(cls, rare: str, **others: Any) -> Self:
        """A first look: few draws, no tuning."""
        few: dict[str, Any] = {"n_known": (1, 10, 30), "trials": 5, "tune": "none", "sensitivity_draws": 2}
        return cls(rare, **(few | others))

    @property
    def tuned(self) -> Tune:
        """What is tuned in the end: without draws to tune on, nothing."""
        return self.tune if self.tuning_draws else "none"

    @property
    def rare_names(self) -> tuple[str, ...]:
        return names_in(self.rare)

    @property
    def rare_in_words(self) -> str:
        return " or ".join(self.rare_names)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
