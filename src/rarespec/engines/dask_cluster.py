"""A Dask cluster: many machines, of which any may die or stall without a change in the result."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from rarespec.engines.dask_workers import DaskWorkers, Parcel, call, hand_on
from rarespec.engines.engine import Item, Result, Shared
from rarespec.errors import EngineError

if TYPE_CHECKING:
    from distributed import Client, Future

STALLED_AFTER = 30.0
CONNECT_WITHIN = 10.0
WORKERS_WITHIN = 60.0
"""Seconds without a sign of life, for the scheduler to answer, and for the first worker to come."""
PER_THREAD = 2
"""Items under way for each thread of the cluster: one at work, one waiting on its doorstep."""
UNEVEN = 1.5
"""Times its fair share of the items, which a worker may get because it had them before; others, such as workers that
have just joined, take the rest."""
SUBMISSIONS = 2
"""How often an item is handed to the scheduler, which itself gives one whose worker died to three others."""


class DaskCluster:
    """Work on a Dask cluster: what dies with a worker is computed again by another.

    Close it, or use it in a `with` block; a client that was given stays open.

    Parameters
    ----------
    cluster : str, distributed.Client or cluster object
        Address of a scheduler (`tcp://host:8786`, `tls://...`), a client, or a cluster object.
    stalled_after : float, optional
        Seconds after which a worker that gives no sign of life loses its work to others, with a warning.
    workers_within : float, optional
        Seconds to wait for a worker when there is none.

    Examples
    --------
    >>> from rarespec.engines import DaskCluster
    >>> cluster = DaskCluster("tcp://host:8786")  # connects when the first work comes
    >>> cluster.in_this_process
    False
    >>> list(cluster.map(divmod, 7, [2, 3]))  # doctest: +SKIP
    [(3, 1), (2, 1)]
    >>> cluster.close()
    """

    in_this_process = False

    def __init__(
        self, cluster: Any, stalled_after: float = STALLED_AFTER, workers_within: float = WORKERS_WITHIN
    ) -> None:
        self.cluster = cluster
        self.stalled_after = stalled_after
        self.workers_within = workers_within
        self._home_of: dict[Hashable, str] = {}
        self._last_sent: tuple[Any, Any, Future] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the cluster; a client that was given stays open."""
        self._last_sent = None
        if "_client" in self.__dict__ and self._client is not self.cluster:
            with nullcontext() if self._client.status == "running" else _unlogged():
                self._client.close()

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this client the current one in a `with` block, for libraries that look for one by themselves."""
        with self._client.as_current():
            yield

    def require(self, path: Path) -> None:
        """Check that every worker sees this path and has this version of rarespec.

        Parameters
        ----------
        path : Path
            A file or folder that the work needs.

        Raises
        ------
        EngineError
            If a worker does not; the error names it.
        """
        self._workers.require(path)

    def map(
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        items: Iterable[Item],
    ) -> Iterator[Result]:
        """Yield `function(shared, item)` for each item, in the order of the items.

        An item goes to the worker that had an equal one before, unless that is gone or has far more than its share.

        Parameters
        ----------
        function : callable
            Importable by name on the workers.
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
            If there is no scheduler or no worker, or an item crashes one worker after another.
        """
        self._workers.wait_for_first()
        parcel, to_come = self._send(function, shared), iter(items)
        under_way: deque[_Task] = deque()
        shares = _Shares(self._workers)
        try:
            while True:
                room = max(PER_THREAD * self._workers.n_threads, 1) - len(under_way)
                for item in islice(to_come, max(room, 0)):
                    home = shares.home_for(self._home_of.get(item) if isinstance(item, Hashable) else None)
                    under_way.append(_Task(item, home, self._submit(parcel, item, home)))
                if not under_way:
                    return
                result = self._result(parcel, under_way)
                under_way.popleft()
                yield result
        finally:
            with suppress(Exception):  # a client that has lost its scheduler cannot, and need not
                self._client.cancel([task.future for task in under_way])

    def _send(self, function: Any, shared: Any) -> Future:
        """Send the function with what it shares, as a task of its own; the same pair as last time is there already."""
        if self._last_sent and self._last_sent[0] is function and self._last_sent[1] is shared:
            return self._last_sent[2]
        import dask
        from distributed.protocol.pickle import dumps

        parcel = Parcel(f"rarespec-parcel-{uuid4().hex}", dumps((function, shared)))
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            future = self._client.submit(hand_on, parcel, key=parcel.name)
        self._last_sent = function, shared, future
        return future

    def _submit(self, parcel: Future, item: Any, home: str | None) -> Future:
        """Hand an item to the scheduler. What has a home is not given to others: they would have to prepare it anew."""
        with self._workers.telling_of_loss():
            return self._client.submit(call, parcel, item, key=f"rarespec-{uuid4().hex}", workers=home and [home])

    def _result(self, parcel: Future, under_way: deque[_Task]) -> Any:
        """Wait for the first of these."""
        from distributed import KilledWorker

        task = under_way[0]
        for n_left in reversed(range(SUBMISSIONS)):
            try:
                address, result = self._workers.wait_for(partial(self._first_future, parcel, under_way))
            except KilledWorker:
                if n_left:
                    task.home, task.future = None, self._submit(parcel, task.item, None)
                continue
            if isinstance(task.item, Hashable):
                self._home_of[task.item] = address
            return result
        raise EngineError(f"{task.item!r} crashed one worker after another; check their logs, or give them more memory")

    def _first_future(self, parcel: Future, under_way: deque[_Task]) -> Future:
        """Give the future of the first item; items whose home is gone meanwhile may go to any worker from now on."""
        for task in under_way:
            if task.home is not None and not self._workers.is_ready(task.home) and not task.future.done():
                task.home, task.future = None, self._submit(parcel, task.item, None)
        return under_way[0].future

    @cached_property
    def _workers(self) -> DaskWorkers:
        return DaskWorkers(self._client, self.stalled_after, self.workers_within)

    @cached_property
    def _client(self) -> Client:
        try:
            from distributed import Client
        except ImportError:
            raise EngineError("a Dask cluster needs Dask: pip install 'rarespec[dask]'") from None
        if isinstance(self.cluster, Client):
            if self.cluster.asynchronous:
                raise EngineError("asynchronous clients are not supported; create one without asynchronous=True")
            return self.cluster
        logging.getLogger("distributed.batched").addFilter(_is_no_traceback)
        if isinstance(self.cluster, str):
            _knock(self.cluster)
        return connect_client(self.cluster)


@dataclass
class _Task:
    """An item under way."""

    item: Any
    home: str | None
    """The worker that it is meant for; None when any will do."""
    future: Future


class _Shares:
    """How many items of one pass go to each worker because it had them before: not far more than its fair share."""

    def __init__(self, workers: DaskWorkers) -> None:
        self._workers = workers
        self._n_items = 0
        self._n_at: Counter[str] = Counter()

    def home_for(self, before: str | None) -> str | None:
        """Say where the next item goes, which was at this worker before; None when any will do."""
        self._n_items += 1
        if before is None or not self._workers.is_ready(before):
            return None
        n_threads = self._workers.n_threads_of(before)
        fair = self._n_items * n_threads / self._workers.n_threads
        if self._n_at[before] >= UNEVEN * fair + PER_THREAD * n_threads:
            return None
        self._n_at[before] += 1
        return before


@contextmanager
def _unlogged() -> Iterator[None]:
    """Have a client that has lost its scheduler say no more: our own error has said it, without a traceback."""
    log = logging.getLogger("distributed.client")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _is_no_traceback(record: logging.LogRecord) -> bool:
    """Hold back the tracebacks that Dask logs as information when a connection ends: the error says it better."""
    return record.levelno > logging.INFO or not record.exc_info


def connect_client(cluster: Any) -> Client:
    """Connect, at the second try if need be: a client fails an assertion when a busy scheduler greets it at length."""
    from distributed import Client

    try:
        return Client(cluster, timeout=CONNECT_WITHIN, set_as_default=False)
    except AssertionError:
        return Client(cluster, timeout=CONNECT_WITHIN, set_as_default=False)


def _knock(address: str) -> None:
    """Raise an EngineError if no scheduler answers: a Client that cannot connect fails again when the process ends."""
    import asyncio

    with ThreadPoolExecutor(1) as thread:  # a notebook has a loop in the main one
        try:
            thread.submit(asyncio.run, _connect_and_leave(address)).result()
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise EngineError(
                f"{address}: no Dask scheduler answers ({error}); start one with `dask scheduler` and use the "
                "address that it prints"
            ) from None


async def _connect_and_leave(address: str) -> None:
    from distributed import Security
    from distributed.comm import connect

    comm = await connect(address, timeout=CONNECT_WITHIN, **Security().get_connection_args("client"))
    await comm.close()
