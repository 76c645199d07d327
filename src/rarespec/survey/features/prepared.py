"""Blocks of a survey after the first steps of a recipe, which treat each row by itself: filtered and rescaled flux."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rarespec.engines.engine import Engine
from rarespec.features.recipe import Recipe
from rarespec.features.rows import Own, Result, Shared
from rarespec.features.steps.bridging import count_in_rows
from rarespec.survey.store.location import is_remote
from rarespec.survey.store.manifest import BlockRecord
from rarespec.survey.survey import Survey

# ---- Prepared blocks that a worker keeps in memory between passes of a survey.


PART_ROWS = 512
"""Rows that go from the file to features at once: 7 MB of the paper's spectra, which stay in cache on the way."""
MOST_BYTES = 10**9
"""Of one process: 33 blocks of the paper's spectra."""


class Place(NamedTuple):
    """Which block of which job: the survey and the recipe."""

    job: Hashable
    block: Hashable


class BlockMemory:
    """Keeps what fits. When it is full, blocks of other jobs go; those of the same job stay.

    A job reads all blocks in turn, again and again: dropping the oldest would drop the very one that comes next.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._n_bytes = 0
        self._kept: dict[Place, tuple[Any, int]] = {}
        self._lock = Lock()

    def get(self, place: Place) -> Any:
        """Return the block; None when it is not there."""
        with self._lock:
            return self._kept.get(place, (None, 0))[0]

    def keep(self, place: Place, block: Any, n_bytes: int) -> None:
        """Keep a block if it fits; blocks of other jobs make room for it.

        Parameters
        ----------
        place : Place
            Job and block.
        block : object
            What to keep.
        n_bytes : int
            Memory that it counts for.
        """
        with self._lock:
            self._drop(place)
            for other in [kept for kept in self._kept if kept.job != place.job]:
                if self._n_bytes + n_bytes > self._most_bytes:
                    self._drop(other)
            if self._n_bytes + n_bytes <= self._most_bytes:
                self._kept[place] = block, n_bytes
                self._n_bytes += n_bytes

    def forget(self, place: Place) -> None:
        with self._lock:
            self._drop(place)

    def _drop(self, place: Place) -> None:
        self._n_bytes -= self._kept.pop(place, (None, 0))[1]


OF_THIS_PROCESS = BlockMemory(MOST_BYTES)


# ---- Arrays that are soon needed again, in a temporary file without a name, which goes when the process ends or
# dies.


MOST_SCRATCH_BYTES = 8 * 10**9
"""550 000 spectra of the paper. More would not stay in memory, and many disks are slower than the median filter."""
SHARE_OF_FREE = 0.5
"""Of the disk's free space, the most that is used."""
NUMBERS_OF_A_PAGE = 512
"""At least one of so many neighbouring numbers lies in each page of memory, of 4096 bytes."""


