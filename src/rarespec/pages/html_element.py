"""HTML in which no text can be taken for markup."""

from __future__ import annotations

import html

EMPTY = ("img", "meta")
"""Elements without an end."""


class Html(str):
    """Markup; any other text is escaped when it is put into an element."""


def element(tag: str, /, *inside: object, **attributes: object) -> Html:
    """An element; what is inside is escaped unless it is Html. class_ and aria_label stand for class and aria-label."""
    named = ((key.rstrip("_").replace("_", "-"), html.escape(str(value))) for key, value in attributes.items())
    words = [tag, *(f'{key}="{value}"' for key, value in named)]
    start = f"<{' '.join(words)}>"
    return Html(start if tag in EMPTY else f"{start}{joined(*inside)}</{tag}>")


def joined(*parts: object, between: str = "") -> Html:
    return Html(between.join(part if isinstance(part, Html) else html.escape(str(part)) for part in parts))
