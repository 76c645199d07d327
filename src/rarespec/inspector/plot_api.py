"""What the drawing of a spectrum asks for, only when somebody wants to see it: overlays, other spectra, a redshift."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rarespec.inspector.answers import PlainJSON, RefusedError
from rarespec.inspector.inspection import Inspection
from rarespec.inspector.overlays import example_payload, template_payload
from rarespec.inspector.request_body import body_of
from rarespec.labels.event import MAX_SPECTRUM
from rarespec.labels.redshifts import HIGHEST, LOWEST

BINARY = "application/octet-stream"


class PlotApi:
    """The answers for one inspection."""

    def __init__(self, inspection: Inspection) -> None:
        self._inspection = inspection

    def overlay(self, request: Request) -> Response:
        asked = request.query_params.multi_items()
        if len(asked) != 1 or asked[0][0] not in ("id", "template"):
            raise RefusedError(400, "give one id or one template")
        kind, name = asked[0]
        content = (
            template_payload(name)
            if kind == "template"
            else example_payload(self._inspection.listing.ranking, self._inspection.cache, name)
        )
        return Response(content, media_type=BINARY)

    def same_object(self, request: Request) -> Response:
        ids = request.query_params.getlist("id")
        if len(ids) != 1:
            raise RefusedError(400, "give one id")
        return PlainJSON(self._inspection.same_object(ids[0]))

    async def set_redshift(self, request: Request) -> Response:
        body = await body_of(request, ("id", "z"))
        id, z = body.text("id", MAX_SPECTRUM), body.number_or_none("z")
        if z is not None and not LOWEST < z < HIGHEST:
            raise RefusedError(400, f"z must be between {LOWEST:g} and {HIGHEST:g}, or null")
        await run_in_threadpool(self._inspection.set_redshift, id, z)
        return PlainJSON({"id": id, "z": z})
