"""In which order the candidates are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from rarespec.searching.yield_curve import WORTH_A_LOOK
from rarespec.survey.manifest import WrongUseError

ORDERS = ("likely", "informative")


def in_order(order: str, chance: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places in the list, (k,), in the order in which to look at them.

    - "likely": best first. Most members for the looks.
    - "informative": the even chances first, that is those of the likely candidates whose chance is nearest
      to 1/2. The answer to a question whose answer is nearly sure teaches nothing; the one that is as likely to be yes
      as no teaches most (uncertainty sampling, Lewis & Gale 1994), and here it says where the members end. Candidates
      that are not worth a look come last, best first. Where the yield curve cannot tell, the order is "likely".

    chance : (k,) chance of each place, best first; NaN where it cannot be told
    """
    if order not in ORDERS:
        raise WrongUseError(f"there is no order {order!r}; choose from {', '.join(ORDERS)}")
    if order == "likely":
        return np.arange(len(chance))
    return np.argsort(np.where(chance >= WORTH_A_LOOK, np.abs(chance - 0.5), 1.0), kind="stable")


def arranged(others: Iterable[str], places: Mapping[str, int]) -> list[str]:
    """The others in their order, with some ids at places of their own; a place beyond the end is the end."""
    listed = [id for id in others if id not in places]
    for id, place in sorted(places.items(), key=lambda item: item[1]):
        listed.insert(place, id)
    return listed
