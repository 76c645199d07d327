"""A Dask cluster: many machines, of which any may die or stall without a change in the result."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
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

        An item goes to the worker that had an equal one before, unless that is gone or too busy.

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
        under_way: deque[tuple[Item, Future]] = deque()
        try:
            while True:
                room = max(PER_THREAD * self._workers.n_threads, 1) - len(under_way)
                for item in islice(to_come, max(room, 0)):
                    under_way.append((item, self._submit(parcel, item)))
                if not under_way:
                    return
                item, future = under_way[0]
                result = self._result(parcel, item, future)
                under_way.popleft()
                yield result
        finally:
            self._client.cancel([future for _, future in under_way])

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

    def _submit(self, parcel: Future, item: Any) -> Future:
        home = self._home_of.get(item) if isinstance(item, Hashable) else None
        preferred: dict[str, Any] = {"workers": [home], "allow_other_workers": True} if home in self._workers else {}
        return self._client.submit(call, parcel, item, key=f"rarespec-{uuid4().hex}", **preferred)

    def _result(self, parcel: Future, item: Any, future: Future) -> Any:
        from distributed import KilledWorker

        for n_left in reversed(range(SUBMISSIONS)):
            try:
                address, result = self._workers.wait_for(future)
            except KilledWorker:
                future = self._submit(parcel, item) if n_left else future
                continue
            if isinstance(item, Hashable):
                self._home_of[item] = address
            return result
        raise EngineError(f"{item!r} crashed one worker after another; check their logs, or give them more memory")

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
        if isinstance(self.cluster, str):
            _knock(self.cluster)
        return connect_client(self.cluster)


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
