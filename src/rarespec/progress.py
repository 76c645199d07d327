"""How long work tells the outside how far it is: one shape for all rooms."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A function that long work calls with how much is done and how much there is in all.

    Ingesting and fetching also pass a note, such as "3 failed". A function of two arguments is enough for all others.

    Examples
    --------
    >>> def show(done: int, total: int, note: str = "") -> None:
    ...     print(f"{done} of {total} {note}".strip())
    >>> show(2, 10, "1 defective")
    2 of 10 1 defective
    """

    def __call__(self, done: int, total: int, note: str = "", /) -> None: ...
