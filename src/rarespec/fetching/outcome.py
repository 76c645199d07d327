"""What became of the files and of the objects that were asked for: every one is fetched, already there, or failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rarespec.survey.report import IngestReport


class Cause(StrEnum):
    """Why something failed, as far as it changes what is done about it."""

    FAULT = "fault"
    ABSENT = "absent"
    """The archive does not have it."""
    NO_ID = "no id"
    """The id is not of the form that this archive uses."""


class Outcome(StrEnum):
    """In the words printed to the user."""

    FETCHED = "fetched"
    ALREADY_THERE = "already there"
    FAILED = "failed"


WORST_FIRST = (Outcome.FAILED, Outcome.FETCHED, Outcome.ALREADY_THERE)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one file, or of an id for which no file could even be named (`name` is empty).

    digest   : "sha1:..." of what was fetched
    verified : whether the archive publishes that digest
    cause    : of a failure
    """

    asked: tuple[str, ...]
    outcome: Outcome
    name: str = ""
    address: str = ""
    reason: str = ""
    n_bytes: int = 0
    digest: str = ""
    verified: bool = False
    cause: Cause = Cause.FAULT

    def to_json(self) -> dict[str, Any]:
        return {"ids": list(self.asked), "outcome": str(self.outcome), "file": self.name, "address": self.address,
                "reason": self.reason, "bytes": self.n_bytes, "digest": self.digest,
                "checksum verified": self.verified}  # fmt: skip


def failed(asked: Iterable[str], reason: str, name: str = "", address: str = "", cause: Cause = Cause.FAULT) -> Result:
    return Result(tuple(asked), Outcome.FAILED, name, address, reason, cause=cause)


@dataclass
class FetchReport:
    """The account of one fetch.

    folder : where the files are
    ingest : what became of them in the survey, when they were stored in one
    """

    folder: Path
    results: list[Result] = field(default_factory=list)
    ingest: IngestReport | None = None

    @property
    def objects(self) -> dict[str, Outcome]:
        """Id -> outcome. Where an object needs several files, the worst counts."""
        outcomes: dict[str, Outcome] = {}
        for result in self.results:
            for id in result.asked:
                outcomes[id] = min(outcomes.get(id, result.outcome), result.outcome, key=WORST_FIRST.index)
        return outcomes

    @property
    def counts(self) -> Counter[str]:
        return Counter(map(str, self.objects.values()))

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.outcome == Outcome.FAILED]

    @property
    def files(self) -> list[Path]:
        """The files that are there now, in the order in which they were asked for."""
        there = (result for result in self.results if result.outcome != Outcome.FAILED and result.name)
        return [self.folder / result.name for result in there]

    @property
    def n_bytes(self) -> int:
        """Bytes of the files that were fetched this time."""
        return sum(result.n_bytes for result in self.results if result.outcome == Outcome.FETCHED)

    def to_json(self) -> dict[str, Any]:
        counts = {str(outcome): self.counts[outcome] for outcome in Outcome}
        return {
            "folder": str(self.folder),
            "objects": {"asked": len(self.objects)} | counts,
            "bytes fetched": self.n_bytes,
            "files": [result.to_json() for result in self.results],
            "ingest": self.ingest.to_json() if self.ingest else None,
        }
