"""The start page: all surveys of a folder to choose from, then the inspection of the chosen one at the same address."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rarespec.errors import RarespecError
from rarespec.inspector.answers import SECURITY_HEADERS, PlainJSON, RefusedError
from rarespec.inspector.app import app_for, gated_app, page_routes
from rarespec.inspector.chosen_campaign import Choice, ids_in, open_chosen
from rarespec.inspector.entrance import Entrance
from rarespec.inspector.gate import Secrets
from rarespec.inspector.page_options import PageOptions
from rarespec.inspector.request_body import Body, body_of
from rarespec.inspector.server import run_until_stopped
from rarespec.inspector.surveys_below import FoundCampaign, FoundSurvey, SurveysBelow, find_surveys
from rarespec.labels.kinds import MAX_KIND
from rarespec.storage.text import end_sentence, printable

PAGE = "start_page.html"
MOST_KNOWN = 20_000
"""Characters of the ids that a search is started with."""
BUG = "This is a bug in rarespec; see the details in the terminal of Jupyter."

logger = logging.getLogger("uvicorn.error")


def _nothing_to_close() -> None:
    pass


@dataclass
class Shown:
    """An application while it is shown; it is closed when it is no longer, and its last request is answered."""

    app: ASGIApp
    close: Callable[[], None] = _nothing_to_close
    n_running: int = 0


class StartPage:
    """An application that shows the list of surveys, and in its place the inspection of the one that is chosen.

    Each inspection has a second secret of its own, so that a page that was left open cannot label in another survey.

    Parameters
    ----------
    folder : Path
        Surveys are looked for here and below.
    person : str
        Who labels.
    token : str
        Opens the page, and is then the cookie.
    port : int
        Of this machine.
    entrance : Entrance, optional
        Another way to the page, through a proxy.
    """

    def __init__(self, folder: Path, person: str, token: str, port: int, entrance: Entrance | None = None) -> None:
        self.folder, self.person, self._token, self._port, self._entrance = folder, person, token, port, entrance
        self._lock = Lock()
        self._list, self._found = 0, SurveysBelow()
        self._doing, self._error = "", ""
        self.secrets = Secrets(token, Secrets.new().xsrf)
        routes = [
            *page_routes(PAGE),
            Route("/api/start", self.tell, methods=["GET"]),
            Route("/api/look", self.look, methods=["POST"]),
            Route("/api/choose", self.choose, methods=["POST"]),
        ]
        self.start = Shown(gated_app(routes, self.secrets, port, entrance))
        self.shown = self.start

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        shown = self.shown
        shown.n_running += 1
        try:
            await shown.app(scope, receive, send)
        finally:
            shown.n_running -= 1
            if shown is not self.shown and not shown.n_running:
                await run_in_threadpool(shown.close)

    def close(self) -> None:
        """Close the inspection that is shown."""
        self.shown.close()

    # -- what the page asks --

    def tell(self, request: Request) -> Response:
        return PlainJSON(self._state())

    async def look(self, request: Request) -> Response:
        """Look for surveys again."""
        await body_of(request, ())
        await run_in_threadpool(self._look)
        self._error = ""
        return PlainJSON(self._state())

    async def choose(self, request: Request) -> Response:
        """Begin to open a survey, which the page names by its place in the list; `tell` says how far it is."""
        choice, name = self._choice(await body_of(request, ("list", "survey", "campaign", "known", "kind")))
        with self._lock:
            if self._doing or self.shown is not self.start:
                raise RefusedError(409, "a survey is being opened already; wait until it is, then load the page again")
            self._doing, self._error = f"{name}: …", ""
        # A daemon: whoever stops Jupyter does not wait for a ranking.
        Thread(target=self._open, args=(choice, name), name="opening", daemon=True).start()
        return PlainJSON(self._state())

    def tell_open(self, request: Request) -> Response:
        return PlainJSON({"open": True})

    async def leave(self, request: Request) -> Response:
        """Return to the list. Labels are on the disk; the log is closed when the last request is answered."""
        await body_of(request, ())
        self.shown = self.start
        return PlainJSON({"open": False})

    # -- what is behind it --

    def _state(self) -> dict[str, Any]:
        return {
            "open": self.shown is not self.start,
            "xsrf": self.secrets.xsrf,
            "person": self.person,
            "folder": printable(str(self.folder)),
            "list": self._list,
            "surveys": [_survey_payload(one) for one in self._found.surveys],
            "note": self._found.note,
            "doing": self._doing,
            "error": self._error,
        }

    def _look(self) -> None:
        found = find_surveys(self.folder)
        with self._lock:
            if found != self._found:  # or what another tab shows would be out of date for nothing
                self._list, self._found = self._list + 1, found

    def _choice(self, body: Body) -> tuple[Choice, str]:
        with self._lock:
            number, found = self._list, self._found
        if body.whole_or_none("list", 0) != number:
            raise RefusedError(409, "the list of surveys has changed; look again and choose")
        survey: FoundSurvey = _at(found.surveys, body.whole_or_none("survey", 0), "survey")
        name, place = printable(survey.name), body.whole_or_none("campaign", 0)
        if place is not None:
            campaign: FoundCampaign = _at(survey.campaigns, place, "campaign")
            return Choice(survey.path, campaign.kind), name
        known = ids_in(body.text("known", MOST_KNOWN, otherwise=""))
        if not known:
            raise RefusedError(400, "give at least one known id, for example 0355-51788-0579")
        return Choice(survey.path, body.text("kind", MAX_KIND, otherwise="").strip() or None, known), name

    def _open(self, choice: Choice, name: str) -> None:
        def tell(words: str) -> None:
            if self._doing:  # the campaign tells how far it is later too, when it reads more
                self._doing = f"{name}: {words}"

        try:
            self.shown = self._opened(choice, tell)
        except (RarespecError, OSError) as error:
            self._error = end_sentence(printable(str(error)))
        except Exception:
            logger.exception("%s cannot be opened", name)
            self._error = BUG
        self._doing = ""

    def _opened(self, choice: Choice, tell: Callable[[str], None]) -> Shown:
        campaign, log, blind = open_chosen(choice, tell)
        back = [
            Route("/api/start", self.tell_open, methods=["GET"]),
            Route("/api/leave", self.leave, methods=["POST"]),
        ]
        secrets = Secrets(self._token, Secrets.new().xsrf)
        try:
            options = PageOptions(blind=blind, entrance=self._entrance)
            app = app_for(campaign, log, self.person, secrets, self._port, options, more_routes=back)
        except BaseException:
            log.close()
            raise

        def close() -> None:
            app.state.inspection.close()
            log.close()

        return Shown(app, close)


def _at(several: tuple[Any, ...], place: int | None, what: str) -> Any:
    if place is None or place >= len(several):
        raise RefusedError(404, f"{what}: no such place in the list; look again and choose")
    return several[place]


def _survey_payload(found: FoundSurvey) -> dict[str, Any]:
    return {
        "name": printable(found.name),
        "n_spectra": found.n_spectra,
        "problem": end_sentence(printable(found.problem)) if found.problem else "",
        "campaigns": [
            {"kind": one.kind, "n_labels": one.n_labels, "can_continue": one.can_continue} for one in found.campaigns
        ],
    }


def serve_start_page(page: StartPage, listener: socket.socket) -> None:
    """Serve until stopped; then finish what was begun."""
    try:
        run_until_stopped(page, listener)
    finally:
        page.close()


def serve_sentence(why: str, listener: socket.socket) -> None:
    """Answer everything with why there is no page: who clicked the tile sees it at once, and waits for nothing."""
    run_until_stopped(sentence_app(why), listener)


def sentence_app(why: str) -> ASGIApp:
    headers = {**SECURITY_HEADERS, "Content-Type": "text/plain; charset=utf-8"}
    return Response(end_sentence(printable(why)), 503, headers)
