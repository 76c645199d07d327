"""Every claim of Du et al. (2016) that can be checked, as a table: what it says, where, and whether it holds here."""

from __future__ import annotations

from rarespec.evaluation.experiment.claims.cost import cost_claims
from rarespec.evaluation.experiment.claims.lists import list_claims
from rarespec.evaluation.experiment.claims.order import order_claims
from rarespec.evaluation.experiment.claims.parameters import parameter_claims
from rarespec.evaluation.experiment.finding import Finding
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.table_formats import Entry, Table, as_csv, as_markdown

# ---- Every claim of Du et al. (2016) that can be checked, in the order of its subjects.


LEFT_TO_THE_EYE = "that the median filter removes sky lines and noise effectively (section 3.1; figure 1 shows it)"
"""What the paper says and no number here decides."""


def paper_claims(results: Results) -> list[Finding]:
    """Check every claim of the paper: its words, the figures that speak for or against it, and a verdict."""
    return [*order_claims(results), *list_claims(results), *cost_claims(results), *parameter_claims(results)]


# ---- The claims of the paper as a table: what it says, where, and whether it holds here.


CAPTION = "What Du et al. (2016) state, where they state it, and whether it holds on this survey."


def claims_table(claims: list[Finding]) -> Table:
    rows = [[Entry(claim.title), Entry(claim.where or str(claim.verdict)), Entry(str(claim.quote))] for claim in claims]
    return Table(CAPTION, ["claim", "here", "in the paper"], rows)


def claims_markdown(results: Results) -> str:
    return as_markdown(claims_table(paper_claims(results)), "Claims")


def claims_csv(results: Results) -> str:
    """Write the claims as CSV, with every sentence, so that a reader need not open the page."""
    header = ["claim", "verdict", "where", "place", "words", "figures"]
    rows = [
        [claim.title, claim.verdict, claim.where, claim.quote.place, claim.quote.words, " ".join(claim.sentences)]
        for claim in paper_claims(results)
        if claim.quote
    ]
    return as_csv(header, rows)
