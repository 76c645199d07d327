"""Rows that threads write into memory from which a GPU copies: many blocks are one piece of work for it.

As `pinned_stream`, for blocks that several threads unpack. None is copied once more on the way by the thread that gives
the GPU its work, and that thread gives it few large pieces of work instead of many small ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarespec.gpu.pinned_stream import Arrays, Work, to_host

Tensor = Any
Fill = Callable[[Any, NDArray[Any]], object]
"""Writes the rows of a source into an array; called in several threads."""

AT_WORK, FILLED_AHEAD = 2, 2
"""Batches that are on the device at a time, and those that are filled meanwhile."""


class Part(NamedTuple):
    """Some rows of a batch, which one thread writes."""

    source: Any
    """What they are made of."""
    n_rows: int


Batch = Sequence[Part]


def fill_through_device(
    batches: Iterable[Batch],
    row: NDArray[Any],
    fill: Fill,
    work: Work,
    device: str,
    n_threads: int,
) -> Iterator[Arrays]:
    """Yield what `work` makes of each batch, in order, while threads fill the next ones.

    Parameters
    ----------
    batches : iterable of sequences of Part
        What each batch is made of, part after part.
    row : (p,) array
        Any row, for its length and type.
    fill : callable
        Called with the source of a part and an array, (n_rows, p), to write to.
    work : callable
        Rows on the device to a tuple of results on the device. It may not keep the rows, which the next batch will
        overwrite.
    device : str
        A name of torch's.
    n_threads : int
        How many threads fill.

    Yields
    ------
    tuple of ndarray
        The results of one batch.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.gpu.filled_stream import Part, fill_through_device
    >>> def fill(number, rows):
    ...     rows[:] = number
    >>> batches = [[Part(1, 2), Part(5, 1)], [Part(7, 1)]]
    >>> work = lambda rows: (rows.sum(1),)
    >>> for (sums,) in fill_through_device(batches, np.empty(3), fill, work, "cpu", 2):  # doctest: +SKIP
    ...     print(sums)
    [ 3.  3. 15.]
    [21.]
    """
    streams = [_stream(device) for _ in range(AT_WORK)]  # each has memory of its own on the device
    free = deque(_Lane(device, streams[i % AT_WORK]) for i in range(AT_WORK + FILLED_AHEAD))
    waiting = deque[_Lane]()
    with ThreadPoolExecutor(n_threads) as threads:
        for batch in batches:
            if not free:
                yield _finish_first(waiting, free, work)
            waiting.append(free.popleft())
            waiting[-1].fill(batch, row, fill, threads)
        while waiting:
            yield _finish_first(waiting, free, work)


def _finish_first(waiting: deque[_Lane], free: deque[_Lane], work: Work) -> Arrays:
    """Have the first lanes at work, and take the results of the very first."""
    for lane in islice(waiting, AT_WORK):
        lane.launch(work)
    free.append(waiting.popleft())
    return free[-1].results()


def _stream(device: str) -> Any:
    """Give a new stream of a GPU; None for the CPU."""
    import torch

    return torch.cuda.Stream(device) if torch.device(device).type == "cuda" else None


class _Lane:
    """The memory of a batch that is on its way to the device, and the stream in which it is worked on there."""

    def __init__(self, device: str, stream: Any) -> None:
        self._device, self._stream = device, stream
        self._memory = np.empty(0, np.uint8)
        self._filling: list[Future[object]] = []
        self._rows: NDArray[Any] | None = None
        self._results: tuple[Tensor, ...] = ()

    def fill(self, batch: Batch, row: NDArray[Any], fill: Fill, threads: ThreadPoolExecutor) -> None:
        """Let threads write the parts of a batch."""
        stops = np.cumsum([part.n_rows for part in batch]).tolist()
        rows = self._rows = self._room_for(stops[-1], row)
        self._filling = [
            threads.submit(fill, part.source, rows[stop - part.n_rows : stop])
            for part, stop in zip(batch, stops, strict=True)
        ]

    def _room_for(self, n: int, row: NDArray[Any]) -> NDArray[Any]:
        """(n, p) in memory that cannot be swapped out; that of the last batch where it is large enough."""
        import torch

        n_bytes = n * row.nbytes
        if self._memory.nbytes < n_bytes:
            self._memory = torch.empty(n_bytes, dtype=torch.uint8, pin_memory=self._stream is not None).numpy()
        return self._memory[:n_bytes].view(row.dtype).reshape(n, len(row))

    def launch(self, work: Work) -> None:
        """Begin the work when all is written; nothing to do where it has begun."""
        import torch

        if self._rows is None:
            return
        for part in self._filling:
            part.result()
        rows, self._rows = torch.from_numpy(self._rows), None
        if self._stream is None:
            self._results = work(rows)
            return
        with torch.cuda.stream(self._stream):
            self._results = tuple(to_host(result) for result in work(rows.to(self._device, non_blocking=True)))

    def results(self) -> Arrays:
        if self._stream is not None:
            self._stream.synchronize()
        return tuple(result.numpy().copy() for result in self._results)
