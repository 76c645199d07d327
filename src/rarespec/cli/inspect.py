"""`rarespec inspect`: look at the candidates in the browser, label them, and let the ranking learn."""

from __future__ import annotations

import os
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
@with_search_options("model", "labels", "tag", "not_tags")
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
    tag: Annotated[
        str | None,
        typer.Option(help="Start the search for a new kind: the spectra labelled yes that have this tag are known."),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option("--shared", help="Let your group read and write a new label log. Default: only you."),
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
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        str | None,
        typer.Option(
            help="Host of a proxy, such as JupyterHub, under which the page answers too: the one in your browser's "
            "address bar. Default: RARESPEC_ALLOW_HOST.",
            show_default=False,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Path under which the proxy shows the page. Default: proxy/PORT/ below JUPYTERHUB_SERVICE_PREFIX.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Inspect the best candidates in a browser and label them with the keyboard; the ranking learns from your labels.

    Every label is saved at once, next to the survey, and labels that are there count from the start. Without --known,
    the last campaign continues. --kind keeps the labels and the campaigns of several kinds of objects apart.
    The page is served to this machine only, and only to whoever has the address with its token.

    Example: rarespec inspect dr17.survey --known carbon-stars.csv
    """
    from rarespec.fetching.pictures import service_named
    from rarespec.inspector.cutouts import Cutouts, folder_beside
    from rarespec.inspector.entrance import find_entrance
    from rarespec.inspector.lines import own_lines
    from rarespec.inspector.page import find_places, known_before
    from rarespec.inspector.page_options import PageOptions
    from rarespec.inspector.server import listening, serve
    from rarespec.labels.event import person_named
    from rarespec.labels.log import LabelLog
    from rarespec.survey import Survey

    own = own_lines(lines) if lines is not None else []
    who = person_named(person)
    service = service_named(cutouts) if cutouts is not None else None
    opened = Survey.open(options.survey)
    if tag is not None:
        options = _with_tag(options, tag)
    place, kept = find_places(opened, options.log, options.kind)  # before the search
    with listening(port) as listener:
        before = known_before(kept)
        entrance = find_entrance(allow_host, base_url, listener.getsockname()[1])
        # On the machine behind a proxy nobody sits at the screen.
        no_browser = no_browser or entrance is not None
        tell = _tell(no_browser, entrance is not None)
        campaign, is_blind = _campaign(opened, options, kept, blind)
        with LabelLog(place, shared=shared) as log:  # made only now, when there is something to label
            _say_what_is_there(campaign, log, who, is_blind, before)
            pictures = Cutouts(service, folder_beside(opened.path)) if service is not None else None
            chosen = PageOptions(own, relearn_every, is_blind, pictures, entrance)
            serve(campaign, log, who, listener, chosen, open_browser=not no_browser, say=tell)
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
            campaign = Campaign.from_request(survey, replace(options, kind=None, log=None).request(), show)
    for problem in keep_start(campaign, kept, bool(blind)):
        say(problem, err=True)
    return campaign, bool(blind)


def _refuse_other_settings(options: SearchOptions, kept: Path) -> None:
    from rarespec.errors import UsageError

    if replace(options, scheduler=None, device=None, kind=None, log=None) != SearchOptions(options.survey):
        raise UsageError(
            f"{kept}: this campaign keeps its settings; to start a new one with other settings, add --known"
        )


def _with_tag(options: SearchOptions, tag: str) -> SearchOptions:
    """A search for the kind that this tag names: known are the spectra that have it; its labels are kept apart."""
    from rarespec.errors import UsageError
    from rarespec.labels.kinds import kind_named
    from rarespec.labels.lessons import read_lessons

    lessons = read_lessons(options.survey, options.log or True, kind=options.kind, tag=tag)
    say(lessons.said[0], err=True)
    known = [*(options.known or []), *lessons.members]
    if not known:
        raise UsageError(f"{lessons.about['log']}: no spectrum is labelled yes and has the tag {tag}")
    refused = [*(options.non_members or []), *lessons.refused]
    return replace(options, known=known, non_members=refused or None, kind=kind_named(tag), log=None)


def _say_what_is_there(campaign: Campaign, log: LabelLog, who: str, blind: bool, known_before: tuple[str, ...]) -> None:
    from rarespec.inspector.page import describe_labels

    ranking = campaign.ranking
    told = describe_labels(log, who, blind, known_before, campaign.known_ids)
    for line in (*ranking.problems, ranking.yield_curve.why, *told):
        say(line, err=True)


def _tell(remote: bool, proxied: bool) -> Callable[[str, int], None]:
    def tell(address: str, port: int) -> None:
        say(f"open {address}")
        if remote and not proxied:
            # The same port at both ends: the page answers under its own name alone.
            say(f"from another machine: ssh -L {port}:127.0.0.1:{port} THIS_MACHINE, then open that address there")
            if "JUPYTERHUB_SERVICE_PREFIX" in os.environ:
                say("on JupyterHub: add --allow-host HOST, the host in your browser's address bar", err=True)
        say("press Ctrl-C to stop", err=True)

    return tell
