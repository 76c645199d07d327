"""The command line: one file per verb, heavy imports inside the commands."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any


def main() -> None:
    open_standard_streams()
    from rarespec.cli.app import app

    warnings.formatwarning = one_line
    if os.path.lexists("matplotlibrc"):  # matplotlib would obey it, whoever put it into this folder
        from rarespec.plots.folder_settings import ignore_folder_settings

        ignore_folder_settings()
    app()


def open_standard_streams() -> None:
    """Those that were closed lead nowhere from here on: otherwise the next file opened would take their place."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest number, this one
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115  for the whole run


def one_line(message: Warning | str, *_: Any, **__: Any) -> str:
    """A warning as a command tells it: without the place in the code, which says nothing to its user."""
    from rarespec.storage.text import printable

    return f"rarespec: {printable(str(message))}\n"
