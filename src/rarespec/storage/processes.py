"""Work in processes of its own: spread over several, or kept apart from this one because it may do harm.

Workers are plain subprocesses, not `multiprocessing` ones: a script or notebook that calls rarespec then needs no
`if __name__ == "__main__"` guard, and work that takes its process down costs one item. In a `ProcessPoolExecutor` one
death breaks the pool: all work under way is lost (BrokenProcessPool), and nothing says which item did it.

A worker is isolated (`python -I`): neither the current folder nor the environment adds to the places from which it
imports, so code that lies beside downloaded data never runs. It can be given limits. The operating system enforces
them, so that they also hold inside a library that never returns to Python.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = TypeVar("Shared")

START = "import sys; sys.path[:] = sys.argv[1:]; from rarespec.storage.processes import serve; serve()"
SHORTEST = 1e-6
"""Seconds: an interval timer of 0 would never ring."""
LARGEST_ANSWER = 1 << 30
"""Bytes of one result under a limit of memory: this process must hold it too."""
PIPE_BYTES = 1 << 20
"""For answers, where the system allows it: a worker puts one down here and goes on. 64 KiB are usual."""
AHEAD = 2
"""Items that a worker is given before its first answer is taken, in `Workers.answers`."""
SHORT_REQUEST = 16 << 10
"""Bytes. A longer one could fill its pipe while the worker fills the other, and both would wait for ever."""


@dataclass(frozen=True, slots=True)
class Died:
    """Stands for the result of an item whose worker process ended."""

    status: int


class WorkerDiedError(Exception):
    """The process that worked on this item ended."""

    def __init__(self, status: int) -> None:
        super().__init__(_describe_end(status))
        self.status = status


class WorkerTooSlowError(Exception):
    """No result came in the time that was given, and the process was ended."""


def _describe_end(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    return f"signal {-status}, {signal.strsignal(-status) or 'unknown'}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one piece of work may take.

    Parameters
    ----------
    seconds : float, optional
        Until its next result.
    memory : int, optional
        Bytes for its whole process.
    seconds_in_all : float, optional
        To its end.
    """

    seconds: float | None = None
    memory: int | None = None
    seconds_in_all: float | None = None


def available_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(
    function: Callable[[Shared, Item], Result],
    shared: Shared,
    items: Iterable[Item],
    jobs: int,
) -> Iterator[tuple[Item, Result | Died]]:
    """Compute `function(shared, item)` for each item in several processes, and give the results in the order of the
    items.

    Parameters
    ----------
    function : callable
        Of (shared, item), importable by name.
    shared : object
        Travels once to each process.
    items : iterable
        Taken as the work goes on: at most twice as many as there are processes wait.
    jobs : int
        Processes.

    Yields
    ------
    item : object
        The item.
    result : object
        Its result; `Died` if its process ended.
    """
    workers = workers_calling(function, shared)
    in_flight: deque[tuple[Item, Future[Result | Died]]] = deque()

    def oldest() -> tuple[Item, Result | Died]:
        item, future = in_flight.popleft()
        return item, future.result()

    with ThreadPoolExecutor(jobs) as threads:
        try:
            for item in items:
                in_flight.append((item, threads.submit(_result_of, workers, item)))
                while len(in_flight) > 2 * jobs:
                    yield oldest()
            while in_flight:
                yield oldest()
        finally:
            for _, future in in_flight:
                future.cancel()
            workers.close()


def workers_calling(function: Callable[[Shared, Item], Result], shared: Shared) -> Workers:
    """Make processes for `map_as_finished`, which may be used for several lists of items one after the other.

    Parameters
    ----------
    function : callable
        Of (shared, item), importable by name.
    shared : object
        Travels once to each process.

    Returns
    -------
    Workers
        To be closed by the caller.
    """
    return Workers(_call_once, (function, shared))


def map_as_finished(workers: Workers, items: Iterable[Item], jobs: int) -> Iterator[tuple[Item, Any | Died]]:
    """Compute as `map_in_order`, and give each result as soon as it is there: none waits behind a slower one.

    Parameters
    ----------
    workers : Workers
        From `workers_calling`. They stay alive, unless not all results are taken.
    items : iterable
        What to compute.
    jobs : int
        Processes.

    Yields
    ------
    item : object
        The item.
    result : object
        Its result; `Died` if its process ended.
    """
    waiting = iter(items)
    in_flight: dict[Future[Any | Died], Item] = {}
    with ThreadPoolExecutor(jobs) as threads:
        try:
            while True:
                for item in islice(waiting, jobs + 1 - len(in_flight)):
                    in_flight[threads.submit(_result_of, workers, item)] = item
                if not in_flight:
                    return
                for future in wait(in_flight, return_when=FIRST_COMPLETED).done:
                    yield in_flight.pop(future), future.result()
        except BaseException:
            for future in in_flight:
                future.cancel()
            workers.close()
            raise


