"""`rarespec inspect`: look at the candidates in the browser, label them, and let the ranking learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rarespec.cli.exits import report_failures
from rarespec.cli.progress import progress
from rarespec.cli.search_options import SearchOptions, with_search_options
from rarespec.cli.terminal import say

if TYPE_CHECKING:
    from rarespec.labels.campaign import Campaign
    from rarespec.labels.log import LabelLog
    from rarespec.survey import Survey


@report_failures
@with_search_options("model")
def command(
    options: SearchOptions,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on; 0 picks a free one.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open a browser; only print the address.")
    ] = False,
    lines: Annotated[
        Path | None, typer.Option(help="File of your own spectral lines, one per row: NAME, WAVELENGTH, air or vacuum.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="Name of the person labelling. Default: your user name.")] = None,
    relearn_every: Annotated[
        int, typer.Option(min=0, help="Rank again after this many labels; 0: only on request.")
    ] = 10,
    labels: Annotated[Path | None, typer.Option(help="File of labels. Default: next to the survey.")] = None,
    shared: Annotated[
        bool,
        typer.Option("--shared", help="Let your group read and write a new file of labels. Default: only you."),
    ] = False,
    blind: Annotated[
        bool | None,
        typer.Option(
            "--blind/--no-blind",
            help="Hide other people's labels of a spectrum until you have labelled it, and learn only from yours. "
            "Saved with the campaign.",
            show_default=False,
        ),
    ] = None,
    cutouts: Annotated[
        str | None,
        typer.Option(
            help="Show the sky around each candidate, with pictures of this service: dss2, panstarrs, legacy, or an "
            "https address with {ra} and {dec}. Default: nothing is fetched.",
        ),
    ] = None,
) -> None:
    """Inspect the best candidates in a browser and label them with the keyboard; the ranking learns from your labels.

    Every label is saved at once, next to the survey. Without --known, the last campaign continues.
    The page is served to this machine only, and only to whoever has the address with its token.

    Example: rarespec inspect dr17.survey --known carbon-stars.csv
    """
    from rarespec.fetching.pictures import service_named
    from rarespec.inspector.cutouts import Cutouts, folder_beside
    from rarespec.inspector.lines import own_lines
    from rarespec.inspector.page import find_places
    from rarespec.inspector.server import listening, serve
    from rarespec.labels.event import person_named
    from rarespec.labels.log import LabelLog
    from rarespec.survey import Survey

    own = own_lines(lines) if lines is not None else []
    who = person_named(person)
    service = service_named(cutouts) if cutouts is not None else None
    opened = Survey.open(options.survey)
    place, kept = find_places(opened, labels)  # before the search; the log is made when there is something to label
    with listening(port) as listener:
        campaign, is_blind = _campaign(opened, options, kept, blind)
        with LabelLog(place, shared=shared) as log:
            _say_what_is_there(campaign, log, who, is_blind)
            pictures = Cutouts(service, folder_beside(opened.path)) if service is not None else None
            tell = _tell(no_browser)
            serve(campaign, log, who, listener, not no_browser, own, relearn_every, tell, is_blind, cutouts=pictures)
        say(f"stopped; all labels are saved in {place}", err=True)


def _campaign(survey: Survey, options: SearchOptions, kept: Path, blind: bool | None) -> tuple[Campaign, bool]:
    """Started anew from what is known; without anything known, the one that was kept here. And whether it is blind."""
    from rarespec.inspector.page import keep_start
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
    for problem in keep_start(campaign, kept, bool(blind)):
        say(problem, err=True)
    return campaign, bool(blind)


def _refuse_other_settings(options: SearchOptions, kept: Path) -> None:
    from rarespec.errors import UsageError

    if replace(options, scheduler=None, device=None) != SearchOptions(options.survey):
        raise UsageError(
            f"{kept}: this campaign keeps its settings; to start a new one with other settings, add --known"
        )


def _say_what_is_there(campaign: Campaign, log: LabelLog, who: str, blind: bool) -> None:
    from rarespec.inspector.page import describe_labels

    ranking = campaign.ranking
    for line in (*ranking.problems, ranking.yield_curve.why, *describe_labels(log, who, blind)):
        say(line, err=True)


def _tell(remote: bool) -> Callable[[str, int], None]:
    def tell(address: str, port: int) -> None:
        say(f"open {address}")
        if remote:
            # The same port at both ends: the page answers under its own name alone.
            say(f"from another machine: ssh -L {port}:127.0.0.1:{port} THIS_MACHINE, then open that address there")
        say("press Ctrl-C to stop", err=True)

    return tell
