"""A page's sections under headings, and the links to them at its top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rarespec.pages.html_element import Html, element


def contents(sections: Mapping[str, object]) -> Html:
    """A link to each heading."""
    return element("nav", *(element("a", heading, href=f"#{_anchor(heading)}") for heading in sections))


def sections_of(sections: Mapping[str, Sequence[Html]]) -> Iterator[Html]:
    """Heading -> what stands under it."""
    for heading, parts in sections.items():
        yield element("section", element("h2", heading), *parts, id=_anchor(heading))


def _anchor(heading: str) -> str:
    return heading.lower().replace(",", "").replace(" ", "-")
