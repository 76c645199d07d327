"""What became of the files of an ingest: every one is stored, repeated, defective or set aside."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class IngestReport:
    """Counts of one run. A file with several spectra counts as stored when at least one of them was."""

    files: Counter[str] = field(default_factory=Counter)
    """stored, repeated, defective; and set aside: catalogues and files with nothing but sky fibres."""
    spectra: Counter[str] = field(default_factory=Counter)
    """stored, repeated, defective"""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why something is defective -> how often."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Spectra left out on purpose, such as sky fibres -> how many."""
    unmatched: int = 0
    """Spectra that the joined catalogue does not know."""
    not_joined: int = 0
    """Files that were stored before, to which the catalogue was therefore not joined."""
    columns_left_out: int = 0
    """Catalogue columns that the survey did not take, because a file or the survey has too many."""

    @property
    def files_seen(self) -> int:
        return self.files["stored"] + self.files["repeated"] + self.files["defective"]

    def to_json(self) -> dict[str, Any]:
        return {
            "files": {"seen": self.files_seen} | _counts(self.files, "stored", "repeated", "defective", "set aside"),
            "spectra": _counts(self.spectra, "stored", "repeated", "defective"),
            "reasons": dict(self.reasons),
            "skipped": dict(self.skipped),
            "unmatched": self.unmatched,
            "not joined": self.not_joined,
            "columns left out": self.columns_left_out,
        }


def _counts(counter: Counter[str], *names: str) -> dict[str, int]:
    return {name: counter[name] for name in names}
