"""The inspection page of a ranking, opened from Python or a notebook."""

from __future__ import annotations

import asyncio
import atexit
import os
import socket
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rarespec.errors import UsageError
from rarespec.fetching.pictures import service_named
from rarespec.inspector.app import app_for
from rarespec.inspector.cutouts import Cutouts, folder_beside
from rarespec.inspector.gate import Secrets
from rarespec.inspector.lines import own_lines
from rarespec.inspector.listing import LabelHistory
from rarespec.inspector.notebook import find_way_from_notebook, frame
from rarespec.inspector.page_options import RELEARN_EVERY, USUAL, PageOptions
from rarespec.inspector.server import address, listening, open_in_browser, server_for
from rarespec.labels.campaign import Campaign
from rarespec.labels.campaign_start import CampaignStart
from rarespec.labels.event import person_named
from rarespec.labels.kinds import path_of_log, start_of_log
from rarespec.labels.lessons import ids_at_the_start
from rarespec.labels.log import LabelLog, check_place
from rarespec.labels.merging import merge_labels
from rarespec.searching.lessons import other_examples
from rarespec.searching.ranking import Ranking
from rarespec.survey import Survey

if TYPE_CHECKING:
    from astropy.table import Table


LABEL_COLUMNS = ("id", "label", "person", "at", "comment", "tags")


class InspectionPage:
    """The inspection page, served from a thread of its own until it is closed.

    `Ranking.inspect` makes it. Use it in a `with` block, or call `close`; the end of Python closes it too.

    Parameters
    ----------
    campaign : Campaign
        Lists candidates and learns.
    log : LabelLog
        Where labels go. The page closes it.
    person : str
        Who labels.
    listener : socket
        Of `listening`. The page closes it.
    options : PageOptions
        What was chosen about the page: lines, relearn_every, blind, cutouts, entrance.
    notes : sequence of str
        What the person should know before labelling.

    Attributes
    ----------
    url : str
        Address of the page. The token in it lets people in, so do not pass it on.
    campaign : Campaign
        The campaign; `campaign.ranking` is the newest ranking.
    log : LabelLog
        The labels.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     ranking = rarespec.search(survey, carbon[:4], "matched_filter", top=5)
    ...     with ranking.inspect(person="Ada", block=False, open_browser=False) as page:
    ...         print(page.url.startswith("http://127.0.0.1:"), page.log.path.name)
    True mock.survey.labels.sqlite
    """

    def __init__(
        self,
        campaign: Campaign,
        log: LabelLog,
        person: str,
        listener: socket.socket,
        options: PageOptions = USUAL,
        notes: Sequence[str] = (),
    ) -> None:
        self.campaign, self.log, self.notes = campaign, log, list(notes)
        self._listener, self._secrets, self._entrance = listener, Secrets.new(), options.entrance
        self._port = port = listener.getsockname()[1]
        self._said_at_the_end: LabelHistory | None = None
        self.url = address(port, self._secrets.token, options.entrance)
        app = app_for(campaign, log, person, self._secrets, port, options)
        self._inspection, self._server = app.state.inspection, server_for(app)
        # A notebook runs an event loop in its own thread already. A daemon: a script that ends does not wait for it.
        self._thread = Thread(target=self._server.run, args=([listener],), name="inspector", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def open_in_browser(self) -> None:
        """Open the page in the browser of this machine."""
        open_in_browser(self._port, self._secrets)

    @property
    def labels(self) -> Table:
        """The labels that stand so far, of everyone, the earliest first: id, label, person, at, comment, tags.

        Of a blind page, other people's labels of spectra that this person has not labelled are left out.
        """
        from astropy.table import Table

        said = self._said_at_the_end or self._inspection.visible_history()
        standing = said.standing.values()
        rows = [(one.spectrum, str(one.label), one.person, one.at, one.comment, ",".join(one.tags)) for one in standing]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in LABEL_COLUMNS]
        return Table(columns, names=LABEL_COLUMNS, dtype=[object] * len(LABEL_COLUMNS))

    def wait(self) -> None:
        """Print the address, wait until Ctrl-C, then close the page."""
        with suppress(KeyboardInterrupt):
            print(self, "press Ctrl-C to stop", sep="\n", flush=True)
            while self._thread.is_alive():
                self._thread.join(1.0)  # where a join without a limit does not hear Ctrl-C, one with a limit does
        self.close()

    def close(self) -> None:
        """Finish what was begun and stop serving; all labels are saved, and the port is free again."""
        atexit.unregister(self.close)
        self._server.should_exit = True
        self._thread.join()
        self._inspection.close()
        self._said_at_the_end = self._said_at_the_end or self._inspection.visible_history()
        self.log.close()
        self._listener.close()

    @property
    def is_open(self) -> bool:
        """Whether the page is still served."""
        return self._thread.is_alive()

    def __enter__(self) -> InspectionPage:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return self._described(f"at {self.url}" if self.is_open else "closed")

    def _described(self, where: str) -> str:
        return "\n".join([f"<InspectionPage of {self.campaign.ranking.survey.path.name}, {where}>", *self.notes])

    def _repr_mimebundle_(self, **asked: Any) -> dict[str, str]:
        """In a notebook: the page itself, or its address. Neither has the token in it, as notebooks are saved."""
        if not self.is_open:
            return {"text/plain": repr(self)}
        ticket = self._secrets.ticket()
        if self._entrance is None or not self._entrance.is_framed:
            return {"text/plain": self._described(f"once at {address(self._port, ticket, self._entrance)}")}
        return {"text/plain": self._described("in this notebook"), "text/html": frame(self._entrance, ticket)}