class ScratchPlace(NamedTuple):
    """Where an array lies in the file."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    mark: int


class Scratch:
    """Arrays by number. What it does not have, or has no longer because of the disk, has to be made anew.

    One that is not open, as before `open_for` and after the `with` block, keeps nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = Path(tempfile.gettempdir()) if is_remote(folder) else folder
        self._file: Any = None
        self._places: dict[int, ScratchPlace] = {}
        self._lock = RLock()  # threads share the position in the file

    def open_for(self, n_bytes: int) -> Self:
        """Open the file for a `with` block. More bytes than the limit, or than fit on the disk, are not kept."""
        if n_bytes > MOST_SCRATCH_BYTES:
            return self
        try:
            free = shutil.disk_usage(self._folder).free
            if n_bytes > free * SHARE_OF_FREE:
                self._do_without(f"it needs {n_bytes / 1e9:.2g} GB, {free / 1e9:.2g} GB are free")
            else:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115  `close` closes it
        except OSError as error:
            self._do_without(str(error.strerror))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            file, self._file, self._places = self._file, None, {}
        if file is not None:
            with suppress(OSError):  # an error of writing that a network disk reports late
                file.close()

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def keep(self, number: int, array: NDArray[Any]) -> None:
        """Remember this array, if possible."""
        with self._lock:
            if self.is_open:
                self._keep(number, np.ascontiguousarray(array))

    def _keep(self, number: int, array: NDArray[Any]) -> None:
        try:
            start = self._file.seek(0, 2)
            left = array.reshape(-1).view(np.uint8).data
            while left:  # a disk that is nearly full takes a part, and only then refuses
                left = left[self._file.write(left) :]
        except OSError as error:
            self._do_without(str(error.strerror))
            return
        self._places[number] = ScratchPlace(start, array.shape, array.dtype, _mark(array))

    def get(self, number: int) -> NDArray[Any] | None:
        """The array of this number, in memory of its own; None when it is not there."""
        if number not in self._places:  # asked without the lock, which another thread may hold while it writes
            return None
        with self._lock:
            place = self._places.get(number)
            return None if place is None else self._read(place)

    def _read(self, place: ScratchPlace) -> NDArray[Any] | None:
        array = np.empty(place.shape, place.dtype)
        try:
            self._file.seek(place.start)
            whole = self._file.readinto(array) == array.nbytes and _mark(array) == place.mark
        except OSError:
            whole = False
        if not whole:
            self._do_without("it could not be read back")
            return None
        return array

    def _do_without(self, why: str) -> None:
        self.close()
        warnings.warn(
            f"{self._folder}: no temporary file for filtered spectra ({why}); they are filtered again in each pass, "
            "which takes longer and gives the same features",
            stacklevel=3,
        )


def _mark(array: NDArray[Any]) -> int:
    """Compute a checksum of one number per page: a page that a network disk has lost comes back as zeros."""
    return zlib.crc32(array.reshape(-1)[::NUMBERS_OF_A_PAGE].tobytes())


class PreparedBlock(NamedTuple):
    """rows (n, columns); lost_at (n,) int8 as the recipe's `prepare` gives it; n_bad (n,) int32, bad pixels."""

    rows: NDArray[np.floating]
    lost_at: NDArray[np.int8]
    n_bad: NDArray[np.int32]


