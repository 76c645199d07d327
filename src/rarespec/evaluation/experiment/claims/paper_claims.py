"""Every claim of Du et al. (2016) that can be checked, in the order of its subjects."""

from __future__ import annotations

from rarespec.evaluation.experiment.claims.cost import cost_claims
from rarespec.evaluation.experiment.claims.lists import list_claims
from rarespec.evaluation.experiment.claims.order import order_claims
from rarespec.evaluation.experiment.claims.parameters import parameter_claims
from rarespec.evaluation.experiment.finding import Finding
from rarespec.evaluation.experiment.results import Results

LEFT_TO_THE_EYE = "that the median filter removes sky lines and noise effectively (section 3.1; figure 1 shows it)"
"""What the paper says and no number here decides."""


def paper_claims(results: Results) -> list[Finding]:
    """Each with the words of the paper, the figures that speak for or against it, and a verdict."""
    return [*order_claims(results), *list_claims(results), *cost_claims(results), *parameter_claims(results)]
