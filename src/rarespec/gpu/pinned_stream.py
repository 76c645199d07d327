"""Blocks of rows that pass through a GPU: one is computed while the next is copied there and the last one back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensor = Any
Arrays = tuple[NDArray[Any], ...]
Work = Callable[[Tensor], tuple[Tensor, ...]]
"""Rows on the device to results on the device; it may not keep the rows, which the next block will overwrite."""

IN_FLIGHT = 2


def through_device(blocks: Iterable[NDArray[Any]], work: Work, device: str) -> Iterator[Arrays]:
    """Yield what `work` makes of each block, in order; copies to and from the device overlap with the work.

    Two lanes take turns, each with a buffer in memory that cannot be swapped out, one on the device and a stream of its
    own. Blocks may be of different lengths; they are read one ahead of the results.

    Parameters
    ----------
    blocks : iterable of ndarray
        Rows, (n_i, p) each.
    work : callable
        Rows on the device to a tuple of results on the device. It may not keep the rows, which the next block will
        overwrite.
    device : str
        A name of torch's.

    Yields
    ------
    tuple of ndarray
        The results of one block.

    Examples
    --------
    >>> import numpy as np
    >>> from rarespec.gpu import through_device
    >>> blocks = [np.ones((2, 3)), np.zeros((1, 3))]
    >>> for (sums,) in through_device(blocks, lambda rows: (rows.sum(1),), "cpu"):  # doctest: +SKIP
    ...     print(sums)
    [3. 3.]
    [0.]
    """
    import torch

    if torch.device(device).type != "cuda":
        for block in blocks:
            yield tuple(result.numpy() for result in work(torch.as_tensor(block, device=device)))
        return
    lanes, waiting = [_Lane(device) for _ in range(IN_FLIGHT)], deque[_Lane]()
    for number, block in enumerate(blocks):
        lane = lanes[number % IN_FLIGHT]
        if len(waiting) == IN_FLIGHT:
            yield waiting.popleft().results()
        lane.send(block, work)
        waiting.append(lane)
    while waiting:
        yield waiting.popleft().results()


class _Lane:
    """A stream, and the buffers of the block that is on its way through it."""

    def __init__(self, device: str) -> None:
        import torch

        self._device, self._stream = torch.device(device), torch.cuda.Stream(device)
        self._pinned: Tensor | None = None
        self._rows: Tensor | None = None
        self._results: tuple[Tensor, ...] = ()

    def send(self, block: NDArray[Any], work: Work) -> None:
        import torch

        values = torch.from_numpy(np.ascontiguousarray(block))
        pinned, rows = self._buffers(values)
        pinned.copy_(values)
        with torch.cuda.stream(self._stream):
            rows.copy_(pinned, non_blocking=True)
            self._results = tuple(to_host(result) for result in work(rows))

    def results(self) -> Arrays:
        self._stream.synchronize()
        return tuple(result.numpy().copy() for result in self._results)

    def _buffers(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Of the shape of these values; those of the last block where they are large enough."""
        import torch

        if self._pinned is None or self._pinned.dtype != values.dtype or self._pinned.numel() < values.numel():
            self._stream.synchronize()
            self._pinned = torch.empty(values.numel(), dtype=values.dtype, pin_memory=True)
            with torch.cuda.stream(self._stream):
                self._rows = torch.empty(values.numel(), dtype=values.dtype, device=self._device)
        assert self._rows is not None
        pinned, rows = (buffer[: values.numel()].view(values.shape) for buffer in (self._pinned, self._rows))
        return pinned, rows


def to_host(result: Tensor) -> Tensor:
    """Copy a result to memory that cannot be swapped out, without waiting for it."""
    import torch

    there = torch.empty(result.shape, dtype=result.dtype, pin_memory=True)
    return there.copy_(result, non_blocking=True)
