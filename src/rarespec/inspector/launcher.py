"""The tile in JupyterLab's launcher: what jupyter-server-proxy is told when Jupyter starts.

This runs inside the Jupyter server, so it imports next to nothing. The server starts the command at the first click.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from rarespec.inspector.jupyter_server import PARENT

NAME = "rarespec"
KEY = "RARESPEC_LAUNCHER_KEY"
"""Environment variable that hands the key over: other users of a machine can read command lines."""
N_BYTES = 32
SECONDS_TO_START = 120.0
"""The first start after an installation reads much from the disk."""


def describe_tile() -> dict[str, Any]:
    """Describe the tile and the server behind it; the key is new each time that Jupyter starts.

    Only who is logged in to Jupyter can read the address of the tile, and with it the key. Jupyter takes a parameter
    named `token` for its own, so it is called `key`.
    """
    key = token_urlsafe(N_BYTES)
    # Without -P, a file in the folder of the notebooks could take the place of a module.
    command = [sys.executable.replace("{", "{{").replace("}", "}}"), "-P", "-m", "rarespec", "launcher"]
    return {
        "command": [*command, "--port", "{port}", "--base-url", f"{{base_url}}{NAME}/"],
        "environment": {KEY: key, PARENT: str(os.getpid())},
        "timeout": SECONDS_TO_START,
        "absolute_url": False,
        "new_browser_tab": True,
        "launcher_entry": {
            "title": NAME,
            "path_info": f"{NAME}/?key={key}",
            "icon_path": str(Path(__file__).with_name("static") / "tile.svg"),
        },
    }
