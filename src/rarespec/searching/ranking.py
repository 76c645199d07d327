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
    """The answer of a search: the candidates, best first, and what is known about the list as a whole.

    `rarespec.search` makes it. Arrays over rows follow `rows`, the usable spectra of the survey and the examples.

    Parameters
    ----------
    table : astropy.table.Table
        The candidates: rank, id, ra, dec, class, subclass, z, snr, score, chance, nearest_known, flags.
    yield_curve : YieldCurve
        How many true objects to expect in the first k candidates, and where to stop.
    method : str
        Name of the ranker.
    why : str
        What the ranker did, in words.
    n_listed : int
        How many spectra were ranked; the table holds the best of them.
    problems : list of str
        What was wrong with the examples, and what was left out, one line each.
    examples_lost : bool
        Whether an example could not be used.
    provenance : mapping
        What the ranking depends on: versions, seed, recipe, known ids, fingerprints.
    request : SearchRequest
        What was asked.
    rows : SearchRows
        All rows that took part.
    ranker : Ranker
        The ranker, fitted.
    scores : (n,) float64 array
        The score of every row.

    Attributes
    ----------
    template : Template or NoTemplate
        What counts in favour and against, wavelength by wavelength.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     ranking = rarespec.search(survey, carbon[:4], "matched_filter", top=5)
    ...     file = ranking.write(f"{folder}/candidates.ecsv")
    >>> ranking.table["rank"].tolist(), ranking.n_listed
    ([1, 2, 3, 4, 5], 64)
    """

    table: Table
    yield_curve: YieldCurve
    method: str
    why: str
    n_listed: int
    problems: list[str]
    examples_lost: bool
    provenance: Mapping[str, Any]
    request: SearchRequest = field(repr=False)
    rows: SearchRows = field(repr=False)
    ranker: Ranker = field(repr=False)
    scores: NDArray[np.float64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def survey(self) -> Survey:
        """The survey that was searched."""
        return self.rows.survey

    @cached_property
    def template(self) -> Template | NoTemplate:
        """What counts in favour and against, wavelength by wavelength; a NoTemplate says why there is none."""
        return template_of(self.ranker, self.rows.X, self.scores, self.rows.features, self.rows.matrix.to_white)

    def explain(self, id: str) -> Explanation:
        """Explain the score of a spectrum: what each wavelength range adds to it.

        Parameters
        ----------
        id : str
            Id of a spectrum of the survey, listed or not.

        Returns
        -------
        Explanation
            Contributions by pixel, and the ranges that matter most.

        Raises
        ------
        UsageError
            If no spectrum has this id, or the ranking has no template.
        """
        if id not in self.survey:
            raise UsageError(f"{self.survey.path}: no spectrum has the id {id!r}")
        return explain_score(self.template, self.survey[id], self.rows.features)

    def to_pandas(self) -> pd.DataFrame:
        """Give the table to pandas, which must be installed.

        Returns
        -------
        pandas.DataFrame
            The candidates, best first.
        """
        return self.table.to_pandas()

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the table to a file, with its provenance.

        Parameters
        ----------
        path : path or str
            The file; its name ends in .ecsv, .csv, .fits, .vot or .parquet.

        Returns
        -------
        Path
            The file.
        """
        return write_table(self.table, path, self.provenance)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write what was learned to a file, to search other surveys with; see `rarespec.load_model`.

        Parameters
        ----------
        path : path or str
            The file; `.safetensors` is the usual ending.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        UsageError
            If the recipe of the features has no name.
        """
        from rarespec.searching.model import SearchModel

        return SearchModel.of(self).save(path)

    def plot(self, rank: int = 1, ax: Any = None) -> Any:
        """Plot a candidate with the nearest known example; matplotlib must be installed.

        Parameters
        ----------
        rank : int
            Rank of the candidate, from 1.
        ax : matplotlib.axes.Axes, optional
            Where to plot; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The plot.
        """
        import rarespec

        return rarespec.plot_candidate(self, rank, ax)

    def inspect(self, person: str | None = None, **options: Any) -> Any:
        """Open the inspection page on this ranking, to label candidates; the page's list learns.

        In a notebook the page stays open while you go on, in the cell where Jupyter can show it there and in the
        browser otherwise; elsewhere this waits until Ctrl-C. Labels are saved beside
        the survey. A ranking that a campaign has learned starts again from the campaign's examples and those labels.

        Parameters
        ----------
        person : str, optional
            Who labels. Default: your user name.
        **options : dict
            Those of `rarespec.inspect_ranking`: block, open_browser, port, log, kind, shared, blind, relearn_every,
            lines, cutouts, allow_host, base_url.

        Returns
        -------
        InspectionPage or None
            The page, with `labels`, `url` and `close`, for use in a `with` block; None if it has been waited for.

        Raises
        ------
        UsageError
            If the ranking comes from a model, the port is in use, or labels cannot be saved in that place.
        """
        import rarespec

        return rarespec.inspect_ranking(self, person, **options)

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
    """Build the answer to a request: the best of the list as a table, and what is known about the list as a whole.

    Parameters
    ----------
    listing : Listing
        All rows, their scores, and their order.
    curve : YieldCurve
        How many true objects to expect in this list.
    tables : CandidateTables
        Makes the table.
    request : SearchRequest
        What was asked.
    problems : sequence of str
        What was wrong with the examples.
    examples_lost : bool
        Whether an example could not be used.
    about : mapping, optional
        What the provenance says besides the settings of the request; the method, where a model chose it.

    Returns
    -------
    Ranking
        The answer.
    """
    settings = {**request.settings, **(about or {})}
    rows, ranker, best = listing.rows, listing.fit.ranker, listing.order[: request.top]
    return Ranking(
        table=tables.make(rows, best, listing.scores[best], curve),
        yield_curve=curve,
        method=settings["method"],
        why=listing.fit.words,
        n_listed=len(listing.order),
        problems=[*problems, *listing.said, *_unusable(rows), *filter(None, [listing.fit.ranker.advice()])],
        examples_lost=examples_lost,
        provenance=_provenance(rows, ranker, settings),
        request=request,
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
