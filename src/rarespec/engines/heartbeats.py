"""Which workers of a cluster have stopped giving signs of life."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Heartbeats:
    """Notes when the last sign of life of each worker changed, by this machine's clock: others may be set wrong.

    patience : seconds without a sign of life after which a worker counts as stalled
    """

    patience: float
    clock: Callable[[], float] = time.monotonic
    _changed: dict[str, tuple[float, float]] = field(default_factory=dict, init=False)

    def silent(self, last_seen: Mapping[str, float]) -> list[str]:
        """The stalled ones of these workers, of which the scheduler says when it last heard of them."""
        now = self.clock()
        self._changed = {
            worker: self._changed[worker] if self._is_unchanged(worker, seen) else (seen, now)
            for worker, seen in last_seen.items()
        }
        return [worker for worker, (_, since) in self._changed.items() if now - since >= self.patience]

    def _is_unchanged(self, worker: str, seen: float) -> bool:
        return worker in self._changed and self._changed[worker][0] == seen
