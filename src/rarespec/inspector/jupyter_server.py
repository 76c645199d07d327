"""What the Jupyter server that started this process has written down about itself: its address and its folder."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

PARENT = "JPY_PARENT_PID"
"""Environment variable: the number of the server's process. Jupyter sets it for kernels, the tile for its page."""


def address_of_jupyter() -> str:
    """The address that the server listens on, with its path; empty where no server has written one."""
    return _told().get("url", "")


def folder_of_jupyter() -> Path:
    """The folder of the notebooks; the current one where no server has written it."""
    return Path(_told().get("root_dir") or Path.cwd())


def _told() -> dict[str, str]:
    # Whatever it is that started this process, if it is no Jupyter server it has written nothing.
    with suppress(ImportError, OSError, ValueError, KeyError, TypeError, AttributeError):
        from jupyter_core.paths import jupyter_runtime_dir

        told = json.loads((Path(jupyter_runtime_dir()) / f"jpserver-{int(os.environ[PARENT])}.json").read_text())
        return {name: value for name, value in told.items() if isinstance(value, str)}
    return {}