class PreparedBlocks:
    """Blocks by number, prepared when they are asked for; inside `keep` only the first time.

    A copy that was sent to another process keeps its blocks in that process's memory, as far as they fit in.
    """

    def __init__(self, survey: Survey, recipe: Recipe, in_memory: bool = False) -> None:
        self._survey, self._recipe = survey, recipe
        self._in_memory = in_memory
        self._scratch = Scratch(survey.path)
        self._known: dict[int, tuple[Any, Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedBlocks, (strip_for_sending(self._survey), self._recipe.preparation(), self._in_memory)

    @property
    def sizes(self) -> list[int]:
        return [record.rows for record in self._survey.manifest.blocks]

    def __getitem__(self, i: int) -> PreparedBlock:
        """In memory of its own."""
        if self._in_memory:
            return self._recall(i)
        rows = self._scratch.get(i)
        if rows is not None:
            return PreparedBlock(rows, *self._known[i])
        block = self._prepare(i)
        if self._scratch.is_open:
            self._known[i] = block.lost_at, block.n_bad
            self._scratch.keep(i, block.rows)
        return block

    def parts(self, i: int) -> Iterator[PreparedBlock]:
        """Give a block, a few rows at a time where it is not kept: they are used while they are in cache."""
        if self._scratch.is_open or (self._in_memory and OF_THIS_PROCESS.get(self._place(i)) is not None):
            yield self[i]
            return
        for flux in self._survey.masked_flux_parts(i, PART_ROWS):
            yield self._prepare_rows(flux)

    def remember(self, i: int, flux: NDArray[np.float32]) -> None:
        """Prepare a block that was read for something else, and keep it in memory if it fits."""
        block = self._prepare_rows(flux)
        OF_THIS_PROCESS.keep(self._place(i), block, block.rows.nbytes)

    def forget(self, i: int) -> None:
        """Drop this block, which is not needed again."""
        if self._in_memory:
            OF_THIS_PROCESS.forget(self._place(i))

    def _recall(self, i: int) -> PreparedBlock:
        kept = OF_THIS_PROCESS.get(self._place(i))
        if kept is None:
            kept = self._prepare(i)
            OF_THIS_PROCESS.keep(self._place(i), kept, kept.rows.nbytes)
        return PreparedBlock(kept.rows.copy(), kept.lost_at, kept.n_bad)

    def _prepare(self, i: int) -> PreparedBlock:
        return self._prepare_rows(self._survey.masked_flux(i))

    def _prepare_rows(self, flux: NDArray[np.float32]) -> PreparedBlock:
        n_bad = count_in_rows(np.isnan(flux)).astype(np.int32)
        return PreparedBlock(*self._recipe.prepare(flux), n_bad)

    def _place(self, i: int) -> Place:
        return Place(self._job, content_name(self._survey.manifest.blocks[i], i))

    @cached_property
    def _job(self) -> tuple[str, str]:
        return str(self._survey.path), self._recipe.fingerprint

    @contextmanager
    def keep(self, engine: Engine) -> Iterator[None]:
        """Keep blocks between passes while the `with` block lasts, if they fit.

        In this process a temporary file beside the survey's arrays keeps them, elsewhere the memory of each process.
        """
        if not self._recipe.prepares_to_learn:
            yield
        elif not engine.in_this_process:
            self._in_memory = True
            try:
                yield
            finally:
                for i in range(len(self.sizes)):  # those that were looked at here, not by a worker
                    self.forget(i)
                self._in_memory = False
        else:
            rows, _ = self._recipe.prepare(np.zeros((1, self._survey.grid.n_pixels), np.float32))
            try:
                with self._scratch.open_for(len(self._survey) * rows.nbytes):
                    yield
            finally:
                self._known.clear()


@dataclass(frozen=True)
class SurveyRows:
    """The RowBlocks of a survey: its prepared blocks, looked at wherever this engine runs."""

    prepared: PreparedBlocks
    engine: Engine

    @property
    def sizes(self) -> Sequence[int]:
        return self.prepared.sizes

    def __call__(self) -> Iterator[NDArray[np.floating]]:
        return (self.prepared[i].rows for i in range(len(self.sizes)))

    def map(
        self, look: Callable[[Shared, Own, NDArray[np.floating]], Result], shared: Shared, own: Sequence[Own]
    ) -> Iterator[Result]:
        """Look at each block where the engine runs.

        Parameters
        ----------
        look : callable
            Called as `look(shared, own[i], rows)` with the rows of block i, (n_i, p); it may not change them.
        shared : object
            What every look needs; sent to each worker once.
        own : sequence
            What the look at each block needs, one per block.

        Returns
        -------
        iterator
            What each look returned, in the order of the blocks.
        """
        visits = (Visit(i, one) for i, one in enumerate(own))
        return self.engine.map(_look_at_block, (self.prepared, look, shared), visits)


@dataclass(frozen=True)
class Visit:
    """A visit to a block. Visits to the same block are equal: that tells an engine where the block is kept."""

    block: int
    own: Any = field(default=None, compare=False, repr=False)


def _look_at_block(shared: tuple[PreparedBlocks, Callable[..., Any], Any], visit: Visit) -> Any:
    prepared, look, its_shared = shared
    return look(its_shared, visit.own, prepared[visit.block].rows)


def strip_for_sending(survey: Survey) -> Survey:
    """Strip a survey of what was read of it, so that it can be sent to another process."""
    return Survey(survey.path.absolute(), survey.manifest)


def content_name(record: BlockRecord, i: int) -> str:
    """Name a block after its flux: a block that grew gets another name, so nothing under a name can be outdated."""
    digests = "".join(
        digest for name, digest in sorted(record.digests.items()) if name.startswith(("flux", "mask", "steps"))
    )
    return f"{i:06d}-{hashlib.sha256(digests.encode()).hexdigest()[:20]}"
