"""What every engine can do: run a function on many items and hand out the results in the order of the items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = TypeVar("Shared")


class Engine(Protocol):
    """Runs functions somewhere, each call with one thread of BLAS, so that results do not depend on where it runs.

    Examples
    --------
    >>> from rarespec.engines import Engine, Here
    >>> def total(engine: Engine, numbers: list[float]) -> float:
    ...     return sum(engine.map(pow, 2, numbers))
    >>> total(Here(), [1, 2, 3])
    14
    """

    @property
    def in_this_process(self) -> bool:
        """Whether functions see the very objects that are given, and not copies of them."""

    def map(
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
    ) -> Iterator[Result]:
        """Yield `function(shared, item)` for each item, in the order of the items.

        A bounded number of items is under way at a time.

        Parameters
        ----------
        function : callable
            Importable by name.
        shared : object
            Travels once, and is not changed afterwards.
        items : iterable
            The items.

        Yields
        ------
        object
            One result for each item.

        Raises
        ------
        EngineError
            If an item takes one process after the other down.
        """

    def require(self, path: Path) -> None:
        """Check that every place where work runs sees this path and has this version of rarespec.

        Parameters
        ----------
        path : Path
            A file or folder that the work needs.

        Raises
        ------
        EngineError
            If one does not.
        """
