"""An inspector who knows the truth and never tires: a campaign replayed without a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.labels.event import Label


class Listing(Protocol):
    """What is looked through: a `Campaign`, or anything else that lists and may learn."""

    def list_ids(self, order: str) -> Sequence[str]:
        """Ids in the order in which to look at them."""

    def relearn(self, labels: Mapping[str, Label]) -> Any:
        """Take these labels into account, all that there are."""


def simulate_looks(
    campaign: Listing, truth: Collection[str], n_looks: int, relearn_every: int = 10, order: str = "likely"
) -> NDArray[np.bool_]:
    """Go through a list as an inspector would who knows the truth, and say what each look finds.

    Each look is at the next spectrum that was not looked at yet.

    Parameters
    ----------
    campaign : Campaign
        Lists candidates and learns; anything with `listed` and `relearn` will do.
    truth : collection of str
        Ids of all members.
    n_looks : int
        How many spectra to look at.
    relearn_every : int
        After how many looks the campaign learns again.
    order : str
        In which order to look: "likely" or "informative".

    Returns
    -------
    (n_looks,) bool array
        Whether each look found a member.

    Raises
    ------
    UsageError
        If the list is shorter than `n_looks`.

    Examples
    --------
    >>> from rarespec.labels import simulate_looks
    >>> class FixedList:
    ...     def list_ids(self, order):
    ...         return ["a", "b", "c"]
    ...     def relearn(self, labels):
    ...         pass
    >>> simulate_looks(FixedList(), truth={"a", "c"}, n_looks=3).tolist()
    [True, False, True]
    """
    if n_looks < 1 or relearn_every < 1:
        raise UsageError(f"n_looks and relearn_every must be at least 1, not {n_looks} and {relearn_every}")
    members, labels = frozenset(truth), dict[str, Label]()
    while len(labels) < n_looks:
        if labels:
            campaign.relearn(dict(labels))
        wanted = min(relearn_every, n_looks - len(labels))
        new = [id for id in campaign.list_ids(order) if id not in labels][:wanted]
        if not new:
            raise UsageError(
                f"the list ends after {len(labels)} of {n_looks} looks: list more candidates, or ask for fewer looks"
            )
        labels |= {id: Label.YES if id in members else Label.NO for id in new}
    return np.array([label is Label.YES for label in labels.values()])
