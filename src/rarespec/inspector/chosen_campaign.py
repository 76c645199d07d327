"""The campaign that somebody has chosen on the start page: continued, or started from known ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rarespec.errors import UsageError
from rarespec.inspector.page import find_places
from rarespec.labels.campaign import Campaign
from rarespec.labels.campaign_start import CampaignStart
from rarespec.labels.log import LabelLog
from rarespec.searching.request import SearchRequest
from rarespec.survey import Survey

MOST_IDS = 1000

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Parameters
    ----------
    survey : Path
        Its directory.
    kind : str or None
        What is looked for, where several kinds are kept apart.
    known : tuple of str
        Ids to start from; none to continue.
    """

    survey: Path
    kind: str | None = None
    known: tuple[str, ...] = ()


def ids_in(text: str) -> tuple[str, ...]:
    """The ids that somebody typed, separated by commas or line ends."""
    words = (word.strip() for word in text.replace("\n", ",").split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def open_chosen(choice: Choice, tell: Tell) -> tuple[Campaign, LabelLog, bool]:
    """Rank, and open the log.

    Parameters
    ----------
    choice : Choice
        What was chosen.
    tell : callable
        Called with what is being done, in words.

    Returns
    -------
    tuple
        The campaign, the open log, and whether people label blind.

    Raises
    ------
    UsageError
        If the survey is not where it was, an id is not in it, or no campaign can be continued.
    """
    if choice.survey.resolve() != choice.survey:
        raise UsageError(f"{choice.survey.name}: a link has taken the place of this survey; look again")
    tell("Opening the survey …")
    survey = Survey.open(choice.survey)
    place, kept = find_places(survey, kind=choice.kind)

    def show(done: int, total: int, note: str = "") -> None:
        tell(f"Computing features: {done} of {total} blocks" if done < total else "Ranking …")

    tell("Ranking …")
    if not choice.known:
        blind = CampaignStart.read(kept).blind
        return Campaign.resume(survey, path=kept, progress=show), LabelLog(place), blind
    if kept.exists():
        raise UsageError(f"{survey.path.name}: there is a campaign of this kind already; continue it, or name a kind")
    _check_ids(survey, choice.known)
    campaign = Campaign.from_request(survey, SearchRequest(list(choice.known)), show)
    campaign.keep(kept)
    return campaign, LabelLog(place), False


def _check_ids(survey: Survey, ids: tuple[str, ...]) -> None:
    """Whoever starts here names spectra of the survey, and never a file of the machine."""
    if len(ids) > MOST_IDS:
        raise UsageError(f"{len(ids)} known ids; give at most {MOST_IDS}, or use `rarespec inspect --known FILE`")
    unknown = [id for id in ids if id not in survey]
    if unknown:
        others = f", nor {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise UsageError(f"{survey.path.name}: no spectrum has the id {unknown[0]!r}{others}; check the known ids")
