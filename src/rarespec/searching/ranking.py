"""The answer of a search: the best candidates in order, and what is known about the list as a whole."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.rankers.ranker import Ranker
from rarespec.searching.candidates import CandidateTables
from rarespec.searching.explain.explanation import Explanation, explain_score
from rarespec.searching.explain.template import NoTemplate, Template, template_of
from rarespec.searching.export import write_table
from rarespec.searching.listing import Listing
from rarespec.searching.request import SearchRequest
from rarespec.searching.rows import SearchRows
from rarespec.searching.yields.yield_curve import YieldCurve
from rarespec.survey import Survey
from rarespec.versions import versions_with

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
    rows: SearchRows = field(repr=False)
    """All rows that took part."""
    ranker: Ranker = field(repr=False)
    scores: NDArray[np.float64] = field(repr=False)
    """Of all rows, (n,)."""

    def __len__(self) -> int:
        return len(self.table)

    @property
    def survey(self) -> Survey:
        return self.rows.survey

    @cached_property
    def template(self) -> Template | NoTemplate:
        return template_of(self.ranker, self.rows.X, self.scores, self.rows.features)

    def explain(self, id: str) -> Explanation:
        """Why the spectrum of this id stands where it stands: what each wavelength range adds to its score."""
        if id not in self.survey:
            raise UsageError(f"{self.survey.path}: no spectrum has the id {id!r}")
        return explain_score(self.template, self.survey[id], self.rows.features)

    def to_pandas(self) -> pd.DataFrame:
        """The table for pandas, which must be installed."""
        return self.table.to_pandas()

    def write(self, path: str | os.PathLike[str]) -> Path:
        """The table as .ecsv, .csv, .fits, .vot or .parquet, with where it comes from."""
        return write_table(self.table, path, self.provenance)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write what was learned to a file, to search other surveys with; see `rarespec.load_model`."""
        from rarespec.searching.model import SearchModel

        return SearchModel.of(self).save(path)

    def plot(self, rank: int = 1, ax: Any = None) -> Any:
        """Plot the candidate at this rank with the nearest known example; matplotlib must be installed."""
        import rarespec

        return rarespec.plot_candidate(self, rank, ax)

    def __repr__(self) -> str:
        return f"<Ranking of {self.n_listed} spectra of {self.survey.path} by {self.method}: the best {len(self)}>"

    def _repr_html_(self) -> str:
        from rarespec.searching.notebook_view import ranking_html

        return ranking_html(self)


def build_ranking(
    listing: Listing,
    curve: YieldCurve,
    tables: CandidateTables,
    request: SearchRequest,
    problems: Sequence[str] = (),
    examples_lost: bool = False,
    about: Mapping[str, Any] | None = None,
) -> Ranking:
    """The answer to a request: the best of the list as a table, and what is known about the list as a whole.

    curve : how many true objects to expect in this list
    problems, examples_lost : what was wrong with the examples, and whether one could not be used
    about : what the provenance says besides the settings of the request; the method, where a model chose it
    """
    settings = {**request.settings, **(about or {})}
    rows, ranker, best = listing.rows, listing.fit.ranker, listing.order[: request.top]
    return Ranking(
        table=tables.make(rows, best, listing.scores[best], curve),
        yield_curve=curve,
        method=settings["method"],
        why=listing.fit.words,
        n_listed=len(listing.order),
        problems=[*problems, *listing.said, *_unusable(rows)],
        examples_lost=examples_lost,
        provenance=_provenance(rows, ranker, settings),
        rows=rows,
        ranker=ranker,
        scores=listing.scores,
    )


def _unusable(rows: SearchRows) -> list[str]:
    n = int((~rows.features.usable).sum())
    return [f"{n} spectra have no features and cannot be ranked (see features.defects)"] if n else []


def _provenance(rows: SearchRows, ranker: Ranker, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a ranking depends on, in values that every table format can carry."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "survey": rows.survey.path.name,
        "n_spectra": len(rows.features),
        "recipe": repr(rows.features.recipe),
        "recipe_fingerprint": rows.features.recipe.fingerprint,
        "features_fingerprint": rows.matrix.fingerprint,
        "known_ids": rows.known_ids,
        "ranker": repr(ranker),
        **settings,
        "versions": versions_with("numpy", "scipy", "scikit-learn", "faiss-cpu", "astropy"),
    }
