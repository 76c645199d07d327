"""Rows with their scores: which of them are listed, which are the best, and how many true ones to expect among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.rankers.ranker import Fit, Scores, best_of
from rarespec.searching.fitting import hidden_places
from rarespec.searching.rows import SearchRows
from rarespec.searching.selection import Chosen
from rarespec.searching.yields.yield_curve import YieldCurve, yield_curve


@dataclass(frozen=True, eq=False)
class Listing:
    """What a fitted ranker makes of the rows.

    Parameters
    ----------
    rows : SearchRows
        All rows.
    fit : Fit
        The fitted ranker.
    scores : (n,) float64 array
        Of all rows.
    listed : (n,) bool array
        Which rows may be candidates.
    said : list of str
        What was left out, a line each.
    """

    rows: SearchRows
    fit: Fit
    scores: Scores
    listed: NDArray[np.bool_]
    said: list[str]

    def best(self, n: int) -> NDArray[np.intp]:
        """Find the places of the first n listed rows, best first, or of all if there are fewer."""
        places = np.flatnonzero(self.listed)
        return places[best_of(self.scores[places], n)]

    def falling_scores(self) -> Scores:
        """Scores of the listed rows, falling, on a scale on which the edge of a group shows."""
        return self.falling(self.fit.edge_scores)

    def falling(self, edges: Scores) -> Scores:
        """Sort the edge scores of the listed rows, falling; `edges` is (n,), of all rows."""
        return np.sort(edges[self.listed])[::-1]

    def hidden_places(self, seed: int | None) -> NDArray[np.int64]:
        """Find the ranks of known examples when they are hidden; see `fitting.hidden_places`."""
        return hidden_places(self.fit, self.rows.known, self.scores, self.listed, seed)


def find_listed(rows: SearchRows, chosen: Chosen) -> NDArray[np.bool_]:
    """Find the rows that may be candidates, (n,) bool; a UsageError when there are none."""
    listed = rows.may_be_listed(chosen.mask)
    if not listed.any():
        why = "; ".join(chosen.said) or "every usable spectrum is known or a non-member"
        raise UsageError(f"{rows.survey.path}: there is nothing to rank: {why}")
    return listed


def list_rows(rows: SearchRows, fit: Fit, chosen: Chosen, scores: Scores | None = None) -> Listing:
    """List the rows by the scores of a fitted ranker.

    Parameters
    ----------
    rows : SearchRows
        All rows.
    fit : Fit
        The fitted ranker.
    chosen : Chosen
        Which spectra of the survey may be listed.
    scores : (n,) float64 array, optional
        The scores of all rows, where they are known already.

    Returns
    -------
    Listing
        The list.

    Raises
    ------
    UsageError
        If nothing is left to list.
    """
    listed = find_listed(rows, chosen)
    scores = fit.scores if scores is None else scores
    return Listing(rows, fit, scores, listed, chosen.said)


def estimate_hidden_curve(listing: Listing, seed: int | None, edges: Scores | None = None) -> YieldCurve:
    """Estimate the yield from where the known examples rank when they are hidden.

    Parameters
    ----------
    listing : Listing
        The ranked list.
    seed : int or None
        Of the hiding; None when the ranker was fitted elsewhere and nothing can be hidden.
    edges : (n,) float64 array, optional
        Edge scores of all rows, where they are known already.

    Returns
    -------
    YieldCurve
        The estimate, or why there is none.
    """
    falling = listing.falling_scores() if edges is None else listing.falling(edges)
    return yield_curve(falling, listing.hidden_places(seed), int(listing.rows.known.sum()))
