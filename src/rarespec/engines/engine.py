"""What every engine can do: run a function on many items and hand out the results in the order of the items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = TypeVar("Shared")


class Engine(Protocol):
    """Runs functions somewhere. Each call has one thread of BLAS, so results do not depend on where it runs."""

    @property
    def in_this_process(self) -> bool:
        """Whether functions see the very objects that are given, and not copies of them."""

    def map(
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
    ) -> Iterator[Result]:
        """`function(shared, item)` for each item, in the order of the items; a bounded number is under way at a time.

        function : importable by name
        shared : travels once, and is not changed afterwards

        An item that takes one process after the other down is an EngineError.
        """

    def require(self, path: Path) -> None:
        """An EngineError unless every place where work runs sees this path and has this version of rarespec."""
