"""Which software made something, for the files that carry it."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version

from rarespec._version import __version__


def versions_with(*libraries: str) -> dict[str, str]:
    """Versions of rarespec, Python and these libraries."""
    own = {"rarespec": __version__, "python": platform.python_version()}
    return own | {name: _version_of(name) for name in libraries}


@cache
def _version_of(library: str) -> str:
    """Look it up once: importlib.metadata reads and parses a file each time."""
    return version(library)
