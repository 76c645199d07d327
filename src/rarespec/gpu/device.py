"""Which device does the work, and what it means that there is none."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from threading import Thread
from typing import Any

import numpy as np

DEVICES = ("cpu", "cuda")


class NoGPUWarning(UserWarning):
    """There is no GPU to use, so the CPU does the work, with the same result."""


def usable_device(asked: str | None) -> str | None:
    """Return the name of the GPU to use, or None for the CPU.

    Parameters
    ----------
    asked : str or None
        "cpu", "cuda", "cuda:1" and so on; None is the CPU.

    Returns
    -------
    str or None
        The name as torch has it. None for the CPU, with a NoGPUWarning when a GPU was asked for.

    Raises
    ------
    ValueError
        If no device can have this name.

    Examples
    --------
    >>> from rarespec.gpu import usable_device
    >>> usable_device("cpu") is None
    True
    """
    check_device_name(asked)
    if asked in (None, "cpu"):
        return None
    reason = why_not(str(asked))
    if reason is None:
        return str(asked)
    warnings.warn(f"{reason}; using the CPU", NoGPUWarning, stacklevel=3)
    return None


def wake_device(asked: str | None) -> None:
    """Begin to load torch and to open the GPU in a thread: it takes seconds, in which the CPU can read.

    Parameters
    ----------
    asked : str or None
        "cpu", "cuda", "cuda:1" and so on. Whether there is such a device is left to `usable_device`.
    """
    if may_have(asked):
        Thread(target=_open_device, args=(asked,), daemon=True).start()


def may_have(asked: str | None) -> bool:
    """Whether a GPU is asked for and torch is installed; without a look at torch, which takes seconds to load."""
    check_device_name(asked)
    return asked not in (None, "cpu") and find_spec("torch") is not None


def _open_device(device: str) -> None:
    with suppress(Exception):  # whoever needs the device is told what is wrong with it
        import torch

        for number in (torch.float32, torch.float64):  # a product loads the library that multiplies
            one = torch.ones((1, 1), dtype=number, device=device)
            (one @ one).cpu()


def check_device_name(asked: str | None) -> None:
    """A ValueError for a name that no device has, whether or not there is such a device."""
    if asked not in (None, "cpu") and str(asked).split(":")[0] != "cuda":
        raise ValueError(f"device={asked!r} is not valid: choose from {', '.join(DEVICES)}, or cuda:1 and so on")


def why_not(device: str) -> str | None:
    """Why this GPU cannot be used; None when it can."""
    if find_spec("torch") is None:
        return f"device={device} needs torch, which is not installed (pip install 'rarespec[gpu]')"
    import torch

    if not torch.cuda.is_available():
        kind = "was built without CUDA" if torch.version.cuda is None else "finds no CUDA device (check the driver)"
        return f"device={device}: torch {torch.__version__} {kind}"
    number = torch.device(device).index or 0
    if number >= torch.cuda.device_count():
        return f"device={device}: there are only {torch.cuda.device_count()} CUDA devices, counted from 0"
    return None


@lru_cache(maxsize=1)
def has_triton() -> bool:
    """Whether kernels can be compiled; it comes with torch for Linux."""
    return find_spec("triton") is not None


ROWS_AT_ONCE = 1 << 16
"""Rows of a mapped file that are copied at a time."""


def on_device(values: Any, device: str) -> Any:
    """NumPy values as a torch tensor on this device."""
    import torch

    if values.flags.writeable:
        return torch.as_tensor(values, device=device)
    # torch warns of arrays that cannot be changed, as those of mapped files: they are copied, a part at a time
    there = torch.empty(values.shape, dtype=torch.as_tensor(np.empty(0, values.dtype)).dtype, device=device)
    for start in range(0, len(values), ROWS_AT_ONCE):
        there[start : start + ROWS_AT_ONCE] = torch.from_numpy(np.array(values[start : start + ROWS_AT_ONCE]))
    return there