def _call_once(task: tuple[Callable[..., Any], Any], item: Any) -> Iterator[Any]:
    function, shared = task
    yield function(shared, item)


def _result_of(workers: Workers, item: Any) -> Any:
    try:
        (result,) = workers.results(item)
    except WorkerDiedError as error:
        return Died(error.status)
    return result


class Workers:
    """Processes that all carry out one function, as many as are at work at a time; an idle one is used again.

    Parameters
    ----------
    function : generator function
        Of (shared, item), importable by name.
    shared : object
        Travels once to each process.
    """

    def __init__(self, function: Callable[[Any, Any], Iterator[Any]], shared: Any) -> None:
        self._task = (function, shared)
        self._idle: list[_Worker] = []
        self._at_work: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False

    def results(self, item: Any, limits: Limits | None = None) -> Generator[Any, None, None]:
        """What the function yields for this item, as it comes.

        Raises what the function raises, a WorkerDiedError when its process ends, and a WorkerTooSlowError when the time
        is up. A process that was not heard to the end is ended.
        """
        worker = self._take()
        try:
            worker.ask(_pack((item, limits or Limits(), _current_folder())))
            yield from worker.results()
        finally:
            self._give_back(worker)

    def answers(self, items: Iterable[tuple[Any, Limits]], n_workers: int) -> Generator[Any | None, None, None]:
        """The one thing that the function yields for each item, in their order; None where that was too much for it.

        A worker has its next item before its last answer is taken, so that it never waits for this process. An item
        that it had yet to begin when it died is None too.
        """
        workers: deque[_Worker] = deque()
        under_way: deque[_Worker] = deque()
        try:
            for item, limits in items:
                request = _pack((item, limits, _current_folder()))
                if len(workers) < n_workers:
                    workers.append(self._take())
                else:
                    workers.rotate(-1)
                worker = workers[-1]
                while under_way.count(worker) >= (AHEAD if len(request) <= SHORT_REQUEST else 1):
                    yield under_way.popleft().take_answer()
                if worker.is_spoilt:
                    self._give_back(worker)
                    worker = workers[-1] = self._take()
                under_way.append(worker)
                worker.ask(request)
            while under_way:
                yield under_way.popleft().take_answer()
        finally:
            for worker in workers:
                self._give_back(worker)

    def _take(self) -> _Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            worker = _Worker(self._task)
        with self._lock:
            self._at_work.add(worker)
        return worker

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            self._at_work.discard(worker)
            if worker.is_idle and not self._closed:
                self._idle.append(worker)
                return
        worker.close()

    def close(self) -> None:
        """End all processes, also those at work; a caller that waits for one sees it die."""
        with self._lock:
            self._closed = True
            workers = [*self._idle, *self._at_work]
            self._idle.clear()
        for worker in workers:
            worker.close()


class _Worker:
    """The parent's end of one subprocess."""

    def __init__(self, task: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", START, *_import_places()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
        )
        self.close = weakref.finalize(self, _end, self._process, os.getpid())
        self.is_spoilt = False
        """Ended, or with memory taken that may not come back."""
        self._n_unheard = 0
        assert self._process.stdin and self._process.stdout
        self._requests, self._answers = self._process.stdin, self._process.stdout
        _widen(self._answers)
        self._write(_pack(task))

    @property
    def is_idle(self) -> bool:
        return not (self._n_unheard or self.is_spoilt)

    def ask(self, request: bytes) -> None:
        self._n_unheard += 1
        self._write(request)

    def results(self) -> Iterator[Any]:
        """Yield the results of the first item that was asked about and not heard yet."""
        while True:
            succeeded, result = self._hear()
            if not succeeded:
                self._n_unheard -= 1
                self.is_spoilt |= isinstance(result, MemoryError)
                raise result
            if result is _NO_MORE:
                self._n_unheard -= 1
                return
            yield result

    def take_answer(self) -> Any | None:
        try:
            (answer,) = self.results()
        except (WorkerTooSlowError, WorkerDiedError, MemoryError):
            return None
        return answer

    def _write(self, request: bytes) -> None:
        with suppress(BrokenPipeError, ValueError):  # the death shows in the answer that does not come
            self._requests.write(request)
            self._requests.flush()

    def _hear(self) -> tuple[bool, Any]:
        try:
            return _receive(self._answers)
        except (EOFError, ValueError):  # ended, or closed by another thread
            status = self._process.wait()
        self.is_spoilt = True
        if status == -signal.SIGALRM:
            raise WorkerTooSlowError("no result within the time limit")
        raise WorkerDiedError(status)