def inspect_ranking(
    ranking: Ranking,
    person: str | None = None,
    *,
    block: bool | None = None,
    open_browser: bool | None = None,
    port: int = 0,
    log: str | os.PathLike[str] | None = None,
    kind: str | None = None,
    shared: bool = False,
    blind: bool = False,
    relearn_every: int = RELEARN_EVERY,
    lines: str | os.PathLike[str] | None = None,
    cutouts: str | None = None,
    allow_host: str | None = None,
    base_url: str | None = None,
) -> InspectionPage | None:
    """Open the inspection page on a ranking, as `rarespec inspect` does; `ranking.inspect()` is the same.

    A campaign starts from the request of the ranking, with the features and the graph that the survey keeps. Labels go
    into the log beside the survey and count from the start when they are there already. `rarespec inspect SURVEY`
    continues the campaign later.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search with known examples.
    person : str, optional
        Who labels. Default: your user name.
    block : bool, optional
        Wait until Ctrl-C. By default, wait unless an event loop runs in this thread, as in a notebook.
    open_browser : bool, optional
        Open the page in the browser of this machine. By default, unless a proxy shows it, as in a notebook.
    port : int
        Port to serve on; 0 picks a free one.
    log : path, optional
        Label log. Default: next to the survey.
    kind : str, optional
        Kind of object, if you keep the labels of several kinds apart.
    shared : bool
        Let your group read and write a new label log.
    blind : bool
        Hide other people's labels of a spectrum until you have labelled it, and learn only from yours.
    relearn_every : int
        Rank again after this many labels; 0: only on request.
    lines : path, optional
        File of your own spectral lines, as for `rarespec inspect --lines`.
    cutouts : str, optional
        Show the sky around each candidate, with pictures of this service: "dss2", "panstarrs", "legacy", or an
        address with {ra} and {dec}. By default, nothing is fetched.
    allow_host : str, optional
        Host of a proxy, such as JupyterHub, under which the page answers too: the one in your browser's address bar.
        Default: RARESPEC_ALLOW_HOST; in a notebook, the Jupyter server that shows it.
    base_url : str, optional
        Path under which the proxy shows the page. Default: proxy/PORT/ below JUPYTERHUB_SERVICE_PREFIX.

    Returns
    -------
    InspectionPage or None
        The page, with `labels`, `url` and `close`; None if it has been waited for.

    Raises
    ------
    UsageError
        If the ranking comes from a model, the port is in use, or labels cannot be saved in that place.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import rarespec
    >>> with TemporaryDirectory() as folder:
    ...     survey = rarespec.Survey.create(f"{folder}/mock.survey")
    ...     report = survey.append(rarespec.MockSky(60, {"carbon": 8}, seed=1))
    ...     carbon = survey.ids[survey.catalogue["class"] == "CARBON"].tolist()
    ...     ranking = rarespec.search(survey, carbon[:4], "matched_filter", top=5)
    ...     page = rarespec.inspect_ranking(ranking, "Ada", block=False, open_browser=False)
    ...     page.close()
    >>> page.is_open
    False
    """
    _refuse_model(ranking)
    who, own, survey = person_named(person), own_lines(lines) if lines is not None else [], ranking.survey
    service = service_named(cutouts) if cutouts is not None else None
    place, kept = find_places(survey, log, kind)
    before = known_before(kept)
    with ExitStack() as opened:  # which closes them where the page does not come to exist
        listener = opened.enter_context(listening(port))
        entrance = find_way_from_notebook(allow_host, base_url, listener.getsockname()[1])
        # The features are there. The cluster that may have computed them may be gone.
        campaign = Campaign.from_request(survey, replace(ranking.request, engine=None))
        labels = opened.enter_context(LabelLog(place, shared=shared))
        notes = keep_start(campaign, kept, blind)
        notes += describe_labels(labels, who, blind, before, campaign.known_ids)
        pictures = Cutouts(service, folder_beside(survey.path)) if service is not None else None
        options = PageOptions(own, relearn_every, blind, pictures, entrance)
        page = InspectionPage(campaign, labels, who, listener, options, notes)
        opened.pop_all()
    if entrance is None if open_browser is None else open_browser:
        page.open_in_browser()
    if not (_is_outside_a_loop() if block is None else block):
        return page
    page.wait()
    return None


