"""The web application: which address gives what, behind the gate."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rarespec.errors import DifferentEventError, SurveyError
from rarespec.inspector.answers import SECURITY_HEADERS, RefusedError, error_response
from rarespec.inspector.api import Api
from rarespec.inspector.entrance import Entrance
from rarespec.inspector.gate import Gate, Secrets
from rarespec.inspector.inspection import Inspection
from rarespec.inspector.page_options import USUAL, PageOptions
from rarespec.inspector.plot_api import PlotApi

if TYPE_CHECKING:
    from rarespec.labels.campaign import Campaign
    from rarespec.labels.log import LabelLog


# ---- The page, its scripts and its styles: read once, known by name, so that no request can ask for another file.


CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
PAGE = "index.html"


class StaticFile(NamedTuple):
    """A file that the page loads, and its media type."""

    content: bytes
    content_type: str


def static_files() -> dict[str, StaticFile]:
    """Read all files of the kinds above: file name -> content."""
    folder = files("rarespec.inspector").joinpath("static")
    found = {}
    for file in folder.iterdir():
        kind = CONTENT_TYPES.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None and file.is_file():
            found[file.name] = StaticFile(file.read_bytes(), kind)
    return found


logger = logging.getLogger("uvicorn.error")


def app_for(
    campaign: Campaign,
    log: LabelLog,
    person: str,
    secrets: Secrets,
    port: int,
    options: PageOptions = USUAL,
    more_routes: Sequence[Route] = (),
) -> Starlette:
    """Make the application for this port; `app.state.inspection` is what it shows, to be closed at the end.

    Parameters
    ----------
    campaign : Campaign
        Lists candidates and learns.
    log : LabelLog
        Where labels go.
    person : str
        Who labels.
    secrets : Secrets
        What a request must know to be answered.
    port : int
        Of this machine.
    options : PageOptions
        What was chosen about the page.
    more_routes : sequence of Route
        Those that lead back to the start page, where there is one.

    Returns
    -------
    Starlette
        The application.
    """
    inspection = Inspection(campaign, log, person, options)
    api, plot = Api(inspection, secrets, has_start_page=bool(more_routes)), PlotApi(inspection)
    app = gated_app([*page_routes(PAGE), *_api_routes(api, plot), *more_routes], secrets, port, options.entrance)
    app.state.inspection = inspection
    return app


def gated_app(routes: Sequence[Route], secrets: Secrets, port: int, entrance: Entrance | None = None) -> Starlette:
    """Put routes behind the gate.

    Parameters
    ----------
    routes : sequence of Route
        What is answered.
    secrets : Secrets
        What a request must know to be answered.
    port : int
        Of this machine.
    entrance : Entrance, optional
        Another way to the page, through a proxy.

    Returns
    -------
    Starlette
        The application; errors are answered in one sentence.
    """
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Gate, secrets=secrets, port=port, entrance=entrance)],
        exception_handlers={
            RefusedError: _answer_refusal,
            HTTPException: _not_there,
            DifferentEventError: _other_content,
            SurveyError: _answer_error,
            Exception: _answer_failure,
        },
    )
    app.router.redirect_slashes = False
    return app


def _api_routes(api: Api, plot: PlotApi) -> list[Route]:
    shown = {
        "session": api.session,
        "wavelength": api.wavelength,
        "candidates": api.candidates,
        "thumbnails": api.thumbnails,
        "spectrum": api.spectrum,
        "find": api.find,
        "cutout": api.cutout,
        "yield": api.yield_curve,
        "progress": api.progress,
        "disagreements": api.disagreements,
        "export": api.export,
        "overlay": plot.overlay,
        "same-object": plot.same_object,
        "places": api.places,
    }
    changed = {
        "labels": api.label,
        "undo": api.undo,
        "relearn": api.relearn,
        "order": api.order,
        "send": api.send,
        "redshift": plot.set_redshift,
        "place": api.place,
    }
    return [Route(f"/api/{name}", answer, methods=["GET"]) for name, answer in shown.items()] + [
        Route(f"/api/{name}", answer, methods=["POST"]) for name, answer in changed.items()
    ]


def page_routes(page_name: str) -> list[Route]:
    """The page of this name at the root, and all files that pages load."""
    files = static_files()

    def named(name: str) -> Response:
        if name not in files:
            raise RefusedError(404, "no such file")
        return Response(files[name].content, headers={"Content-Type": files[name].content_type})

    def page(request: Request) -> Response:
        return named(page_name)

    def file(request: Request) -> Response:
        return named(request.path_params["name"])

    return [Route("/", page, methods=["GET"]), Route("/static/{name}", file, methods=["GET"])]


def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return error.response()


def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, {404: "no such address"}.get(error.status_code, error.detail))


def _other_content(request: Request, error: Exception) -> Response:
    return error_response(409, str(error))


def _answer_error(request: Request, error: Exception) -> Response:
    """A file that cannot be read or written, or a request that does not fit the survey."""
    logger.error("%s", error)
    return error_response(500, str(error))


def _answer_failure(request: Request, error: Exception) -> Response:
    """The traceback goes to the terminal. This answer is made outside the gate, which has no say in it any more."""
    response = error_response(500, "this is a bug in rarespec; see the details in the terminal of `rarespec inspect`")
    response.headers.update(SECURITY_HEADERS)
    return response
