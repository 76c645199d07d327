"""Candidates as a HATS catalogue."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarespec.hats.hats_files import write
from rarespec.hats.ranking import HatsRanking
from rarespec.searching.export.plain_columns import plain_columns
from rarespec.searching.export.provenance_json import plain_provenance
from rarespec.searching.ranking import Ranking
from rarespec.survey.manifest import WrongUseError

if TYPE_CHECKING:
    from astropy.table import Table


def write_hats(
    candidates: Ranking | HatsRanking | Table,
    path: str | os.PathLike[str],
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """A HATS catalogue in this directory, whatever its name, that `lsdb.open_catalog` opens and crossmatches.

    The directory appears whole or not at all; a HATS catalogue that is there is replaced. Rows without a position are
    left out, with a warning. `provenance` is that of the ranking, if it is one.
    """
    is_ranking = isinstance(candidates, Ranking | HatsRanking)
    table = candidates.table if is_ranking else candidates
    place = Path(path)
    if not place.parent.is_dir():
        raise WrongUseError(f"{place}: the directory {place.parent} does not exist; create it first")
    told = provenance or (candidates.provenance if is_ranking else {})
    write(plain_columns(table), place, plain_provenance(told))
    return place
