"""Table 1 of Du et al. (2016): AUC on 450 carbon stars among 100 000 other stellar spectra of SDSS DR10."""

from __future__ import annotations

from typing import NamedTuple

from rarespec.evaluation.experiment.methods import PAPER_METHODS
from rarespec.evaluation.experiment.rare_class import names_in

CARBON_STARS = ("carbon", "carbon star", "carbon stars")
"""What the rare class may be called to be that of the paper. CarbonWD, for one, is another class."""

CARBON_LINES = "carbon_lines"
"""A subclass of SDSS that belongs to the paper's carbon stars; by itself it is only a part of them."""


def is_of_carbon_stars(rare: str) -> bool:
    names = {name.lower() for name in names_in(rare)}
    return bool(names & set(CARBON_STARS)) and names <= {*CARBON_STARS, CARBON_LINES}


class Published(NamedTuple):
    mean: float
    sd: float


_MEANS = {
    1: (0.689, 0.959, 0.809, 0.988, 0.836, 0.966),
    3: (0.750, 0.984, 0.884, 0.987, 0.954, 0.990),
    5: (0.790, 0.983, 0.893, 0.984, 0.975, 0.997),
    10: (0.837, 0.977, 0.906, 0.979, 0.991, 0.998),
    15: (0.856, 0.975, 0.907, 0.973, 0.995, 0.998),
    30: (0.885, 0.958, 0.889, 0.961, 0.995, 0.997),
    50: (0.899, 0.938, 0.875, 0.939, 0.988, 0.995),
}
_SDS = {
    1: (0.033, 0.033, 0.036, 0.015, 0.035, 0.040),
    3: (0.028, 0.013, 0.021, 0.021, 0.019, 0.017),
    5: (0.023, 0.012, 0.021, 0.012, 0.014, 0.014),
    10: (0.021, 0.011, 0.015, 0.002, 0.010, 0.001),
    15: (0.020, 0.006, 0.014, 0.003, 0.003, 0.002),
    30: (0.018, 0.004, 0.013, 0.002, 0.002, 0.003),
    50: (0.016, 0.004, 0.009, 0.003, 0.006, 0.003),
}

PUBLISHED_AUC = {
    (name, n_known): Published(mean, sd)
    for n_known in _MEANS
    for name, mean, sd in zip(PAPER_METHODS, _MEANS[n_known], _SDS[n_known], strict=True)
}
"""(name of a method, number of known examples) -> AUC over 50 trials."""
