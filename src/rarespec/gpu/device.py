"""Which device does the work, and what it means that there is none."""

from __future__ import annotations

import warnings
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

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


def on_device(values: Any, device: str) -> Any:
    """NumPy values as a torch tensor on this device."""
    import torch

    return torch.as_tensor(values, device=device)
