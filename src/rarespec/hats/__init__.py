"""HATS catalogues of spectra, searched partition by partition with LSDB, and candidates written as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.hats.ranking import HatsRanking as HatsRanking
    from rarespec.hats.search import search_hats as search_hats
    from rarespec.hats.writing import write_hats as write_hats

__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "HatsRanking": "ranking",
        "search_hats": "search",
        "write_hats": "writing",
    },
)
