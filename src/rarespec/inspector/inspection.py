"""What one person does at the inspector: looks, labels, takes back, lets the ranking learn."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarespec.errors import UsageError
from rarespec.inspector.answers import RefusedError
from rarespec.inspector.known_thumbnails import known_thumbnails
from rarespec.inspector.listing import Facts, LabelHistory, LabelsSoFar, Listing, listing_of
from rarespec.inspector.page_options import USUAL, PageOptions
from rarespec.inspector.same_object import SameObject
from rarespec.inspector.spectrum_payload import Recent, SpectrumCache, spectrum_payload, thumbnails_of
from rarespec.inspector.whereabouts import Place, Whereabouts
from rarespec.labels.campaign import Campaign
from rarespec.labels.campaign_progress import CampaignProgress, Change
from rarespec.labels.event import Label, LabelEvent
from rarespec.labels.kinds import kind_of_log
from rarespec.labels.log import LabelLog
from rarespec.labels.redshifts import RedshiftLog, redshifts_beside
from rarespec.searching.crossmatch import is_position
from rarespec.searching.explain.portrait import TellingLines
from rarespec.spectrum import Spectrum

logger = logging.getLogger("uvicorn.error")

TEACHING = frozenset({Label.YES, Label.NO, Label.BAD})
"""Labels that a ranking learns from, or that change the list."""
GROUP_WRITES = 0o020
"""In the mode of a file: its group may write."""
KEPT_PAYLOADS = 64
"""Spectra as they were sent, 70 kB each."""


class Inspection:
    """A campaign, its log and a person. All methods may be called from any thread."""

    def __init__(
        self,
        campaign: Campaign,
        log: LabelLog,
        person: str,
        options: PageOptions = USUAL,
    ) -> None:
        self.campaign, self.person = campaign, person
        self.lines, self.relearn_every = options.lines, options.relearn_every
        self.blind, self.cutouts = options.blind, options.cutouts
        self.survey = campaign.ranking.survey
        self.whereabouts = None if self.blind else Whereabouts(log.path, person)
        self._log, self._so_far = log, LabelsSoFar(log)
        self.redshifts = RedshiftLog(redshifts_beside(log.path), bool(log.path.stat().st_mode & GROUP_WRITES))
        self.cache = SpectrumCache(self.survey)
        self._telling: Recent[int, TellingLines] = Recent(2)
        self._payloads: Recent[tuple[Any, ...], bytes] = Recent(KEPT_PAYLOADS)
        self._learner = ThreadPoolExecutor(1, "relearn")  # one thread: one learning at a time, in the order asked for
        self._reader = ThreadPoolExecutor(1, "read-ahead")
        self._undoing, self._showing, self._counting = Lock(), Lock(), Lock()
        self._n_taught = 0
        self._learned = self._recall_labels()
        self._listing = self._make_listing("likely", {}, {})
        self.read_ahead = self._reader.submit(self._read_ahead)
        """Done when the spectra of the list are at hand."""
        self._same_object = self._reader.submit(SameObject, self.survey)

    def history(self) -> LabelHistory:
        return self._so_far.now()

    def visible_history(self, spectrum: str | None = None) -> LabelHistory:
        """Return what this person may see, of all spectra or of one, which is quick however many labels there are."""
        said = self.history() if spectrum is None else self.history().about(spectrum)
        return said.seen_blind_by(self.person) if self.blind else said

    def labels(self) -> dict[str, Label]:
        """Return the labels to learn from and to count: everyone's by majority or, if blind, only this person's."""
        return self.history().of(self.person).labels if self.blind else self.history().labels

    @property
    def listing(self) -> Listing:
        return self._listing

    def close(self) -> None:
        """Wait for the learning that is under way; start no more."""
        if self.cutouts is not None:
            self.cutouts.close()
        for worker in (self._learner, self._reader):
            worker.shutdown(cancel_futures=True)
        self.redshifts.close()
        if self.whereabouts is not None:
            self.whereabouts.close()

    @property
    def log_path(self) -> Path:
        return self._log.path

    @property
    def kind(self) -> str | None:
        """What is looked for, where the labels of several kinds are kept apart."""
        return kind_of_log(self.survey.path, self._log.path)

    @property
    def is_learning_due(self) -> bool:
        """Whether enough labels and undos came since the last learning, from all pages of this inspection together."""
        return 0 < self.relearn_every <= self._n_taught

    def tell_place(self, id: str) -> None:
        """Tell the others that this person looks at this spectrum."""
        self._require([id])
        if self.whereabouts is not None:
            self.whereabouts.tell(id)

    def places(self) -> list[Place]:
        """List where the others are; nothing if blind, as who lingers where says something too."""
        return [] if self.whereabouts is None else self.whereabouts.others()

    def label(self, event: LabelEvent) -> LabelEvent:
        """Store a label; when this returns, it is on the disk."""
        self._require([event.spectrum])
        with self._counting:
            before = self._own_label(event.spectrum)
            stored = self._log.append(event)
            self._count(before, event.spectrum)
        return stored

    def _own_label(self, spectrum: str) -> Label | None:
        own = self.history().about(spectrum).standing.get((spectrum, self.person))
        return own.label if own else None

    def _count(self, before: Label | None, spectrum: str) -> None:
        """Count what teaches: not a comment or a tag, and not an event that came twice."""
        now = self._own_label(spectrum)
        self._n_taught += now != before and bool(TEACHING & {now, before})

    def undo(self, event_id: str, undoes: str | None) -> LabelEvent:
        """Take back a label of this person: the one of this id, or the last one. Asked again, it answers the same."""
        with self._undoing:
            said = self.history()
            done = said.event(event_id)
            if done is not None and _is_undo(done, self.person, undoes):
                return done
            target = said.last_of(self.person) if undoes is None else said.left_of(self.person, undoes)
            if target is None:
                raise RefusedError(404, "you have no label left to undo")
            with self._counting:
                before = self._own_label(target.spectrum)
                stored = self._log.append(LabelEvent(event_id, target.spectrum, None, target.event_id, self.person))
                self._count(before, target.spectrum)
            return stored

    def set_order(self, order: str | None = None) -> None:
        """Show the newest revision in this order; by default in the present one."""
        with self._showing:
            now = self._listing
            self._listing = self._make_listing(order or now.order, now.facts, now.moved)

    def relearn(self) -> Future[Change]:
        """Learn from all labels that stand, after learning already under way; other requests go on meanwhile."""
        return self._learner.submit(self._relearn)

    def _relearn(self) -> Change:
        with self._counting:
            self._n_taught = 0
        labels = self.labels()
        if labels == self._learned[0]:
            return self._learned[1]  # asked again
        try:
            change = self.campaign.relearn(labels)
        except UsageError as error:
            raise RefusedError(409, str(error)) from None
        self._learned = labels, change
        with self._showing:
            moved = {id: old for id, (old, _) in change.moved.items()}
            self._listing = self._make_listing(self._listing.order, self._listing.facts, moved)
        self.read_ahead = self._reader.submit(self._read_ahead)
        return change

    def _recall_labels(self) -> tuple[dict[str, Label], Change]:
        """Recall labels of earlier sessions. Nothing counts as moved: nobody has seen the list before."""
        labels = self.labels()
        change = self.campaign.recall(labels) if labels else Change(self.campaign.revision, {}, 0, 0, 0.0)
        return labels, replace(change, moved={})

    def _make_listing(self, order: str, facts_before: Mapping[str, Facts], moved: Mapping[str, int | None]) -> Listing:
        return listing_of(self.campaign, order, self.visible_history().standing, facts_before, moved)

    def _read_ahead(self) -> None:
        """Read what the page will ask for: spectra, the template, flags of candidates that are new to the list."""
        try:
            _ = self._listing.ranking.template  # it is kept with the ranking
            self.cache.fill(self._listing.ids)
            self.campaign.examine()
            self.set_order()  # with the flags
        except Exception:  # a request for it gets the error; this thread has to live on
            logger.exception("reading ahead failed")

    def spectra(self, ids: Sequence[str]) -> list[Spectrum]:
        self._require(ids)
        return self.cache.fetch(ids)

    def thumbnails(self, ids: Sequence[str]) -> NDArray[np.float32]:
        """(2 n, 160): these spectra, then the known example that each of them resembles most."""
        listing, rows = self._listing, thumbnails_of(self.spectra(ids))
        nearest = [str(listing.facts.get(id, {}).get("nearest_known") or "") for id in ids]
        return np.vstack([rows, known_thumbnails(listing.ranking, self.cache, rows, nearest)])

    def position(self, id: str) -> tuple[float, float] | None:
        """Right ascension and declination of a spectrum, degrees; None where they are not known."""
        facts = self._listing.facts.get(id) or self.spectra([id])[0].catalogue
        ra, dec = facts.get("ra"), facts.get("dec")
        if ra is None or dec is None or not is_position(np.array(ra, float), np.array(dec, float)):
            return None
        return float(ra), float(dec)

    def payload(self, id: str) -> bytes:
        listing = self._listing
        facts = listing.facts.get(id, {})
        key = listing.revision, id, facts.get("flags")  # which may come later than the revision
        return self._payloads.or_made(key, lambda: self._make_payload(listing, id, facts))

    def _make_payload(self, listing: Listing, id: str, facts: Facts) -> bytes:
        return spectrum_payload(listing.ranking, self.cache, self.spectra([id])[0], facts, self.telling_lines(listing))

    def telling_lines(self, listing: Listing | None = None) -> TellingLines:
        """Return the lines that known examples show, by the ranking of this list or of the newest."""
        listing = listing or self._listing
        return self._telling.or_made(listing.revision, lambda: TellingLines(listing.ranking))

    def same_object(self, id: str) -> dict[str, Any]:
        """Describe other spectra of the same object; the first to ask may wait until the positions are read."""
        self._require([id])
        return self._same_object.result().others(int(self.survey.rows_of([id])[0]))

    def set_redshift(self, id: str, z: float | None) -> None:
        """Store the redshift that this person sets; when this returns, it is on the disk."""
        self._require([id])
        self.redshifts.set(id, z, self.person)

    def progress(self) -> CampaignProgress:
        return self.campaign.progress(self.labels())

    def _require(self, ids: Sequence[str]) -> None:
        unlisted = [id for id in ids if id not in self._listing.facts]
        rows = self.survey.rows_of(unlisted) if unlisted else ()
        for id, row in zip(unlisted, rows, strict=True):
            if row < 0:
                raise RefusedError(404, f"{self.survey.path.name}: no spectrum has the id {id!r}")


def _is_undo(event: LabelEvent, person: str, undoes: str | None) -> bool:
    """Say whether this event is the undo that was asked for; which label it takes back need not be given."""
    return event.undoes is not None and event.person == person and undoes in (None, event.undoes)
