"""The directive `command-line`: every verb of `rarespec` with its options, read from the program itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

EXAMPLE = "Example: "


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}


class CommandLine(SphinxDirective):
    """One section for each verb."""

    def run(self) -> list[nodes.Node]:
        from typer.main import get_command

        from rarespec.cli.app import app

        self.env.note_reread()  # the program may have changed when this page has not
        text = "\n".join(line for verb in verbs(get_command(app), "rarespec") for line in described(*verb))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def verbs(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each command that does something, with the words that call it."""
    for name, inner in getattr(command, "commands", {}).items():
        if getattr(inner, "hidden", False):
            continue
        if getattr(inner, "commands", None):
            yield from verbs(inner, f"{path} {name}")
        else:
            yield f"{path} {name}", inner


def described(path: str, command: Any) -> list[str]:
    """Markdown of one section."""
    said, examples = _told_apart(command.help or "")
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    arguments = [param for param in shown if not param.opts[0].startswith("-")]
    options = [param for param in shown if param.opts[0].startswith("-")]
    lines = [f"## {path}", "", said, ""]
    lines += ["```bash", *examples, "```", ""] if examples else []
    lines += _table("argument", [(_called(param), _meaning(param)) for param in arguments])
    return lines + _table("option", [(_called(param), _meaning(param)) for param in options])


def _told_apart(text: str) -> tuple[str, list[str]]:
    """What the help says, and its examples."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]
    examples = [paragraph.removeprefix(EXAMPLE) for paragraph in paragraphs if paragraph.startswith(EXAMPLE)]
    said = [_plain(paragraph) for paragraph in paragraphs if not paragraph.startswith(EXAMPLE)]
    return "\n\n".join(said), examples


def _called(param: Any) -> str:
    names = [*param.opts, *param.secondary_opts]
    return ", ".join(f"`{name if name.startswith('-') else name.upper()}`" for name in names)


def _meaning(param: Any) -> str:
    said = _plain(getattr(param, "help", None) or "")
    repeated = param.multiple and "repeated" not in said
    return " ".join(filter(None, [said, "May be repeated." if repeated else "", _default(param)]))


def _default(param: Any) -> str:
    if param.default in (None, False, (), []) or callable(param.default):
        return ""
    return f"Default: `{param.default}`."


def _plain(text: str) -> str:
    """Help is plain text: option names become code, and nothing else is markup."""
    text = re.sub(r"([*_|<>\[\]#])", r"\\\1", text)
    return re.sub(r"(?<!\S)(--[a-z][a-z-]*)", r"`\1`", text)


def _table(title: str, rows: list[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    return [f"| {title} | |", "|---|---|", *(f"| {name} | {meaning} |" for name, meaning in rows), ""]
