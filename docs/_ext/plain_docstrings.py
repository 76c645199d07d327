"""Docstrings are plain text for people at a terminal; here they become what numpydoc and reStructuredText expect.

- A paragraph of `name : meaning` lines becomes a section of its own, Attributes or Parameters.
- A meaning that goes on in the next line becomes one line; numpydoc would take its first line for a type.
- Signs that mean something in reStructuredText alone, such as |w| and w_, are kept as they are.
- Members of other libraries, which scikit-learn's estimators inherit, are left out.
"""

from __future__ import annotations

import re
from inspect import unwrap
from typing import Any

from sphinx.application import Sphinx

BEFORE_NUMPYDOC = 400
NAMED = re.compile(r"^\w+(, \w+)* *: \S")
SECTION = re.compile(r"^-{3,}$")
LITERAL = re.compile(r"(`+[^`]+`+)")
LONG = 95
"""Characters of a line after which a sentence goes on in the next; a type is shorter."""
MARKUP = re.compile(r"([|*])|(?<=\w)(_)(?!\w)")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _mend, priority=BEFORE_NUMPYDOC)
    app.connect("autodoc-skip-member", _is_foreign)
    return {"parallel_read_safe": True}


def _mend(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    titled = with_section(lines, "Attributes" if what == "class" else "Parameters")
    lines[:] = [escaped(line) for line in unwrapped(titled)]


def with_section(lines: list[str], title: str) -> list[str]:
    """The same lines, with a paragraph of `name : meaning` moved into a section behind the other paragraphs."""
    end = next((i - 1 for i, line in enumerate(lines) if SECTION.match(line)), len(lines))
    paragraphs = _paragraphs(lines[:end])
    named = [paragraph for paragraph in paragraphs if _is_named(paragraph)]
    if not named or title in lines:  # a docstring that has the section itself means no names by "Above: ..."
        return lines
    text = [line for paragraph in paragraphs if paragraph not in named for line in [*paragraph, ""]]
    fields = [line for paragraph in named for line in paragraph]
    return [*text, title, "-" * len(title), *fields, "", *lines[end:]]


def _paragraphs(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [paragraph for paragraph in found if paragraph]


def _is_named(paragraph: list[str]) -> bool:
    """Whether each line is `name : meaning` or, indented, goes on with the one before."""
    return all(NAMED.match(line) or (line.startswith("    ") and i) for i, line in enumerate(paragraph))


def unwrapped(lines: list[str]) -> list[str]:
    """The same lines, with each long `name : meaning` joined with the indented lines that go on with it."""
    found: list[str] = []
    open_ended = False
    for line in lines:
        if open_ended and line.startswith("    ") and line.strip():
            found[-1] += " " + line.strip()
            continue
        found.append(line)
        open_ended = bool(NAMED.match(line)) and len(line) > LONG
    return found


def escaped(line: str) -> str:
    """The line with markup outside of backticks made harmless; code of an example stays as it is."""
    if line.lstrip().startswith((">>> ", "... ")):
        return line
    parts = LITERAL.split(line)
    return "".join(part if part.startswith("`") else MARKUP.sub(r"\\\g<0>", part) for part in parts)


def _is_foreign(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    home = getattr(unwrap(obj) if callable(obj) else obj, "__module__", None) or ""
    return True if home and not home.startswith("rarespec") and callable(obj) else None
