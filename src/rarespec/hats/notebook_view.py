"""What a ranking of a HATS catalogue shows of itself in a notebook: what was scored, and the best candidates."""

from __future__ import annotations

from rarespec.hats.ranking import HatsRanking
from rarespec.pages.html_element import Html, element
from rarespec.pages.notebook import note, shown
from rarespec.searching.notebook_view import first_candidates, first_problems
from rarespec.searching.report import sentence
from rarespec.spectrum.printable import printable
from rarespec.thousands import thousands


def hats_ranking_html(ranking: HatsRanking) -> str:
    return shown(
        f"Ranking of {thousands(ranking.n_listed)} spectra of {printable(str(ranking.provenance['catalogue']))}",
        *_sample_yield(ranking),
        note(sentence(f"method {ranking.method}: {ranking.why}")),
        *first_candidates(ranking.table),
        *first_problems(ranking.problems),
    )


def _sample_yield(ranking: HatsRanking) -> list[Html]:
    """Of the sample alone: nothing is estimated for the catalogue as a whole."""
    if ranking.sample_yield is None:
        return []
    words = sentence(f"estimate for the training sample only: {ranking.sample_yield.why}")
    return [element("div", words, style="max-width:50em")]
