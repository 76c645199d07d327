"""The answer of a search: the best candidates in order, and what is known about the list as a whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.rankers._ranker import Ranker
from rarespec.searching.explanation import Explanation, explained
from rarespec.searching.export import write_table
from rarespec.searching.material import Material
from rarespec.searching.template import NoTemplate, Template, template_of
from rarespec.searching.yield_curve import YieldCurve
from rarespec.survey import Survey
from rarespec.survey.manifest import WrongUseError

if TYPE_CHECKING:
    import pandas as pd
    from astropy.table import Table


@dataclass(frozen=True, eq=False)
class Ranking:
    """Candidates of one search, best first.

    Attributes
    ----------
    table : astropy Table: rank, id, ra, dec, class, subclass, z, snr, score, chance, nearest_known, flags
    yield_curve : how many true objects are expected in the first k, and where to stop
    template : what counts in favour and against, wavelength by wavelength
    method : the name of the ranker
    why : what the ranker did, in words
    n_listed : how many spectra were ranked; the table holds the best of them
    problems : what was wrong with the examples, and what was left out, one line each
    examples_lost : whether an example that was given could not be used
    provenance : what the ranking depends on: versions, seed, recipe, known ids, checksums
    """

    table: Table
    yield_curve: YieldCurve
    method: str
    why: str
    n_listed: int
    problems: list[str]
    examples_lost: bool
    provenance: Mapping[str, Any]
    material: Material = field(repr=False)
    ranker: Ranker = field(repr=False)
    scores: NDArray[np.float64] = field(repr=False)
    """Of all rows of the material, (n,)."""

    def __len__(self) -> int:
        return len(self.table)

    @property
    def survey(self) -> Survey:
        return self.material.features.survey

    @cached_property
    def template(self) -> Template | NoTemplate:
        return template_of(self.ranker, self.material.X, self.scores, self.material.features)

    def explain(self, id: str) -> Explanation:
        """Why the spectrum of this id stands where it stands: what each wavelength range adds to its score."""
        if id not in self.survey:
            raise WrongUseError(f"{self.survey.path}: no spectrum has the id {id!r}")
        return explained(self.template, self.survey[id], self.material.features)

    def to_pandas(self) -> pd.DataFrame:
        """The table for pandas, which must be installed."""
        return self.table.to_pandas()

    def write(self, path: str | os.PathLike[str]) -> Path:
        """The table as .ecsv, .csv, .fits, .vot or .parquet, with where it comes from."""
        return write_table(self.table, path, self.provenance)

    def __repr__(self) -> str:
        return f"<Ranking of {self.n_listed} spectra of {self.survey.path} by {self.method}: the best {len(self)}>"

    def _repr_html_(self) -> str:
        from rarespec.searching.notebook_view import ranking_html

        return ranking_html(self)
