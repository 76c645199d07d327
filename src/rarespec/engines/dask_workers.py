"""The workers of a Dask cluster: waited for, asked how things look from there, given up when they stall."""

from __future__ import annotations

import pickle
import pkgutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rarespec._version import __version__
from rarespec.engines.here import one_blas_thread
from rarespec.errors import EngineError

if TYPE_CHECKING:
    from distributed import Client, Future


# ---- Which workers of a cluster have stopped giving signs of life.


@dataclass
class Heartbeats:
    """Notes when the last sign of life of each worker changed, by this machine's clock: others may be set wrong.

    Parameters
    ----------
    patience : float
        Seconds without a sign of life after which a worker counts as stalled.
    clock : callable, optional
        Tells the time in seconds.
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


# ---- The worker's side of a Dask cluster: run a function on an item, and say what can be seen from there.


MOST_UNPACKED = 2
"""Parcels that a process keeps unpacked: one in use, and the next one while the last calls of the first still run."""

_unpacked: dict[str, tuple[Callable[..., Any], Any]] = {}
_lock = Lock()


@dataclass(frozen=True)
class Parcel:
    """A function with what all its calls share, as bytes: schedulers and workers pass it on without opening it."""

    name: str
    content: bytes

    def unpack(self) -> tuple[Callable[..., Any], Any]:
        """Unpack once per process, not once per call."""
        with _lock:
            if self.name not in _unpacked:
                while len(_unpacked) >= MOST_UNPACKED:
                    del _unpacked[next(iter(_unpacked))]
                _unpacked[self.name] = pickle.loads(self.content)
            return _unpacked[self.name]


def call(parcel: Parcel, item: Any) -> tuple[str, Any]:
    """Call the function; return the address of this worker, and the result."""
    from distributed import get_worker

    function, shared = parcel.unpack()
    with one_blas_thread():
        return get_worker().address, function(shared, item)


def hand_on(parcel: Parcel) -> Parcel:
    """Return the parcel: as a task, workers get it from each other, and if all that had it died it is sent again."""
    return parcel


def sees(path: bytes) -> bool:
    """Say whether a worker sees this path. It comes pickled: a worker that cannot import its class would die."""
    there: Path = pickle.loads(path)
    return there.exists()


# ---- dask workers


LOOKS_PER_STALL = 6
"""How often the workers are looked at in the time after which one counts as stalled."""
ASKED_FIRST = 100
"""Priority of questions, before all work."""
VERSION_THERE = pkgutil.resolve_name, "rarespec._version:__version__"
"""Asked with a function of Python's own: a worker that cannot import the function of a task dies of it."""
SAME_EVERYWHERE = "client, scheduler and workers need the same version of rarespec"


