"""Settings of matplotlib that lie in the current folder, which may hold anyone's files: left out."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

NAME = "matplotlibrc"


def ignore_folder_settings() -> None:
    """Load matplotlib so that a `matplotlibrc` in the current folder does not count; the user's own does.

    matplotlib looks there first. Such a file could have LaTeX run on text that a stranger wrote.
    """
    if not os.path.lexists(NAME):
        return
    warnings.warn(
        f"{Path.cwd() / NAME} is ignored: plot settings are read only from your own configuration", stacklevel=2
    )
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(os.sep)
        import matplotlib  # noqa: F401  reads its settings now
    finally:
        os.fchdir(here)
        os.close(here)
