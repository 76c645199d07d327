"""`rarespec inspect`: look at the candidates in the browser, label them, and let the ranking learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarespec.cli.exits import told
from rarespec.cli.progress import progress
from rarespec.cli.search_options import SearchOptions, with_search_options
from rarespec.cli.terminal import say

if TYPE_CHECKING:
    from rarespec.labels.campaign import Campaign
    from rarespec.labels.event import LabelEvent
    from rarespec.labels.log import LabelLog
    from rarespec.survey import Survey


@told
@with_search_options("model")
def command(
    options: SearchOptions,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0 for any that is free.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address alone.")] = False,
    lines: Annotated[
        Path | None, typer.Option(help="Your own lines to mark: NAME, WAVELENGTH, air or vacuum, one a line.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="Who labels; the name of the user when not given.")] = None,
    relearn_every: Annotated[int, typer.Option(min=0, help="Learn after so many labels; 0 for on a key alone.")] = 10,
    labels: Annotated[
        Path | None, typer.Option(help="Where labels are kept; beside the survey when not given.")
    ] = None,
    shared: Annotated[
        bool,
        typer.Option("--shared", help="A new file of labels is open to its group too; otherwise it is yours alone."),
    ] = False,
    blind: Annotated[
        bool | None,
        typer.Option(
            "--blind/--no-blind",
            help="Hide what others say of a spectrum until you have labelled it, and learn from your labels alone; "
            "kept with the campaign.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Look at the best candidates in the browser and label them with the keyboard; the ranking learns from it.

    Every label is kept on the disk at once, beside the survey. Without --known the last campaign goes on.
    The page answers to this machine alone, and only to who has the address with its token.

    Example: rarespec inspect dr17.survey --known carbon-stars.csv
    """
    from rarespec.inspector.own_lines import own_lines
    from rarespec.inspector.server import listening, serve
    from rarespec.labels.campaign_start import start_beside
    from rarespec.labels.log import LabelLog, check_place, path_beside
    from rarespec.labels.person import person_named
    from rarespec.survey import Survey

    own = own_lines(lines) if lines is not None else []
    who = person_named(person)
    opened = Survey.open(options.survey)
    kept = start_beside(opened) if labels is None else labels.with_name(f"{labels.name}.campaign.json")
    place = labels or path_beside(opened.path)
    check_place(place)  # before the search; the log itself is made when there is something to label
    with listening(port) as listener:
        campaign, is_blind = _campaign(opened, options, kept, blind)
        with LabelLog(place, shared=shared) as log:
            _say_what_is_there(campaign, log, who, is_blind)
            serve(campaign, log, who, listener, not no_browser, own, relearn_every, _tell(no_browser), is_blind)
        say(f"stopped; every label is in {place}", err=True)


def _campaign(survey: Survey, options: SearchOptions, kept: Path, blind: bool | None) -> tuple[Campaign, bool]:
    """Started anew from what is known; without anything known, the one that was kept here. And whether it is blind."""
    from rarespec.labels.campaign import Campaign
    from rarespec.labels.campaign_start import CampaignStart

    with progress("features", "blocks") as show:
        if options.known is None:
            _refuse_other_settings(options, kept)
            was_blind = CampaignStart.read(kept).blind
            campaign = Campaign.resume(
                survey, path=kept, progress=show, engine=options.scheduler, device=options.device
            )
            if blind in (None, was_blind):
                return campaign, was_blind
        else:
            campaign = Campaign.from_request(survey, options.request(), show)
    _keep(campaign, kept, bool(blind))
    return campaign, bool(blind)


def _refuse_other_settings(options: SearchOptions, kept: Path) -> None:
    from rarespec.survey.manifest import WrongUseError

    if replace(options, scheduler=None, device=None) != SearchOptions(options.survey):
        raise WrongUseError(f"{kept}: goes on as it was started; to start with other settings, give --known as well")


def _keep(campaign: Campaign, kept: Path, blind: bool) -> None:
    """Labels are safe without it; only what was known would have to be said again."""
    from rarespec.survey.manifest import WrongUseError

    try:
        campaign.keep(kept, blind)
    except (WrongUseError, OSError) as error:
        say(f"give the same options when you go on, as they could not be kept: {error}", err=True)


def _say_what_is_there(campaign: Campaign, log: LabelLog, who: str, blind: bool) -> None:
    for said in (*campaign.ranking.problems, campaign.ranking.why):
        say(said, err=True)
    say(f"{who} labels; every label is kept in {log.path}", err=True)
    if blind:
        say("blind: what others say of a spectrum is hidden until you have labelled it", err=True)
    events = [event for _, event in log.events()]
    _say_what_counts([event for event in events if event.person == who] if blind else events)


def _say_what_counts(events: list[LabelEvent]) -> None:
    """Labels that are there already are learned from, and they may have been about something else."""
    from collections import Counter

    from rarespec.labels.merging import merged

    counts = Counter(one.label for one in merged(events).values() if one.label is not None)
    if counts:
        said = ", ".join(f"{count} {label}" for label, count in counts.items())
        say(f"labels that are there count: {said}; --labels FILE keeps those of another kind apart", err=True)


def _tell(remote: bool) -> Callable[[str, int], None]:
    def tell(address: str, port: int) -> None:
        say(f"the page: {address}")
        if remote:
            # The same port at both ends: the page answers under its own name alone.
            say(f"from elsewhere: ssh -L {port}:127.0.0.1:{port} THIS_MACHINE, then open that address there")
        say("stop with Ctrl-C", err=True)

    return tell