def _widen(pipe: IO[bytes]) -> None:
    with suppress(ImportError, AttributeError, OSError):  # only Linux can, and an administrator may forbid it
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _current_folder() -> str | None:
    """Return the current folder; None when someone has removed it."""
    with suppress(FileNotFoundError):
        return os.path.realpath(os.getcwd())
    return None


def _import_places() -> list[str]:
    """List where a worker imports from: as here, without the current folder, which may hold anyone's files."""
    here, own = _current_folder(), str(Path(__file__).resolve().parents[1])
    if here is None:
        return [path for path in sys.path if os.path.isabs(path)]
    return [path for path in sys.path if path and (os.path.realpath(path) != here or here == own)]


def _environment() -> dict[str, str]:
    # One process per core is the parallelism; a thread pool in each would only make them fight.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # Arrow's own allocator sets a gigabyte aside at once, which counts against a limit of memory.
    # `-I` is not handed on: a Python that a library may start in the worker is to be as careful.
    return os.environ | threads | {"ARROW_DEFAULT_MEMORY_POOL": "system", "PYTHONSAFEPATH": "1"}


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:  # a fork of the owner lets go of its copies of the pipes, and of nothing else
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with suppress(OSError, ValueError):
                pipe.close()


# ---- the subprocess's end


class _NoMore:
    """Marks the end of the results of an item; the only one of its class, also after its journey."""

    def __reduce__(self) -> str:
        return "_NO_MORE"


_NO_MORE = _NoMore()


def serve() -> None:
    """Answer until the parent is gone."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not end up among the answers
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, wherever it is
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        function, shared = _receive(requests)
        gc.freeze()  # what was imported stays: looking through it again and again costs a reader 5 %
        while True:
            item, limits, folder = _receive(requests)
            if folder is not None:  # the parent may have changed it since this process began
                with suppress(OSError):
                    os.chdir(folder)
            _limit_memory(limits.memory)
            _answer(answers, function, shared, item, limits)
    os._exit(0)


def _answer(answers: IO[bytes], function: Callable[..., Any], shared: Any, item: Any, limits: Limits) -> None:
    largest = LARGEST_ANSWER if limits.memory else None
    clock = _Clock(limits)
    try:
        results = iter(function(shared, item))
        while (result := clock.next_in_time(results)) is not _NO_MORE:
            answers.write(_pack((True, result), largest))
            answers.flush()
        answers.write(_pack((True, _NO_MORE)))
    except BrokenPipeError:
        raise
    except Exception as error:
        answers.write(_pack((False, _as_it_travels(error))))
    answers.flush()


def _as_it_travels(error: Exception) -> Exception:
    """Return the error, or its words: not every library's exceptions can be pickled and read back."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Clock:
    """Ends this process when its time is up. It runs while the function does, never while the parent takes its time."""

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.seconds or math.inf
        self._left = limits.seconds_in_all or math.inf

    def next_in_time(self, results: Iterator[Any]) -> Any:
        allowed = min(self._seconds, max(self._left, SHORTEST))
        started = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0 if math.isinf(allowed) else allowed)
        try:
            return next(results, _NO_MORE)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._left -= time.monotonic() - started


def _limit_memory(n_bytes: int | None) -> None:
    """Limit all private memory that can be written; files mapped for reading do not count."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    wanted = resource.RLIM_INFINITY if n_bytes is None else n_bytes
    if hard != resource.RLIM_INFINITY:
        wanted = hard if wanted == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def _pack(message: Any, largest: int | None = None) -> bytes:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    if largest is not None and len(content) > largest:
        raise MemoryError(f"a single piece of it takes {len(content) >> 20} MiB")
    return struct.pack("<Q", len(content)) + content


def _receive(pipe: IO[bytes]) -> Any:
    (length,) = struct.unpack("<Q", _exactly(pipe, 8))
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], n_bytes: int) -> bytes:
    content = pipe.read(n_bytes)
    if len(content) < n_bytes:
        raise EOFError
    return content


# ---- Memory that was freed, kept or given back.


LARGEST_KEPT = 31 << 20
"""Bytes, just below the 32 MB up to which glibc learns."""


def keep_freed() -> None:
    """Have glibc keep up to 60 MB of freed memory for the next arrays, where it would give back most of it at once.

    It learns what to keep from the largest array that was freed. Memory from the system comes page by page, which takes
    a fifth of the time of a scan through a survey. `give_back_freed` still gives back all.
    """
    bytearray(LARGEST_KEPT)  # never touched, so it costs nothing


def give_back_freed() -> None:
    """Ask glibc to give freed memory back to the system; by default it keeps it for the next arrays of each thread."""
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):  # another C library
        return
