"""HTML in which no text can be taken for markup, its sections, and one style for all pages."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence

EMPTY = ("img", "meta")
"""Elements without an end."""


class Html(str):
    """Markup; any other text is escaped when it is put into an element."""


def element(tag: str, /, *inside: object, **attributes: object) -> Html:
    """An element; what is inside is escaped unless it is Html. class_ and aria_label stand for class and aria-label."""
    named = ((key.rstrip("_").replace("_", "-"), html.escape(str(value))) for key, value in attributes.items())
    words = [tag, *(f'{key}="{value}"' for key, value in named)]
    start = f"<{' '.join(words)}>"
    return Html(start if tag in EMPTY else f"{start}{join_html(*inside)}</{tag}>")


def join_html(*parts: object, between: str = "") -> Html:
    return Html(between.join(part if isinstance(part, Html) else html.escape(str(part)) for part in parts))


# ---- A page's sections under headings, and the links to them at its top.


def contents(sections: Mapping[str, object]) -> Html:
    """A link to each heading."""
    return element("nav", *(element("a", heading, href=f"#{_anchor(heading)}") for heading in sections))


def sections_of(sections: Mapping[str, Sequence[Html]]) -> Iterator[Html]:
    """Heading -> what stands under it."""
    for heading, parts in sections.items():
        yield element("section", element("h2", heading), *parts, id=_anchor(heading))


def _anchor(heading: str) -> str:
    return heading.lower().replace(",", "").replace(" ", "-")


# ---- How the page of an experiment looks: on a screen of any width, light or dark, and in print.


STYLE = """
:root { color-scheme: light dark; --text: #1c1e21; --faint: #5b6168; --line: #d5d9de; --back: #fff; --soft: #f3f5f7;
  --link: #005a9c; --good: #00664b; --bad: #a83c00; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e6e9; --faint: #a2a9b1; --line: #42474e; --back: #17191c;
  --soft: #22262b; --link: #7cc0f5; --good: #5fd3ae; --bad: #ff9d66; } }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 80rem; margin: 0 auto; padding: 1rem; } p, ul, pre, figure { max-width: 60rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.5rem 0 .3rem; font-size: 1.05rem; }
a { color: var(--link); } nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
.verdict { display: inline-block; border: 1px solid; border-radius: 1rem; padding: 0 .6rem; margin-left: .5rem;
  font-size: .8rem; font-weight: 600; color: var(--faint); white-space: nowrap; }
.holds { color: var(--good); } .fails { color: var(--bad); }
figure { margin: 2rem 0; } figcaption, .caption, .files { color: var(--faint); font-size: .9rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; border-radius: 4px; }
.wide { overflow-x: auto; margin: .5rem 0; } .caption { margin-top: 2rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: .8rem; border-radius: 4px; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .4rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
thead th { white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child, table.words th, table.words td { text-align: left; }
table.words td { white-space: normal; overflow-wrap: anywhere; vertical-align: top; }
tbody + tbody { border-top: 2px solid var(--faint); }
@media print { nav { display: none; } main { max-width: none; padding: 0; } figure, table, li { break-inside: avoid; }
  h2, h3 { break-after: avoid; } .wide { overflow: visible; } table { font-size: .6rem; }
  td span { display: block; }
  th, td { padding: .15rem .25rem; } figure img { max-height: 22cm; width: auto; max-width: 100%; } }
"""