def find_places(
    survey: Survey, log: str | os.PathLike[str] | None = None, kind: str | None = None
) -> tuple[Path, Path]:
    """Find where the labels go, and where the start of the campaign is kept.

    Parameters
    ----------
    survey : Survey
        The survey.
    log : path, optional
        The log, if it is not beside the survey.
    kind : str, optional
        Which log beside the survey.

    Returns
    -------
    tuple of Path
        The log and the start.

    Raises
    ------
    UsageError
        If no label can be saved there.
    """
    place = path_of_log(survey.path, log, kind)
    check_place(place)
    return place, start_of_log(place)


def known_before(kept: Path) -> tuple[str, ...]:
    """Ids of the known examples of the campaign that was kept here; none if there was none, or they were files."""
    try:
        return ids_at_the_start(CampaignStart.read(kept))
    except UsageError:
        return ()


def keep_start(campaign: Campaign, place: Path, blind: bool) -> list[str]:
    """Keep what the campaign was started with; or say why it cannot be kept. Labels are safe without it."""
    try:
        campaign.keep(place, blind)
    except (UsageError, OSError) as error:
        return [f"the options could not be saved, so repeat them when you continue: {error}"]
    return []


def describe_labels(
    log: LabelLog, person: str, blind: bool, before: tuple[str, ...] = (), known: Sequence[str] = ()
) -> list[str]:
    """Say who labels and where it is saved, and which labels are there: they may have been about something else.

    Parameters
    ----------
    log : LabelLog
        The labels.
    person : str
        Who labels.
    blind : bool
        Whether the labels of others are hidden.
    before : tuple of str
        Ids of the known examples of the campaign before.
    known : sequence of str
        Ids of those of this campaign.

    Returns
    -------
    list of str
        A line each.
    """
    lines = [f"labelling as {person}; labels are saved in {log.path}"]
    if blind:
        lines.append("blind: other people's labels of a spectrum are hidden until you have labelled it")
    merged = merge_labels(event for _, event in log.events() if not blind or event.person == person)
    counts = Counter(one.label for one in merged.values() if one.label is not None)
    if counts:
        counted = ", ".join(f"{count} {label}" for label, count in counts.items())
        lines.append(f"using the labels already there: {counted}; --kind NAME keeps another kind of object apart")
    if counts and before and set(before).isdisjoint((*known, *merged)):
        lines.append(other_examples(before, log.path.name))
    return lines


def _refuse_model(ranking: Ranking) -> None:
    if ranking.request.model is not None:
        raise UsageError(
            f"{ranking.survey.path}: a model made this ranking, and inspection learns from known examples; inspect a "
            "search with known examples, or run `rarespec inspect SURVEY --known IDS`"
        )


def _is_outside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False