class DaskWorkers:
    """The workers of a cluster: which are there, which have stalled, and whether they can do the work.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    stalled_after : float
        As in `DaskCluster`.
    workers_within : float
        As in `DaskCluster`.
    """

    def __init__(self, client: Client, stalled_after: float, workers_within: float) -> None:
        self._client = client
        self._workers_within = workers_within
        self._heartbeats = Heartbeats(stalled_after)
        self._between_looks = min(stalled_after / LOOKS_PER_STALL, workers_within)
        self._next_look = self._last_not_empty = time.monotonic()
        self._there: dict[str, dict[str, Any]] = {}

    def __contains__(self, address: object) -> bool:
        return address in self._there

    def is_ready(self, address: str) -> bool:
        """Say whether a worker takes work; one whose memory is nearly full does not."""
        return address in self and self._there[address].get("status", "running") == "running"

    @property
    def n_threads(self) -> int:
        return sum(map(self.n_threads_of, self._there))

    def n_threads_of(self, address: str) -> int:
        return int(self._there[address]["nthreads"])

    def wait_for_first(self) -> None:
        """Wait for a worker; raise an EngineError if none comes in time."""
        try:
            self._client.wait_for_workers(1, timeout=self._workers_within)
        except TimeoutError:
            raise self._nobody() from None
        self._look()

    def wait_for(self, current: Callable[[], Future]) -> Any:
        """Return the result, or raise the error of the function; meanwhile give up workers that stall.

        Parameters
        ----------
        current : callable
            Gives the future to wait for; asked again after each look at the workers, as one may have been lost.

        Returns
        -------
        object
            The result.

        Raises
        ------
        EngineError
            If the scheduler is lost, or no worker is left.
        """
        patience = self._between_looks
        try:
            while True:
                if self._ends_soon(future := current()):
                    with self._unless_lost(future):
                        return future.result(timeout=patience)
                    patience *= 2  # a large result on a slow network
        except CancelledError:
            raise self._lost() from None

    @contextmanager
    def telling_of_loss(self) -> Iterator[None]:
        """Raise an EngineError in the place of any other if the scheduler is lost: clients then fail in many ways."""
        try:
            yield
        except Exception:
            if self._client.status == "running":
                raise
            raise self._lost() from None

    def require(self, path: Path) -> None:
        """Raise an EngineError that names a worker where rarespec, its version or this path is not as it is here."""
        from distributed.protocol.pickle import dumps

        self.wait_for_first()
        self._check_version(f"the scheduler {self._scheduler}", lambda: self._client.run_on_scheduler(*VERSION_THERE))
        for worker, answer in self._ask_all(*VERSION_THERE):
            self._check_version(worker, answer.result)
        for worker, answer in self._ask_all(sees, dumps(path)):
            self._check_sight(worker, path, answer.result)

    # ---- signs of life

    def _ends_soon(self, future: Future) -> bool:
        """Wait a little; say whether it has ended."""
        from distributed import wait

        if not future.done():
            with suppress(TimeoutError, CancelledError), self._client.as_current():
                wait(future, timeout=self._between_looks)
        if time.monotonic() >= self._next_look:
            self._look()
        return bool(future.done())

    @contextmanager
    def _unless_lost(self, future: Future) -> Iterator[None]:
        """Let the fetching of a result time out: it never ends if the worker that had the result is dead or stalled."""
        try:
            yield
        except TimeoutError:
            if future.status == "error":  # of the function's own
                raise

    def _look(self) -> None:
        now = time.monotonic()
        self._next_look = now + self._between_looks
        self._there = self._ask_who_is_there()
        silent = self._heartbeats.silent({name: worker["last_seen"] for name, worker in self._there.items()})
        if len(silent) < len(self._there):  # where all are silent, the scheduler may just be too busy to listen
            self._last_not_empty = now
            for address in silent:
                self._give_up(address)
        elif now - self._last_not_empty > self._workers_within:
            raise self._nobody()

    def _ask_who_is_there(self) -> dict[str, dict[str, Any]]:
        """Ask the scheduler itself: what the client knows is overwritten every two seconds, without workers."""
        if self._client.scheduler is None:
            raise self._lost()
        try:
            return dict(self._client.sync(self._client.scheduler.identity)["workers"])
        except OSError:
            raise self._lost() from None

    def _give_up(self, address: str) -> None:
        """Have the scheduler forget a worker and hand its work to others. A worker that comes back is told to stop."""
        warnings.warn(
            f"worker {self._name(address)} has stalled: no heartbeat for {self._heartbeats.patience:.0f} s; "
            "its work goes to other workers",
            stacklevel=2,
        )
        del self._there[address]
        scheduler, reason = self._client.scheduler, f"rarespec-stalled-{uuid4().hex}"
        assert scheduler is not None
        # `expected`: the work is not under suspicion of having killed its worker
        self._client.sync(scheduler.unregister, address=address, stimulus_id=reason, expected=True)

    # ---- how things look from there

    def _ask_all(self, function: Callable[..., Any], argument: Any) -> Iterator[tuple[str, Future]]:
        """Ask every worker, and yield its name with its answer; leave out those that die or stall meanwhile."""
        futures = {
            address: self._client.submit(
                function, argument, key=f"rarespec-asked-{uuid4().hex}", workers=[address], priority=ASKED_FIRST
            )
            for address in self._there
        }
        for address, future in futures.items():
            while address in self and not self._ends_soon(future):
                pass
            if address in self:
                yield f"worker {self._name(address)}", future

    def _check_version(self, whose: str, asked: Callable[[], str]) -> None:
        try:
            version = asked()
        except ImportError:
            raise EngineError(f"{whose} does not have rarespec: {SAME_EVERYWHERE}") from None
        if version != __version__:
            raise EngineError(f"{whose} has rarespec {version}, but this process has {__version__}: {SAME_EVERYWHERE}")

    def _check_sight(self, whose: str, path: Path, asked: Callable[[], bool]) -> None:
        try:
            why = "" if asked() else "it does not exist"
        except (ImportError, OSError) as error:
            why = str(error)
        if why:
            raise EngineError(
                f"{whose} cannot see {path} ({why}): all workers need the same shared file system under the same path"
            )

    def _name(self, address: str) -> str:
        name = self._there[address].get("name", address)
        return address if name == address else f"{name} at {address}"

    @property
    def _scheduler(self) -> str:
        return str(self._client.scheduler.address) if self._client.scheduler else "the cluster"

    def _lost(self) -> EngineError:
        return EngineError(
            f"{self._scheduler}: lost the scheduler; start it and its workers again, then run the same command again: "
            "it continues from what the survey has kept"
        )

    def _nobody(self) -> EngineError:
        return EngineError(
            f"{self._scheduler}: the cluster has had no worker that answers for {self._workers_within:.0f} s; start "
            f"some with `dask worker {self._scheduler}`, or wait for your batch queue"
        )
