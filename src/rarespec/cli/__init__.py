"""The command line: one file per verb, heavy imports inside the commands."""

from __future__ import annotations

import os
import warnings
from typing import Any


def main() -> None:
    from rarespec.cli.app import app

    warnings.formatwarning = one_line
    if os.path.lexists("matplotlibrc"):  # matplotlib would obey it, whoever put it into this folder
        from rarespec.plots.folder_settings import ignore_folder_settings

        ignore_folder_settings()
    app()


def one_line(message: Warning | str, *_: Any, **__: Any) -> str:
    """A warning as a command tells it: without the place in the code, which says nothing to its user."""
    from rarespec.spectrum.printable import printable

    return f"rarespec: {printable(str(message))}\n"
