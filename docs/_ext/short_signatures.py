"""Signatures as they are written in the code: `NDArray[float64]`, not what it stands for."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

ARRAY = re.compile(
    r"~?(?:numpy\.)?ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], "
    r"~?(?:numpy\.)?dtype\[~?(?:numpy\.|typing\.)?(\w+)\]\]"
)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", _leave_out_overloads)
    app.connect("autodoc-process-signature", _shorten)
    app.connect("doctree-resolved", _shorten_attributes)
    return {"parallel_read_safe": True}


def _leave_out_overloads(app: Sphinx) -> None:
    """Those of `rarespec.search` are for type checkers; readers need its parameters and their defaults."""
    analyser = ModuleAnalyzer.for_module("rarespec")
    analyser.analyze()
    analyser.overloads.clear()


def _shorten(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, arguments: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    return short(arguments), short(returned)


def _shorten_attributes(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Types of attributes and properties, which autodoc hands over in no event."""
    for annotation in doctree.findall(addnodes.desc_annotation):
        if ARRAY.search(annotation.astext()):
            annotation.children = [nodes.Text(ARRAY.sub(r"NDArray[\1]", annotation.astext()))]


def short(signature: str | None) -> str | None:
    return None if signature is None else ARRAY.sub(r"NDArray[\1]", signature)
