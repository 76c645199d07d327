"""The claims of the paper as a table: what it says, where, and what became of it here."""

from __future__ import annotations

from rarespec.evaluation.experiment.claims.paper_claims import paper_claims
from rarespec.evaluation.experiment.finding import Finding
from rarespec.evaluation.experiment.results import Results
from rarespec.evaluation.experiment.table_formats import Entry, Table, as_csv, as_markdown

CAPTION = "What Du et al. (2016) state, where they state it, and whether it holds on this survey."


def claims_table(claims: list[Finding]) -> Table:
    rows = [[Entry(claim.title), Entry(claim.where or str(claim.verdict)), Entry(str(claim.quote))] for claim in claims]
    return Table(CAPTION, ["claim", "here", "in the paper"], rows)


def claims_markdown(results: Results) -> str:
    return as_markdown(claims_table(paper_claims(results)), "Claims")


def claims_csv(results: Results) -> str:
    """With every sentence, so that a reader need not open the page."""
    header = ["claim", "verdict", "where", "place", "words", "figures"]
    rows = [
        [claim.title, claim.verdict, claim.where, claim.quote.place, claim.quote.words, " ".join(claim.sentences)]
        for claim in paper_claims(results)
        if claim.quote
    ]
    return as_csv(header, rows)
