"""Paths and messages without what is nobody else's business: the home folder, the user's name, a password in a URL."""

from __future__ import annotations

import getpass
import re
from pathlib import Path

PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")
SHORTEST_NAME = 3
"""Shorter names are parts of too many words."""


def without_names(text: str) -> str:
    """The same text with ~ for the home folder and USER for the user's name."""
    for home in _homes():
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    user = _user()
    if len(user) >= SHORTEST_NAME:
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(user)}(?![A-Za-z0-9])", "USER", text)
    return PASSWORD.sub("", text)


def _homes() -> list[str]:
    """As it is called and as it is when links are followed, the longer first; a home of / would be in every path."""
    try:
        home = Path.home()
    except RuntimeError:  # a user without an entry, as in some containers
        return []
    return sorted({str(home), str(home.resolve())} - {"/"}, key=len, reverse=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
