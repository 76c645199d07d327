"""Work spread over processes, its results in the order of the work, a bounded amount in flight.

Workers are plain subprocesses, not `multiprocessing` ones: a script or notebook that calls rarespec then needs no
`if __name__ == "__main__"` guard, and work that takes its process down costs one item instead of the pool.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = TypeVar("Shared")


@dataclass(frozen=True, slots=True)
class Died:
    """Stands for the result of an item whose worker process ended."""

    status: int


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(
    function: Callable[[Shared, Item], Result],
    shared: Shared,
    items: Iterable[Item],
    jobs: int,
) -> Iterator[tuple[Item, Result | Died]]:
    """Each item with `function(shared, item)`, computed by `jobs` processes, in the order of the items.

    `function` is importable by name.
    """
    workers = _Workers(function, shared)
    in_flight: deque[tuple[Item, Future[Result | Died]]] = deque()

    def oldest() -> tuple[Item, Result | Died]:
        item, future = in_flight.popleft()
        return item, future.result()

    with ThreadPoolExecutor(jobs) as threads:
        try:
            for item in items:
                in_flight.append((item, threads.submit(workers.call, item)))
                while len(in_flight) > 2 * jobs:
                    yield oldest()
            while in_flight:
                yield oldest()
        finally:
            for _, future in in_flight:
                future.cancel()
            workers.close()


def map_as_finished(
    function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result | Died]]:
    """As `map_in_order`, but each result as soon as it is there: none waits behind a slower one."""
    workers, waiting = _Workers(function, shared), iter(items)
    in_flight: dict[Future[Result | Died], Item] = {}
    with ThreadPoolExecutor(jobs) as threads:
        try:
            while True:
                for item in islice(waiting, jobs + 1 - len(in_flight)):
                    in_flight[threads.submit(workers.call, item)] = item
                if not in_flight:
                    return
                for future in wait(in_flight, return_when=FIRST_COMPLETED).done:
                    yield in_flight.pop(future), future.result()
        finally:
            for future in in_flight:
                future.cancel()
            workers.close()


class _Workers:
    """One worker process per thread of the pool."""

    def __init__(self, function: Callable[..., Any], shared: Any) -> None:
        self._task = (function, shared)
        self._of_thread = threading.local()
        self._all: list[_Worker] = []

    def call(self, item: Any) -> Any:
        worker = getattr(self._of_thread, "worker", None)
        if worker is None:
            worker = self._of_thread.worker = _Worker()
            self._all.append(worker)
            worker.tell(self._task)
        result = worker.ask(item)
        if isinstance(result, Died):
            worker.close()
            self._of_thread.worker = None
        return result

    def close(self) -> None:
        for worker in self._all:
            worker.close()


class _Worker:
    """The parent's end of one subprocess."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from rarespec.processes import serve; serve()"]
        # One process per core is the parallelism; a thread pool in each would only make them fight.
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def tell(self, message: Any) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the death shows in the answer that does not come
            _send(self._process.stdin, message)

    def ask(self, message: Any) -> Any:
        assert self._process.stdout is not None
        self.tell(message)
        try:
            succeeded, result = _receive(self._process.stdout)
        except EOFError:
            return Died(self._process.wait())
        if not succeeded:
            raise result
        return result

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()


def serve() -> None:
    """The subprocess's end: answer until the parent is gone."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not end up among the answers
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        function, shared = _receive(requests)
        while True:
            _send(answers, _answer(function, shared, _receive(requests)))
    os._exit(0)


def _answer(function: Callable[..., Any], shared: Any, item: Any) -> tuple[bool, Any]:
    try:
        return True, function(shared, item)
    except Exception as error:
        return False, error


def _send(pipe: IO[bytes], message: Any) -> None:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(struct.pack("<Q", len(content)))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    (length,) = struct.unpack("<Q", _exactly(pipe, 8))
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], n_bytes: int) -> bytes:
    content = pipe.read(n_bytes)
    if len(content) < n_bytes:
        raise EOFError
    return content
