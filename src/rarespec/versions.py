"""Which software made something, for the files that carry it."""

from __future__ import annotations

import platform
from importlib.metadata import version

from rarespec._version import __version__


def versions_with(*libraries: str) -> dict[str, str]:
    """Versions of rarespec, Python and these libraries."""
    return {"rarespec": __version__, "python": platform.python_version()} | {name: version(name) for name in libraries}
