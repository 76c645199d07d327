"""What each address of the interface answers. Reading runs in threads of the server; nothing blocks the others."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rarespec.inspector.answers import PlainJSON, RefusedError
from rarespec.inspector.cutouts import Cutouts
from rarespec.inspector.gate import Secrets
from rarespec.inspector.inspection import Inspection
from rarespec.inspector.label_export import FILE_TYPES, file_name, label_file, send_labels, wanted_labels
from rarespec.inspector.lines import presets, sky_of, species_of
from rarespec.inspector.listing import MOST as MOST_CANDIDATES
from rarespec.inspector.listing import candidates_payload, column_units, disagreements_payload, others_payload
from rarespec.inspector.overlays import TEMPLATES
from rarespec.inspector.request_body import body_of
from rarespec.inspector.spectrum_payload import POINTS, yield_payload
from rarespec.labels.campaign_progress import ORDERS
from rarespec.labels.event import MAX_COMMENT, MAX_SPECTRUM, Label, LabelEvent
from rarespec.storage.text import printable

BINARY = "application/octet-stream"
MOST_THUMBNAILS = 100
CUTOUT_SECONDS = 25.0
"""After which the page is told that a picture is slow; it may still come and be kept."""
LABEL_FIELDS = ("event_id", "id", "label", "comment", "tags", "rank", "score", "chance", "revision")


class Api:
    """The answers for one inspection."""

    def __init__(self, inspection: Inspection, secrets: Secrets, has_start_page: bool = False) -> None:
        self._inspection = inspection
        self._secrets = secrets
        self._has_start_page = has_start_page

    def session(self, request: Request) -> Response:
        inspection = self._inspection
        listing, known = inspection.listing, inspection.campaign.known_ids
        told = {
            "survey": printable(inspection.survey.path.name),
            "person": inspection.person,
            "xsrf": self._secrets.xsrf,
            "home": sha256(os.fsencode(inspection.log_path.resolve())).hexdigest(),
            "start_page": self._has_start_page,
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
            "relearn_due": inspection.is_learning_due,
            "log": printable(inspection.log_path.name),
            "kind": inspection.kind,
            "tags": inspection.visible_history().tags,
            "species": species_of(inspection.lines),
            "sky": sky_of(inspection.survey),
            "units": column_units(listing.ranking),
            "cutouts": _cutouts_payload(inspection.cutouts),
            "telling_species": inspection.telling_lines().species(),
            "presets": presets(),
            "templates": TEMPLATES,
            "redshifts": inspection.redshifts.of(inspection.person),
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
        content = self._inspection.thumbnails(ids).tobytes()
        return Response(content, media_type=BINARY, headers={"X-Points": str(POINTS)})

    def spectrum(self, request: Request) -> Response:
        return Response(self._inspection.payload(_one_id(request)), media_type=BINARY)

    def find(self, request: Request) -> Response:
        """Say where a spectrum is that the list does not have."""
        inspection, id = self._inspection, _one_id(request)
        return PlainJSON({"in_survey": id in inspection.survey, "known": id in inspection.campaign.known_ids})

    async def cutout(self, request: Request) -> Response:
        """Answer with a picture, or with why there is none; no thread of the server waits for it."""
        cutouts, id = self._inspection.cutouts, _one_id(request)
        if cutouts is None:
            return PlainJSON({"why": "Pictures of the sky are off; start with --cutouts to see them."})
        place = await run_in_threadpool(self._inspection.position, id)
        if place is None:
            return PlainJSON({"why": "The position of this object is not known."})
        asked = await run_in_threadpool(cutouts.picture, *place)
        with suppress(TimeoutError):
            found = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(asked)), CUTOUT_SECONDS)
            return (
                Response(found.content, media_type=found.media_type) if found.content else PlainJSON({"why": found.why})
            )
        return PlainJSON({"why": f"{cutouts.service.host} is slow."})

    def yield_curve(self, request: Request) -> Response:
        return PlainJSON(yield_payload(self._inspection.listing.ranking.yield_curve))

    def progress(self, request: Request) -> Response:
        return PlainJSON(asdict(self._inspection.progress()))

    def disagreements(self, request: Request) -> Response:
        return PlainJSON(disagreements_payload(self._inspection.visible_history()))

    def export(self, request: Request) -> Response:
        """Give the labels as a file; nothing is changed."""
        asked = request.query_params
        if unknown := set(asked) - {"format", "only", "tag"}:
            raise RefusedError(400, f"unknown parameter {min(unknown)[:40]!a}")
        if any(len(asked.getlist(name)) > 1 for name in asked):
            raise RefusedError(400, "give each parameter once")
        inspection, form = self._inspection, asked.get("format", "csv")
        wanted = wanted_labels(asked.get("only"), asked.get("tag"))
        file = label_file(inspection.visible_history().events, inspection.survey, form, wanted)
        name = file_name(inspection.log_path, form, wanted)
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(file, media_type=FILE_TYPES[form], headers=headers)

    async def send(self, request: Request) -> Response:
        """Send the labels to the programs on the SAMP hub of this machine."""
        body = await body_of(request, ("only", "tag"))
        only, tag = (body.text(name, 100, otherwise="") or None for name in ("only", "tag"))
        inspection, wanted = self._inspection, wanted_labels(only, tag)
        programs = await run_in_threadpool(
            send_labels, inspection.visible_history().events, inspection.survey, inspection.log_path.name, wanted
        )
        return PlainJSON(programs)

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
            tags=body.tags("tags"),
            chance=body.share_or_none("chance"),
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
        due = {"relearn_due": self._inspection.is_learning_due}
        return PlainJSON({"event": asdict(event), "id": event.spectrum, **others, **due})

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
                "relearn_due": self._inspection.is_learning_due,
            }
        )

    async def order(self, request: Request) -> Response:
        order = (await body_of(request, ("order",))).one_of("order", ORDERS)
        await run_in_threadpool(self._inspection.set_order, order)
        return PlainJSON({"order": order})


def _cutouts_payload(cutouts: Cutouts | None) -> dict[str, Any] | None:
    if cutouts is None:
        return None
    return {"credit": printable(cutouts.service.credit), "size": cutouts.service.size}


def _one_id(request: Request) -> str:
    ids = request.query_params.getlist("id")
    if len(ids) != 1:
        raise RefusedError(400, "give one id")
    return ids[0]


def _whole(request: Request, name: str, otherwise: int, least: int) -> int:
    """Read a whole number from the parameters of the address."""
    given = request.query_params.getlist(name) or [str(otherwise)]
    if len(given) > 1 or not (given[0].isascii() and given[0].isdigit() and len(given[0]) < 10):
        raise RefusedError(400, f"{name} must be a whole number")
    if int(given[0]) < least:
        raise RefusedError(400, f"{name} must be at least {least}")
    return int(given[0])
