"""What an experiment found, in the form that tables and figures take it from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.evaluation.experiment.methods import method
from rarespec.evaluation.experiment.setting import Setting
from rarespec.evaluation.places import Places

Cell = tuple[str, int]
"""Name of a method, number of known examples."""

CostCell = tuple[str, str, float]
"""Name of a method, one of its parameters, the value of that."""


@dataclass(frozen=True)
class Facts:
    """What the experiment was made on."""

    survey: str
    """Name of the survey."""
    n_spectra: int
    """Spectra with features: the rows that were ranked."""
    n_unusable: int
    """Spectra without features, which nothing could rank."""
    n_rare: int
    matched_by: str
    """How the rare class was recognised, for example: class is CARBON."""


@dataclass(frozen=True)
class Trials:
    """All trials of one method with one number of known examples, in the order of the draws."""

    places: Places
    """Places of the hidden rare objects among the unlabelled; ties in the worst order."""
    auc: NDArray[np.float64]
    """(trials,), ties counted one half."""
    params: Mapping[str, Any]
    """Parameters that tuning set."""
    top_distance: NDArray[np.float64] | None = None
    """Mean distance of the first 20 from the known example, (trials,); None where several are known."""

    @property
    def average_precision(self) -> NDArray[np.float64]:
        """AP over the whole list, (trials,)."""
        return self.places.average_precision()


@dataclass(frozen=True)
class Timing:
    """CPU seconds of one query alone, median of several, and of what is set up once for all queries."""

    query_s: float
    setup_s: float


@dataclass(frozen=True)
class Sensitivity:
    """Figures of BaggingTopPush over its parameters, each array with the draws last."""

    auc: NDArray[np.float64]
    average_precision: NDArray[np.float64]


@dataclass(frozen=True)
class Tried:
    """Parameters other than the method's own, and the mean AP that tuning found with them for each number of known."""

    params: Mapping[str, Any]
    average_precision: Mapping[int, float]


@dataclass(frozen=True)
class Shown:
    """The first draw of a cell: rows are those of the matrix of features that was ranked."""

    known: NDArray[np.intp]
    top: NDArray[np.intp]
    """The best 500 unlabelled rows, best first."""


@dataclass(frozen=True)
class Results:
    setting: Setting
    facts: Facts
    trials: Mapping[Cell, Trials]
    shown: Mapping[Cell, Shown]
    timings: Mapping[Cell, Timing] = field(default_factory=dict)
    bags: Mapping[int, Sensitivity] = field(default_factory=dict)
    """Number of known -> (values of K, values of T, draws), for `tuning.BAG_SIZE` and `tuning.N_BAGS`."""
    strengths: Mapping[int, Sensitivity] = field(default_factory=dict)
    """Number of known -> (values of lambda, draws), for `tuning.REGULARISATION`."""
    tuned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Method -> the parameters that tuning chose; without those it left at their defaults."""
    costs: Mapping[CostCell, float] = field(default_factory=dict)
    """CPU seconds of a query over one parameter, the others at their defaults."""
    tried: Mapping[str, Sequence[Tried]] = field(default_factory=dict)
    """Method -> what tuning tried, in its order; only those that were tuned."""
    left_out: tuple[str, ...] = ()
    """Methods and numbers of known examples that failed too often to be compared, in words."""

    def label(self, name: str) -> str:
        return method(name).label
