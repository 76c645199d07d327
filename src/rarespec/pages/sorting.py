"""Tables that sort by their columns: the one script that a page of rarespec may hold, and the policy that allows it.

The script is a constant of the package. A content security policy that names its digest lets it run and no other, so
that markup which should ever slip through from a catalogue stays without effect.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from rarespec.pages.html import Html, element


def sorting_script() -> Html:
    """The element; it stands after the tables that it makes sortable."""
    return element("script", Html(_source()))


def policy_with_sorting() -> str:
    """A browser that follows it loads nothing and runs nothing but the script above."""
    digest = b64encode(sha256(_source().encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _source() -> str:
    return files("rarespec.pages").joinpath("sorting.js").read_text(encoding="utf-8")
