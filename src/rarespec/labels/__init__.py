"""What people said about spectra: an append-only log of labels, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rarespec.public_names import hand_out

if TYPE_CHECKING:
    from rarespec.labels.campaign import Campaign as Campaign
    from rarespec.labels.campaign import Revision as Revision
    from rarespec.labels.campaign_progress import CampaignProgress as CampaignProgress
    from rarespec.labels.campaign_progress import Change as Change
    from rarespec.labels.event import Label as Label
    from rarespec.labels.event import LabelEvent as LabelEvent
    from rarespec.labels.event import new_event_id as new_event_id
    from rarespec.labels.exchange import read_labels as read_labels
    from rarespec.labels.exchange import write_labels as write_labels
    from rarespec.labels.kinds import kinds_beside as kinds_beside
    from rarespec.labels.kinds import path_beside as path_beside
    from rarespec.labels.lessons import read_lessons as read_lessons
    from rarespec.labels.log import LabelLog as LabelLog
    from rarespec.labels.merging import Merged as Merged
    from rarespec.labels.merging import find_standing_labels as find_standing_labels
    from rarespec.labels.merging import merge_labels as merge_labels
    from rarespec.labels.redshifts import RedshiftLog as RedshiftLog
    from rarespec.labels.redshifts import redshift_table as redshift_table
    from rarespec.labels.simulated_inspector import simulate_looks as simulate_looks

__getattr__, __dir__, __all__ = hand_out(
    __name__,
    {
        "Campaign": "campaign",
        "CampaignProgress": "campaign_progress",
        "Change": "campaign_progress",
        "Label": "event",
        "LabelEvent": "event",
        "LabelLog": "log",
        "Merged": "merging",
        "RedshiftLog": "redshifts",
        "Revision": "campaign",
        "kinds_beside": "kinds",
        "merge_labels": "merging",
        "new_event_id": "event",
        "path_beside": "kinds",
        "read_labels": "exchange",
        "read_lessons": "lessons",
        "redshift_table": "redshifts",
        "simulate_looks": "simulated_inspector",
        "find_standing_labels": "merging",
        "write_labels": "exchange",
    },
)
