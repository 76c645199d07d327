"""How well the grid of a survey fits its spectra: what it leaves out of them, and where they leave it empty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rarespec.spectrum import NAMED_GRIDS
from rarespec.survey.grid_choice import GRID_OF
from rarespec.survey.survey import Survey

WORTH_A_WORD = 0.05
"""Share of the grid that must be empty before it is mentioned: a few bad pixels are in every spectrum."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How the spectra of one origin and the grid fit, on average over all of them.

    Parameters
    ----------
    survey : str
        What the catalogue calls their survey; empty if it does not say.
    spectra : int
        How many they are.
    outside : float
        Share of their good pixels that lies outside the grid.
    empty : float
        Share of the grid in which they have no good pixel.
    keeps : str
        The `--grid` that leaves nothing out; empty if nothing is.
    """

    survey: str
    spectra: int
    outside: float
    empty: float
    keeps: str = ""

    def in_words(self) -> list[str]:
        """What a person is told: nothing if all is well."""
        of_survey = f"{self.survey} spectra" if self.survey not in ("", "unknown") else "the spectra"
        lines = []
        if self.outside > 0:
            lines.append(
                f"{percent(self.outside)} of the good pixels of {of_survey} lie outside this grid: "
                f"a new survey with {self.keeps} keeps them"
            )
        if self.empty >= WORTH_A_WORD:
            lines.append(f"{percent(self.empty)} of this grid has no good pixel in {of_survey}, on average")
        return lines


def fits_of(survey: Survey) -> list[Fit]:
    """Compare the grid of a survey with all its spectra, by the survey they are from.

    Parameters
    ----------
    survey : Survey
        A survey; those written before this was recorded give nothing.

    Returns
    -------
    list of Fit
        In the order of the names.
    """
    columns = survey.catalogue
    if not len(survey) or "outside" not in columns or "coverage" not in columns:
        return []
    outside, coverage = columns["outside"], columns["coverage"]
    names = columns["survey"].astype(str) if "survey" in columns else np.full(len(survey), "")
    fits = []
    for name in np.unique(names).tolist():
        rows = np.flatnonzero((names == name) & np.isfinite(outside))  # rows of an earlier version do not say
        if len(rows):
            worst = int(rows[np.argmax(outside[rows])])
            keeps = _keeping(survey, name, worst) if outside[worst] > 0 else ""
            fits.append(Fit(name, len(rows), float(outside[rows].mean()), float(1 - coverage[rows].mean()), keeps))
    return fits


def _keeping(survey: Survey, name: str, worst: int) -> str:
    grid = GRID_OF.get(name.upper())
    if grid and NAMED_GRIDS[grid] != survey.grid and not survey.manifest.rest_frame:
        return f"--grid {grid}"
    (source,) = survey.catalogue_at(np.array([worst]), ["source"])["source"] if "source" in survey.catalogue else [None]
    return f"--grid like:{source}" if source and not survey.manifest.rest_frame else "a wider --grid"


def percent(share: float) -> str:
    """A share in words, with two digits."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 else f"{value:.2g} %"
