"""Processes of this machine: for work that may take its process down, such as reading damaged files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rarespec.engines.engine import EngineError, Item, Result, Shared
from rarespec.processes import Died, available_cores, map_in_order


class LocalProcesses:
    """jobs : processes; one per core by default"""

    in_this_process = False

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or available_cores()

    def map(
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
        if_died: Callable[[Item, str], Result] | None = None,
    ) -> Iterator[Result]:
        """As `Engine.map`; an item that takes its process down is not repeated."""
        for item, result in map_in_order(function, shared, items, self.jobs):
            if not isinstance(result, Died):
                yield result
            elif if_died:
                yield if_died(item, f"exit status {result.status}")
            else:
                raise EngineError(f"{item!r} took its process down (exit status {result.status})")

    def require(self, path: Path) -> None:
        """Nothing to ask: the processes see what the caller sees."""
