"""What each address of the interface answers. Reading runs in threads of the server; nothing blocks the others."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rarespec.inspector.answers import PlainJSON, RefusedError
from rarespec.inspector.gate import Secrets
from rarespec.inspector.inspection import Inspection
from rarespec.inspector.lines import sky_of, species_of
from rarespec.inspector.listing import MOST as MOST_CANDIDATES
from rarespec.inspector.listing import candidates_payload, disagreements_payload, others_payload
from rarespec.inspector.request_body import body_of
from rarespec.inspector.spectrum_payload import POINTS, thumbnails_of, yield_payload
from rarespec.labels.campaign_progress import ORDERS
from rarespec.labels.event import MAX_COMMENT, MAX_SPECTRUM, Label, LabelEvent
from rarespec.storage.text import printable

BINARY = "application/octet-stream"
MOST_THUMBNAILS = 100
LABEL_FIELDS = ("event_id", "id", "label", "comment", "rank", "score", "revision")


class Api:
    """The answers for one inspection."""

    def __init__(self, inspection: Inspection, secrets: Secrets) -> None:
        self._inspection = inspection
        self._secrets = secrets

    def session(self, request: Request) -> Response:
        inspection = self._inspection
        listing, known = inspection.listing, inspection.campaign.known_ids
        told = {
            "survey": printable(inspection.survey.path.name),
            "person": inspection.person,
            "xsrf": self._secrets.xsrf,
            "method": listing.ranking.method,
            "why": listing.ranking.why,
            "revision": listing.revision,
            "order": listing.order,
            "n_listed": listing.ranking.n_listed,
            "n_known": len(known),
            "known": known,
            "rest_frame": inspection.survey.manifest.rest_frame,
            "problems": listing.ranking.problems,
            "examples_lost": listing.ranking.examples_lost,
            "blind": inspection.blind,
            "relearn_every": inspection.relearn_every,
            "species": species_of(inspection.lines),
            "sky": sky_of(inspection.survey),
        }
        return PlainJSON(told)

    def wavelength(self, request: Request) -> Response:
        return Response(self._inspection.survey.grid.wavelength.astype("<f8").tobytes(), media_type=BINARY)

    def candidates(self, request: Request) -> Response:
        inspection = self._inspection
        start, n = _whole(request, "start", 0, 0), _whole(request, "n", 100, 1)
        if n > MOST_CANDIDATES:
            raise RefusedError(400, f"n: at most {MOST_CANDIDATES} candidates at a time")
        return PlainJSON(
            candidates_payload(inspection.listing, inspection.visible_history(), inspection.person, start, n)
        )

    def thumbnails(self, request: Request) -> Response:
        ids = request.query_params.getlist("id")
        if not 1 <= len(ids) <= MOST_THUMBNAILS:
            raise RefusedError(400, f"give 1 to {MOST_THUMBNAILS} ids")
        content = thumbnails_of(self._inspection.spectra(ids)).tobytes()
        return Response(content, media_type=BINARY, headers={"X-Points": str(POINTS)})

    def spectrum(self, request: Request) -> Response:
        ids = request.query_params.getlist("id")
        if len(ids) != 1:
            raise RefusedError(400, "give one id")
        return Response(self._inspection.payload(ids[0]), media_type=BINARY)

    def yield_curve(self, request: Request) -> Response:
        return PlainJSON(yield_payload(self._inspection.listing.ranking.yield_curve))

    def progress(self, request: Request) -> Response:
        return PlainJSON(asdict(self._inspection.progress()))

    def disagreements(self, request: Request) -> Response:
        return PlainJSON(disagreements_payload(self._inspection.visible_history()))

    def places(self, request: Request) -> Response:
        return PlainJSON([{"person": one.person, "id": one.spectrum} for one in self._inspection.places()])

    async def place(self, request: Request) -> Response:
        id = (await body_of(request, ("id",))).text("id", MAX_SPECTRUM)
        await run_in_threadpool(self._inspection.tell_place, id)
        return PlainJSON({"id": id})

    async def label(self, request: Request) -> Response:
        body = await body_of(request, LABEL_FIELDS)
        event = LabelEvent(
            event_id=body.event_id("event_id"),
            spectrum=body.text("id", MAX_SPECTRUM),
            label=Label(body.one_of("label", tuple(Label))),
            person=self._inspection.person,
            rank=body.whole_or_none("rank", 1),
            score=body.number_or_none("score"),
            revision=body.whole_or_none("revision", 0),
            comment=body.text("comment", MAX_COMMENT, otherwise=""),
        )
        stored = await run_in_threadpool(self._inspection.label, event)
        return await run_in_threadpool(self._store, stored)

    async def undo(self, request: Request) -> Response:
        body = await body_of(request, ("event_id", "undoes"))
        ids = body.event_id("event_id"), body.event_id_or_none("undoes")
        stored = await run_in_threadpool(self._inspection.undo, *ids)
        return await run_in_threadpool(self._store, stored)

    def _store(self, event: LabelEvent) -> Response:
        """Answer with the event and what others say, which may be visible only now, or no longer."""
        others = others_payload(
            self._inspection.visible_history(event.spectrum), self._inspection.person, event.spectrum
        )
        return PlainJSON({"event": asdict(event), "id": event.spectrum, **others})

    async def relearn(self, request: Request) -> Response:
        await body_of(request, ())
        change: Any = await asyncio.wrap_future(self._inspection.relearn())
        return PlainJSON(
            {
                "revision": change.revision,
                "seconds": change.seconds,
                "n_yes": change.n_yes,
                "n_no": change.n_no,
                "moved": change.moved,
                "problems": self._inspection.listing.ranking.problems,
            }
        )

    async def order(self, request: Request) -> Response:
        order = (await body_of(request, ("order",))).one_of("order", ORDERS)
        await run_in_threadpool(self._inspection.set_order, order)
        return PlainJSON({"order": order})


def _whole(request: Request, name: str, otherwise: int, least: int) -> int:
    """Read a whole number from the parameters of the address."""
    given = request.query_params.getlist(name) or [str(otherwise)]
    if len(given) > 1 or not (given[0].isascii() and given[0].isdigit() and len(given[0]) < 10):
        raise RefusedError(400, f"{name} must be a whole number")
    if int(given[0]) < least:
        raise RefusedError(400, f"{name} must be at least {least}")
    return int(given[0])
