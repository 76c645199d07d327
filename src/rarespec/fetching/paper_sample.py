"""The paper's sample: 450 carbon stars and 100 000 other stars, as SDSS's pipeline classifies them.

The paper chose its carbon stars "carefully" from all that the pipeline calls so, and the others at random; it gives no
list. Here both are drawn by a seed from the primary spectra without a redshift warning; white dwarfs with carbon
(CarbonWD) are among neither. The draw takes the objects
whose ids, hashed together with the seed, come first: anyone can repeat it, and a release that adds stars changes few.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Sequence

from rarespec.fetching.addresses import Archive
from rarespec.fetching.asked import Asked
from rarespec.fetching.sky_server import rows_of
from rarespec.fetching.web import Web
from rarespec.progress import Progress
from rarespec.survey.manifest import SurveyError

N_CARBON = 450
N_OTHERS = 100_000
PLATES_AT_A_TIME = 500
"""So many plates have far fewer stars than SkyServer gives rows."""
LAST_PLATE = 20_000

COLUMNS = "SELECT plate, mjd, fiberid, run2d FROM SpecObj WHERE class = 'STAR' AND zwarning = 0"
CARBON = f"{COLUMNS} AND subclass IN ('Carbon', 'Carbon_lines')"
OTHERS = f"{COLUMNS} AND subclass NOT LIKE 'Carbon%' AND plate BETWEEN {{first}} AND {{last}}"


def paper_sample(
    archive: Archive, web: Web, seed: int, progress: Progress, n_carbon: int = N_CARBON, n_others: int = N_OTHERS
) -> list[Asked]:
    """The carbon stars, then the others, each in the order of their ids."""
    carbon = drawn(rows_of(CARBON, archive, web), n_carbon, seed, "carbon stars")
    others: list[Asked] = []
    starts = range(0, LAST_PLATE, PLATES_AT_A_TIME)
    for n_asked, first in enumerate(starts, 1):
        last = first + PLATES_AT_A_TIME - 1
        others += rows_of(OTHERS.format(first=first, last=last), archive, web)
        progress(n_asked, len(starts), f"{len(others)} stars")
    return [*carbon, *drawn(others, n_others, seed, "other stars")]


def drawn(objects: Sequence[Asked], n: int, seed: int, what: str) -> list[Asked]:
    if len(objects) < n:
        raise SurveyError(f"SkyServer has only {len(objects)} {what}, but the paper used {n}; try a later release")
    return sorted(heapq.nsmallest(n, objects, lambda one: _place(one.id, seed)), key=lambda one: one.id)


def _place(id: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {id}".encode()).digest()
