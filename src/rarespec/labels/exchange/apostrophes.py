"""The apostrophes that keep a spreadsheet from running a cell of CSV, undone exactly.

CSV is written with an apostrophe before what a spreadsheet would run. To take away just those when a file is read, a
text that has apostrophes of its own in such a place gets one more.
"""

from __future__ import annotations

import re

_RUN = r"[^\S\t\r\n]*[=+\-@＝＋－＠]"
_OWN = re.compile(rf"^(?='+[\t\r\n])|^(?='+{_RUN})|(?<=[;\t\r\n])(?='+{_RUN})")
_ADDED = re.compile(rf"^'(?='*[\t\r\n])|^'(?='*{_RUN})|(?<=[;\t\r\n])'(?='*{_RUN})")


def with_one_more(text: str) -> str:
    """To be written as CSV by `rarespec.searching.export`."""
    return _OWN.sub("'", text)


def without_added(text: str) -> str:
    """A cell of CSV as it was before it was written."""
    return _ADDED.sub("", text)
