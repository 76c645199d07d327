"""The job: a survey and a few known examples in, a ranking of the rest out, with how far down it is worth looking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.searching.explain.explanation import Explanation as Explanation
    from rarespec.searching.explain.template import NoTemplate as NoTemplate
    from rarespec.searching.explain.template import Template as Template
    from rarespec.searching.export import read_provenance as read_provenance
    from rarespec.searching.export import unescape_text as unescape_text
    from rarespec.searching.export import write_table as write_table
    from rarespec.searching.many import Rankings as Rankings
    from rarespec.searching.model import SearchModel as SearchModel
    from rarespec.searching.model import load_model as load_model
    from rarespec.searching.ranking import Ranking as Ranking
    from rarespec.searching.request import SearchRequest as SearchRequest
    from rarespec.searching.samp import send_table as send_table
    from rarespec.searching.search import search_with_model as search_with_model
    from rarespec.searching.selection import Selection as Selection
    from rarespec.searching.spectra_export import export as export
    from rarespec.searching.yields.yield_curve import YieldCurve as YieldCurve

__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "Explanation": "explain.explanation",
        "NoTemplate": "explain.template",
        "Ranking": "ranking",
        "Rankings": "many",
        "SearchModel": "model",
        "SearchRequest": "request",
        "Selection": "selection",
        "Template": "explain.template",
        "YieldCurve": "yields.yield_curve",
        "export": "spectra_export",
        "load_model": "model",
        "read_provenance": "export",
        "search_with_model": "search",
        "send_table": "samp",
        "unescape_text": "export",
        "write_table": "export",
    },
)
