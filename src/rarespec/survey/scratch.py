"""Arrays that are soon needed again, in a temporary file without a name, which goes when the process ends or dies."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import zlib
from contextlib import suppress
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rarespec.survey.location import is_remote

MOST_BYTES = 8 * 10**9
"""550 000 spectra of the paper. More would not stay in memory, and many disks are slower than the median filter."""
SHARE_OF_FREE = 0.5
"""Of the disk's free space, the most that is used."""
NUMBERS_OF_A_PAGE = 512
"""At least one of so many neighbouring numbers lies in each page of memory, of 4096 bytes."""


class Place(NamedTuple):
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
        self._places: dict[int, Place] = {}
        self._lock = RLock()  # threads share the position in the file

    def open_for(self, n_bytes: int) -> Self:
        """To be used in a `with` block. Too many bytes, or too many for the disk, are not kept."""
        if n_bytes > MOST_BYTES:
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
        self._places[number] = Place(start, array.shape, array.dtype, _mark(array))

    def kept(self, number: int) -> NDArray[Any] | None:
        """The array of this number, in memory of its own; None when it is not there."""
        if number not in self._places:  # asked without the lock, which another thread may hold while it writes
            return None
        with self._lock:
            place = self._places.get(number)
            return None if place is None else self._read(place)

    def _read(self, place: Place) -> NDArray[Any] | None:
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
    """Of one number of each page: a page that a network disk has lost comes back as zeros."""
    return zlib.crc32(array.reshape(-1)[::NUMBERS_OF_A_PAGE].tobytes())
