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

    def listed(self, order: str) -> Sequence[str]:
        """Ids in the order in which to look at them."""

    def relearn(self, labels: Mapping[str, Label]) -> Any:
        """Take these labels into account, all that there are."""


def simulate_looks(
    campaign: Listing, truth: Collection[str], n_looks: int, relearn_every: int = 10, order: str = "likely"
) -> NDArray[np.bool_]:
    """Whether each look found a member, (n_looks,): always at the next that was not looked at, answered from truth.

    Parameters
    ----------
    campaign : lists and learns.
    truth : ids of all members.
    n_looks : how many are looked at.
    relearn_every : looks after which the campaign learns.
    order : in which the list is gone through.
    """
    if n_looks < 1 or relearn_every < 1:
        raise UsageError(f"n_looks and relearn_every must be at least 1, not {n_looks} and {relearn_every}")
    members, labels = frozenset(truth), dict[str, Label]()
    while len(labels) < n_looks:
        if labels:
            campaign.relearn(dict(labels))
        wanted = min(relearn_every, n_looks - len(labels))
        new = [id for id in campaign.listed(order) if id not in labels][:wanted]
        if not new:
            raise UsageError(
                f"the list ends after {len(labels)} of {n_looks} looks: list more candidates, or ask for fewer looks"
            )
        labels |= {id: Label.YES if id in members else Label.NO for id in new}
    return np.array([label is Label.YES for label in labels.values()])
